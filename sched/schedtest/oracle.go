package schedtest

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"testing"
	"time"

	"pasar"
	"pasar/sched"
)

// Oracle finds out the slow way whether a plan is what it must be: it tries every set of GPUs of every
// machine, every moment at which anything changes and every set of jobs that might be stopped, and adds up
// who has what anew each time. It takes nothing from the scheduler but the order of jobs.
func Oracle(t testing.TB, in sched.Input, now time.Time, plan sched.Plan) {
	t.Helper()
	o := &oracle{TB: t, model: newModel(in, now), plan: plan, started: map[pasar.JobID]bool{}, reasons: map[pasar.JobID]pasar.Reason{}}
	o.queue = slices.Clone(in.Waiting)
	slices.SortFunc(o.queue, sched.Compare)
	for id, reason := range plan.Reasons.All() {
		o.reasons[id] = reason
		o.several = o.several || o.held && reason.Why == pasar.WaitPreempting
		o.held = o.held || reason.Why == pasar.WaitPreempting
	}
	for _, s := range plan.Starts {
		o.started[s.ID] = true
	}
	o.promised()
	o.eachStartFits()
	o.eachReservationIsTheEarliest()
	o.nothingElseCouldStart()
	o.stopsAreNeeded()
}

type oracle struct {
	testing.TB
	*model
	plan    sched.Plan
	queue   []sched.Job
	started map[pasar.JobID]bool
	reasons map[pasar.JobID]pasar.Reason
	owed    []sched.Job // jobs that were promised room before the pass
	held    bool        // some job is promised room, where is not for the plan to say: then less is checked
	several bool        // more than one is
}

func (o *oracle) job(id pasar.JobID) *sched.Job {
	return &o.queue[slices.IndexFunc(o.queue, func(j sched.Job) bool { return j.ID == id })]
}

// leaving reports whether a running job is on its way out.
func leaving(r *sched.Running) bool { return r.Leaving || r.Stopping && !r.Patient }

// without is the model once some running jobs are gone, and others if the plan's stops count.
func (w *model) without(gone func(r *sched.Running) bool) *model {
	v := &model{in: w.in, now: w.now, all: w.all}
	for _, s := range w.spans {
		i := slices.IndexFunc(w.in.Active, func(r sched.Running) bool { return r.ID == s.id })
		if s.kind != runs || i < 0 || !gone(&w.in.Active[i]) {
			v.spans = append(v.spans, s)
		}
	}
	return v
}

// gated reports whether a job may not start at all, given who runs; not counting its group.
func (o *oracle) gated(j *sched.Job) bool {
	return j.Held || len(j.After) > 0 || !j.NotBefore.IsZero() && j.NotBefore.After(o.now)
}

// full reports whether as many of a job's group run as may.
func (o *oracle) full(j *sched.Job) bool {
	n := 0
	for _, r := range o.in.Active {
		if r.Group == j.Group {
			n++
		}
	}
	for _, s := range o.plan.Starts {
		if o.job(s.ID).Group == j.Group {
			n++
		}
	}
	for _, other := range o.queue {
		reserved := slices.ContainsFunc(o.plan.Reservations, func(r sched.Reservation) bool { return r.ID == other.ID })
		if other.Group == j.Group && other.ID != j.ID && (reserved || o.reasons[other.ID].Why == pasar.WaitPreempting) {
			n++
		}
	}
	return j.Group != 0 && j.GroupMax > 0 && n >= j.GroupMax
}

// promised finds the jobs that room was promised to, and holds that they can still have it after the plan.
func (o *oracle) promised() {
	for _, j := range o.queue {
		stops := slices.ContainsFunc(o.in.Active, func(r sched.Running) bool { return r.StopFor == j.ID })
		if o.gated(&j) || !stops && !j.Promised || o.started[j.ID] {
			continue
		}
		out := o.without(leaving)
		if !out.anywhere(&j, 0, true) {
			continue
		}
		if slices.ContainsFunc(o.owed, func(other sched.Job) bool { return true }) {
			continue // two of them may be in each other's way: only the first is looked at
		}
		o.owed = append(o.owed, j)
		for _, s := range o.plan.Starts {
			if s := o.job(s.ID); !s.Promised && !slices.ContainsFunc(o.in.Active, func(r sched.Running) bool { return r.StopFor == s.ID }) {
				start := o.plan.Starts[slices.IndexFunc(o.plan.Starts, func(x sched.Start) bool { return x.ID == s.ID })]
				out.add(s.ID, start.Grant, 0, never, starts, nil)
			}
		}
		// Its group may be full by now, and then the promise is void.
		if !out.anywhere(&j, 0, true) && !o.full(&j) {
			o.Errorf("job %d was promised room, and it was given away", j.ID)
		}
	}
}

