package sched

import (
	"cmp"
	"slices"
	"time"

	"pasar"
)

// maxSearches bounds how many sets of jobs to stop are tried in a pass. Up to that the set found is the
// best there is: for a dozen or so running jobs that may be stopped, always. Beyond it the search begins
// with too many and leaves out, dearest first, whatever need not stop: no job is stopped that needn't be,
// but there might have been a smaller set.
const maxSearches = 20_000

// A making is the search for room on one machine for a job that may preempt.
type making struct {
	p       *pass
	e       *entry
	i       int
	outs    []int // acts that are on their way out, whose room comes anyway
	out     bool  // there are such
	victims []int // acts that might be stopped, cheapest first
}

// making looks for who might make room; nil when nothing will on that machine.
func (p *pass) making(e *entry, i int) *making {
	m, key := p.machines[i], &p.keys[e.key]
	if !p.may(key, i) || !p.ever(e, i) {
		return nil
	}
	v := &making{p: p, e: e, i: i}
	for k := range p.acts {
		a := &p.acts[k]
		if a.m != m || a.pos >= 0 {
			continue
		}
		switch {
		case a.Leaving, a.Stopping && !a.Patient:
			v.outs, v.out = append(v.outs, k), true
		case a.Preemptible && a.Bid < e.bid && !a.Stopping && key.helps(e, i, a):
			v.victims = append(v.victims, k)
		}
	}
	slices.SortFunc(v.victims, func(a, b int) int {
		return p.costOf([]int{a}).compare(p.costOf([]int{b}))
	})
	return v
}

// helps reports whether a job has any of what another asks for.
func (k *key) helps(e *entry, i int, a *act) bool {
	if e.kind == noGPU && a.core {
		return true
	}
	shared := false
	for _, g := range a.gpus {
		if e.kind != noGPU && k.allowed(e, i, g, a.m) {
			return true
		}
	}
	for g := range a.m.gpus {
		shared = shared || e.kind != noGPU && a.m.gpus[g].shared
	}
	return a.host > 0 && (e.ram > 0 || shared)
}

// enough reports whether the job fits, without moving a reservation, once what is on its way out is gone
// and some more acts are too; where is in p.picked. Settling is left out: it is over by then.
func (v *making) enough(stopped []int) bool {
	p, m := v.p, v.p.machines[v.i]
	l := &p.scratch
	l.set(&m.base)
	for _, set := range [2][]int{v.outs, stopped} {
		for _, k := range set {
			l.drop(&p.acts[k].holding)
		}
	}
	for n := range m.booked {
		r := &m.booked[n]
		if r.at >= until(p.at+soon, v.e.est) {
			break
		}
		later := &p.ahead
		later.set(&m.instants[n+1])
		for _, set := range [2][]int{v.outs, stopped} {
			for _, k := range set {
				if p.acts[k].end > r.at {
					later.drop(&p.acts[k].holding)
				}
			}
		}
		l.lower(later)
	}
	_, ok := p.fit(v.e, v.i, l, forever)
	return ok
}

// A cost is what it takes to stop some jobs; less is better.
type cost struct {
	jobs int
	bids pasar.Bid     // together
	lost time.Duration // work together, since it was last safe
	ran  time.Duration // together
	ids  []pasar.JobID // so that nothing is left to chance
}

func (c cost) compare(o cost) int {
	return cmp.Or(cmp.Compare(c.jobs, o.jobs), cmp.Compare(c.bids, o.bids), cmp.Compare(c.lost, o.lost), cmp.Compare(c.ran, o.ran), slices.Compare(c.ids, o.ids))
}

func (p *pass) costOf(acts []int) cost {
	c := cost{jobs: len(acts)}
	now := p.epoch.Add(p.at)
	for _, k := range acts {
		a := &p.acts[k]
		ran := now.Sub(a.Started)
		lost := ran
		if !a.SafeSince.IsZero() {
			lost = now.Sub(a.SafeSince)
		}
		c.bids, c.lost, c.ran = c.bids+a.Bid, c.lost+lost, c.ran+ran
		c.ids = append(c.ids, a.ID)
	}
	slices.Sort(c.ids)
	return c
}

