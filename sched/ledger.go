package sched

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"pasar"
)

// A ledger is what each machine has left as a pass goes on. Free amounts may be negative, when what
// was given out before is more than there is now.
type ledger struct {
	machines []machine
}

type machine struct {
	*Machine
	gpus      []gpu
	hostTotal pasar.Bytes
	hostFree  pasar.Bytes
	coresFree int // places for jobs without a GPU

	// What waiting jobs are due of these, by position in the order; see reserve.
	hostDue  []promise
	coresDue []int
}

// A promise is host memory that a waiting job is due.
type promise struct {
	pos int         // of the job in the order
	sum pasar.Bytes // what it and all before it are due together
}

type gpu struct {
	pasar.GPURef
	name    string // in lower case
	total   pasar.Bytes
	free    pasar.Bytes // by the claims on it; a shared one's is bounded by the host's too
	tenants int         // jobs on it
	shared  bool        // its memory is host memory
	due     int         // position of the first waiting job that is due the GPU; nobody when none is
}

// nobody is a position in the order after every job.
const nobody = math.MaxInt

// open reports whether anything may start on a machine just now.
func (m *machine) open() bool { return m.Reachable && m.Blocked == "" }

// room is how much of the GPU's memory a slice could have.
func (m *machine) room(g *gpu) pasar.Bytes {
	if g.shared {
		return min(g.free, m.hostFree)
	}
	return g.free
}

// hostLeft is the host memory that jobs before a position in the order aren't due.
func (m *machine) hostLeft(due int) pasar.Bytes {
	n := len(m.hostDue)
	if n > 0 && m.hostDue[n-1].pos >= due {
		n, _ = slices.BinarySearchFunc(m.hostDue, due, func(p promise, due int) int { return cmp.Compare(p.pos, due) })
	}
	if n == 0 {
		return m.hostFree
	}
	return m.hostFree - m.hostDue[n-1].sum
}

// coresLeft is the places for jobs without a GPU that jobs before a position in the order aren't due.
func (m *machine) coresLeft(due int) int {
	n := len(m.coresDue)
	if n > 0 && m.coresDue[n-1] >= due {
		n, _ = slices.BinarySearch(m.coresDue, due)
	}
	return m.coresFree - n
}

func newLedger(machines []Machine, active []Running) *ledger {
	l := &ledger{machines: make([]machine, len(machines))}
	for i := range machines {
		in := &machines[i]
		m := &l.machines[i]
		*m = machine{Machine: in, hostTotal: in.HostMemory(), coresFree: in.CPUJobs}
		m.hostFree = m.hostTotal
		m.gpus = make([]gpu, len(in.GPUs))
		for k, d := range in.GPUs {
			g := &m.gpus[k]
			*g = gpu{GPURef: pasar.GPURef{Index: d.Index, UUID: d.UUID}, name: strings.ToLower(d.Name), total: d.Total,
				shared: d.Virtual || d.Unified, due: nobody}
			if g.shared {
				g.total = min(g.total, m.hostTotal)
			}
			g.free = g.total
		}
	}
	for i := range active {
		l.charge(&active[i].Grant)
	}
	return l
}

// charge takes a grant out of what is left. A machine or GPU that is there no longer is passed over.
func (l *ledger) charge(grant *pasar.Grant) {
	for i := range l.machines {
		m := &l.machines[i]
		if m.Inventory.Machine != grant.Machine {
			continue
		}
		picked := make([]int, 0, 8)
		for _, ref := range grant.GPUs {
			if k := m.find(ref); k >= 0 {
				picked = append(picked, k)
			}
		}
		m.take(&grant.Claim, picked)
		return
	}
}

// find is the place of a GPU in the machine's list; -1 when it isn't there. An index can come to mean
// another device when one is added, a UUID can't.
func (m *machine) find(ref pasar.GPURef) int {
	for k := range m.gpus {
		if ref.UUID != "" && m.gpus[k].UUID == ref.UUID {
			return k
		}
	}
	for k := range m.gpus {
		if (ref.UUID == "" || m.gpus[k].UUID == "") && m.gpus[k].Index == ref.Index {
			return k
		}
	}
	return -1
}

// take charges a claim to a machine and to the picked ones of its GPUs.
func (m *machine) take(c *pasar.Claim, picked []int) {
	if c.Kind == pasar.NoGPU {
		m.coresFree--
	}
	var shared pasar.Bytes
	for _, k := range picked {
		g := &m.gpus[k]
		size := charged(c, g)
		g.free -= size
		g.tenants++
		if g.shared {
			shared += size
		}
	}
	m.hostFree -= hostCharge(c, shared)
}

// charged is what a claim takes of one GPU's memory.
func charged(c *pasar.Claim, g *gpu) pasar.Bytes {
	if c.Kind == pasar.Slice {
		return max(c.Limit, c.Mem)
	}
	return g.total
}

// hostCharge is what a claim takes of host memory, given what it takes of GPUs that share it. A slice
// is apart from the RAM asked for; a whole shared GPU is all of that memory, so the RAM is in it.
func hostCharge(c *pasar.Claim, shared pasar.Bytes) pasar.Bytes {
	if c.Kind == pasar.Whole && shared > 0 {
		return max(shared, c.RAM)
	}
	return shared + c.RAM
}

// allows reports whether a claim may have this GPU at all.
func (g *gpu) allows(c *pasar.Claim) bool {
	if c.Type != "" && !containsFold(g.name, c.Type) {
		return false
	}
	if len(c.IDs) == 0 {
		return true
	}
	for _, id := range c.IDs {
		if g.is(id) {
			return true
		}
	}
	return false
}

// is reports whether an id names this GPU: its index, or its UUID or the start of it (that it is the
// only such start is seen to at submit).
func (g *gpu) is(id string) bool {
	if len(id) >= minPrefix && len(g.UUID) >= len(id) && strings.EqualFold(g.UUID[:len(id)], id) {
		return true
	}
	n := 0
	for _, r := range id {
		if r < '0' || r > '9' || n > 1<<20 {
			return false
		}
		n = n*10 + int(r-'0')
	}
	return id != "" && n == g.Index
}

// minPrefix is the shortest part of a UUID that names a GPU, long enough not to be taken for an index.
const minPrefix = len("GPU-") + 4

// containsFold reports whether lower, which is in lower case, contains s in any case. It allocates
// nothing for ASCII.
func containsFold(lower, s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return strings.Contains(lower, strings.ToLower(s))
		}
	}
next:
	for i := 0; i+len(s) <= len(lower); i++ {
		for k := range len(s) {
			c := s[k]
			if c >= 'A' && c <= 'Z' {
				c += 'a' - 'A'
			}
			if lower[i+k] != c {
				continue next
			}
		}
		return true
	}
	return false
}