// eachStartFits goes through the starts in their order.
func (o *oracle) eachStartFits() {
	for n, s := range o.plan.Starts {
		j := o.job(s.ID)
		i := slices.IndexFunc(o.in.Machines, func(m sched.Machine) bool { return m.Inventory.Machine == s.Grant.Machine })
		if o.gated(j) {
			o.Errorf("job %d may not start", j.ID)
		}
		members := 0
		for _, r := range o.in.Active {
			if r.Group == j.Group {
				members++
			}
		}
		for _, before := range o.plan.Starts[:n] {
			if o.job(before.ID).Group == j.Group {
				members++
			}
		}
		if j.Group != 0 && j.GroupMax > 0 && members >= j.GroupMax {
			o.Errorf("job %d is one too many of group %d", j.ID, j.Group)
		}
		if i < 0 || !o.fits(j, i, o.setOf(&o.in.Machines[i], s.Grant.GPUs), 0, false) {
			o.Errorf("job %d does not fit at %v", j.ID, s.Grant)
			continue
		}
		o.bestFit(j, i, s.Grant)
		end := 10 * time.Minute // what has no estimate has to fit for ever, but counts as any that runs from then on
		if j.Estimate > 0 {
			end = j.Estimate
		}
		o.add(j.ID, s.Grant, 0, end, starts, nil)
		o.spans[len(o.spans)-1].guess = j.Estimate <= 0
	}
}

// bestFit holds that a slice of one GPU goes where it leaves least free.
func (o *oracle) bestFit(j *sched.Job, i int, grant pasar.Grant) {
	c := j.Claim
	if c.Kind != pasar.Slice || c.GPUs != 1 || len(o.plan.Reservations) > 0 || o.held {
		return
	}
	left := func(i, k int) string {
		free, onIt := o.freeAt(i, k, 0)
		if host, _ := o.hostAt(i, 0); sharesHost(&o.in.Machines[i], k) {
			free = min(free, host)
		}
		rank := slices.Index(o.in.Machines[i].Prefer, o.in.Machines[i].GPUs[k].UUID)
		if rank < 0 {
			rank = len(o.in.Machines[i].Prefer)
		}
		return fmt.Sprintf("%d %020d %04d %04d %04d", rank, free, onIt, i, o.in.Machines[i].GPUs[k].Index)
	}
	had := left(i, bits.TrailingZeros(o.setOf(&o.in.Machines[i], grant.GPUs)))
	for m := range o.in.Machines {
		for k := range o.in.Machines[m].GPUs {
			if o.fits(j, m, 1<<k, 0, false) && left(m, k) < had {
				o.Errorf("job %d starts at %v, GPU %d of machine %d would be the better fit", j.ID, grant, k, m)
			}
		}
	}
}

// place is where a job may run, as one word.
func (o *oracle) place(j *sched.Job) string {
	s := fmt.Sprint(j.Claim.Kind == pasar.NoGPU)
	for i := range o.in.Machines {
		m := &o.in.Machines[i]
		on := j.Machine == "" || j.Machine == m.Inventory.Machine
		for k := range m.GPUs {
			s += fmt.Sprint(on, j.Claim.Kind == pasar.NoGPU || allowed(m.GPUs[k], j.Claim))
		}
		s += fmt.Sprint(on)
	}
	if !slices.ContainsFunc(o.in.Machines, func(m sched.Machine) bool { return j.Machine == "" || j.Machine == m.Inventory.Machine }) {
		s += j.Machine
	}
	return s
}

