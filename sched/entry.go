package sched

import (
	"math"
	"slices"
	"strings"
	"time"

	"pasar"
)

// forever is how long a job without an estimate is taken to run when it is let in before others.
const forever = time.Duration(math.MaxInt64)

// An entry is what a pass needs of a waiting job, in little memory, so that going over a long queue costs
// next to nothing. Times are spans from the start of the look.
type entry struct {
	size, ram pasar.Bytes // on each GPU, for slices; of host memory
	est       time.Duration
	due       time.Duration // not before; 0: now
	queued    time.Duration
	bid       pasar.Bid
	id        pasar.JobID
	job       int32 // in the input
	key       int32 // where it may run
	after     int32 // jobs it waits for
	group     int32 // none: -1
	groupMax  int32
	gpus      int16
	kind      kind
	state     progress
	held      bool
	avoids    pasar.External
	preempt   bool
	promised  bool
}

type kind uint8

const (
	noGPU kind = iota
	slice
	whole
)

// progress is what has become of a waiting job in a pass.
type progress uint8

const (
	waits    progress = iota
	started           // by this pass
	owed              // room that is being made is promised to it
	reserved          // it has a reservation
)

// A key is where jobs may run: those with the same key compete for the same.
type key struct {
	machine  string        // as named; of use when it is none of the machines
	cpu      bool          // for jobs without a GPU
	on       []bool        // by machine: whether it may run there
	ok       [][]bool      // by machine and GPU: whether it may have that; nil: all of them
	reserved int           // reservations of jobs with the key, in this pass
	tried    int           // how often a reservation was looked for in vain, in this pass
	longest  time.Duration // that a job with it has waited, of those with the bid being considered
	urgent   time.Duration // the longest estimate of such a job that may go before its elders
}

// A keyName tells keys apart.
type keyName struct {
	machine, gpuType, ids string
	cpu                   bool
}

// enter makes the entries of the waiting jobs, in order.
func (p *pass) enter(jobs []Job) {
	p.jobs = jobs
	p.queue = make([]entry, len(jobs))
	for i := range jobs {
		p.queue[i] = p.entryOf(i)
	}
}

func (p *pass) entryOf(i int) entry {
	j := &p.jobs[i]
	c := &j.Claim
	e := entry{ram: c.RAM, est: j.Estimate, queued: j.QueueTime.Sub(p.epoch), bid: j.Bid, id: j.ID, job: int32(i), key: p.keyOf(j),
		after: int32(len(j.After)), group: -1, gpus: int16(c.GPUs), held: j.Held, avoids: c.External, preempt: j.Preempt, promised: j.Promised}
	switch c.Kind {
	case pasar.Slice:
		e.kind, e.size = slice, max(c.Limit, c.Mem)
		if p.least == 0 || e.size < p.least {
			p.least = e.size
		}
	case pasar.Whole:
		e.kind = whole
	default:
		e.gpus, p.cpuJobs = 0, true
	}
	if e.est <= 0 {
		e.est = forever
	}
	if !j.NotBefore.IsZero() {
		e.due = max(j.NotBefore.Sub(p.epoch), 0)
	}
	if j.Group != 0 && j.GroupMax > 0 {
		e.group, e.groupMax = p.groupOf(j.Group), int32(min(j.GroupMax, math.MaxInt32))
	}
	p.preemptors = p.preemptors || j.Preempt
	p.anyPromised = p.anyPromised || j.Promised
	return e
}

// keyOf is the number of a job's key.
func (p *pass) keyOf(j *Job) int32 {
	name := keyName{machine: j.Machine, gpuType: j.Claim.Type, cpu: j.Claim.Kind == pasar.NoGPU}
	if len(j.Claim.IDs) > 0 {
		name.ids = strings.Join(j.Claim.IDs, ",")
	}
	if len(p.keys) > 0 && name == p.lastKey {
		return p.lastKeyNo
	}
	no, ok := p.keyNos[name]
	if !ok {
		if p.keyNos == nil {
			p.keyNos = map[keyName]int32{}
		}
		k := p.newKey(j)
		at := slices.IndexFunc(p.keys, k.same)
		if at < 0 {
			at = len(p.keys)
			p.keys = append(p.keys, k)
		}
		no = int32(at)
		p.keyNos[name] = no
	}
	p.lastKey, p.lastKeyNo = name, no
	return no
}

func (p *pass) newKey(j *Job) key {
	k := key{machine: j.Machine, cpu: j.Claim.Kind == pasar.NoGPU, on: make([]bool, len(p.machines))}
	all := true
	for i, m := range p.machines {
		k.on[i] = j.Machine == "" || j.Machine == m.Inventory.Machine
		ok := make([]bool, len(m.gpus))
		for g := range m.gpus {
			ok[g] = k.cpu || m.gpus[g].allows(j.Claim.Type, j.Claim.IDs)
			all = all && ok[g]
		}
		k.ok = append(k.ok, ok)
	}
	if all {
		k.ok = nil
	}
	return k
}

// same reports whether two keys mean the same places, however those are named.
func (k *key) same(o key) bool {
	return k.cpu == o.cpu && slices.Equal(k.on, o.on) && slices.EqualFunc(k.ok, o.ok, slices.Equal) && (k.machine == o.machine || slices.Contains(k.on, true))
}

// groupOf is the number of a group; its members that run are counted in p.groups.
func (p *pass) groupOf(id pasar.JobID) int32 {
	no, ok := p.groupNos[id]
	if !ok {
		if p.groupNos == nil {
			p.groupNos = map[pasar.JobID]int32{}
		}
		no = int32(len(p.groups))
		p.groupNos[id] = no
		n := int32(0)
		for i := range p.acts {
			if p.acts[i].Group == id {
				n++
			}
		}
		p.groups = append(p.groups, n)
	}
	return no
}

// may reports whether jobs of a key may run on a machine, which takes work now.
func (p *pass) may(k *key, i int) bool {
	return k.on[i] && p.machines[i].open()
}

// allowed reports whether a job may have a GPU, were nothing else there.
func (k *key) allowed(e *entry, i, g int, m *machine) bool {
	d := &m.gpus[g]
	return d.unhealthy == "" && (k.ok == nil || k.ok[i][g]) && !(e.kind == slice && d.noSlice) && !(e.gpus > 1 && d.part)
}

// gated reports whether a job may not start yet, whatever is free.
func (p *pass) gated(e *entry) bool {
	return e.held || e.due > p.at || e.after > 0 || e.group >= 0 && p.groups[e.group] >= e.groupMax
}
