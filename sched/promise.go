package sched

import (
	"slices"

	"pasar"
)

// keepPromises sets aside what jobs were stopped for, before anything else may have it: nobody may start
// there but the job that they stop for, however high it bids, until that has started. The promise is void
// when that job no longer waits, or may not start.
func (p *pass) keepPromises() {
	stopping := false
	for i := range p.acts {
		stopping = stopping || p.acts[i].StopFor != 0 && p.acts[i].pos < 0
	}
	if !stopping && !p.anyPromised {
		return
	}
	for pos := range p.queue {
		e := &p.queue[pos]
		if e.state != waits || p.gated(e) || !e.promised && !p.stopsFor(e.id) {
			continue
		}
		if !p.tryStart(pos) {
			p.promiseFreed(pos)
		}
	}
}

func (p *pass) stopsFor(id pasar.JobID) bool {
	return slices.ContainsFunc(p.acts, func(a act) bool { return a.pos < 0 && a.StopFor == id })
}

// promiseFreed promises a job the room that jobs on their way out will leave, if that is enough.
func (p *pass) promiseFreed(pos int) bool {
	e := &p.queue[pos]
	for i := range p.machines {
		if v := p.making(e, i); v != nil && v.out && v.enough(nil) {
			p.promise(pos, placement{i, p.picked})
			return true
		}
	}
	return false
}

// promise gives a job room that is being made, so that nobody else has it.
func (p *pass) promise(pos int, at placement) {
	e := &p.queue[pos]
	a := act{holding: p.holding(e, at), pos: pos, promise: true, guess: e.est == forever}
	a.ID, a.Bid = e.id, e.bid
	a.end = until(p.at+soon, e.est)
	if a.guess {
		a.end = p.at + soon + atLeast
	}
	p.occupy(a)
	p.become(pos, owed)
}