// preempt asks the fewest running jobs with lower bids to stop whose end makes room for a job on one
// machine, and promises it their room. If jobs that are on their way out already will make it, nobody is
// asked. It is false when there is no way.
func (p *pass) preempt(pos int) bool {
	e := &p.queue[pos]
	var best []int
	var bestCost cost
	var bestAt placement
	for i := range p.machines {
		v := p.making(e, i)
		if v == nil {
			continue
		}
		if v.enough(nil) {
			if v.out {
				p.promise(pos, placement{i, p.picked})
			}
			return v.out // else it waits for a GPU to settle, and no stop would help
		}
		if len(v.victims) == 0 || !v.enough(v.victims) {
			continue
		}
		set := v.fewest(len(best))
		if set == nil {
			continue
		}
		if c := p.costOf(set); best == nil || c.compare(bestCost) < 0 {
			v.enough(set)
			best, bestCost, bestAt = set, c, placement{i, slices.Clone(p.picked)}
		}
	}
	if best == nil {
		return false
	}
	for _, k := range best {
		a := &p.acts[k]
		a.Stopping, a.StopFor, a.end, a.guess = true, e.id, min(a.end, p.at+soon), false
		p.stops = append(p.stops, Stop{ID: a.ID, For: e.id})
	}
	slices.SortFunc(p.acts, compareEnds)
	p.machines[bestAt.m].look(p)
	p.promise(pos, bestAt)
	return true
}

// fewest is the cheapest of the smallest sets of victims that make room; nil when each has more than most,
// if that isn't 0.
func (v *making) fewest(most int) []int {
	var best []int
	var bestCost cost
	n := len(v.victims)
	for size := 1; size <= n; size++ {
		if most > 0 && size > most {
			return nil
		}
		if v.p.searches -= choose(n, size, v.p.searches+1); v.p.searches < 0 {
			v.p.searches = 0
			return v.leaveOut()
		}
		each(v.victims, size, func(set []int) {
			if c := v.p.costOf(set); (best == nil || c.compare(bestCost) < 0) && v.enough(set) {
				best, bestCost = slices.Clone(set), c
			}
		})
		if best != nil {
			return best
		}
	}
	return nil
}

// choose is how many sets of a size there are, or a bound if there are more.
func choose(n, size, bound int) int {
	sets := 1
	for i := range size {
		if sets = sets * (n - i) / (i + 1); sets > bound {
			return bound
		}
	}
	return sets
}

// each calls f with every set of a size.
func each(of []int, size int, f func([]int)) {
	set := make([]int, size)
	var fill func(at, from int)
	fill = func(at, from int) {
		if at == size {
			f(set)
			return
		}
		for i := from; i <= len(of)-(size-at); i++ {
			set[at] = of[i]
			fill(at+1, i+1)
		}
	}
	fill(0, 0)
}

// leaveOut finds a set from which nobody can be left out: it begins with all victims, with those on each
// GPU, and with those on ever more GPUs, emptiest first, and takes the cheapest of what comes of it.
func (v *making) leaveOut() []int {
	on := make([][]int, len(v.p.machines[v.i].gpus))
	for _, k := range v.victims {
		for _, g := range v.p.acts[k].gpus {
			on[g] = append(on[g], k)
		}
	}
	begin := append([][]int{v.victims}, on...)
	slices.SortStableFunc(on, func(a, b []int) int { return cmp.Compare(len(a), len(b)) })
	var more []int
	for _, set := range on {
		for _, k := range set {
			if !slices.Contains(more, k) {
				more = append(more, k)
			}
		}
		begin = append(begin, slices.Clone(more))
	}
	var best []int
	var bestCost cost
	for _, set := range begin {
		if len(set) == 0 || !v.enough(set) {
			continue
		}
		set = slices.Clone(set)
		slices.SortFunc(set, func(a, b int) int { return v.p.costOf([]int{b}).compare(v.p.costOf([]int{a})) })
		for i := 0; i < len(set); {
			if without := slices.Delete(slices.Clone(set), i, i+1); v.enough(without) {
				set = without
			} else {
				i++
			}
		}
		if c := v.p.costOf(set); best == nil || c.compare(bestCost) < 0 {
			best, bestCost = set, c
		}
	}
	return best
}
