package sched

import (
	"slices"
	"time"

	"pasar"
)

// A lookahead is a projection being made: one pass after the other over the same books, which is what makes it
// affordable. That it comes to what a fresh Decide at each of those moments would, a test holds.
type lookahead struct {
	*pass
	dues    []time.Duration         // when jobs are due, rising
	after   map[pasar.JobID][]int32 // jobs that wait for a job's good end
	place   []int32                 // of each job in the queue; gone: -1
	guessed map[pasar.JobID]bool    // jobs whose end, or that of one before them, is a guess
	taint   map[*machine]*taint
	running map[pasar.JobID]int // forecasts of jobs that run, for those that are preempted
	dead    int                 // started jobs that are still in the queue
	out     Projection
}

// A taint says what was last given up by a job whose end was a guess.
type taint struct {
	gpus   []bool
	last   []time.Duration // when each GPU was given up; of jobs that end together one with a guessed end counts
	places bool            // for jobs without a GPU: at any time
}

func newLookahead(in *Input, now time.Time) *lookahead {
	p := &lookahead{pass: newPass(in, now), guessed: map[pasar.JobID]bool{}, taint: map[*machine]*taint{}, running: map[pasar.JobID]int{}}
	for _, m := range p.machines {
		p.taint[m] = &taint{gpus: make([]bool, len(m.gpus)), last: make([]time.Duration, len(m.gpus))}
	}
	for i := range p.acts {
		a := &p.acts[i]
		f := Forecast{ID: a.ID, Start: a.Started, Machine: a.Grant.Machine, GPUs: a.Grant.GPUs}
		if !a.guess {
			f.Finish = p.time(a.end)
		}
		p.guessed[a.ID] = a.guess
		p.running[a.ID] = len(p.out.Jobs)
		p.out.Jobs = append(p.out.Jobs, f)
	}
	p.place = make([]int32, len(p.queue))
	for i := range p.queue {
		p.note(i)
	}
	slices.Sort(p.dues)
	return p
}

// note files what a job waits for besides room.
func (p *lookahead) note(i int) {
	e := &p.queue[i]
	p.place[e.job] = int32(i)
	if e.due > p.at {
		p.dues = append(p.dues, e.due)
	}
	for _, d := range p.jobs[e.job].After {
		if p.after == nil {
			p.after = map[pasar.JobID][]int32{}
		}
		if d.Met(pasar.Completed) {
			p.after[d.Job] = append(p.after[d.Job], e.job)
		}
	}
}

// step makes one pass and notes what comes of it.
func (p *lookahead) step(first bool) {
	p.decide()
	for i := range p.starts {
		s := &p.starts[i]
		e := &p.queue[s.pos]
		a := p.act(s.pos)
		f := Forecast{ID: e.id, Start: p.time(p.at), Machine: s.grant.Machine, GPUs: s.grant.GPUs, Guess: p.guessed[e.id] || p.rests(a)}
		if !a.guess {
			f.Finish = p.time(a.end)
		}
		if a.guess || f.Guess {
			p.guessed[e.id] = true
		}
		p.out.Jobs = append(p.out.Jobs, f)
		p.place[e.job] = -1
	}
	p.dead += len(p.starts)
	p.free -= len(p.starts)
	if first {
		p.out.Stops = p.stops
		for _, s := range p.stops {
			delete(p.guessed, s.ID)
		}
	}
	p.settleDown()
}

// act is what a job that has just started holds.
func (p *lookahead) act(pos int) *act {
	return &p.acts[slices.IndexFunc(p.acts, func(a act) bool { return a.pos == pos })]
}

// settleDown makes what the pass did the state that the next one finds: what has started runs, and nothing is
// reserved or promised but to those that jobs were stopped for.
func (p *lookahead) settleDown() {
	promises := false
	for i := range p.acts {
		a := &p.acts[i]
		if a.promise {
			promises = true
			a.m.base.drop(&a.holding)
			p.queue[a.pos].promised = p.preempts || p.queue[a.pos].promised
			p.anyPromised = true
			p.unbecome(a.pos)
		}
		a.pos, a.booked = -1, 0
	}
	if promises {
		p.acts = slices.DeleteFunc(p.acts, func(a act) bool { return a.promise })
	}
	for i := range p.booked {
		p.unbecome(p.booked[i].pos)
	}
	p.preempts = false
	if p.dead > 16+len(p.queue)/8 {
		p.compact()
	}
}