// eachReservationIsTheEarliest holds that nobody waits longer for a reservation than running jobs, the jobs
// before it and other reservations make it, and that no start stands in its way.
func (o *oracle) eachReservationIsTheEarliest() {
	places := map[string]bool{}
	plain := slices.Clone(o.spans)
	v := &model{in: o.in, now: o.now, all: o.all}
	for _, r := range o.plan.Reservations {
		j := o.job(r.ID)
		at := max(r.At.Sub(o.now), 1)
		if o.started[j.ID] || o.gated(j) || r.At.Before(o.now) {
			o.Errorf("job %d has a reservation for %v", j.ID, r.At)
		}
		if places[o.place(j)] {
			o.Errorf("job %d has a second reservation in its place", j.ID)
		}
		places[o.place(j)] = true
		// Of the starts only those that come before it count: with a higher bid, or earlier in the order and
		// not behind a reservation of their own place.
		v.spans = v.spans[:0]
		for _, s := range plain {
			if s.kind == starts && !o.precedes(o.job(s.id), j) {
				continue
			}
			v.spans = append(v.spans, s)
		}
		for _, s := range o.spans {
			if s.kind == reserves {
				v.spans = append(v.spans, s)
			}
		}
		first := never
		if !o.held && !o.promisedStarts() {
			first = v.earliest(j, 0)
			if late := (&model{in: o.in, now: o.now, all: o.all, spans: o.putOff(v.spans)}); first == 0 && !late.anywhere(j, 0, false) {
				first = v.earliest(j, 1) // it may not be let in
			}
			// Beside a reservation that rests on a guess who isn't let in now is not let in a moment later either,
			// though by the estimates alone it might.
			guessed := slices.ContainsFunc(o.spans, func(s span) bool { return s.kind == reserves && s.clear < s.from })
			if first != at && !(guessed && at > first) {
				o.Errorf("job %d is reserved for %v from now, could be for %v", j.ID, at, first)
			}
		}
		// What the starts leave at that moment must be enough: a job without an estimate may never end.
		i := slices.IndexFunc(o.in.Machines, func(m sched.Machine) bool { return m.Inventory.Machine == r.Machine })
		if grant := (pasar.Grant{Machine: r.Machine, GPUs: r.GPUs, Claim: j.Claim}); true {
			set := o.setOf(&o.in.Machines[i], r.GPUs)
			clear := o.clearance(i, at, j)
			later := &model{in: o.in, now: o.now, all: o.all}
			for _, s := range o.spans {
				if s.kind == starts && s.to > clear && s.to <= at && !o.precedes(o.job(s.id), j) {
					s.to, s.late = at+1, true // let in before it, and not gone when it is to be clear
				}
				later.spans = append(later.spans, s)
			}
			gone := func(r *sched.Running) bool {
				return slices.ContainsFunc(o.plan.Stops, func(s sched.Stop) bool { return s.ID == r.ID }) && at >= 10*time.Second
			}
			if !later.without(gone).fits(j, i, set, at, false) {
				o.Errorf("job %d: the reservation for %v from now on %v does not hold", j.ID, at, r.GPUs)
			}
			end := at + 10*time.Minute
			if j.Estimate > 0 {
				end = at + j.Estimate
			}
			o.add(j.ID, grant, at, end, reserves, nil)
			o.spans[len(o.spans)-1].clear = clear
		}
	}
}

func (o *oracle) promisedStarts() bool {
	return slices.ContainsFunc(o.plan.Starts, func(s sched.Start) bool {
		return o.job(s.ID).Promised || slices.ContainsFunc(o.in.Active, func(r sched.Running) bool { return r.StopFor == s.ID })
	})
}

// putOff lets those who were let in before a reservation, and aren't gone when it is to be clear, stay until it
// begins: they are in the way of whoever else is to be let in.
func (o *oracle) putOff(spans []span) []span {
	spans = slices.Clone(spans)
	for k := range spans {
		for _, r := range spans {
			if s := &spans[k]; s.kind == starts && r.kind == reserves && s.to > r.clear && s.to <= r.from && !o.precedes(o.job(s.id), o.job(r.id)) {
				s.to, s.late = r.from+1, true
			}
		}
	}
	return spans
}

// clearance is when who is let in before a reservation must be gone: a quarter of the way to it when its start
// hangs on somebody's end that is a guess.
func (o *oracle) clearance(m int, at time.Duration, j *sched.Job) time.Duration {
	for _, s := range o.spans {
		if s.m == m && s.guess && s.to <= at && (s.kind == runs || o.precedes(o.job(s.id), j)) {
			return at / 4
		}
	}
	return at
}

// urgent reports whether a job goes before its elders with the same bid: it has waited for ten times what it
// takes, and that is at most the geometric mean of ten minutes and a hundredth of the longest wait in its place, which
// is an hour or more.
func (o *oracle) urgent(j *sched.Job) bool {
	longest := time.Duration(0)
	for _, q := range o.queue {
		before := func(id pasar.JobID) bool { return o.job(id).Bid > q.Bid }
		n := 0
		for _, r := range o.in.Active {
			if r.Group == q.Group {
				n++
			}
		}
		for _, other := range o.queue {
			gets := o.started[other.ID] || o.reasons[other.ID].Why == pasar.WaitPreempting ||
				slices.ContainsFunc(o.plan.Reservations, func(r sched.Reservation) bool { return r.ID == other.ID })
			if other.Group == q.Group && gets && before(other.ID) {
				n++
			}
		}
		full := q.Group != 0 && q.GroupMax > 0 && n >= q.GroupMax
		if q.Bid == j.Bid && o.place(&q) == o.place(j) && !o.gated(&q) && !full {
			longest = max(longest, o.now.Sub(q.QueueTime))
		}
	}
	waited := o.now.Sub(j.QueueTime)
	return longest >= time.Hour && j.Estimate > 0 && j.Estimate <= waited/10 && j.Estimate.Seconds() <= math.Sqrt(600*0.01*longest.Seconds())
}

