package sched

import (
	"fmt"
	"slices"
	"strings"

	"pasar"
)

// explain says why a job doesn't start.
func (p *pass) explain(job *Job) answer {
	if due, ok := p.turn(job); ok {
		r := pasar.Reason{Why: pasar.WaitTurn, Behind: p.queue[due].ID}
		return answer{reason: r, shape: noShape, before: due}
	}
	a := answer{shape: noShape, before: nobody}
	for i := range p.ledger.machines {
		m := &p.ledger.machines[i]
		if !p.candidate(m, job) {
			continue
		}
		if a.reason.Why == "" {
			a.reason = m.lacks(&job.Claim)
			a.shape = p.shapes.of(job, a.reason.Why)
		}
		a.before = min(a.before, m.firstDue(&job.Claim))
	}
	if a.reason.Why == "" {
		a.reason = p.nowhere(job)
	}
	return a
}

// turn finds the waiting job that stands in the way of one for which there is room: of those whose due
// it would have to take, the last in the order, since it is enough to pass that one. It is false when
// there is no room.
func (p *pass) turn(job *Job) (int, bool) {
	if _, ok := p.place(job, 0); !ok {
		return 0, false
	}
	// The last position at which there is room; at the first there is.
	low, high := 0, len(p.dues)
	for high-low > 1 {
		mid := (low + high) / 2
		if _, ok := p.place(job, p.dues[mid]); ok {
			low = mid
		} else {
			high = mid
		}
	}
	return p.dues[low], true
}

// firstDue is the first position in the order at which a job is due anything this claim asks for.
func (m *machine) firstDue(c *pasar.Claim) int {
	first := nobody
	host := c.RAM > 0
	if c.Kind == pasar.NoGPU {
		if len(m.coresDue) > 0 {
			first = m.coresDue[0]
		}
	} else {
		for k := range m.gpus {
			if g := &m.gpus[k]; g.allows(c) {
				first = min(first, g.due)
				host = host || g.shared
			}
		}
	}
	if host && len(m.hostDue) > 0 {
		first = min(first, m.hostDue[0].pos)
	}
	return first
}

// lacks says what a machine has too little of for a claim that doesn't fit there.
func (m *machine) lacks(c *pasar.Claim) pasar.Reason {
	ram := pasar.Reason{Why: pasar.WaitRAM, Need: c.RAM, Free: max(m.hostFree, 0)}
	switch c.Kind {
	case pasar.NoGPU:
		if m.coresFree <= 0 {
			return pasar.Reason{Why: pasar.WaitCores}
		}
		return ram
	case pasar.Slice:
		size := max(c.Limit, c.Mem)
		if free := m.nthRoom(c); free < size {
			return pasar.Reason{Why: pasar.WaitMemory, Need: size, Free: max(free, 0)}
		}
		// Each GPU has the room, but they share host memory with each other or with the RAM.
		ram.Need = hostCharge(c, pasar.Bytes(c.GPUs)*size)
		if c.RAM > m.hostFree {
			ram.Need = c.RAM
		}
		return ram
	}
	empty := 0
	var shared pasar.Bytes
	for k := range m.gpus {
		if g := &m.gpus[k]; g.tenants == 0 && g.allows(c) {
			if empty++; g.shared && empty <= c.GPUs {
				shared += g.total
			}
		}
	}
	if empty < c.GPUs {
		return pasar.Reason{Why: pasar.WaitGPU}
	}
	ram.Need = hostCharge(c, shared)
	return ram
}

// nthRoom is the memory that a slice on each of several GPUs could have at most: the room on the last
// of the GPUs with the most room.
func (m *machine) nthRoom(c *pasar.Claim) pasar.Bytes {
	if c.GPUs == 1 {
		var most pasar.Bytes
		for k := range m.gpus {
			if g := &m.gpus[k]; g.allows(c) {
				most = max(most, m.room(g))
			}
		}
		return most
	}
	var few [16]pasar.Bytes // most machines' GPUs, so that nothing is allocated
	rooms := few[:0]
	for k := range m.gpus {
		if g := &m.gpus[k]; g.allows(c) {
			rooms = append(rooms, m.room(g))
		}
	}
	if len(rooms) < c.GPUs {
		return 0
	}
	slices.Sort(rooms)
	return rooms[len(rooms)-c.GPUs]
}

// nowhere is the reason of a job that no machine can take just now, whatever ends.
func (p *pass) nowhere(job *Job) pasar.Reason {
	r := pasar.Reason{Why: pasar.WaitMachine}
	var why []string
	for i := range p.ledger.machines {
		m := &p.ledger.machines[i]
		name := m.Inventory.Machine
		if job.Machine != "" && job.Machine != name {
			continue
		}
		switch {
		case !m.couldFit(&job.Claim):
			why = append(why, fmt.Sprintf("%s has not got %s", name, job.Claim))
		case !m.Reachable:
			why = append(why, name+" is unreachable")
		default:
			why = append(why, name+": "+m.Blocked)
		}
	}
	const show = 3
	switch n := len(why); {
	case n == 0 && job.Machine != "":
		r.Detail = job.Machine + " is unknown"
	case n == 0:
		r.Detail = "there is none"
	case n > show:
		r.Detail = fmt.Sprintf("%s and %d more", strings.Join(why[:show], ", "), n-show)
	default:
		r.Detail = strings.Join(why, ", ")
	}
	return r
}
