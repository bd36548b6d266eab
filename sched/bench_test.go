package sched_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pasar"
	"pasar/sched"
)

// queue is eight busy GPUs and a number of waiting jobs of a few shapes, in order, as the daemon keeps
// them.
func queue(n int, held bool) sched.Input {
	m := sched.Machine{Reachable: true, Inventory: pasar.Inventory{Machine: "local", Cores: 64, CPUJobs: 64, RAM: pasar.TiB}}
	var in sched.Input
	for i := range 8 {
		g := pasar.GPU{Index: i, UUID: fmt.Sprintf("GPU-%04d-local", i), Name: "NVIDIA H100 80GB HBM3", Total: 80 * pasar.GiB}
		m.GPUs = append(m.GPUs, g)
		grant := pasar.Grant{Machine: "local", GPUs: []pasar.GPURef{{Index: i, UUID: g.UUID}}, Claim: pasar.Claim{Kind: pasar.Whole, GPUs: 1}}
		in.Active = append(in.Active, sched.Running{ID: pasar.JobID(i + 1), Grant: grant})
	}
	in.Machines = []sched.Machine{m}
	claims := []pasar.Claim{
		{Kind: pasar.Whole, GPUs: 1},
		{Kind: pasar.Slice, GPUs: 1, Mem: 24 * pasar.GiB, Limit: 26 * pasar.GiB},
		{Kind: pasar.Whole, GPUs: 4, RAM: 64 * pasar.GiB},
		{Kind: pasar.Slice, GPUs: 2, Mem: 8 * pasar.GiB, Limit: 10 * pasar.GiB, Type: "H100"},
	}
	for i := range n {
		in.Waiting = append(in.Waiting, sched.Job{ID: pasar.JobID(i + 100), Bid: pasar.Bid(1000 + i%7), QueueTime: time.Unix(int64(i), 0),
			Claim: claims[i%len(claims)], Held: held})
	}
	slices.SortFunc(in.Waiting, sched.Compare)
	return in
}

func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		for _, held := range []bool{false, true} {
			in := queue(n, held)
			name := fmt.Sprint(n)
			if held {
				name += " held"
			}
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					sched.Decide(in, time.Time{})
				}
			})
		}
	}
}

// Claims that are all different: nothing is remembered from one job to the next.
func BenchmarkDecideDistinct(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		in := queue(n, false)
		for i := range in.Waiting {
			c := &in.Waiting[i].Claim
			*c = pasar.Claim{Kind: pasar.Slice, GPUs: 1, Mem: pasar.Bytes(i+1) * pasar.KiB, RAM: pasar.Bytes(i) * pasar.KiB}
			c.Limit = c.Mem + 2*pasar.GiB
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sched.Decide(in, time.Time{})
			}
		})
	}
}

// timed gives every job an estimate, of a few lengths or all different.
func timed(in sched.Input, distinct bool) sched.Input {
	for i := range in.Waiting {
		in.Waiting[i].Estimate = []time.Duration{10 * time.Minute, time.Hour, 5 * time.Hour}[i%3]
		if distinct {
			in.Waiting[i].Estimate = time.Minute + time.Duration(i*7919%in1h)*time.Second
		}
	}
	for i := range in.Active {
		in.Active[i].Started, in.Active[i].Estimate = time.Unix(0, 0), time.Duration(i+1)*time.Hour
	}
	return in
}

const in1h = 3600 * 4

// unlike makes all claims different.
func unlike(in sched.Input) sched.Input {
	for i := range in.Waiting {
		c := &in.Waiting[i].Claim
		*c = pasar.Claim{Kind: pasar.Slice, GPUs: 1, Mem: pasar.Bytes(1+i*7919%60_000) * pasar.MiB, RAM: pasar.Bytes(i) * pasar.KiB}
		c.Limit = pasar.Margin{Min: 2 * pasar.GiB, Frac: 0.1}.Limit(c.Mem)
	}
	return in
}

func BenchmarkProject(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		for _, c := range []struct {
			name string
			in   sched.Input
		}{
			{"alike", timed(queue(n, false), false)},
			{"estimates", timed(queue(n, false), true)},
			{"distinct", timed(unlike(queue(n, false)), true)},
		} {
			b.Run(fmt.Sprint(n, " ", c.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if p := sched.Project(c.in, time.Unix(int64(n), 0), 0); len(p.Jobs) != n+8 {
						b.Fatalf("%d of %d jobs are seen to start", len(p.Jobs)-8, n)
					}
				}
			})
		}
	}
}

func TestAPassAllocatesNothingForEachWaitingJob(t *testing.T) {
	allocs := func(n int) float64 {
		in := queue(n, false)
		return testing.AllocsPerRun(5, func() { sched.Decide(in, time.Time{}) })
	}
	if few, many := allocs(1000), allocs(8000); many > few+20 {
		t.Errorf("%v allocations for 1000 jobs, %v for 8000", few, many)
	}
}

func TestWaitingJobsOfOneShapeShareTheirHolders(t *testing.T) {
	plan := sched.Decide(queue(1000, false), time.Time{})
	lists := map[*pasar.JobID]bool{}
	for _, reason := range plan.Reasons.All() {
		if len(reason.Holders) > 0 {
			lists[&reason.Holders[0]] = true
		}
	}
	if len(lists) == 0 || len(lists) > 8 {
		t.Errorf("%d lists of holders for 1000 jobs of four shapes", len(lists))
	}
}
