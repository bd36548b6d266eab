package schedtest

import (
	"cmp"
	"slices"
	"time"

	"pasar"
	"pasar/sched"
)

// Stepwise is the projection that a fresh Decide at each moment comes to: slow, and with none of the scheduler's
// books but what it says.
func Stepwise(in sched.Input, now time.Time) sched.Projection {
	p := newSteps(in, now)
	for first := true; ; first = false {
		p.pass(first)
		if !p.more() || !p.advance() {
			break
		}
	}
	slices.SortFunc(p.out.Jobs, func(a, b sched.Forecast) int { return cmp.Compare(a.ID, b.ID) })
	return p.out
}

// steps is such a projection being made.
type steps struct {
	in      sched.Input // its own; as it will be at now
	now     time.Time
	guessed map[pasar.JobID]bool // running jobs whose end is a guess, or rests on one
	taint   map[string]bool      // GPUs, and machines' other places, last given up by such a job
	last    map[string]time.Time // when each was given up
	met     map[pasar.JobID]bool // jobs whose end was a guess, for those that come after them
	out     sched.Projection
}

func newSteps(in sched.Input, now time.Time) *steps {
	p := &steps{in: in, now: now, guessed: map[pasar.JobID]bool{}, taint: map[string]bool{}, last: map[string]time.Time{}, met: map[pasar.JobID]bool{}}
	p.in.Waiting, p.in.Active, p.in.Machines = slices.Clone(in.Waiting), slices.Clone(in.Active), slices.Clone(in.Machines)
	for i := range p.in.Machines {
		p.in.Machines[i].Seen = slices.Clone(p.in.Machines[i].Seen)
	}
	for i := range p.in.Active {
		r := &p.in.Active[i]
		left, guess := leftOf(*r, now)
		f := sched.Forecast{ID: r.ID, Start: r.Started, Machine: r.Grant.Machine, GPUs: r.Grant.GPUs}
		if !guess {
			f.Finish = now.Add(left)
		}
		p.guessed[r.ID] = guess
		r.Ends, r.Guess = now.Add(left), guess
		p.out.Jobs = append(p.out.Jobs, f)
	}
	return p
}

// pass makes one decision and carries it out.
func (p *steps) pass(first bool) {
	plan := sched.Decide(p.in, p.now)
	for _, s := range plan.Starts {
		i := slices.IndexFunc(p.in.Waiting, func(j sched.Job) bool { return j.ID == s.ID })
		j := p.in.Waiting[i]
		p.in.Waiting = slices.Delete(p.in.Waiting, i, i+1)
		r := sched.Running{ID: j.ID, Bid: j.Bid, Grant: s.Grant, Started: p.now, Estimate: j.Estimate, Group: j.Group}
		left, guess := leftOf(r, p.now)
		f := sched.Forecast{ID: j.ID, Start: p.now, Machine: s.Grant.Machine, GPUs: s.Grant.GPUs, Guess: p.met[j.ID] || p.rests(&s.Grant)}
		if !guess {
			f.Finish = p.now.Add(left)
		}
		r.Ends, r.Guess = p.now.Add(left), guess
		p.guessed[j.ID] = guess || f.Guess
		p.in.Active = append(p.in.Active, r)
		p.settle(&r)
		p.out.Jobs = append(p.out.Jobs, f)
	}
	if !first {
		return
	}
	p.out.Stops = plan.Stops
	for _, s := range plan.Stops {
		i := slices.IndexFunc(p.in.Active, func(r sched.Running) bool { return r.ID == s.ID })
		r := &p.in.Active[i]
		r.Stopping, r.StopFor = true, s.For
		if soon := p.now.Add(10 * time.Second); soon.Before(r.Ends) {
			r.Ends = soon
		}
		p.guessed[r.ID] = false
	}
	for i := range p.in.Waiting {
		j := &p.in.Waiting[i]
		reason, _ := plan.Reasons.Find(j.ID)
		j.Promised = j.Promised || reason.Why == pasar.WaitPreempting
		j.Preempt = false // it is looked for at once and not later on
	}
}

