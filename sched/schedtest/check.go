package schedtest

import (
	"math/bits"
	"reflect"
	"slices"
	"testing"
	"time"

	"pasar"
	"pasar/sched"
)

// Check holds a plan against what must be true of every plan.
func Check(t testing.TB, in sched.Input, now time.Time, plan sched.Plan) {
	t.Helper()
	everyJobStartsOrHasAReason(t, in, now, plan)
	grantsAreWhatWasAsked(t, in, plan)
	nothingIsOverCommitted(t, in, now, plan)
	stopsAreAskedFor(t, in, plan)
	if !plan.WakeAt.IsZero() && !plan.WakeAt.After(now) {
		t.Errorf("to be woken at %v, now is %v", plan.WakeAt, now)
	}
}

func everyJobStartsOrHasAReason(t testing.TB, in sched.Input, now time.Time, plan sched.Plan) {
	t.Helper()
	seen := map[pasar.JobID]int{}
	for _, s := range plan.Starts {
		seen[s.ID]++
	}
	var last *sched.Job
	for id, reason := range plan.Reasons.All() {
		seen[id]++
		if reason.Why == "" || reason.Sentence() == "waits" || !slices.IsSorted(reason.Holders) {
			t.Errorf("job %d: reason %+v", id, reason)
		}
		switch reason.Why {
		case pasar.WaitTurn:
			if reason.Behind == 0 {
				t.Errorf("job %d waits for its turn behind nobody", id)
			}
		case pasar.WaitMemory, pasar.WaitRAM:
			if reason.Need <= reason.Free {
				t.Errorf("job %d needs %s, and %s are free", id, reason.Need, reason.Free)
			}
			fallthrough
		case pasar.WaitGPU, pasar.WaitCores, pasar.WaitPreempting, pasar.WaitRelease, pasar.WaitAfter, pasar.WaitGroup:
			if len(reason.Holders) == 0 {
				t.Errorf("job %d: nobody holds what it waits for (%s)", id, reason.Sentence())
			}
		case pasar.WaitBegin, pasar.WaitRetry, pasar.WaitSettle:
			if reason.Until == nil || !reason.Until.After(now) || plan.WakeAt.IsZero() || plan.WakeAt.After(*reason.Until) {
				t.Errorf("job %d waits until %v, and the plan wakes at %v", id, reason.Until, plan.WakeAt)
			}
		case pasar.WaitStranger, pasar.WaitUnhealthy, pasar.WaitMachine:
			if reason.Detail == "" {
				t.Errorf("job %d: %+v says nothing", id, reason)
			}
		}
		i := slices.IndexFunc(in.Waiting, func(j sched.Job) bool { return j.ID == id })
		if i < 0 {
			continue
		}
		j := &in.Waiting[i]
		if b := reason.BidNeeded; b != nil && (*b < j.Bid || *b > pasar.MaxBid) {
			t.Errorf("job %d with bid %d needs bid %d", id, j.Bid, *b)
		}
		if last != nil && sched.Compare(*last, *j) >= 0 {
			t.Errorf("the reasons of jobs %d and %d are not in order", last.ID, id)
		}
		last = j
		r := slices.IndexFunc(plan.Reservations, func(r sched.Reservation) bool { return r.ID == id })
		if r >= 0 != (reason.Start != nil) || r >= 0 && !reason.Start.Equal(plan.Reservations[r].At) {
			t.Errorf("job %d: reason %+v, reservation %d", id, reason, r)
		}
	}
	if len(seen) != len(in.Waiting) {
		t.Errorf("%d jobs wait, the plan speaks of %d", len(in.Waiting), len(seen))
	}
	for _, j := range in.Waiting {
		if seen[j.ID] != 1 {
			t.Errorf("the plan speaks of job %d %d times", j.ID, seen[j.ID])
		}
	}
}

