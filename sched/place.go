package sched

import (
	"time"

	"pasar"
)

// A placement is where a job would go.
type placement struct {
	m      int // machine
	picked []int
}

// A score says how good a placement is; less is better, and the earlier machine wins a tie.
type score struct {
	rank    int         // of the first GPU, in the order in which they are given out
	left    pasar.Bytes // slices: what stays free on the GPU, so that large holes stay whole
	tenants int32       // slices: jobs there already
	spare   int         // whole: free GPUs left on the machine. No GPU: places taken.
}

func (a score) less(b score) bool {
	if a.rank != b.rank {
		return a.rank < b.rank
	}
	if a.left != b.left {
		return a.left < b.left
	}
	if a.tenants != b.tenants {
		return a.tenants < b.tenants
	}
	return a.spare < b.spare
}

// place finds the best place for a job at a moment, given what each machine has left for it.
func (p *pass) place(e *entry, at time.Duration, left func(m *machine) *level) (placement, bool) {
	var best placement
	var bestScore score
	found := false
	k := &p.keys[e.key]
	for i, m := range p.machines {
		if !p.may(k, i) {
			continue
		}
		s, ok := p.fit(e, i, left(m), at)
		if ok && (!found || s.less(bestScore)) {
			found, bestScore = true, s
			best.m, best.picked = i, append(p.best[:0], p.picked...)
			p.best = best.picked
		}
	}
	return best, found
}

// fit tries a job on one machine, leaving the GPUs it would get in p.picked.
func (p *pass) fit(e *entry, i int, l *level, at time.Duration) (score, bool) {
	p.picked = p.picked[:0]
	if e.ram > 0 && e.ram > l.host {
		return score{}, false
	}
	switch e.kind {
	case noGPU:
		return score{spare: p.machines[i].CPUJobs - l.cores}, l.cores > 0
	case slice:
		return p.fitSlices(e, i, l, at)
	default:
		return p.fitWhole(e, i, l)
	}
}

// room is how much of a GPU's memory a slice could have.
func (l *level) room(m *machine, k int) pasar.Bytes {
	if m.gpus[k].shared {
		return min(l.free[k], l.host)
	}
	return l.free[k]
}

// avoids reports whether a whole claim wants only GPUs without strangers.
func (e *entry) avoidsStrangers(m *machine) bool {
	if e.avoids != "" {
		return e.avoids == pasar.ExternalAvoid
	}
	return m.External == pasar.ExternalAvoid
}

// fitWhole picks GPUs with no job on them, first those that others could use least: where strangers are,
// if they don't matter to it, last; then the smallest, then that of the lowest index.
func (p *pass) fitWhole(e *entry, i int, l *level) (score, bool) {
	m, key := p.machines[i], &p.keys[e.key]
	avoid := e.avoidsStrangers(m)
	empty := p.empty[:0]
	for k := range m.gpus {
		if l.tenants[k] > 0 || !key.allowed(e, i, k, m) || avoid && !(m.gpus[k].clean && m.gpus[k].strangers == 0) {
			continue
		}
		// Insertion, since there are few and they mostly come in order.
		at := len(empty)
		for at > 0 && m.gpus[k].before(&m.gpus[empty[at-1]]) {
			at--
		}
		empty = append(empty, 0)
		copy(empty[at+1:], empty[at:])
		empty[at] = k
	}
	p.empty = empty
	var shared pasar.Bytes
	s := score{}
	for _, k := range empty {
		g := &m.gpus[k]
		size := max(g.total-g.strangers, 0)
		if g.shared && hostCharge(pasar.Whole, e.ram, shared+size) > l.host {
			continue
		}
		if len(p.picked) == int(e.gpus) {
			s.spare++
			continue
		}
		if len(p.picked) == 0 {
			s.rank = g.rank
		}
		if g.shared {
			shared += size
		}
		p.picked = append(p.picked, k)
	}
	return s, len(p.picked) == int(e.gpus)
}

// before reports whether a whole claim would rather have g than other.
func (g *gpu) before(other *gpu) bool {
	switch {
	case g.rank != other.rank:
		return g.rank < other.rank
	case g.strangers != other.strangers:
		return g.strangers < other.strangers
	case g.total != other.total:
		return g.total < other.total
	}
	return g.Index < other.Index
}

// fitSlices picks the GPUs that the slice leaves fullest, then those with the fewest jobs, then those
// of lowest index; before all that those that are given out first.
func (p *pass) fitSlices(e *entry, i int, l *level, at time.Duration) (score, bool) {
	m, key := p.machines[i], &p.keys[e.key]
	var first score
	var shared pasar.Bytes
	for len(p.picked) < int(e.gpus) {
		best, bestScore := -1, score{}
	next:
		for k := range m.gpus {
			room := l.room(m, k)
			if room < e.size || !key.allowed(e, i, k, m) || !m.quiet(k, at) {
				continue
			}
			if m.gpus[k].shared && shared+e.size+e.ram > l.host {
				continue
			}
			for _, taken := range p.picked {
				if taken == k {
					continue next
				}
			}
			s := score{rank: m.gpus[k].rank, left: room - e.size, tenants: l.tenants[k]}
			if best < 0 || s.less(bestScore) || s == bestScore && m.gpus[k].Index < m.gpus[best].Index {
				best, bestScore = k, s
			}
		}
		if best < 0 {
			return score{}, false
		}
		if len(p.picked) == 0 {
			first = bestScore
		}
		if m.gpus[best].shared {
			shared += e.size
		}
		p.picked = append(p.picked, best)
	}
	return first, true
}

// quiet reports whether a slice may start on a GPU at a moment: no other one that has just started there,
// or is about to, is still taking its memory.
func (m *machine) quiet(k int, at time.Duration) bool {
	g := &m.gpus[k]
	if at < g.settle {
		return false
	}
	if !g.settles {
		return true
	}
	for i := range m.booked {
		r := &m.booked[i]
		if d := r.at - at; r.slice && d < m.Settles && -d < m.Settles {
			for _, taken := range r.gpus {
				if taken == k {
					return false
				}
			}
		}
	}
	return true
}

// couldFit reports whether a claim would fit on a machine with nothing else on it and every GPU well.
func (m *machine) couldFit(c *pasar.Claim) bool {
	if c.RAM > m.hostTotal {
		return false
	}
	if c.Kind == pasar.NoGPU {
		return m.CPUJobs > 0
	}
	n := 0
	var shared pasar.Bytes
	for k := range m.gpus {
		g := &m.gpus[k]
		size := g.total
		if c.Kind == pasar.Slice {
			size = max(c.Limit, c.Mem)
		}
		if !g.allows(c.Type, c.IDs) || size > g.total || c.Kind == pasar.Slice && g.noSlice || c.GPUs > 1 && g.part {
			continue
		}
		if g.shared {
			if hostCharge(c.Kind, c.RAM, shared+size) > m.hostTotal {
				continue
			}
			shared += size
		}
		n++
	}
	return n >= c.GPUs
}
