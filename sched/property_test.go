package sched_test

import (
	"flag"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pasar"
	"pasar/sched"
	"pasar/sched/schedtest"
)

// How many random workloads each property is held against: -worlds N for each of them.
var worldsFlag = flag.Int("worlds", 0, "random workloads for each property; 0: as many as is usual")

// worlds makes random workloads, each from a number, on every core; it stops at the first that fails.
func worlds(t *testing.T, n int, mix schedtest.Mix, f func(t testing.TB, rnd *rand.Rand, in sched.Input)) {
	t.Helper()
	if *worldsFlag > 0 {
		n = *worldsFlag
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for !t.Failed() {
				seed := next.Add(1)
				if seed > int64(n) {
					return
				}
				rnd := rand.New(rand.NewPCG(uint64(seed), 1))
				in := schedtest.Random(rnd, mix)
				told := &teller{TB: t}
				if f(told, rnd, in); told.failed {
					t.Errorf("workload %d: %+v", seed, in)
				}
			}
		})
	}
	wg.Wait()
}

// A teller notes whether one workload failed.
type teller struct {
	testing.TB
	failed bool
}

func (t *teller) Errorf(format string, args ...any) {
	t.failed = true
	t.TB.Errorf(format, args...)
}

func TestEveryPlanIsWhatTheOracleFinds(t *testing.T) {
	for _, mix := range []schedtest.Mix{
		{Jobs: 6},
		{Jobs: 6, Seen: true},
		{Jobs: 6, Order: true},
		{Jobs: 5, Stops: true},
		{Jobs: 6, Seen: true, Stops: true, Order: true},
	} {
		worlds(t, 12_000, mix, func(t testing.TB, _ *rand.Rand, in sched.Input) {
			plan := sched.Decide(in, schedtest.Epoch)
			schedtest.Check(t, in, schedtest.Epoch, plan)
			schedtest.Oracle(t, in, schedtest.Epoch, plan)
		})
	}
}

func TestEqualInputGivesAnEqualPlanWhateverTheOrderOfItsJobs(t *testing.T) {
	worlds(t, 10_000, schedtest.Mix{Jobs: 6, Seen: true, Stops: true, Order: true}, func(t testing.TB, rnd *rand.Rand, in sched.Input) {
		shuffled := in
		shuffled.Waiting, shuffled.Active = slices.Clone(in.Waiting), slices.Clone(in.Active)
		rnd.Shuffle(len(in.Waiting), func(i, k int) {
			shuffled.Waiting[i], shuffled.Waiting[k] = shuffled.Waiting[k], shuffled.Waiting[i]
		})
		rnd.Shuffle(len(in.Active), func(i, k int) {
			shuffled.Active[i], shuffled.Active[k] = shuffled.Active[k], shuffled.Active[i]
		})
		before := slices.Clone(shuffled.Waiting)
		plan, again := sched.Decide(in, schedtest.Epoch), sched.Decide(shuffled, schedtest.Epoch)
		if !reflect.DeepEqual(plan, again) {
			t.Errorf("plans differ:\n%+v\n%+v", plan, again)
		}
		if !reflect.DeepEqual(before, shuffled.Waiting) {
			t.Errorf("Decide changed its input")
		}
	})
}