// settle keeps other slices off the GPUs of one that has just started.
func (p *steps) settle(r *sched.Running) {
	for i := range p.in.Machines {
		m := &p.in.Machines[i]
		if m.Inventory.Machine != r.Grant.Machine || r.Grant.Claim.Kind != pasar.Slice || m.Settles == 0 {
			continue
		}
		for n := range m.Seen {
			s := &m.Seen[n]
			k := slices.IndexFunc(m.GPUs, func(g pasar.GPU) bool { return g.UUID == s.UUID && !g.Virtual })
			if k >= 0 && slices.ContainsFunc(r.Grant.GPUs, func(g pasar.GPURef) bool { return g.UUID == s.UUID }) {
				s.Settle, s.SettleFor = p.now.Add(m.Settles), r.ID
			}
		}
	}
}

// more reports whether any waiting job isn't held for good.
func (p *steps) more() bool {
	return slices.ContainsFunc(p.in.Waiting, func(j sched.Job) bool { return !j.Held })
}

// advance goes on to the next moment at which something changes; false when nothing will.
func (p *steps) advance() bool {
	var next time.Time
	consider := func(t time.Time) {
		if t.After(p.now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for i := range p.in.Active {
		if end := p.in.Active[i].Ends; end.After(p.now) {
			consider(end)
		} else {
			next = p.now
		}
	}
	for i := range p.in.Waiting {
		j := &p.in.Waiting[i]
		consider(j.NotBefore)
		if j.Estimate > 0 { // when it may become urgent: by its own wait, or by that of any other
			consider(j.QueueTime.Add(10 * j.Estimate))
			for k := range p.in.Waiting {
				s := j.Estimate.Seconds()
				consider(p.in.Waiting[k].QueueTime.Add(time.Duration(s*s/6*1e9) + 2))
				consider(p.in.Waiting[k].QueueTime.Add(time.Hour))
			}
		}
	}
	for i := range p.in.Machines {
		for k := range p.in.Machines[i].Seen {
			consider(p.in.Machines[i].Seen[k].Settle)
		}
	}
	if next.IsZero() {
		return false
	}
	p.now = next
	var still []sched.Running
	for _, r := range p.in.Active {
		if r.Ends.After(p.now) {
			still = append(still, r)
			continue
		}
		p.end(&r)
	}
	p.in.Active = still
	return true
}

// end makes room, meets dependencies, and queues what was preempted anew.
func (p *steps) end(r *sched.Running) {
	guess := p.guessed[r.ID]
	if len(r.Grant.GPUs) == 0 {
		p.taint[r.Grant.Machine] = p.taint[r.Grant.Machine] || guess
	}
	for _, ref := range r.Grant.GPUs {
		name := r.Grant.Machine + " " + ref.UUID
		p.taint[name] = guess || p.taint[name] && p.last[name].Equal(p.now)
		p.last[name] = p.now
	}
	if r.Stopping && r.StopFor != 0 && !r.Leaving {
		p.requeue(r)
		return
	}
	for i := range p.in.Waiting {
		j := &p.in.Waiting[i]
		k := slices.IndexFunc(j.After, func(d pasar.Dependency) bool { return d.Job == r.ID && d.Met(pasar.Completed) })
		if k >= 0 {
			j.After = slices.DeleteFunc(slices.Clone(j.After), func(d pasar.Dependency) bool { return d.Job == r.ID && d.Met(pasar.Completed) })
			p.met[j.ID] = p.met[j.ID] || guess
		}
	}
}

// requeue is what becomes of a preempted job. It is taken to have queued when it started, which is
// later than it did.
func (p *steps) requeue(r *sched.Running) {
	j := sched.Job{ID: r.ID, Bid: r.Bid, QueueTime: r.Started, Claim: r.Grant.Claim, Group: r.Group}
	if r.Estimate > 0 {
		j.Estimate = max(r.Estimate-p.now.Sub(r.Started), 0)
		if lost := p.now.Sub(r.SafeSince); !r.SafeSince.IsZero() && lost > 0 {
			j.Estimate += lost
		}
	}
	p.in.Waiting = append(p.in.Waiting, j)
	p.out.Jobs = slices.DeleteFunc(p.out.Jobs, func(f sched.Forecast) bool { return f.ID == r.ID })
}

// rests reports whether a grant is of what a job with a guessed end gave up.
func (p *steps) rests(grant *pasar.Grant) bool {
	if len(grant.GPUs) == 0 {
		return p.taint[grant.Machine]
	}
	return slices.ContainsFunc(grant.GPUs, func(ref pasar.GPURef) bool { return p.taint[grant.Machine+" "+ref.UUID] })
}
