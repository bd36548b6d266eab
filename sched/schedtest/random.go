package schedtest

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"

	"pasar"
	"pasar/sched"
)

// Epoch is when random workloads are looked at.
var Epoch = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// Margin makes the limits of slices here: the default one.
var Margin = pasar.Margin{Min: 2 * pasar.GiB, Frac: 0.1}

// A Mix says what a random workload may have.
type Mix struct {
	Jobs     int  // at most so many wait
	Exact    bool // every job has an estimate, and nothing is stopping or leaving
	Seen     bool // GPUs were looked at: strangers, health, settling
	Stops    bool // jobs that may preempt, and such that are being stopped
	Order    bool // held, not due, after others, in groups
	Machines int  // at most so many; 0: 2
}

// Random is a workload; the same for the same source.
func Random(rnd *rand.Rand, mix Mix) sched.Input {
	var in sched.Input
	for i := range 1 + rnd.IntN(max(mix.Machines, 2)) {
		in.Machines = append(in.Machines, randomMachine(rnd, i, mix))
	}
	if mix.Seen {
		for i := range in.Machines {
			look(rnd, &in.Machines[i])
		}
	}
	tries := rnd.IntN(5)
	if mix.Stops {
		tries += rnd.IntN(8) // so that often there is a choice of whom to stop
	}
	for id := range tries {
		if r, ok := randomRunning(rnd, in, pasar.JobID(900+id), mix); ok {
			in.Active = append(in.Active, r)
		}
	}
	for i := range rnd.IntN(mix.Jobs + 1) {
		j := RandomJob(rnd, pasar.JobID(i+1), mix)
		if i > 0 && rnd.IntN(2) == 0 { // many jobs ask for the same
			j.Claim, j.Machine = in.Waiting[rnd.IntN(i)].Claim, in.Waiting[rnd.IntN(i)].Machine
		}
		in.Waiting = append(in.Waiting, j)
	}
	if mix.Seen {
		use(rnd, &in)
	}
	if mix.Stops {
		stopSome(rnd, &in)
	}
	return in
}

func randomMachine(rnd *rand.Rand, i int, mix Mix) sched.Machine {
	m := sched.Machine{Reachable: rnd.IntN(12) > 0}
	m.Inventory.Machine = []string{"local", "m1", "m2"}[i]
	if rnd.IntN(12) == 0 {
		m.Blocked = "drained"
	}
	m.Cores = 1 + rnd.IntN(4)
	m.CPUJobs = rnd.IntN(m.Cores + 1)
	m.RAM = pasar.Bytes(16+16*rnd.IntN(5)) * pasar.GiB
	m.Reserve = 4 * pasar.GiB
	sort := rnd.IntN(5) // 0 to 2: discrete GPUs; 3: one virtual; 4: unified ones
	n := 1 + rnd.IntN(3)
	if sort == 3 {
		n = 1
	}
	for k := range n {
		g := pasar.GPU{Index: k, UUID: fmt.Sprintf("GPU-%04d-%s", k, m.Inventory.Machine), Name: []string{"NVIDIA A100", "NVIDIA H100"}[rnd.IntN(2)],
			Total: pasar.Bytes(24+8*rnd.IntN(4)) * pasar.GiB, Virtual: sort == 3, Unified: sort == 4}
		if sort >= 3 {
			g.Total = m.HostMemory()
		}
		if sort == 2 && k > 0 { // instances of one more
			g.UUID, g.Parent = fmt.Sprintf("MIG-%04d-%s", k, m.Inventory.Machine), "GPU-split-"+m.Inventory.Machine
		}
		m.GPUs = append(m.GPUs, g)
	}
	if mix.Seen && rnd.IntN(3) == 0 {
		m.External = pasar.ExternalAvoid
	}
	if rnd.IntN(5) == 0 {
		m.Prefer = []string{m.GPUs[len(m.GPUs)-1].UUID}
	}
	if mix.Seen && rnd.IntN(2) == 0 {
		m.Settles = 10 * time.Second
	}
	return m
}

// look adds what was seen of a machine's real GPUs, but for what jobs use.
func look(rnd *rand.Rand, m *sched.Machine) {
	for k := range m.GPUs {
		if m.GPUs[k].Virtual || rnd.IntN(6) == 0 {
			continue
		}
		s := sched.GPUSeen{UUID: m.GPUs[k].UUID, Exclusive: rnd.IntN(8) == 0, Idle: rnd.IntN(3) > 0}
		if rnd.IntN(8) == 0 {
			s.Unhealthy = "Xid 79"
		}
		if rnd.IntN(4) == 0 {
			s.Strangers, s.Who, s.Idle = pasar.Bytes(1+rnd.IntN(30))*pasar.GiB, "python (anna)", false
		}
		if rnd.IntN(5) == 0 {
			s.Settle, s.SettleFor = Epoch.Add(time.Duration(1+rnd.IntN(9))*time.Second), 77
		}
		m.Seen = append(m.Seen, s)
	}
}

