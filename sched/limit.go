package sched

import (
	"slices"
	"time"

	"pasar"
)

// A gist is what tells of most waiting jobs that they can't start, in half a cache line: a pass goes over all
// of them, and over little else.
type gist struct {
	need pasar.Bytes // what it needs of its slot
	ram  pasar.Bytes
	est  time.Duration
	slot uint16
	odd  bool // it takes a closer look: it may not start, may preempt, has started, …
	key  int32
}

// Slots of a limit: one for jobs without a GPU, then for slices on 1, 2, … GPUs, then for 1, 2, … whole ones. What
// more GPUs than a machine has would need is in a slot that has nothing.
const noGPUSlot = 0

// A limit is the most that any machine has left, by slot.
type limit struct {
	slots []pasar.Bytes
	host  pasar.Bytes
}

// gistOf is the gist of a job.
func (p *pass) gistOf(e *entry) gist {
	g := gist{need: 1, ram: e.ram, est: e.est, key: e.key}
	n := min(int(e.gpus), p.widest+1)
	switch e.kind {
	case slice:
		g.need, g.slot = e.size, uint16(n)
	case whole:
		g.slot = uint16(p.widest + 1 + n)
	}
	g.odd = e.held || e.due > 0 || e.after > 0 || e.group >= 0 || e.preempt || e.state != waits
	return g
}

// regist makes the gists of the queue, and notes where bids change.
func (p *pass) regist() {
	p.gists, p.ranges, p.free = p.gists[:0], p.ranges[:0], 0
	for i := range p.queue {
		e := &p.queue[i]
		p.gists = append(p.gists, p.gistOf(e))
		if i > 0 && e.bid != p.queue[i-1].bid {
			p.ranges = append(p.ranges, i)
		}
		if e.state != started && !e.held {
			p.free++
		}
	}
	p.ranges = append(p.ranges, len(p.queue))
}

// limit works out the limits for jobs that overlap no reservation, one, and so on.
func (p *pass) limit() {
	p.bounds = p.bounds[:0]
	for i := range p.booked {
		p.bounds = append(p.bounds, p.booked[i].clear-p.at)
	}
	slices.Sort(p.bounds)
	for len(p.limits) <= len(p.bounds) {
		p.limits = append(p.limits, limit{})
	}
	p.limits = p.limits[:len(p.bounds)+1]
	for n := range p.limits {
		l := &p.limits[n]
		l.clear(p.widest)
		for _, m := range p.machines {
			if !m.open() {
				continue
			}
			est := time.Duration(0) // a job that overlaps n reservations runs longer than until the n-th
			if n > 0 {
				est = until(p.bounds[n-1], 1)
			}
			l.raise(p, m, m.leftFor(p.at, est))
		}
	}
}

func (l *limit) clear(widest int) {
	n := 3 + 2*widest
	if cap(l.slots) < n {
		l.slots = make([]pasar.Bytes, n)
	}
	l.slots = l.slots[:n]
	clear(l.slots)
	l.host = 0
}

// raise makes a limit as high as what one machine has left.
func (l *limit) raise(p *pass, m *machine, left *level) {
	rooms, empty := p.rooms[:0], 0
	for k := range m.gpus {
		if m.gpus[k].unhealthy != "" {
			continue
		}
		if left.tenants[k] <= 0 {
			empty++
			l.slots[p.widest+1+empty] = 1
		}
		// Insertion, since there are few.
		room := left.room(m, k)
		at := len(rooms)
		rooms = append(rooms, 0)
		for ; at > 0 && rooms[at-1] < room; at-- {
			rooms[at] = rooms[at-1]
		}
		rooms[at] = room
	}
	p.rooms = rooms
	for i, room := range rooms {
		l.slots[i+1] = max(l.slots[i+1], room)
	}
	if left.cores > 0 {
		l.slots[noGPUSlot] = 1
	}
	l.host = max(l.host, left.host)
}

// allows is false of a job that surely doesn't fit.
func (l *limit) allows(g *gist) bool {
	return g.need <= l.slots[g.slot] && (g.ram <= l.host || g.ram == 0)
}

// mayFit is false of a job that surely can't start now.
func (p *pass) mayFit(pos int) bool {
	g := &p.gists[pos]
	n := 0
	for n < len(p.bounds) && p.bounds[n] < g.est {
		n++
	}
	return p.limits[n].allows(g)
}

// skip goes on from one place in the queue up to another, past jobs that surely can't start now.
func (p *pass) skip(from, to int) int {
	if len(p.bounds) != 1 { // the usual case is one reservation, and worth its own loop
		for from < to && !p.gists[from].odd && !p.mayFit(from) {
			from++
		}
		return from
	}
	bound, short, long := p.bounds[0], &p.limits[0], &p.limits[1]
	for i := range p.gists[from:to] {
		g := &p.gists[from+i]
		l := short
		if g.est > bound {
			l = long
		}
		if g.odd || g.need <= l.slots[g.slot] && (g.ram <= l.host || g.ram == 0) {
			return from + i
		}
	}
	return to
}

// anything reports whether anything at all may still start.
func (p *pass) anything() bool {
	l := &p.limits[0]
	return l.slots[p.widest+2] > 0 || l.slots[noGPUSlot] > 0 && p.cpuJobs || p.least > 0 && l.slots[1] >= p.least
}
