package sched

import (
	"fmt"
	"slices"
	"strings"

	"pasar"
)

// explain says why a job doesn't start, and which shape its holders have.
func (p *pass) explain(pos int) (pasar.Reason, int32) {
	job := &p.queue[pos]
	if due, ok := p.turn(job); ok {
		first := &p.queue[due]
		r := pasar.Reason{Why: pasar.WaitTurn, Behind: first.ID}
		r.BidNeeded = p.bidNeeded(job, due)
		return r, noShape
	}
	var r pasar.Reason
	found := false
	earliest := nobody
	for i := range p.ledger.machines {
		m := &p.ledger.machines[i]
		if !p.candidate(m, job) {
			continue
		}
		if !found {
			r, found = m.lacks(&job.Claim), true
		}
		earliest = min(earliest, m.firstDue(&job.Claim))
	}
	if !found {
		return p.nowhere(job), noShape
	}
	r.BidNeeded = p.bidNeeded(job, earliest)
	return r, p.shapes.of(job, r.Why)
}

// turn finds the waiting job that stands in the way of one for which there is room: of those whose due
// it would have to take, the last in the order, since it is enough to pass that one. It is false when
// there is no room.
func (p *pass) turn(job *Job) (int, bool) {
	if _, ok := p.place(job, 0); !ok {
		return 0, false
	}
	// What is usable grows as due falls, from nothing at nobody to everything at 0.
	for due := p.lastDue(nobody); ; due = p.lastDue(due) {
		if _, ok := p.place(job, due); ok {
			return due, true
		}
	}
}

// lastDue is the last position before another at which a job is due anything; 0 when there is none.
func (p *pass) lastDue(before int) int {
	last := 0
	see := func(due int) {
		if due < before {
			last = max(last, due)
		}
	}
	for i := range p.ledger.machines {
		m := &p.ledger.machines[i]
		see(m.hostDue)
		see(m.coresDue)
		for k := range m.gpus {
			see(m.gpus[k].due)
		}
	}
	return last
}

// firstDue is the first position in the order at which a job is due anything this claim asks for.
func (m *machine) firstDue(c *pasar.Claim) int {
	first := nobody
	host := c.RAM > 0
	if c.Kind == pasar.NoGPU {
		first = m.coresDue
	} else {
		for k := range m.gpus {
			if g := &m.gpus[k]; g.allows(c) {
				first = min(first, g.due)
				host = host || g.shared
			}
		}
	}
	if host {
		first = min(first, m.hostDue)
	}
	return first
}

// bidNeeded is the smallest bid that would put a job before the one at a position; nil when nobody is
// there. Jobs next to each other mostly need the same, so they share it.
func (p *pass) bidNeeded(job *Job, pos int) *pasar.Bid {
	if pos == nobody {
		return nil
	}
	bid, ok := toPrecede(job, &p.queue[pos])
	if !ok {
		return nil
	}
	if p.shapes.bid == nil || *p.shapes.bid != bid {
		p.shapes.bid = &bid
	}
	return p.shapes.bid
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
	var rooms []pasar.Bytes
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
