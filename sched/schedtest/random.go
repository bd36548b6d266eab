package schedtest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"pasar"
	"pasar/sched"
)

// Random is an input with a few machines of every sort and up to a number of waiting jobs; the same
// for the same source.
func Random(rnd *rand.Rand, jobs int) sched.Input {
	var in sched.Input
	for i := range 1 + rnd.IntN(3) {
		in.Machines = append(in.Machines, randomMachine(rnd, i))
	}
	for i := range rnd.IntN(jobs + 1) {
		j := RandomJob(rnd, pasar.JobID(i+1))
		if i > 0 && rnd.IntN(2) == 0 { // many jobs ask for the same
			j.Claim, j.Machine = in.Waiting[rnd.IntN(i)].Claim, in.Waiting[rnd.IntN(i)].Machine
		}
		in.Waiting = append(in.Waiting, j)
	}
	return in
}

func randomMachine(rnd *rand.Rand, i int) sched.Machine {
	m := sched.Machine{Reachable: rnd.IntN(8) > 0}
	m.Inventory.Machine = []string{"local", "m1", "m2"}[i]
	if rnd.IntN(8) == 0 {
		m.Blocked = "drained"
	}
	m.Cores = 1 + rnd.IntN(4)
	m.CPUJobs = rnd.IntN(m.Cores + 1)
	m.RAM = pasar.Bytes(16+16*rnd.IntN(5)) * pasar.GiB
	m.Reserve = 4 * pasar.GiB
	sort := rnd.IntN(4) // 0, 1: discrete GPUs; 2: one virtual; 3: unified ones
	n := 1 + rnd.IntN(4)
	if sort == 2 {
		n = 1
	}
	for k := range n {
		g := pasar.GPU{Index: k, UUID: fmt.Sprintf("GPU-%04d-%s", k, m.Inventory.Machine), Name: []string{"NVIDIA A100", "NVIDIA H100"}[rnd.IntN(2)],
			Total: pasar.Bytes(24+8*rnd.IntN(4)) * pasar.GiB, Virtual: sort == 2, Unified: sort == 3}
		if sort >= 2 {
			g.Total = m.HostMemory()
		}
		m.GPUs = append(m.GPUs, g)
	}
	return m
}

// RandomJob is a job with a claim of any kind.
func RandomJob(rnd *rand.Rand, id pasar.JobID) sched.Job {
	j := sched.Job{
		ID:        id,
		Bid:       pasar.Bid(1000 + 100*rnd.IntN(4)),
		QueueTime: time.Unix(int64(rnd.IntN(5)), 0),
		Held:      rnd.IntN(10) == 0,
	}
	if rnd.IntN(6) == 0 {
		j.Machine = []string{"local", "m1", "m2", "gone"}[rnd.IntN(4)]
	}
	c := &j.Claim
	switch rnd.IntN(4) {
	case 0:
		c.Kind = pasar.NoGPU
	case 1:
		c.Kind, c.GPUs = pasar.Whole, 1+rnd.IntN(3)
	default:
		c.Kind, c.GPUs = pasar.Slice, 1+rnd.IntN(4)/3
		c.Mem = pasar.Bytes(1+rnd.IntN(30)) * pasar.GiB
		c.Limit = pasar.Margin{Min: 2 * pasar.GiB, Frac: 0.1}.Limit(c.Mem)
	}
	if rnd.IntN(3) == 0 {
		c.RAM = pasar.Bytes(1+rnd.IntN(24)) * pasar.GiB
	}
	if c.Kind != pasar.NoGPU {
		switch rnd.IntN(8) {
		case 0:
			c.Type = "h100"
		case 1:
			c.IDs = []string{"0", "2"}
		}
	}
	return j
}
