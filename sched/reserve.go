package sched

import (
	"slices"
	"time"
)

const (
	maxTried  = 8  // jobs with one key that are looked at for a reservation in vain
	maxBooked = 16 // reservations in one pass; there are rarely more keys
)

// reserve gives a blocked job the earliest time and the GPUs at which running jobs are projected to have
// left enough room for it, beside the reservations of jobs before it. A job for which no end makes room
// gets none, so that it can't keep others from starting for ever.
func (p *pass) reserve(pos int) {
	e := &p.queue[pos]
	key := &p.keys[e.key]
	if key.tried >= maxTried || key.reserved >= perKey || len(p.booked) == maxBooked {
		return
	}
	var first reservation
	found := false
	for i := range p.machines {
		if !p.may(key, i) || !p.ever(e, i) {
			continue
		}
		if r, ok := p.earliest(e, i, first.at, found); ok {
			first, found = r, true
		}
	}
	if !found {
		if key.tried++; key.tried == maxTried {
			p.unbooked--
		}
		return
	}
	first.pos, first.till, first.slice = pos, until(first.at, e.est), e.kind == slice
	if e.est == forever {
		first.till = first.at + atLeast // as it will be taken to run once it has started
	}
	first.clear, first.no = p.clearance(&first), len(p.booked)
	if key.reserved++; key.reserved == perKey && key.tried < maxTried {
		p.unbooked--
	}
	p.become(pos, reserved)
	if p.booked = append(p.booked, first); len(p.booked) == maxBooked {
		p.unbooked = 0
	}
	m := first.m
	at, _ := slices.BinarySearchFunc(m.booked, first, func(a, b reservation) int {
		if a.clear <= b.clear {
			return -1
		}
		return 1
	})
	m.booked = slices.Insert(m.booked, at, first)
	m.look(p)
	p.limit()
}

// clearance is when jobs that are let in before a reservation must be gone. Where its start rests on a guess,
// running jobs may be gone much sooner, and what was let in would be in the way.
func (p *pass) clearance(r *reservation) time.Duration {
	for k := range p.acts {
		if a := &p.acts[k]; a.m == r.m && a.guess && a.end <= r.at && p.policy == PolicyPasar {
			return p.at + (r.at-p.at)/guessPart
		}
	}
	return r.at
}

// ever reports whether a job would fit on a machine if nothing ran there: what strangers hold and what is
// wrong with GPUs is taken to last.
func (p *pass) ever(e *entry, i int) bool {
	m := p.machines[i]
	l := &p.scratch
	l.resize(len(m.gpus))
	m.emptied(l)
	_, ok := p.fit(e, i, l, forever)
	return ok
}

// emptied makes l what the machine has without any job.
func (m *machine) emptied(l *level) {
	l.resize(len(m.gpus))
	l.host, l.cores = m.hostTotal, m.CPUJobs
	for k := range m.gpus {
		g := &m.gpus[k]
		l.free[k], l.gap[k], l.tenants[k] = g.total-g.strangers-g.missing, 0, 0
		if g.shared {
			l.host -= g.strangers
		}
	}
}

// earliest finds when a job fits on one machine for as long as it runs, before a moment if there is one
// to beat. Room appears only when jobs end, when a GPU has settled, and when a reserved job ends.
func (p *pass) earliest(e *entry, i int, before time.Duration, beat bool) (reservation, bool) {
	m := p.machines[i]
	times := append(p.times[:0], p.at)
	for k := range p.acts {
		if a := &p.acts[k]; a.m == m {
			times = append(times, a.end)
		}
	}
	for k := range m.gpus {
		if at := m.gpus[k].settle; at > p.at && e.kind == slice {
			times = append(times, at)
		}
	}
	for k := range m.booked {
		times = append(times, m.booked[k].till, until(m.booked[k].at, m.Settles))
	}
	slices.Sort(times)
	times = slices.Compact(times)
	p.times = times
	for len(p.later) < len(m.booked) {
		p.later = append(p.later, level{})
	}
	for k := range m.booked {
		m.leftAt(&p.later[k], &m.booked[k], p.acts, false)
	}
	now, next := &p.scratch, 0
	now.set(&m.base)
	for _, t := range times {
		if t < p.at || t == forever {
			continue
		}
		if beat && t >= before {
			break
		}
		for ; next < len(p.acts) && p.acts[next].end <= t; next++ {
			if a := &p.acts[next]; a.m == m {
				now.drop(&a.holding)
			}
		}
		left := now
		if len(m.booked) > 0 {
			left = &p.ahead
			left.set(now)
			m.book(left, t)
			for k := range m.booked {
				r := &m.booked[k]
				switch {
				case r.at <= t || r.clear >= until(t, e.est):
				case t == p.at:
					left.lower(&m.instants[k+1])
				default:
					left.lower(&p.later[k])
				}
			}
		}
		if _, ok := p.fit(e, i, left, t); ok {
			return reservation{at: t, holding: p.holding(e, placement{i, p.picked})}, true
		}
	}
	return reservation{}, false
}
