package sched

import (
	"slices"
	"strings"
	"time"

	"pasar"
)

// A machine is one of the input's with what is known of its GPUs, and what it has left.
type machine struct {
	*Machine
	gpus      []gpu
	hostTotal pasar.Bytes
	base      level         // what is left now, with all that runs, has just started, or was promised room
	plain     bool          // nothing but jobs keeps claims from its GPUs
	booked    []reservation // on it, by time
	instants  []level       // what is left now and at the start of each reservation, with it
	views     []level       // the least of the instants up to each: what a job that runs so long may use
}

// A gpu is what doesn't change during a pass, but for settle.
type gpu struct {
	pasar.GPURef
	part      bool   // of a device that is split: a process sees no other GPU beside it
	name      string // in lower case
	total     pasar.Bytes
	strangers pasar.Bytes // held by processes that pasar did not start
	missing   pasar.Bytes // not free by the device, though it is by the ledger and nobody is known to have it; no end in sight
	shared    bool        // its memory is host memory
	noSlice   bool        // takes whole claims only
	unhealthy string      // why it takes nothing; empty: it is well
	clean     bool        // for who avoids strangers
	settles   bool        // slices on it start one at a time
	who       string
	rank      int           // in the order in which GPUs are given out
	settle    time.Duration // no slice before that moment of the look
	settleFor pasar.JobID
}

// A level is what a machine has left at one moment. Amounts may be negative, when what was given out
// before is more than there is now.
type level struct {
	free    []pasar.Bytes // of each GPU, by the smaller of the claims on it and the device's word
	gap     []pasar.Bytes // of each GPU, what the device says is gone beyond the claims; it comes back with the last job there
	tenants []int32       // jobs on each GPU
	host    pasar.Bytes
	cores   int // places for jobs without a GPU
}

// A holding is what one job has of a machine.
type holding struct {
	m    *machine // nil: a machine that is there no longer
	gpus []int    // of the machine, rising
	each []pasar.Bytes
	host pasar.Bytes
	core bool
}

// open reports whether anything may start on a machine just now.
func (m *machine) open() bool { return m.Reachable && m.Blocked == "" }

func newMachines(in []Machine, now time.Time) []*machine {
	list := make([]*machine, len(in))
	made := make([]machine, len(in))
	for i := range in {
		list[i] = &made[i]
		list[i].fill(&in[i], now)
	}
	return list
}

func (m *machine) fill(in *Machine, now time.Time) {
	*m = machine{Machine: in, hostTotal: in.HostMemory()}
	m.gpus = make([]gpu, len(in.GPUs))
	m.base = level{host: m.hostTotal, cores: in.CPUJobs}
	m.base.resize(len(in.GPUs))
	for k, d := range in.GPUs {
		g := &m.gpus[k]
		*g = gpu{GPURef: pasar.GPURef{Index: d.Index, UUID: d.UUID, Parent: d.Parent}, part: d.Parent != "", name: strings.ToLower(d.Name), total: d.Total,
			shared: d.Virtual || d.Unified, clean: true, rank: slices.Index(in.Prefer, d.UUID)}
		if g.rank < 0 {
			g.rank = len(in.Prefer)
		}
		if g.shared {
			g.total = min(g.total, m.hostTotal)
		}
		if s := in.seen(d.UUID); s != nil {
			g.unhealthy, g.noSlice, g.who = s.Unhealthy, s.Exclusive, s.Who
			g.strangers = min(max(s.Strangers, 0), g.total)
			g.clean = s.Idle
			g.settles = in.Settles > 0 && !d.Virtual
			if g.settle = s.Settle.Sub(now); !s.Settle.IsZero() && g.settle > 0 {
				g.settleFor = s.SettleFor
			} else {
				g.settle = 0
			}
		}
		m.base.free[k] = g.total - g.strangers
		if g.shared {
			m.base.host -= g.strangers
		}
	}
}

func (m *Machine) seen(uuid string) *GPUSeen {
	for i := range m.Seen {
		if m.Seen[i].UUID == uuid && uuid != "" {
			return &m.Seen[i]
		}
	}
	return nil
}