func (p *lookahead) unbecome(pos int) {
	e := &p.queue[pos]
	if e.state = waits; e.group >= 0 {
		p.groups[e.group]--
	}
}

func (p *lookahead) compact() {
	n := 0
	for i := range p.queue {
		if e := &p.queue[i]; e.state != started {
			if n < i {
				p.queue[n] = *e
			}
			p.place[e.job] = int32(n)
			n++
		}
	}
	p.queue, p.dead = p.queue[:n], 0
	p.regist()
}

// more reports whether any waiting job isn't held for good.
func (p *lookahead) more() bool { return p.free > 0 }

// advance goes on to the next moment at which something changes; false when nothing will.
func (p *lookahead) advance() bool {
	next := forever
	if len(p.acts) > 0 {
		next = max(p.acts[0].end, p.at)
	}
	for len(p.dues) > 0 && p.dues[0] <= p.at {
		p.dues = p.dues[1:]
	}
	if len(p.dues) > 0 {
		next = min(next, p.dues[0])
	}
	for _, m := range p.machines {
		for k := range m.gpus {
			if at := m.gpus[k].settle; at > p.at {
				next = min(next, at)
			}
		}
	}
	next = min(next, p.nextUrgent())
	if next == forever {
		return false
	}
	p.at = next
	n := 0
	for n < len(p.acts) && p.acts[n].end <= p.at {
		n++
	}
	ended := p.acts[:n]
	p.acts = p.acts[n:]
	for i := range ended {
		p.end(&ended[i])
	}
	return true
}

// end makes room, meets dependencies, and queues what was preempted anew.
func (p *lookahead) end(a *act) {
	guess := p.guessed[a.ID]
	if a.m != nil {
		a.m.base.drop(&a.holding)
		t := p.taint[a.m]
		for _, k := range a.gpus {
			t.gpus[k], t.last[k] = guess || t.gpus[k] && t.last[k] == p.at, p.at
		}
		t.places = t.places || guess && a.core
	}
	if a.Group != 0 {
		if no, ok := p.groupNos[a.Group]; ok {
			p.groups[no]--
		}
	}
	if a.Stopping && a.StopFor != 0 && !a.Leaving {
		p.requeue(&a.Running)
		return
	}
	for _, job := range p.after[a.ID] {
		if at := p.place[job]; at >= 0 {
			e := &p.queue[at]
			e.after--
			if guess {
				p.guessed[e.id] = true
			}
		}
	}
}

// requeue is what becomes of a preempted job. It is taken to have queued when it started, which is
// later than it did.
func (p *lookahead) requeue(r *Running) {
	j := Job{ID: r.ID, Bid: r.Bid, QueueTime: r.Started, Claim: r.Grant.Claim, Group: r.Group}
	if r.Estimate > 0 {
		j.Estimate = max(r.Estimate-p.time(p.at).Sub(r.Started), 0)
		if lost := p.time(p.at).Sub(r.SafeSince); !r.SafeSince.IsZero() && lost > 0 {
			j.Estimate += lost
		}
	}
	if at, ok := p.running[r.ID]; ok {
		p.out.Jobs[at].ID = 0 // dropped at the end
		delete(p.running, r.ID)
	}
	delete(p.guessed, r.ID)
	p.compact()
	p.jobs = append(slices.Clip(p.jobs), j)
	p.place = append(p.place, 0)
	p.free++
	e := p.entryOf(len(p.jobs) - 1)
	at, _ := slices.BinarySearchFunc(p.queue, e, func(a, b entry) int { return compare(&p.jobs[a.job], &p.jobs[b.job]) })
	p.queue = slices.Insert(p.queue, at, e)
	p.compact()
}

// rests reports whether a job has started on what one with a guessed end gave up.
func (p *lookahead) rests(a *act) bool {
	t := p.taint[a.m]
	if len(a.gpus) == 0 {
		return t.places
	}
	return slices.ContainsFunc(a.gpus, func(k int) bool { return t.gpus[k] })
}