func grantsAreWhatWasAsked(t testing.TB, in sched.Input, plan sched.Plan) {
	t.Helper()
	for _, s := range plan.Starts {
		j := in.Waiting[slices.IndexFunc(in.Waiting, func(j sched.Job) bool { return j.ID == s.ID })]
		m := find(in, s.Grant.Machine)
		switch {
		case m == nil || !open(m, &j):
			t.Errorf("job %d starts on %q", j.ID, s.Grant.Machine)
			continue
		case !reflect.DeepEqual(j.Claim, s.Grant.Claim):
			t.Errorf("job %d claimed %v, is granted %v", j.ID, j.Claim, s.Grant.Claim)
		}
		if len(s.Grant.GPUs) != j.Claim.GPUs || !slices.IsSortedFunc(s.Grant.GPUs, func(a, b pasar.GPURef) int { return a.Index - b.Index }) {
			t.Errorf("job %d has GPUs %v of %d", j.ID, s.Grant.GPUs, j.Claim.GPUs)
		}
		seen := map[int]bool{}
		for _, ref := range s.Grant.GPUs {
			if seen[ref.Index] {
				t.Errorf("job %d has GPU %d twice", j.ID, ref.Index)
			}
			seen[ref.Index] = true
			k := slices.IndexFunc(m.GPUs, func(g pasar.GPU) bool { return g.UUID == ref.UUID && g.Index == ref.Index })
			if k < 0 || !may(m, k, &j.Claim) {
				t.Errorf("job %d has GPU %v, which it may not have", j.ID, ref)
			}
		}
	}
}

// nothingIsOverCommitted adds up every claim from the start. What was over before may stay so, but nothing
// is added to it.
func nothingIsOverCommitted(t testing.TB, in sched.Input, now time.Time, plan sched.Plan) {
	t.Helper()
	w := newModel(in, now)
	before := len(w.spans)
	for _, s := range plan.Starts {
		w.add(s.ID, s.Grant, 0, never, starts, nil)
	}
	for _, s := range w.spans[before:] {
		m := &in.Machines[s.m]
		host, cores := w.hostAt(s.m, 0)
		if s.host > 0 && host < 0 || s.core && cores < 0 {
			t.Errorf("job %d starts on %s, which then has %s of host memory and %d places left", s.id, m.Inventory.Machine, host, cores)
		}
		for k := range m.GPUs {
			if s.gpus>>k&1 == 0 {
				continue
			}
			free, onIt := w.freeAt(s.m, k, 0)
			if s.slice && free < 0 || !s.slice && onIt > 1 {
				t.Errorf("job %d starts on GPU %d of %s, which then has %s left and %d jobs", s.id, k, m.Inventory.Machine, free, onIt)
			}
		}
		if len(plan.Starts) > 0 && bits.OnesCount(s.gpus) == 0 && !s.core {
			t.Errorf("job %d starts on nothing", s.id)
		}
	}
}

// stopsAreAskedFor holds that nothing stops unless a waiting job asked for it with a higher bid.
func stopsAreAskedFor(t testing.TB, in sched.Input, plan sched.Plan) {
	t.Helper()
	seen := map[pasar.JobID]bool{}
	for _, s := range plan.Stops {
		r := slices.IndexFunc(in.Active, func(r sched.Running) bool { return r.ID == s.ID })
		j := slices.IndexFunc(in.Waiting, func(j sched.Job) bool { return j.ID == s.For })
		if r < 0 || j < 0 || seen[s.ID] || !in.Waiting[j].Preempt || in.Active[r].Bid >= in.Waiting[j].Bid ||
			!in.Active[r].Preemptible || in.Active[r].Stopping || in.Active[r].Leaving {
			t.Errorf("job %d stops for %d", s.ID, s.For)
		}
		seen[s.ID] = true
	}
}

func find(in sched.Input, name string) *sched.Machine {
	for i := range in.Machines {
		if in.Machines[i].Inventory.Machine == name {
			return &in.Machines[i]
		}
	}
	return nil
}
