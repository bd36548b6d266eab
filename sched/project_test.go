package sched_test

import (
	"testing"
	"time"

	"pasar"
	"pasar/sched"
)

func TestAProjectionFollowsOneJobAfterAnother(t *testing.T) {
	now := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	gpu := pasar.GPU{UUID: "GPU-0000-local", Total: 80 * pasar.GiB}
	whole := pasar.Claim{Kind: pasar.Whole, GPUs: 1}
	in := sched.Input{
		Machines: []sched.Machine{{Reachable: true, Inventory: pasar.Inventory{Machine: "local", CPUJobs: 4, RAM: 64 * pasar.GiB, GPUs: []pasar.GPU{gpu}}}},
		Active: []sched.Running{{ID: 1, Started: now.Add(-time.Hour), Estimate: 2 * time.Hour,
			Grant: pasar.Grant{Machine: "local", Claim: whole, GPUs: []pasar.GPURef{{UUID: gpu.UUID}}}}},
		Waiting: []sched.Job{
			{ID: 2, QueueTime: now, Claim: whole, Estimate: time.Hour},
			{ID: 3, QueueTime: now.Add(1), Claim: whole},
			{ID: 4, QueueTime: now.Add(2), Claim: whole, Estimate: time.Hour},
			{ID: 5, QueueTime: now, Claim: whole, Held: true},
		},
	}
	p := sched.Project(in, now, 0)
	for _, c := range []struct {
		id            pasar.JobID
		start, finish time.Duration // from now; -1: none
		guess         bool
	}{
		{1, -time.Hour, time.Hour, false},
		{2, time.Hour, 2 * time.Hour, false},
		{3, 2 * time.Hour, -1, false},
		{4, 2*time.Hour + 10*time.Minute, 3*time.Hour + 10*time.Minute, true},
	} {
		f, ok := p.Find(c.id)
		if !ok || !f.Start.Equal(now.Add(c.start)) || f.Finish.IsZero() != (c.finish < 0) || c.finish >= 0 && !f.Finish.Equal(now.Add(c.finish)) || f.Guess != c.guess {
			t.Errorf("job %d: %+v", c.id, f)
		}
	}
	if f, ok := p.Find(5); ok {
		t.Errorf("held: %+v", f)
	}
	if p.Cut || len(p.Jobs) != 4 {
		t.Errorf("%+v", p)
	}
	if cut := sched.Project(in, now, 2); !cut.Cut || len(cut.Jobs) != 2 {
		t.Errorf("after two passes: %+v", cut)
	}
}
