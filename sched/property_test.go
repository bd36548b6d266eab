package sched_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"pasar"
	"pasar/sched"
	"pasar/sched/schedtest"
)

// worlds plays random workloads for a number of steps each, with an input and its plan at each step.
func worlds(t *testing.T, n, steps int, f func(rnd *rand.Rand, in sched.Input, plan sched.Plan)) {
	for seed := range uint64(n) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		in := schedtest.Random(rnd, 12)
		now := time.Unix(10, 0)
		for step := range steps {
			plan := sched.Decide(in, now)
			f(rnd, in, plan)
			if t.Failed() {
				t.Fatalf("seed %d, step %d: %+v", seed, step, in)
			}
			in = schedtest.After(in, plan, now)
			now = now.Add(time.Minute)
			in.Active = slices.DeleteFunc(in.Active, func(sched.Running) bool { return rnd.IntN(3) == 0 })
			if rnd.IntN(2) == 0 {
				in.Waiting = append(in.Waiting, schedtest.RandomJob(rnd, pasar.JobID(1000*(step+1))))
			}
		}
	}
}

func TestEveryPlanIsWhatTheOracleFinds(t *testing.T) {
	worlds(t, 600, 5, func(_ *rand.Rand, in sched.Input, plan sched.Plan) {
		schedtest.Check(t, in, plan)
		schedtest.Oracle(t, in, plan)
	})
}

func TestEqualInputGivesAnEqualPlanWhateverTheOrderOfItsJobs(t *testing.T) {
	worlds(t, 300, 3, func(rnd *rand.Rand, in sched.Input, plan sched.Plan) {
		shuffled := in
		shuffled.Waiting, shuffled.Active = slices.Clone(in.Waiting), slices.Clone(in.Active)
		rnd.Shuffle(len(in.Waiting), func(i, k int) {
			shuffled.Waiting[i], shuffled.Waiting[k] = shuffled.Waiting[k], shuffled.Waiting[i]
		})
		rnd.Shuffle(len(in.Active), func(i, k int) {
			shuffled.Active[i], shuffled.Active[k] = shuffled.Active[k], shuffled.Active[i]
		})
		before := slices.Clone(shuffled.Waiting)
		if again := sched.Decide(shuffled, time.Unix(99, 0)); !reflect.DeepEqual(plan, again) {
			t.Errorf("plans differ:\n%+v\n%+v", plan, again)
		}
		if !reflect.DeepEqual(before, shuffled.Waiting) {
			t.Error("Decide changed its input")
		}
	})
}

// starts is when each job starts if each runs as long as its id says, one pass at every end.
func starts(in sched.Input, now time.Time) map[pasar.JobID]time.Time {
	at := map[pasar.JobID]time.Time{}
	length := func(id pasar.JobID) time.Duration { return time.Duration(1+id*7%11) * time.Minute }
	for {
		plan := sched.Decide(in, now)
		for _, s := range plan.Starts {
			at[s.ID] = now
		}
		in = schedtest.After(in, plan, now)
		if len(in.Active) == 0 {
			return at
		}
		next := in.Active[0].Started.Add(length(in.Active[0].ID))
		for _, r := range in.Active {
			if end := r.Started.Add(length(r.ID)); end.Before(next) {
				next = end
			}
		}
		if next.After(now) {
			now = next
		}
		in.Active = slices.DeleteFunc(in.Active, func(r sched.Running) bool { return !r.Started.Add(length(r.ID)).After(now) })
	}
}

func TestABidAboveEveryOtherNeverDelaysAJob(t *testing.T) {
	worlds(t, 300, 3, func(rnd *rand.Rand, in sched.Input, _ sched.Plan) {
		if len(in.Waiting) == 0 {
			return
		}
		now := time.Unix(1000, 0)
		before := starts(in, now)
		i := rnd.IntN(len(in.Waiting))
		in.Waiting = slices.Clone(in.Waiting)
		in.Waiting[i].Bid = 9000
		id := in.Waiting[i].ID
		after := starts(in, now)
		if was, ok := before[id]; ok && (after[id].IsZero() || after[id].After(was)) {
			t.Errorf("job %d started at %v, with the highest bid at %v", id, was, after[id])
		}
	})
}

func TestEveryJobThatFitsStartsInTheEnd(t *testing.T) {
	worlds(t, 300, 1, func(_ *rand.Rand, in sched.Input, _ sched.Plan) {
		at := starts(in, time.Unix(1000, 0))
		for _, j := range in.Waiting {
			alone := in
			alone.Waiting, alone.Active = []sched.Job{j}, nil
			if _, ok := at[j.ID]; ok != (len(sched.Decide(alone, time.Time{}).Starts) == 1) {
				t.Errorf("job %d: started is %v", j.ID, ok)
			}
		}
	})
}

func TestFitsRefusesExactlyWhatCouldNeverStart(t *testing.T) {
	worlds(t, 600, 1, func(_ *rand.Rand, in sched.Input, _ sched.Plan) {
		for i := range in.Machines {
			in.Machines[i].Reachable, in.Machines[i].Blocked = true, ""
		}
		for _, j := range in.Waiting {
			j.Machine, j.Held = "", false
			alone := in
			alone.Waiting, alone.Active = []sched.Job{j}, nil
			err := sched.Fits(j.Claim, in.Machines)
			if (err == nil) != (len(sched.Decide(alone, time.Time{}).Starts) == 1) {
				t.Errorf("Fits(%v): %v", j.Claim, err)
			}
			if err != nil && (err.Error() == "" || err.(*sched.ImpossibleError).Hint() == "") {
				t.Errorf("Fits(%v): %q", j.Claim, err)
			}
		}
	})
}
