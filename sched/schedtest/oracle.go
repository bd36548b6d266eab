package schedtest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pasar"
	"pasar/sched"
)

// Oracle finds out the slow way what a plan must be: it tries every set of GPUs of every machine, adds
// up all claims anew each time, and keeps what waiting jobs are due in a list. It holds the plan's starts
// and the kinds of its reasons against that.
func Oracle(t testing.TB, in sched.Input, plan sched.Plan) {
	t.Helper()
	queue := slices.Clone(in.Waiting)
	slices.SortFunc(queue, sched.Compare)
	var due []owed
	now := in
	now.Waiting = queue
	starts := map[pasar.JobID]sched.Start{}
	for _, s := range plan.Starts {
		starts[s.ID] = s
	}
	reasons := map[pasar.JobID]pasar.Reason{}
	for id, reason := range plan.Reasons.All() {
		reasons[id] = reason
	}
	ahead := map[bool]int{} // by whether they ask for no GPU
	for _, j := range queue {
		start, starts := starts[j.ID]
		reason := reasons[j.ID]
		if j.Held {
			if reason.Why != pasar.WaitHeld {
				t.Errorf("job %d is held, reason %q", j.ID, reason.Why)
			}
			continue
		}
		places := possible(now, j, due)
		if len(places) > 0 != starts {
			t.Errorf("job %d: starts is %v, %d places for it", j.ID, starts, len(places))
		}
		if starts {
			if !slices.ContainsFunc(places, func(p pasar.Grant) bool { return same(p, start.Grant) }) {
				t.Errorf("job %d starts at %v, none of %v", j.ID, start.Grant, places)
			}
			bestFit(t, now, start, places)
			now = After(now, sched.Plan{Starts: []sched.Start{start}}, time.Time{})
			continue
		}
		if want := ahead[j.Claim.Kind == pasar.NoGPU]; reason.Ahead != want {
			t.Errorf("job %d: %d ahead, want %d", j.ID, reason.Ahead, want)
		}
		ahead[j.Claim.Kind == pasar.NoGPU]++
		free := possible(now, j, nil)
		empty := now
		empty.Active = nil
		ever := possible(empty, j, nil)
		switch turn := reason.Why == pasar.WaitTurn; {
		case turn != (len(free) > 0):
			t.Errorf("job %d: reason %q, %d places if nobody were before it", j.ID, reason.Why, len(free))
		case (reason.Why == pasar.WaitMachine) != (len(ever) == 0):
			t.Errorf("job %d: reason %q, %d places if nothing ran", j.ID, reason.Why, len(ever))
		case turn:
			passing(t, now, j, reason, due)
		}
		// What it is due on a machine is what any of its places there would take.
		most := map[string]int64{}
		for _, place := range ever {
			for what, n := range asks(now, place) {
				most[what] = max(most[what], n)
			}
		}
		for what, n := range most {
			due = append(due, owed{j, what, n})
		}
	}
}

// owed is some of a resource that a waiting job is due.
type owed struct {
	job  sched.Job
	what string
	n    int64
}

// possible is every grant that a job could have now, using nothing that others are due.
func possible(in sched.Input, j sched.Job, due []owed) (grants []pasar.Grant) {
	for i := range in.Machines {
		m := &in.Machines[i]
		if !m.Reachable || m.Blocked != "" || j.Machine != "" && j.Machine != m.Inventory.Machine {
			continue
		}
		for set := range 1 << len(m.GPUs) {
			grant := pasar.Grant{Machine: m.Inventory.Machine, Claim: j.Claim}
			ok := true
			for k, g := range m.GPUs {
				if set>>k&1 == 1 {
					grant.GPUs = append(grant.GPUs, pasar.GPURef{Index: g.Index, UUID: g.UUID})
					ok = ok && allowed(g, j.Claim)
				}
			}
			if !ok || len(grant.GPUs) != j.Claim.GPUs {
				continue
			}
			u := use(in, i)
			u.add(m, grant)
			takes := asks(in, grant)
			for _, o := range due {
				if takes[o.what] == 0 {
					continue
				}
				switch o.what {
				case m.Inventory.Machine + " places":
					u.used["places"] += o.n
				case m.Inventory.Machine + " host":
					u.used["host memory"] += o.n
				default:
					ok = false // a GPU is due as a whole
				}
			}
			if ok && u.fits() {
				grants = append(grants, grant)
			}
		}
	}
	return grants
}

// asks is what a grant takes of each resource, by name.
func asks(in sched.Input, grant pasar.Grant) map[string]int64 {
	m := find(in, grant.Machine)
	takes := map[string]int64{}
	if grant.Claim.Kind == pasar.NoGPU {
		takes[m.Inventory.Machine+" places"] = 1
	}
	for _, ref := range grant.GPUs {
		takes[ref.UUID] = 1
	}
	u := usage{map[string]int64{}, map[string]int64{}}
	u.add(m, grant)
	if host := u.used["host memory"]; host > 0 {
		takes[m.Inventory.Machine+" host"] = host
	}
	return takes
}

// passing holds that the bid a job needs to pass the one it waits behind is enough, and that one less
// isn't.
func passing(t testing.TB, in sched.Input, j sched.Job, r pasar.Reason, due []owed) {
	t.Helper()
	with := func(bid pasar.Bid) int {
		raised := j
		raised.Bid = bid
		left := slices.DeleteFunc(slices.Clone(due), func(o owed) bool { return sched.Compare(raised, o.job) < 0 })
		return len(possible(in, j, left))
	}
	if r.BidNeeded == nil {
		t.Errorf("job %d waits behind %d and no bid would change it", j.ID, r.Behind)
		return
	}
	if bid := *r.BidNeeded; with(bid) == 0 || with(bid-1) > 0 {
		t.Errorf("job %d needs bid %d: with it %d places, with one less %d", j.ID, bid, with(bid), with(bid-1))
	}
}

// bestFit holds that a slice of one GPU goes where it leaves least free.
func bestFit(t testing.TB, in sched.Input, start sched.Start, places []pasar.Grant) {
	t.Helper()
	c := start.Grant.Claim
	if c.Kind != pasar.Slice || c.GPUs != 1 {
		return
	}
	left := func(grant pasar.Grant) string {
		for i := range in.Machines {
			if m := &in.Machines[i]; m.Inventory.Machine == grant.Machine {
				u := use(in, i)
				before := u.used[grant.GPUs[0].UUID+" whole"]
				g := gpuOf(m, grant.GPUs[0])
				free := int64(g.Total) - u.used[g.UUID+" memory"]
				if g.Virtual || g.Unified {
					free = min(free, int64(m.HostMemory())-u.used["host memory"])
				}
				return fmt.Sprintf("%020d %04d %04d %04d", free, before, i, g.Index)
			}
		}
		return ""
	}
	for _, p := range places {
		if left(p) < left(start.Grant) {
			t.Errorf("job %d starts at %v, %v would be the better fit", start.ID, start.Grant, p)
		}
	}
}

func same(a, b pasar.Grant) bool {
	return a.Machine == b.Machine && slices.Equal(a.GPUs, b.GPUs)
}
