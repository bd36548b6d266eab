package sched

import "pasar"

// A placement is where a claim would go: a machine of the ledger and its GPUs.
type placement struct {
	m      *machine
	picked []int // into m.gpus; the pass's scratch space
}

// place finds the best place for a claim on the machines where it may start, using only what waiting
// jobs before a position in the order aren't due: at nobody, what no waiting job is due; at 0, all that
// is free. What can be used only grows as due falls.
func (p *pass) place(job *Job, due int) (placement, bool) {
	var best placement
	var bestScore score
	for i := range p.ledger.machines {
		m := &p.ledger.machines[i]
		if !m.open() || job.Machine != "" && job.Machine != m.Inventory.Machine {
			continue
		}
		s, ok := p.fit(m, &job.Claim, due)
		if ok && (best.m == nil || s.less(bestScore)) {
			best.m, bestScore = m, s
			best.picked = append(p.best[:0], p.picked...)
			p.best = best.picked
		}
	}
	return best, best.m != nil
}

// A score says how good a placement is; less is better, and the earlier machine wins a tie.
type score struct {
	left    pasar.Bytes // slices: what stays free on the GPU, so that large holes stay whole
	tenants int         // slices: jobs there already
	spare   int         // whole: free GPUs left on the machine. No GPU: places taken.
}

func (a score) less(b score) bool {
	if a.left != b.left {
		return a.left < b.left
	}
	if a.tenants != b.tenants {
		return a.tenants < b.tenants
	}
	return a.spare < b.spare
}

// fit tries a claim on one machine, leaving the GPUs it would get in p.picked.
func (p *pass) fit(m *machine, c *pasar.Claim, due int) (score, bool) {
	p.picked = p.picked[:0]
	host := m.hostLeft(due)
	if c.RAM > 0 && c.RAM > host {
		return score{}, false
	}
	switch c.Kind {
	case pasar.NoGPU:
		return score{spare: m.CPUJobs - m.coresFree}, m.coresLeft(due) > 0
	case pasar.Slice:
		return p.fitSlices(m, c, host, due)
	default:
		return p.fitWhole(m, c, host, due)
	}
}

// fitWhole picks the GPUs of lowest index with no job on them.
func (p *pass) fitWhole(m *machine, c *pasar.Claim, host pasar.Bytes, due int) (score, bool) {
	spare := 0
	var shared pasar.Bytes
	for k := range m.gpus {
		g := &m.gpus[k]
		if g.tenants > 0 || g.due < due || !g.allows(c) {
			continue
		}
		if g.shared && hostCharge(c, shared+g.total) > host {
			continue
		}
		if len(p.picked) == c.GPUs {
			spare++
			continue
		}
		if g.shared {
			shared += g.total
		}
		p.picked = append(p.picked, k)
	}
	return score{spare: spare}, len(p.picked) == c.GPUs
}

// fitSlices picks the GPUs that the slice leaves fullest, then those with the fewest jobs, then those
// of lowest index.
func (p *pass) fitSlices(m *machine, c *pasar.Claim, host pasar.Bytes, due int) (score, bool) {
	size := max(c.Limit, c.Mem)
	var first score
	var shared pasar.Bytes
	for len(p.picked) < c.GPUs {
		best, bestScore := -1, score{}
	next:
		for k := range m.gpus {
			g := &m.gpus[k]
			if g.due < due || m.room(g) < size || !g.allows(c) {
				continue
			}
			if g.shared && hostCharge(c, shared+size) > host {
				continue
			}
			for _, taken := range p.picked {
				if taken == k {
					continue next
				}
			}
			s := score{left: m.room(g) - size, tenants: g.tenants}
			if best < 0 || s.less(bestScore) {
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
			shared += size
		}
		p.picked = append(p.picked, best)
	}
	return first, true
}

// couldFit reports whether a claim would fit on a machine with nothing else on it.
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
		if !g.allows(c) || charged(c, g) > g.total {
			continue
		}
		if g.shared {
			if hostCharge(c, shared+charged(c, g)) > m.hostTotal {
				continue
			}
			shared += charged(c, g)
		}
		n++
	}
	return n >= c.GPUs
}