// precedes reports whether a start was decided before a job was reserved.
func (o *oracle) precedes(s, j *sched.Job) bool {
	if s.Promised || slices.ContainsFunc(o.in.Active, func(r sched.Running) bool { return r.StopFor == s.ID }) {
		return true // what it was promised came before all
	}
	if s.Bid == j.Bid && o.urgent(s) {
		return true
	}
	if s.Bid != j.Bid || sched.Compare(*s, *j) > 0 {
		return s.Bid > j.Bid
	}
	for _, r := range o.plan.Reservations {
		if b := o.job(r.ID); o.place(b) == o.place(s) && sched.Compare(*b, *s) < 0 {
			return false
		}
	}
	return true
}

// earliest tries every moment at which something changes, from some moment on.
func (w *model) earliest(j *sched.Job, from time.Duration) time.Duration {
	times := []time.Duration{0}
	for _, s := range w.spans {
		times = append(times, s.from, s.to)
		if s.slice {
			times = append(times, s.from+w.in.Machines[s.m].Settles)
		}
	}
	for i := range w.in.Machines {
		for k := range w.in.Machines[i].GPUs {
			if seen := seenOf(&w.in.Machines[i], k); seen != nil && seen.Settle.After(w.now) && j.Claim.Kind == pasar.Slice {
				times = append(times, seen.Settle.Sub(w.now))
			}
		}
	}
	slices.Sort(times)
	for _, at := range slices.Compact(times) {
		if at < never && at >= from && w.anywhere(j, at, false) {
			return at
		}
	}
	return never
}

// nothingElseCouldStart holds that every job that waits has to, and that its reason says so.
func (o *oracle) nothingElseCouldStart() {
	o.spans = o.putOff(o.spans)
	for _, j := range o.queue {
		if o.started[j.ID] {
			continue
		}
		r := o.reasons[j.ID]
		var want pasar.WaitWhy
		switch {
		case j.Held:
			want = pasar.WaitHeld
		case !j.NotBefore.IsZero() && j.NotBefore.After(o.now):
			if want = pasar.WaitBegin; j.Retry {
				want = pasar.WaitRetry
			}
		case len(j.After) > 0:
			want = pasar.WaitAfter
		case o.full(&j) && r.Start == nil && r.Why != pasar.WaitPreempting:
			want = pasar.WaitGroup
		}
		if want != "" || r.Why == pasar.WaitHeld || r.Why == pasar.WaitBegin || r.Why == pasar.WaitRetry || r.Why == pasar.WaitAfter || r.Why == pasar.WaitGroup {
			if r.Why != want {
				o.Errorf("job %d: reason %q, want %q", j.ID, r.Why, want)
			}
			continue
		}
		reserved := slices.ContainsFunc(o.plan.Reservations, func(r sched.Reservation) bool { return r.ID == j.ID })
		if r.Why == pasar.WaitPreempting {
			continue
		}
		if !o.held && !reserved && o.anywhere(&j, 0, false) {
			o.Errorf("job %d could start and waits (%s)", j.ID, r.Sentence())
		}
		if !o.held && !o.promisedStarts() && o.urgent(&j) {
			above := &model{in: o.in, now: o.now, all: o.all}
			for _, s := range o.spans {
				if s.kind != reserves || o.job(s.id).Bid > j.Bid {
					above.spans = append(above.spans, s)
				}
			}
			if above.anywhere(&j, 0, false) {
				o.Errorf("job %d is urgent, could start and waits (%s)", j.ID, r.Sentence())
			}
		}
		if len(o.plan.Reservations) < 16 && !reserved && !o.held {
			first := !slices.ContainsFunc(o.plan.Reservations, func(r sched.Reservation) bool { return o.place(o.job(r.ID)) == o.place(&j) })
			if first && o.earliest(&j, 0) < never {
				o.Errorf("job %d is the first in its place and has no reservation (%s)", j.ID, r.Sentence())
			}
		}
		free := newModel(o.in, o.now)
		for _, s := range o.spans {
			if s.kind == starts {
				free.spans = append(free.spans, s)
			}
		}
		alone := j
		alone.Estimate = 1
		if turn := r.Why == pasar.WaitTurn; turn != free.anywhere(&alone, 0, false) {
			o.Errorf("job %d: reason %q, but whether there is room for it is %v", j.ID, r.Why, !turn)
		}
		empty := newModel(o.in, o.now).without(func(*sched.Running) bool { return true })
		ever := empty.anywhere(&alone, never-1, true)
		if (r.Why == pasar.WaitUnhealthy || r.Why == pasar.WaitMachine) && ever {
			o.Errorf("job %d: reason %q, but it would fit if nothing ran", j.ID, r.Why)
		}
		if !ever && r.Why != pasar.WaitUnhealthy && r.Why != pasar.WaitMachine && r.Why != pasar.WaitStranger {
			o.Errorf("job %d: reason %q, but nothing that runs is in its way", j.ID, r.Why)
		}
	}
}
