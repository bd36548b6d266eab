package sched_test

import (
	"flag"
	"math/rand/v2"
	"reflect"
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
		worlds(t, 2000, mix, func(t testing.TB, _ *rand.Rand, in sched.Input) {
			plan := sched.Decide(in, schedtest.Epoch)
			schedtest.Check(t, in, schedtest.Epoch, plan)
			schedtest.Oracle(t, in, schedtest.Epoch, plan)
		})
	}
}

func TestAProjectionIsWhatDecidingStepByStepComesTo(t *testing.T) {
	for _, mix := range []schedtest.Mix{{Jobs: 8, Exact: true}, {Jobs: 8, Order: true}, {Jobs: 6, Stops: true}} {
		worlds(t, 2000, mix, func(t testing.TB, _ *rand.Rand, in sched.Input) {
			got, want := sched.Project(in, schedtest.Epoch, 0), schedtest.Stepwise(in, schedtest.Epoch)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("projected\n%+v\nstep by step\n%+v", got, want)
			}
		})
	}
}

var _ = reflect.DeepEqual
var _ = slices.Clone[[]int]
var _ = time.Now
var _ pasar.JobID