// weigh sets what the claims leave against what the devices say, once all running jobs are charged.
//
// What is missing while jobs are there is laid to them, since sums over processes are under-reported,
// and is taken to be free with the last of them; without any it is there to stay.
func (m *machine) weigh() {
	m.plain = true
	for k := range m.gpus {
		g, s := &m.gpus[k], m.seen(m.gpus[k].UUID)
		if s == nil {
			continue
		}
		m.plain = false
		g.clean = g.clean || m.base.tenants[k] > 0 && s.Strangers == 0
		if s.Free == nil || *s.Free >= m.base.free[k] {
			continue
		}
		missing := m.base.free[k] - max(*s.Free, 0)
		if missing <= 0 {
			continue
		}
		m.base.free[k] -= missing
		if m.base.tenants[k] > 0 {
			m.base.gap[k] = missing
		} else {
			g.missing = missing
		}
	}
}

// held is what a running job has. A machine or GPU that is there no longer is passed over, but not what has come
// of a device since: a job that has what was split has all parts of it, and one that has a part is on the GPU that
// the parts became. Of a job that has ended only GPU memory is still taken.
func held(r *Running, machines []*machine) holding {
	var h holding
	for _, m := range machines {
		if m.Inventory.Machine != r.Grant.Machine {
			continue
		}
		h.m = m
		c := &r.Grant.Claim
		var shared pasar.Bytes
		var buf [8]int
		for _, ref := range r.Grant.GPUs {
			places, exact := m.Places(ref, buf[:0])
			for _, k := range places {
				size := charged(c, &m.gpus[k])
				switch s := m.seen(m.gpus[k].UUID); {
				case c.Kind != pasar.Slice:
				case !exact && m.gpus[k].part:
					size = charged(&pasar.Claim{Kind: pasar.Whole}, &m.gpus[k])
				case s != nil:
					for _, u := range s.Use {
						if u.ID == r.ID {
							size = max(size, u.Mem)
						}
					}
				}
				if m.gpus[k].shared {
					shared += size
				}
				if at := slices.Index(h.gpus, k); at >= 0 { // it held parts that are one GPU now
					if h.each[at] += size; c.Kind != pasar.Slice {
						h.each[at] = size
					}
					continue
				}
				h.gpus, h.each = append(h.gpus, k), append(h.each, size)
			}
		}
		h.host, h.core = hostCharge(c.Kind, c.RAM, shared), c.Kind == pasar.NoGPU
		if r.Leaving {
			h.host, h.core = shared, false
		}
		return h
	}
	return h
}

// take charges a holding.
func (l *level) take(h *holding) {
	for i, k := range h.gpus {
		l.free[k] -= h.each[i]
		l.tenants[k]++
	}
	l.host -= h.host
	if h.core {
		l.cores--
	}
}

// drop gives a holding back.
func (l *level) drop(h *holding) {
	for i, k := range h.gpus {
		l.free[k] += h.each[i]
		if l.tenants[k]--; l.tenants[k] == 0 {
			l.free[k] += l.gap[k]
			l.gap[k] = 0
		}
	}
	l.host += h.host
	if h.core {
		l.cores++
	}
}

func (l *level) resize(n int) {
	if cap(l.free) < n {
		both := make([]pasar.Bytes, 2*n)
		l.free, l.gap, l.tenants = both[:n:n], both[n:], make([]int32, n)
	}
	l.free, l.gap, l.tenants = l.free[:n], l.gap[:n], l.tenants[:n]
}

// set makes l what other is.
func (l *level) set(other *level) {
	l.resize(len(other.free))
	copy(l.free, other.free)
	copy(l.gap, other.gap)
	copy(l.tenants, other.tenants)
	l.host, l.cores = other.host, other.cores
}

// lower makes l the least of itself and another.
func (l *level) lower(other *level) {
	for k := range l.free {
		l.free[k] = min(l.free[k], other.free[k])
		l.tenants[k] = max(l.tenants[k], other.tenants[k])
	}
	l.host, l.cores = min(l.host, other.host), min(l.cores, other.cores)
}
