package sched

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pasar"
)

// fits reports whether a job would fit on a machine if it had so much left, whoever has reservations.
func (x *explainer) fits(e *entry, i int, l *level, at time.Duration) bool {
	m := x.machines[i]
	booked := m.booked
	m.booked = nil
	_, ok := x.fit(e, i, l, at)
	m.booked = booked
	return ok
}

// lacks says what a machine has too little of for a job that would fit there were it empty: what would
// change it soonest and surely comes first.
func (x *explainer) lacks(e *entry, i int) (pasar.Reason, int32) {
	m, l := x.machines[i], &x.scratch
	if e.kind == slice && m.settling(x.at) && x.fits(e, i, &x.open[i], forever) {
		at, k := x.settled(e, i)
		until := x.time(at)
		r := pasar.Reason{Why: pasar.WaitSettle, Until: &until}
		if id := m.gpus[k].settleFor; id != 0 {
			r.Holders = []pasar.JobID{id}
		}
		return r, noShape
	}
	r, shape := x.short(e, i)
	if x.release(l, i) && x.fits(e, i, l, forever) {
		return pasar.Reason{Why: pasar.WaitRelease, Need: r.Need, Free: r.Free, Holders: x.leaving(i), Detail: x.left(i)}, noShape
	}
	if strange := x.strange(e, i); strange != "" {
		l.set(&x.open[i])
		m.unstrange(l)
		gpus := m.gpus
		m.gpus = m.cleaned()
		ok := x.fits(e, i, l, forever)
		m.gpus = gpus
		if ok {
			return pasar.Reason{Why: pasar.WaitStranger, Need: r.Need, Free: r.Free, Detail: strange}, noShape
		}
	}
	return r, shape
}

// settling reports whether a slice on any of its GPUs may still be taking its memory.
func (m *machine) settling(at time.Duration) bool {
	return slices.ContainsFunc(m.gpus, func(g gpu) bool { return g.settle > at })
}

// settled is the first moment, of those when GPUs have settled, at which a job fits, and that GPU.
func (x *explainer) settled(e *entry, i int) (at time.Duration, k int) {
	m := x.machines[i]
	at = forever
	for g := range m.gpus {
		t := m.gpus[g].settle
		if t > x.at && t < at && x.keys[e.key].allowed(e, i, g, m) && x.fits(e, i, &x.open[i], t) {
			at, k = t, g
		}
	}
	return at, k
}

// release makes l what would be free once jobs that have ended have given all back; false if there are
// none.
func (x *explainer) release(l *level, i int) bool {
	some := false
	for k := range x.acts {
		if a := &x.acts[k]; a.Leaving && a.m == x.machines[i] {
			if !some {
				l.set(&x.open[i])
				some = true
			}
			l.drop(&a.holding)
		}
	}
	return some
}

