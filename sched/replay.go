package sched

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pasar"
)

// A TraceJob is one job of a recorded trace.
type TraceJob struct {
	Submit   time.Duration // since the trace began
	Run      time.Duration // how long it ran, and will run here
	Estimate time.Duration // what the scheduler is told of that; 0: nothing
	GPUs     int           // at least one, at most those that there are
	Part     float64       // of each of its GPUs' memory: 1 is whole GPUs
	Bid      pasar.Bid
}

// A TraceRun is when and where a job of a trace ran.
type TraceRun struct {
	Start, End time.Duration // since the trace began
	GPUs       []int
}

// replayMem is the memory of each GPU of a replay, so large that a part of it is as exact as the number that
// said it.
const replayMem = pasar.Bytes(1) << 45

// Replay plays a trace on one machine with some GPUs by the rules of Decide: a pass at every submit, at every
// end, and when a plan asks for one. Jobs share GPUs without slowing each other down. The runs are in the
// order of the jobs.
func Replay(jobs []TraceJob, gpus int, policy Policy) ([]TraceRun, error) {
	r := replay{jobs: jobs, runs: make([]TraceRun, len(jobs)), in: Input{Policy: policy}}
	m := Machine{Reachable: true, Inventory: pasar.Inventory{Machine: pasar.LocalMachine, RAM: replayMem}}
	for i := range gpus {
		m.GPUs = append(m.GPUs, pasar.GPU{Index: i, UUID: fmt.Sprintf("GPU-%04d", i), Total: replayMem})
	}
	r.in.Machines = []Machine{m}
	for i := range jobs {
		if j := &jobs[i]; j.GPUs < 1 || j.GPUs > gpus || !(j.Part > 0 && j.Part <= 1) || j.Run < 0 || j.Submit < 0 {
			return nil, fmt.Errorf("job %d of the trace doesn't fit on %d GPUs", i+1, gpus)
		}
		r.arrivals = append(r.arrivals, i)
	}
	slices.SortStableFunc(r.arrivals, func(a, b int) int { return cmp.Compare(jobs[a].Submit, jobs[b].Submit) })
	return r.runs, r.play()
}

// A replay is a trace being played. Job i has the id i + 1.
type replay struct {
	jobs     []TraceJob
	runs     []TraceRun
	arrivals []int // jobs in the order in which they come
	in       Input
	wake     time.Duration
}

func (r *replay) play() error {
	r.wake = forever
	for len(r.arrivals) > 0 || len(r.in.Active) > 0 || len(r.in.Waiting) > 0 {
		at := r.wake
		if len(r.arrivals) > 0 {
			at = min(at, r.jobs[r.arrivals[0]].Submit)
		}
		for i := range r.in.Active {
			at = min(at, r.runs[r.in.Active[i].ID-1].End)
		}
		if at == forever {
			return fmt.Errorf("%d jobs of the trace never start", len(r.in.Waiting))
		}
		r.in.Active = slices.DeleteFunc(r.in.Active, func(a Running) bool { return r.runs[a.ID-1].End <= at })
		for len(r.arrivals) > 0 && r.jobs[r.arrivals[0]].Submit <= at {
			r.arrive(r.arrivals[0])
			r.arrivals = r.arrivals[1:]
		}
		r.decide(at)
	}
	return nil
}

func (r *replay) arrive(i int) {
	t := &r.jobs[i]
	j := Job{ID: pasar.JobID(i + 1), Bid: t.Bid, QueueTime: epoch.Add(t.Submit), Estimate: t.Estimate,
		Claim: pasar.Claim{Kind: pasar.Whole, GPUs: t.GPUs}}
	if t.Part < 1 {
		mem := max(1, pasar.Bytes(t.Part*float64(replayMem)))
		j.Claim = pasar.Claim{Kind: pasar.Slice, GPUs: t.GPUs, Mem: mem, Limit: mem}
	}
	at, _ := slices.BinarySearchFunc(r.in.Waiting, j, Compare)
	r.in.Waiting = slices.Insert(r.in.Waiting, at, j)
}

// epoch is the time at the beginning of a replay; any will do that is not the zero time.
var epoch = time.Time{}.Add(time.Hour)

func (r *replay) decide(at time.Duration) {
	now := epoch.Add(at)
	plan := Decide(r.in, now)
	for i := range plan.Starts {
		s := &plan.Starts[i]
		t := &r.jobs[s.ID-1]
		run := &r.runs[s.ID-1]
		run.Start, run.End = at, at+t.Run
		for _, g := range s.Grant.GPUs {
			run.GPUs = append(run.GPUs, g.Index)
		}
		r.in.Active = append(r.in.Active, Running{ID: s.ID, Bid: t.Bid, Grant: s.Grant, Started: now, Estimate: t.Estimate})
	}
	if len(plan.Starts) > 0 {
		r.in.Waiting = slices.DeleteFunc(r.in.Waiting, func(j Job) bool { return r.runs[j.ID-1].GPUs != nil })
	}
	r.wake = forever
	if !plan.WakeAt.IsZero() {
		r.wake = max(plan.WakeAt.Sub(epoch), at+1)
	}
}
