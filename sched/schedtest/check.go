package schedtest

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/sched"
)

// Check holds a plan against what must be true of every plan.
func Check(t testing.TB, in sched.Input, plan sched.Plan) {
	t.Helper()
	everyJobStartsOrHasAReason(t, in, plan)
	grantsAreWhatWasAsked(t, in, plan)
	nothingIsOverCommitted(t, After(in, plan, time.Time{}), in)
	equalClaimsStartInOrder(t, in, plan)
}

func everyJobStartsOrHasAReason(t testing.TB, in sched.Input, plan sched.Plan) {
	t.Helper()
	seen := map[pasar.JobID]int{}
	for _, s := range plan.Starts {
		seen[s.ID]++
	}
	for id, reason := range plan.Reasons.All() {
		seen[id]++
		if reason.Why == "" || reason.Sentence() == "waits" || !slices.IsSorted(reason.Holders) {
			t.Errorf("job %d: reason %+v", id, reason)
		}
		if reason.Why == pasar.WaitTurn && reason.Behind == 0 {
			t.Errorf("job %d waits for its turn behind nobody", id)
		}
		switch reason.Why {
		case pasar.WaitMemory, pasar.WaitRAM:
			if reason.Need <= reason.Free {
				t.Errorf("job %d needs %s, and %s are free", id, reason.Need, reason.Free)
			}
			fallthrough
		case pasar.WaitGPU, pasar.WaitCores:
			if len(reason.Holders) == 0 {
				t.Errorf("job %d: nobody holds what it waits for (%s)", id, reason.Sentence())
			}
		}
		if i := slices.IndexFunc(in.Waiting, func(j sched.Job) bool { return j.ID == id }); i >= 0 {
			j := in.Waiting[i]
			if b := reason.BidNeeded; b != nil && (*b < j.Bid || *b > pasar.MaxBid) {
				t.Errorf("job %d with bid %d needs bid %d", id, j.Bid, *b)
			}
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
		case j.Held:
			t.Errorf("job %d is held, and starts", j.ID)
		case m == nil || !m.Reachable || m.Blocked != "" || j.Machine != "" && j.Machine != s.Grant.Machine:
			t.Errorf("job %d starts on %q", j.ID, s.Grant.Machine)
		case !reflect.DeepEqual(j.Claim, s.Grant.Claim):
			t.Errorf("job %d claimed %v, is granted %v", j.ID, j.Claim, s.Grant.Claim)
		}
		if len(s.Grant.GPUs) != j.Claim.GPUs {
			t.Errorf("job %d has %d GPUs of %d", j.ID, len(s.Grant.GPUs), j.Claim.GPUs)
		}
		seen := map[int]bool{}
		for _, ref := range s.Grant.GPUs {
			if seen[ref.Index] {
				t.Errorf("job %d has GPU %d twice", j.ID, ref.Index)
			}
			seen[ref.Index] = true
			if g := gpuOf(m, ref); g == nil || !allowed(*g, j.Claim) {
				t.Errorf("job %d has GPU %v, which it may not have", j.ID, ref)
			}
		}
	}
}

// nothingIsOverCommitted adds up every claim from the start. Amounts that were over before may stay so.
func nothingIsOverCommitted(t testing.TB, after, before sched.Input) {
	t.Helper()
	for i := range after.Machines {
		now, then := use(after, i), use(before, i)
		for what, n := range now.used {
			if n > now.limit[what] && n > then.used[what] {
				t.Errorf("%s of %s: %d given out, of %d", what, after.Machines[i].Inventory.Machine, n, now.limit[what])
			}
		}
	}
}

// equalClaimsStartInOrder holds that nobody overtakes a job that asks for the same.
func equalClaimsStartInOrder(t testing.TB, in sched.Input, plan sched.Plan) {
	t.Helper()
	starts := map[pasar.JobID]bool{}
	for _, s := range plan.Starts {
		starts[s.ID] = true
	}
	for _, a := range in.Waiting {
		for _, b := range in.Waiting {
			if !a.Held && sched.Compare(a, b) < 0 && starts[b.ID] && !starts[a.ID] && a.Machine == b.Machine && reflect.DeepEqual(a.Claim, b.Claim) {
				t.Errorf("job %d overtakes job %d, which asks for the same", b.ID, a.ID)
			}
		}
	}
}

// A usage is what is given out of one machine, by name of the resource, and how much there is.
type usage struct{ used, limit map[string]int64 }

func use(in sched.Input, machine int) usage {
	m := &in.Machines[machine]
	u := usage{map[string]int64{}, map[string]int64{"places": int64(m.CPUJobs), "host memory": int64(m.HostMemory())}}
	for _, r := range in.Active {
		if r.Grant.Machine == m.Inventory.Machine {
			u.add(m, r.Grant)
		}
	}
	return u
}

func (u usage) add(m *sched.Machine, grant pasar.Grant) {
	c := grant.Claim
	if c.Kind == pasar.NoGPU {
		u.used["places"]++
	}
	var shared pasar.Bytes
	for _, ref := range grant.GPUs {
		g := gpuOf(m, ref)
		if g == nil {
			continue
		}
		name := g.UUID
		u.limit[name+" memory"], u.limit[name+" whole"] = int64(g.Total), 1000
		size := c.Limit
		u.used[name+" whole"]++
		if c.Kind == pasar.Whole {
			size = g.Total
			u.used[name+" whole"] += 999 // nobody else may be there
		}
		u.used[name+" memory"] += int64(size)
		if g.Virtual || g.Unified {
			shared += size
		}
	}
	if c.Kind == pasar.Whole && shared > 0 {
		u.used["host memory"] += int64(max(shared, c.RAM))
	} else {
		u.used["host memory"] += int64(shared + c.RAM)
	}
}

// fits reports whether nothing is over its limit.
func (u usage) fits() bool {
	for what, n := range u.used {
		if n > u.limit[what] {
			return false
		}
	}
	return true
}

func find(in sched.Input, name string) *sched.Machine {
	for i := range in.Machines {
		if in.Machines[i].Inventory.Machine == name {
			return &in.Machines[i]
		}
	}
	return nil
}

func gpuOf(m *sched.Machine, ref pasar.GPURef) *pasar.GPU {
	for i := range m.GPUs {
		if m.GPUs[i].UUID == ref.UUID {
			return &m.GPUs[i]
		}
	}
	return nil
}

func allowed(g pasar.GPU, c pasar.Claim) bool {
	if !strings.Contains(strings.ToLower(g.Name), strings.ToLower(c.Type)) {
		return false
	}
	return len(c.IDs) == 0 || slices.ContainsFunc(c.IDs, func(id string) bool {
		return id == string(rune('0'+g.Index)) || strings.HasPrefix(g.UUID, id)
	})
}