func (x *explainer) leaving(i int) (ids []pasar.JobID) {
	for k := range x.acts {
		if a := &x.acts[k]; a.Leaving && a.m == x.machines[i] {
			ids = append(ids, a.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// left says how much of a machine's GPU memory jobs that have ended still have, where that was seen.
func (x *explainer) left(i int) string {
	var sum pasar.Bytes
	for k := range x.acts {
		a := &x.acts[k]
		if !a.Leaving || a.m != x.machines[i] {
			continue
		}
		for _, s := range a.m.Seen {
			for _, u := range s.Use {
				if u.ID == a.ID {
					sum += u.Mem
				}
			}
		}
	}
	if sum == 0 {
		return ""
	}
	return sum.String() + " left"
}

// strange says who holds memory of the GPUs that a job may have without being a job; empty if nobody.
func (x *explainer) strange(e *entry, i int) string {
	m := x.machines[i]
	var who []string
	for k := range m.gpus {
		g := &m.gpus[k]
		if !x.keys[e.key].allowed(e, i, k, m) && !g.shared || g.strangers == 0 && g.missing == 0 && g.clean {
			continue
		}
		s := g.who
		if s == "" {
			s = "memory that no job has"
		}
		if !slices.Contains(who, s) {
			who = append(who, s)
		}
	}
	const show = 3
	if n := len(who); n > show {
		who = append(who[:show], fmt.Sprintf("%d more", n-show))
	}
	return strings.Join(who, ", ")
}

// unstrange gives back what strangers hold.
func (m *machine) unstrange(l *level) {
	for k := range m.gpus {
		g := &m.gpus[k]
		l.free[k] += g.strangers + g.missing
		if g.shared {
			l.host += g.strangers
		}
	}
}

// cleaned is the GPUs without strangers.
func (m *machine) cleaned() []gpu {
	gpus := slices.Clone(m.gpus)
	for k := range gpus {
		gpus[k].strangers, gpus[k].missing, gpus[k].clean = 0, 0, true
	}
	return gpus
}

// never is the reason of a job that the end of no running job makes room for, though the machine is large
// enough.
func (x *explainer) never(e *entry, i int) pasar.Reason {
	m, l := x.machines[i], &x.scratch
	l.resize(len(m.gpus))
	m.emptied(l)
	gpus := m.gpus
	m.gpus = slices.Clone(gpus)
	var ill []string
	for k := range m.gpus {
		g := &m.gpus[k]
		if why := g.unhealthy; why != "" {
			if g.unhealthy = ""; x.keys[e.key].allowed(e, i, k, m) {
				ill = append(ill, fmt.Sprintf("GPU %d (%s)", g.Index, why))
			}
		}
	}
	well := x.fits(e, i, l, forever)
	m.gpus = gpus
	const show = 3
	if n := len(ill); n > show {
		ill = append(ill[:show], fmt.Sprintf("%d more", n-show))
	}
	if well || x.strange(e, i) == "" {
		return pasar.Reason{Why: pasar.WaitUnhealthy, Detail: strings.Join(ill, ", ")}
	}
	r, _ := x.short(e, i)
	return pasar.Reason{Why: pasar.WaitStranger, Need: r.Need, Free: r.Free, Detail: x.strange(e, i)}
}

// short says what there is too little of, by the claims of jobs.
func (x *explainer) short(e *entry, i int) (pasar.Reason, int32) {
	m, l := x.machines[i], &x.open[i]
	ram := pasar.Reason{Why: pasar.WaitRAM, Need: e.ram, Free: max(l.host, 0)}
	r := ram
	switch e.kind {
	case noGPU:
		if l.cores <= 0 {
			r = pasar.Reason{Why: pasar.WaitCores}
		}
	case slice:
		if free := x.nthRoom(e, i); free < e.size {
			r = pasar.Reason{Why: pasar.WaitMemory, Need: e.size, Free: max(free, 0)}
			break
		}
		// Each GPU has the room, but they share host memory with each other or with the RAM.
		if r.Need = pasar.Bytes(e.gpus)*e.size + e.ram; e.ram > l.host {
			r.Need = e.ram
		}
	case whole:
		empty, avoid := 0, e.avoidsStrangers(m)
		var shared pasar.Bytes
		for k := range m.gpus {
			g := &m.gpus[k]
			if l.tenants[k] > 0 || !x.keys[e.key].allowed(e, i, k, m) || avoid && !g.clean {
				continue
			}
			if empty++; g.shared && empty <= int(e.gpus) {
				shared += max(g.total-g.strangers, 0)
			}
		}
		if empty < int(e.gpus) {
			r = pasar.Reason{Why: pasar.WaitGPU}
			break
		}
		r.Need = hostCharge(pasar.Whole, e.ram, shared)
	}
	return r, x.shapes.of(r.Why, e.kind, e.key)
}

// nthRoom is the memory that a slice on each of several GPUs could have at most: the room on the last
// of the GPUs with the most room.
func (x *explainer) nthRoom(e *entry, i int) pasar.Bytes {
	m, key, l := x.machines[i], &x.keys[e.key], &x.open[i]
	rooms := x.rooms[:0]
	for k := range m.gpus {
		if key.allowed(e, i, k, m) {
			rooms = append(rooms, l.room(m, k))
		}
	}
	x.rooms = rooms
	if len(rooms) < int(e.gpus) {
		return 0
	}
	slices.Sort(rooms)
	return rooms[len(rooms)-int(e.gpus)]
}
