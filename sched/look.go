package sched

import (
	"slices"
	"time"

	"pasar"
)

// look works out what a machine has left now and at the start of each reservation on it. A reserved job
// counts at its own start and, until its end, at those of others.
func (m *machine) look(p *pass) {
	n := 1 + len(m.booked)
	for len(m.instants) < n {
		m.instants = append(m.instants, level{})
		m.views = append(m.views, level{})
	}
	m.instants, m.views = m.instants[:n], m.views[:n]
	m.instants[0].set(&m.base)
	for i := range m.booked {
		m.leftAt(&m.instants[i+1], &m.booked[i], p.acts, true)
	}
	m.view()
}

// leftAt makes l what the machine will have left at the start of a reservation. A job that starts without an estimate is let in
// only where it may stay for ever, but once in it counts as any that runs, so that the next pass finds the same.
// For who is to be let in, who was must leave the reservation its room.
func (m *machine) leftAt(l *level, r *reservation, acts []act, toLetIn bool) {
	l.set(&m.base)
	for k := range acts {
		a := &acts[k]
		if a.end > r.at {
			break // they are in the order of their ends
		}
		if a.m == m && !(toLetIn && a.outlasts(r)) {
			l.drop(&a.holding)
		}
	}
	m.book(l, r.at)
}

// outlasts reports whether a job has to leave a reservation its room: one that is let in before it must be
// gone when that is to be clear.
func (a *act) outlasts(r *reservation) bool {
	return a.end > r.at || a.booked > r.no && a.end > r.clear
}

// book charges the reserved jobs that will run at a moment.
func (m *machine) book(l *level, at time.Duration) {
	for i := range m.booked {
		if r := &m.booked[i]; r.at <= at && at < r.till {
			l.take(&r.holding)
		}
	}
}

// view makes the least of the instants up to each.
func (m *machine) view() {
	m.views[0].set(&m.instants[0])
	for i := 1; i < len(m.instants); i++ {
		m.views[i].set(&m.views[i-1])
		m.views[i].lower(&m.instants[i])
	}
}

// leftFor is what the machine has left for a job that starts now and runs so long, if no reservation is
// to move: the least of what is left now and at the start of each reservation that it overlaps.
func (m *machine) leftFor(at, est time.Duration) *level {
	n := 0
	for n < len(m.booked) && m.booked[n].clear < until(at, est) {
		n++
	}
	return &m.views[n]
}

// until is a span from at on, without wrapping around.
func until(at, span time.Duration) time.Duration {
	if span >= forever-at {
		return forever
	}
	return at + span
}

// tryStart starts a job if it fits now and no reservation moves.
func (p *pass) tryStart(pos int) bool {
	e := &p.queue[pos]
	if !p.mayFit(pos) {
		return false
	}
	at, ok := p.place(e, p.at, func(m *machine) *level { return m.leftFor(p.at, e.est) })
	if ok {
		p.start(pos, at)
	}
	return ok
}

// start starts a job.
func (p *pass) start(pos int, at placement) {
	e := &p.queue[pos]
	m := p.machines[at.m]
	j := &p.jobs[e.job]
	a := act{holding: p.holding(e, at), pos: pos, booked: len(p.booked)}
	grant := pasar.Grant{Machine: m.Inventory.Machine, Claim: j.Claim}
	if len(a.gpus) > 0 {
		grant.GPUs = make([]pasar.GPURef, len(a.gpus))
		for i, k := range a.gpus {
			grant.GPUs[i] = m.gpus[k].GPURef
		}
	}
	a.Running = Running{ID: j.ID, Bid: j.Bid, Grant: grant, Group: j.Group}
	a.end, a.guess = until(p.at, e.est), e.est == forever
	if a.guess {
		a.end = p.at + atLeast
	}
	p.occupy(a)
	p.become(pos, started)
	if e.kind == slice {
		for _, k := range a.gpus {
			if g := &m.gpus[k]; g.settles {
				g.settle, g.settleFor = min(p.at+m.Settles, a.end), e.id
			}
		}
	}
	p.starts = append(p.starts, begun{pos, grant})
}

// become notes what became of a job. Whoever is to start sooner or later counts for its group from now on, or
// others of the group could keep it from that.
func (p *pass) become(pos int, state progress) {
	e := &p.queue[pos]
	e.state, p.gists[pos].odd = state, true
	if e.group >= 0 {
		p.groups[e.group]++
	}
}

// occupy charges what a job gets from now on.
func (p *pass) occupy(a act) {
	m := a.m
	m.base.take(&a.holding)
	m.instants[0].take(&a.holding)
	for i := range m.booked {
		if a.outlasts(&m.booked[i]) {
			m.instants[i+1].take(&a.holding)
		}
	}
	m.view()
	i, _ := slices.BinarySearchFunc(p.acts, a, compareEnds)
	p.acts = slices.Insert(p.acts, i, a)
	p.limit()
}

// holding is what a job gets at a place.
func (p *pass) holding(e *entry, at placement) holding {
	m := p.machines[at.m]
	h := holding{m: m, core: e.kind == noGPU}
	if len(at.picked) > 0 {
		h.gpus, h.each = slices.Clone(at.picked), make([]pasar.Bytes, len(at.picked))
		slices.Sort(h.gpus)
	}
	var shared pasar.Bytes
	for i, k := range h.gpus {
		if h.each[i] = e.size; e.kind == whole {
			h.each[i] = max(m.gpus[k].total-m.gpus[k].strangers, 0)
		}
		if m.gpus[k].shared {
			shared += h.each[i]
		}
	}
	h.host = e.ram + shared
	if e.kind == whole {
		h.host = hostCharge(pasar.Whole, e.ram, shared)
	}
	return h
}
