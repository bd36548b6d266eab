package sched

import (
	"slices"
	"strings"

	"pasar"
)

// Waiting jobs that lack the same on the same machines and GPUs have one shape, and share one list of
// holders: ten thousand waiting jobs mostly have a handful of shapes.
type shapes struct {
	known map[shape]int32
	list  []shape
	ids   []int32 // of each cause
	last  shape
}

type shape struct {
	why     pasar.WaitWhy
	kind    pasar.ClaimKind
	machine string
	gpuType string
	gpuIDs  string // joined
}

// noShape is the shape of a reason without holders.
const noShape = int32(-1)

// of is the number of the shape of a job that lacks something.
func (s *shapes) of(job *Job, why pasar.WaitWhy) int32 {
	key := shape{why: why, kind: job.Claim.Kind, machine: job.Machine, gpuType: job.Claim.Type}
	if len(job.Claim.IDs) > 0 {
		key.gpuIDs = strings.Join(job.Claim.IDs, ",")
	}
	if key == s.last {
		return s.known[key]
	}
	id, ok := s.known[key]
	if !ok {
		if s.known == nil {
			s.known = map[shape]int32{}
		}
		id = int32(len(s.list))
		s.known[key] = id
		s.list = append(s.list, key)
	}
	s.last = key
	return id
}

// nameHolders gives each cause the jobs that have what it lacks, at the end of the pass: those that
// were running and those that just started.
func (p *pass) nameHolders(active []Running) {
	lists := make([][]pasar.JobID, len(p.shapes.list))
	for i := range p.shapes.list {
		sh := &p.shapes.list[i]
		var ids []pasar.JobID
		for _, jobs := range [2][]Running{active, p.started} {
			for k := range jobs {
				if p.holds(sh, &jobs[k].Grant) {
					ids = append(ids, jobs[k].ID)
				}
			}
		}
		slices.Sort(ids)
		lists[i] = slices.Compact(ids)
	}
	for i, id := range p.shapes.ids {
		if id != noShape {
			p.plan.Reasons.causes[i].Holders = lists[id]
		}
	}
}

// holds reports whether a grant has some of what jobs of a shape lack.
func (p *pass) holds(sh *shape, grant *pasar.Grant) bool {
	if sh.machine != "" && sh.machine != grant.Machine {
		return false
	}
	i := slices.IndexFunc(p.ledger.machines, func(m machine) bool { return m.Inventory.Machine == grant.Machine })
	if i < 0 || !p.ledger.machines[i].open() {
		return false
	}
	m := &p.ledger.machines[i]
	if sh.why == pasar.WaitCores {
		return grant.Claim.Kind == pasar.NoGPU
	}
	c := pasar.Claim{Type: sh.gpuType}
	if sh.gpuIDs != "" {
		c.IDs = strings.Split(sh.gpuIDs, ",")
	}
	host := grant.Claim.RAM > 0
	for _, ref := range grant.GPUs {
		k := m.find(ref)
		if k < 0 {
			continue
		}
		if sh.why != pasar.WaitRAM && m.gpus[k].allows(&c) {
			return true
		}
		host = host || m.gpus[k].shared
	}
	if sh.why == pasar.WaitRAM {
		return host
	}
	// A slice of a GPU that shares host memory is also waiting for those who have that.
	return sh.why == pasar.WaitMemory && host && slices.ContainsFunc(m.gpus, func(g gpu) bool { return g.shared && g.allows(&c) })
}