// What is promised to the first of the waiting jobs holds, from one end to the next, when estimates are exact.
// Under the strict order by age nothing moves it. By the usual rules an urgent job goes before its elders, and it alone: it
// may put a promise off, by no more than it takes.
func TestNoStartMovesAReservationWhenEstimatesAreExact(t *testing.T) {
	for _, policy := range []sched.Policy{sched.PolicyEASY, sched.PolicyPasar} {
		worlds(t, 8_000, schedtest.Mix{Jobs: 8, Exact: true}, func(t testing.TB, _ *rand.Rand, in sched.Input) {
			in.Policy = policy
			now := schedtest.Epoch
			promised := map[pasar.JobID]time.Time{}
			for {
				plan := sched.Decide(in, now)
				var put time.Duration // off, at most
				for _, s := range plan.Starts {
					if j := jobOf(in, s.ID); policy == sched.PolicyPasar && now.Sub(j.QueueTime) >= 10*j.Estimate {
						put += j.Estimate
					}
					if was, ok := promised[s.ID]; ok && now.After(was) {
						t.Errorf("job %d was promised %v, and starts at %v", s.ID, was, now)
					}
				}
				for id, was := range promised {
					promised[id] = was.Add(put)
				}
				if len(plan.Reservations) > 0 {
					r := plan.Reservations[0]
					if was, ok := promised[r.ID]; ok && r.At.After(was) {
						t.Errorf("job %d was promised %v, and then %v", r.ID, was, r.At)
					}
					promised[r.ID] = r.At
				}
				in = schedtest.After(in, plan, now)
				if len(in.Active) == 0 {
					return
				}
				end := func(r sched.Running) time.Time { return r.Started.Add(r.Estimate) }
				now = end(slices.MinFunc(in.Active, func(a, b sched.Running) int { return end(a).Compare(end(b)) }))
				in.Active = slices.DeleteFunc(in.Active, func(r sched.Running) bool { return !end(r).After(now) })
			}
		})
	}
}

func jobOf(in sched.Input, id pasar.JobID) sched.Job {
	return in.Waiting[slices.IndexFunc(in.Waiting, func(j sched.Job) bool { return j.ID == id })]
}

func TestAProjectionIsWhatDecidingStepByStepComesTo(t *testing.T) {
	for _, mix := range []schedtest.Mix{{Jobs: 8, Exact: true}, {Jobs: 8, Order: true}, {Jobs: 6, Stops: true}} {
		worlds(t, 3_000, mix, func(t testing.TB, _ *rand.Rand, in sched.Input) {
			got, want := sched.Project(in, schedtest.Epoch, 0), schedtest.Stepwise(in, schedtest.Epoch)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("projected\n%+v\nstep by step\n%+v", got, want)
			}
		})
	}
}

func TestEveryJobThatFitsStartsInTheEnd(t *testing.T) {
	for _, mix := range []schedtest.Mix{{Jobs: 8, Exact: true}, {Jobs: 8}} {
		worlds(t, 4_000, mix, func(t testing.TB, _ *rand.Rand, in sched.Input) {
			p := sched.Project(in, schedtest.Epoch, 0)
			for _, j := range in.Waiting {
				alone := in
				alone.Waiting, alone.Active = []sched.Job{j}, nil
				_, starts := p.Find(j.ID)
				if fits := len(sched.Decide(alone, schedtest.Epoch).Starts) == 1; fits != starts {
					t.Errorf("job %d: fits is %v, starts is %v", j.ID, fits, starts)
				}
			}
		})
	}
}

func TestABidAboveEveryOtherNeverDelaysAJob(t *testing.T) {
	worlds(t, 6_000, schedtest.Mix{Jobs: 8, Exact: true}, func(t testing.TB, rnd *rand.Rand, in sched.Input) {
		if len(in.Waiting) == 0 {
			return
		}
		before := sched.Project(in, schedtest.Epoch, 0)
		i := rnd.IntN(len(in.Waiting))
		in.Waiting = slices.Clone(in.Waiting)
		in.Waiting[i].Bid = 9000
		after := sched.Project(in, schedtest.Epoch, 0)
		was, ok := before.Find(in.Waiting[i].ID)
		now, still := after.Find(in.Waiting[i].ID)
		if ok != still || now.Start.After(was.Start) {
			t.Errorf("job %d started at %v, with the highest bid at %v (%v)", in.Waiting[i].ID, was.Start, now.Start, still)
		}
	})
}

func TestNothingStopsUnlessAJobAskedForIt(t *testing.T) {
	worlds(t, 5_000, schedtest.Mix{Jobs: 6, Stops: true}, func(t testing.TB, _ *rand.Rand, in sched.Input) {
		for i := range in.Waiting {
			in.Waiting[i].Preempt = false
		}
		if plan := sched.Decide(in, schedtest.Epoch); len(plan.Stops) > 0 {
			t.Errorf("stops: %v", plan.Stops)
		}
	})
}