// use adds what running jobs use, and what the devices say is free.
func use(rnd *rand.Rand, in *sched.Input) {
	for i := range in.Machines {
		m := &in.Machines[i]
		for n := range m.Seen {
			s := &m.Seen[n]
			free := -1
			for k := range m.GPUs {
				if m.GPUs[k].UUID == s.UUID {
					free = int((total(m, k) - strangersOn(m, k)) / pasar.GiB)
				}
			}
			for _, r := range in.Active {
				if r.Grant.Claim.Kind == pasar.Slice && slices.ContainsFunc(r.Grant.GPUs, func(g pasar.GPURef) bool { return g.UUID == s.UUID }) && rnd.IntN(2) == 0 {
					s.Use = append(s.Use, sched.Use{ID: r.ID, Mem: pasar.Bytes(rnd.IntN(20)) * pasar.GiB})
				}
			}
			if rnd.IntN(3) == 0 && free >= 0 {
				s.Free = pasar.Known(pasar.Bytes(rnd.IntN(free+1)) * pasar.GiB)
			}
		}
	}
}

// randomRunning is a job that runs where it fits.
func randomRunning(rnd *rand.Rand, in sched.Input, id pasar.JobID, mix Mix) (sched.Running, bool) {
	j := RandomJob(rnd, id, mix)
	w := newModel(in, Epoch)
	i := rnd.IntN(len(in.Machines))
	m := &in.Machines[i]
	set := uint(rnd.IntN(1 << len(m.GPUs)))
	if bits.OnesCount(set) != j.Claim.GPUs {
		return sched.Running{}, false
	}
	if !w.fits(&j, i, set, 0, true) {
		return sched.Running{}, false
	}
	r := sched.Running{ID: id, Bid: j.Bid, Grant: pasar.Grant{Machine: m.Inventory.Machine, Claim: j.Claim}, Estimate: j.Estimate, Group: j.Group,
		Started: Epoch.Add(-time.Duration(1+rnd.IntN(90))*time.Minute - 30*time.Second)} // so that none is at its very end
	for k := range m.GPUs {
		if set>>k&1 == 1 {
			r.Grant.GPUs = append(r.Grant.GPUs, pasar.GPURef{Index: m.GPUs[k].Index, UUID: m.GPUs[k].UUID, Parent: m.GPUs[k].Parent})
		}
	}
	if mix.Exact {
		r.Started = Epoch.Add(-time.Duration(rnd.Int64N(int64(r.Estimate))))
	} else if rnd.IntN(5) == 0 {
		r.Ends = Epoch.Add(time.Duration(rnd.IntN(40)-5)*time.Minute + 30*time.Second)
	}
	return r, true
}

// stopSome makes running jobs preemptible, some of them stopping or leaving, for others or not.
func stopSome(rnd *rand.Rand, in *sched.Input) {
	for i := range in.Active {
		r := &in.Active[i]
		r.Preemptible = rnd.IntN(4) > 0
		if rnd.IntN(3) == 0 {
			r.SafeSince = r.Started.Add(time.Duration(rnd.Int64N(int64(max(Epoch.Sub(r.Started), 1)))))
		}
		switch rnd.IntN(8) {
		case 0:
			r.Stopping = true
			if len(in.Waiting) > 0 && rnd.IntN(3) > 0 {
				j := &in.Waiting[rnd.IntN(len(in.Waiting))]
				r.StopFor, j.Preempt, j.Promised = j.ID, true, rnd.IntN(2) == 0
			}
		case 1:
			r.Leaving = len(r.Grant.GPUs) > 0
		case 2:
			r.Stopping, r.Patient = true, true
		}
	}
	for i := range in.Waiting {
		in.Waiting[i].Preempt = in.Waiting[i].Preempt || rnd.IntN(3) == 0
	}
}

// RandomJob is a job with a claim of any kind.
func RandomJob(rnd *rand.Rand, id pasar.JobID, mix Mix) sched.Job {
	j := sched.Job{ID: id, Bid: pasar.Bid(1000 + 100*rnd.IntN(4)), QueueTime: Epoch.Add(-time.Duration(rnd.IntN(5)) * time.Hour)}
	if mix.Exact || rnd.IntN(3) > 0 {
		j.Estimate = time.Duration(1+rnd.IntN(60)) * time.Minute
	}
	if rnd.IntN(8) == 0 {
		j.Machine = []string{"local", "m1", "m2", "gone"}[rnd.IntN(4)]
	}
	if mix.Order {
		j.Held = rnd.IntN(12) == 0
		switch rnd.IntN(10) {
		case 0:
			j.NotBefore, j.Retry = Epoch.Add(time.Duration(rnd.IntN(30)-5)*time.Minute), rnd.IntN(2) == 0
		case 1:
			j.After = []pasar.Dependency{{Job: 900, On: pasar.AfterOK}}
		case 2, 3:
			j.Group, j.GroupMax = 7, 1+rnd.IntN(2)
		}
	}
	c := &j.Claim
	switch rnd.IntN(4) {
	case 0:
		c.Kind = pasar.NoGPU
	case 1:
		c.Kind, c.GPUs = pasar.Whole, 1+rnd.IntN(3)
		if mix.Seen && rnd.IntN(4) == 0 {
			c.External = []pasar.External{pasar.ExternalAvoid, pasar.ExternalShare}[rnd.IntN(2)]
		}
	default:
		c.Kind, c.GPUs = pasar.Slice, 1+rnd.IntN(4)/3
		c.Mem = pasar.Bytes(1+rnd.IntN(30)) * pasar.GiB
		c.Limit = Margin.Limit(c.Mem)
	}
	if rnd.IntN(3) == 0 {
		c.RAM = pasar.Bytes(1+rnd.IntN(24)) * pasar.GiB
	}
	if c.Kind != pasar.NoGPU {
		switch rnd.IntN(10) {
		case 0:
			c.Type = "h100"
		case 1:
			c.IDs = []string{"0", "2"}
		}
	}
	return j
}