// A job that waits for its turn starts at once with the bid it is told.
func TestTheBidThatAJobIsToldIsEnough(t *testing.T) {
	worlds(t, 6_000, schedtest.Mix{Jobs: 6, Seen: true}, func(t testing.TB, _ *rand.Rand, in sched.Input) {
		plan := sched.Decide(in, schedtest.Epoch)
		for id, reason := range plan.Reasons.All() {
			if reason.Why != pasar.WaitTurn || reason.BidNeeded == nil {
				continue
			}
			starts := func(bid pasar.Bid) bool {
				raised := in
				raised.Waiting = slices.Clone(in.Waiting)
				raised.Waiting[slices.IndexFunc(in.Waiting, func(j sched.Job) bool { return j.ID == id })].Bid = bid
				return slices.ContainsFunc(sched.Decide(raised, schedtest.Epoch).Starts, func(s sched.Start) bool { return s.ID == id })
			}
			if bid := *reason.BidNeeded; !starts(bid) {
				t.Errorf("job %d does not start with bid %d", id, bid)
			}
		}
	})
}

func TestFitsRefusesExactlyWhatCouldNeverStart(t *testing.T) {
	worlds(t, 5_000, schedtest.Mix{Jobs: 6}, func(t testing.TB, _ *rand.Rand, in sched.Input) {
		for i := range in.Machines {
			in.Machines[i].Reachable, in.Machines[i].Blocked = true, ""
		}
		for _, j := range in.Waiting {
			j.Machine = ""
			alone := in
			alone.Waiting, alone.Active = []sched.Job{j}, nil
			err := sched.Fits(j.Claim, schedtest.Margin, in.Machines)
			if (err == nil) != (len(sched.Decide(alone, schedtest.Epoch).Starts) == 1) {
				t.Errorf("Fits(%v): %v", j.Claim, err)
			}
			if err != nil && (err.Error() == "" || err.(*sched.ImpossibleError).Hint() == "") {
				t.Errorf("Fits(%v): %q", j.Claim, err)
			}
		}
	})
}

var slicesThatFit = regexp.MustCompile(`^--mem ([0-9]+[GM]) fits`)

func TestTheSliceThatAHintSaysFitsIsTheLargest(t *testing.T) {
	for _, total := range []pasar.Bytes{81_000 * pasar.MiB, 80 * pasar.GiB, 24 * pasar.GiB, 5 * pasar.GiB, 2*pasar.GiB + 300*pasar.MiB} {
		machines := []sched.Machine{{Inventory: pasar.Inventory{Machine: "box", RAM: 512 * pasar.GiB, GPUs: []pasar.GPU{{UUID: "a", Total: total}}}, Reachable: true}}
		fits := func(mem pasar.Bytes) error {
			return sched.Fits(pasar.Claim{Kind: pasar.Slice, GPUs: 1, Mem: mem, Limit: schedtest.Margin.Limit(mem)}, schedtest.Margin, machines)
		}
		for _, asked := range []pasar.Bytes{total, 100 * pasar.GiB, 500 * pasar.GiB, 100_000 * pasar.GiB} {
			err := fits(asked)
			if err == nil {
				t.Fatalf("%s of %s fits", asked, total)
			}
			m := slicesThatFit.FindStringSubmatch(err.(*sched.ImpossibleError).Hint())
			if m == nil {
				t.Fatalf("%s of %s: %q", asked, total, err.(*sched.ImpossibleError).Hint())
			}
			mem, err := pasar.ParseBytes(m[1])
			if err != nil {
				t.Fatal(err)
			}
			more := pasar.GiB
			if mem < pasar.GiB {
				more = pasar.MiB
			}
			if err := fits(mem); err != nil {
				t.Errorf("%s of %s: %s does not fit: %v", asked, total, m[1], err)
			}
			if fits(mem+more) == nil {
				t.Errorf("%s of %s: more than %s fits", asked, total, m[1])
			}
		}
	}
}
