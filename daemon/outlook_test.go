package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/sched"
	"pasar/target"
	"pasar/target/targettest"
)

// exact lets every job run for as long as it says: for its --time, which its name repeats.
func exact(a target.Attempt) targettest.Script {
	d, err := time.ParseDuration(string(a.Spec.Argv[0]))
	if err != nil {
		return targettest.Script{}
	}
	return targettest.Script{For: d}
}

func timed(run time.Duration, bid pasar.Bid, claim pasar.Claim) pasar.Spec {
	s := spec(run.String(), bid)
	s.Time, s.Claim = pasar.Duration(run), claim
	return s
}

func whole(n int) pasar.Claim { return pasar.Claim{Kind: pasar.Whole, GPUs: n} }

func slice(mem pasar.Bytes) pasar.Claim {
	return pasar.Claim{Kind: pasar.Slice, GPUs: 1, Mem: mem, Limit: mem + mem/10}
}

// foreseen is the daemon's forecast, as a reader gets it.
func (r *running) outlook() *forecast {
	r.w.t.Helper()
	f := r.forecast(context.Background(), forecastWait)
	if f == nil {
		r.w.t.Fatal("there is no forecast")
	}
	return f
}

func (r *running) seen(id pasar.JobID) pasar.JobView {
	r.w.t.Helper()
	j, err := r.find(id)
	if err != nil {
		r.w.t.Fatal(err)
	}
	return r.view(j, r.pub.Load().reasonFor(j), r.outlook())
}

func TestWhatIsProjectedForThirtyJobsComesTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 4)
		w.machine.OnLaunch(exact)
		d := w.start(nil)
		claims := []pasar.Claim{whole(1), whole(2), slice(20 * pasar.GiB), whole(1), whole(4), slice(50 * pasar.GiB), {Kind: pasar.NoGPU}}
		var ids []pasar.JobID
		for i := range 30 {
			run := time.Duration(7+(i*37)%113) * time.Minute
			ids = append(ids, d.submit(timed(run, pasar.Bid(1000+(i%3)*10), claims[i%len(claims)])))
		}
		for round := range 2 { // from the beginning, and from the middle
			type promise struct {
				start, finish time.Time
				machine       string
				gpus          []pasar.GPURef
			}
			broken := func(a *pasar.AttemptRecord, p promise) bool {
				return !a.StartedAt.Equal(p.start) || !a.EndedAt.Equal(p.finish) || a.Grant.Machine != p.machine || !slices.Equal(a.Grant.GPUs, p.gpus)
			}
			said := map[pasar.JobID]promise{}
			for _, id := range ids {
				v := d.seen(id)
				if v.State.Finished() {
					continue
				}
				p := v.Projected
				if p.Start == nil || p.Finish == nil || p.Machine == nil || p.GPUs == nil {
					t.Fatalf("job %d is %s and projected from %v to %v on %v of %v", id, v.State, p.Start, p.Finish, p.GPUs, p.Machine)
				}
				said[id] = promise{*p.Start, *p.Finish, *p.Machine, p.GPUs}
			}
			if want := 30 - 12*round; len(said) < min(want, 5) {
				t.Fatalf("only %d jobs are projected", len(said))
			}
			if round == 0 {
				defer func() {
					waited := 0
					for id, p := range said {
						a := d.lookupOrFind(id).current()
						if broken(a, p) {
							t.Errorf("job %d ran from %s to %s on %v; projected was %+v", id, a.StartedAt, a.EndedAt, a.Grant.GPUs, p)
						}
						if a.StartedAt.After(d.lookupOrFind(id).Created) {
							waited++
						}
					}
					if waited < 15 {
						t.Errorf("only %d jobs waited: that proves little", waited)
					}
				}()
				time.Sleep(61 * time.Minute)
				continue
			}
			time.Sleep(48 * time.Hour)
			synctest.Wait()
			for id, p := range said {
				a := d.lookupOrFind(id).current()
				if broken(a, p) {
					t.Errorf("in the middle: job %d ran from %s to %s on %v; projected was %+v", id, a.StartedAt, a.EndedAt, a.Grant.GPUs, p)
				}
			}
		}
		w.check()
	})
}

func (r *running) lookupOrFind(id pasar.JobID) *job {
	r.w.t.Helper()
	j, err := r.find(id)
	if err != nil {
		r.w.t.Fatal(err)
	}
	return j
}

func TestNothingIsProjectedWhileNobodyAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.machine.OnLaunch(exact)
		d := w.start(nil)
		for range 5 {
			d.submit(timed(time.Hour, 1000, whole(1)))
		}
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		if f := d.Daemon.outlook.Load(); f != nil {
			t.Errorf("a forecast of %s was made for nobody", f.at)
		}
		first := d.outlook()
		if again := d.outlook(); again != first {
			t.Error("a second reader got another forecast, though nothing had happened")
		}
		time.Sleep(2 * forecastFor)
		if later := d.outlook(); later == first {
			t.Error("an old forecast was taken for a fresh one")
		}
		newest := d.outlook()
		d.submit(timed(time.Hour, 1000, whole(1)))
		if later := d.outlook(); later == newest {
			t.Error("a forecast of before the last submit was taken for a fresh one")
		}
	})
}

func TestWhereAJobIsProjectedIsEmptyWhileNotKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		runs, waits := d.submit(spec("a", 1000)), d.submit(spec("b", 1000))
		hold := spec("held", 1000)
		hold.Hold = true
		held := d.submit(hold)
		gone := d.submit(hold)
		if _, err := d.do(context.Background(), d.cancel(jobs(gone))); err != nil {
			t.Fatal(err)
		}
		d.expect(gone, pasar.Cancelled)
		check := func(id pasar.JobID, want string) {
			t.Helper()
			v := d.seen(id)
			if got, err := json.Marshal(v.Projected); err != nil || !strings.HasSuffix(string(got), want) {
				t.Errorf("job %d is projected %s, %v; want %s", id, got, err, want)
			}
		}
		const here = `"machine":"local","gpus":[{"index":0,"uuid":"GPU-0","parent":""}]}`
		check(runs, here)
		check(waits, here) // behind a job without an estimate
		check(held, `"machine":null,"gpus":[]}`)
		check(gone, `"machine":null,"gpus":[]}`)
		w.machine.Finish(key(runs, 1), 0)
		d.expect(runs, pasar.Completed)
		check(runs, `"machine":null,"gpus":[]}`)
		check(waits, here)
	})
}

func TestAReaderDoesNotWaitForAForecastThatDoesNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		d.submit(spec("a", 1000))
		w.journal.setFail(true)
		go func() { _, _ = d.do(context.Background(), d.hold(oneJob("r", 1), true)) }() // finds the disk full
		synctest.Wait()
		began := time.Now()
		f := d.forecast(context.Background(), forecastWait)
		if took := time.Since(began); took > forecastWait {
			t.Errorf("a reader waited %s", took)
		}
		if f != nil {
			t.Error("a forecast came of a state that isn't on disk")
		}
		w.journal.setFail(false)
	})
}

func TestEstimatesComeFromWhatIsSaidThenHistoryThenPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.machine.OnLaunch(exact)
		d := w.start(nil)
		unsaid := func(run time.Duration) pasar.Spec {
			s := timed(run, 1000, whole(1))
			s.Time, s.Tags = 0, []string{"bert"}
			return s
		}
		if v := d.seen(d.submit(unsaid(10 * time.Minute))); v.EstSource != nil {
			t.Errorf("the first of its kind has an estimate by %s", *v.EstSource)
		}
		second := d.submit(unsaid(20 * time.Minute))
		if v := d.seen(second); v.Projected.Finish != nil {
			t.Errorf("its end is projected for %s, by nothing", v.Projected.Finish)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		// The first has ended: of its kind one took 10 minutes, which counts at once for the second.
		v := d.seen(second)
		if v.EstSource == nil || *v.EstSource != "history" || v.EstRuntime.Seconds() != 600 || v.Remaining.Seconds() != 600 {
			t.Errorf("estimate %v by %v, %v left", v.EstRuntime, v.EstSource, v.Remaining)
		}
		third := d.submit(unsaid(time.Hour))
		if v := d.seen(third); v.Projected.Start == nil || time.Until(*v.Projected.Start) != 10*time.Minute {
			t.Errorf("behind a job of 10 minutes by history it starts %v", v.Projected.Start)
		}
		for i := range 10 {
			time.Sleep(time.Minute)
			step, total := float64(i+1), 40.0
			w.machine.Report(key(second, 1), pasar.Event{Kind: pasar.EventProgress, At: time.Now(), Step: &step, TotalSteps: &total})
			synctest.Wait()
		}
		// Ten minutes for a quarter.
		if v = d.seen(second); *v.EstSource != "progress" || v.Remaining.Seconds() != 1800 {
			t.Errorf("estimate %v by %s, %v left", v.EstRuntime, *v.EstSource, v.Remaining)
		}
		if v := d.seen(third); time.Until(*v.Projected.Start) != 30*time.Minute {
			t.Errorf("behind a job of 30 minutes by its pace it starts %v", v.Projected.Start)
		}
	})
}

func TestListsGetEachJobsOwnForecast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.machine.OnLaunch(exact)
		d := w.start(nil)
		began := time.Now()
		for i := range 5 {
			d.submit(timed(time.Hour, pasar.Bid(1000+i), whole(1))) // 1, then 5, 4, 3, 2
		}
		for _, want := range []struct {
			id pasar.JobID
			h  int
		}{{5, 1}, {4, 2}, {3, 3}, {2, 4}} {
			v := d.seen(want.id)
			if v.Projected.Start == nil || v.Projected.Start.Sub(began) != time.Duration(want.h)*time.Hour {
				t.Errorf("job %d starts %v, want in %d h", want.id, v.Projected.Start, want.h)
			}
		}
		if _, ok := d.outlook().of(99); ok {
			t.Error("a job that isn't there has a forecast")
		}
	})
}

func TestAnEndASecondLateUndoesNoPromise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		w.machine.OnLaunch(func(a target.Attempt) targettest.Script {
			s := exact(a)
			s.For += time.Second // to start and to end takes time that no estimate has
			return s
		})
		d := w.start(nil)
		d.submit(timed(time.Hour, 1000, whole(1)))
		big := d.submit(timed(time.Hour, 1000, whole(2)))
		small := d.submit(timed(2*time.Hour, 1000, whole(1))) // may not go before
		said := *d.seen(big).Projected.Start
		time.Sleep(10 * time.Hour)
		synctest.Wait()
		if got := d.startsOf(big)[big]; got.Sub(said) > time.Second {
			t.Errorf("promised for %s, started at %s", said, got)
		}
		if got := d.startsOf(small)[small]; got.Before(said) {
			t.Errorf("a later job started at %s, when the one before it had been promised %s", got, said)
		}
	})
}

func BenchmarkForecastLookup(b *testing.B) {
	f := &forecast{index: map[pasar.JobID]int32{}}
	for i := range 10_000 {
		id := pasar.JobID(i + 1)
		f.Jobs = append(f.Jobs, schedForecast(id))
		f.index[id] = int32(i)
	}
	i := 0
	for b.Loop() {
		if i++; i > 10_000 {
			i = 1
		}
		if _, ok := f.of(pasar.JobID(i)); !ok {
			b.Fatal(fmt.Sprint("no forecast of job ", i))
		}
	}
}

func schedForecast(id pasar.JobID) sched.Forecast {
	return sched.Forecast{ID: id, Start: time.Unix(1e9, 0)}
}

func oneJob(request string, id pasar.JobID) ipc.JobsRequest {
	return ipc.JobsRequest{Request: request, Jobs: []pasar.JobID{id}}
}

func TestALongQueueIsLookedAtNoFurtherThanIsBearable(t *testing.T) {
	var r reach
	if n := r.passes(forecastAtLeast); n != 0 {
		t.Errorf("a short queue is cut after %d passes", n)
	}
	at := r.passes(10_000)
	r.learn(&forecast{took: pasar.Duration(forecastTakes + 1)})
	if got := r.passes(10_000); got >= at {
		t.Errorf("after one that took too long, %d passes are made instead of %d", got, at)
	}
	for range 3 {
		r.learn(&forecast{took: pasar.Duration(time.Millisecond), Projection: sched.Projection{Cut: true}})
	}
	if got := r.passes(10_000); got <= at {
		t.Errorf("after ones that took next to nothing, %d passes are made instead of %d", got, at)
	}
	for range 100 {
		r.learn(&forecast{took: pasar.Duration(time.Hour)})
	}
	if got := r.passes(1_000_000); got != forecastAtLeast {
		t.Errorf("%d passes at the least", got)
	}
}

// TestAProjectionThatTookLongIsGoodForLongWhileNothingHappens: so that open streams of a long queue cost little of a
// processor. While nothing happens it is good for ten seconds at most, or as long as four such would take.
func TestAProjectionThatTookLongIsGoodForLongWhileNothingHappens(t *testing.T) {
	at := time.Unix(1000, 0)
	const soon, late = pasar.Duration(time.Millisecond), pasar.Duration(50 * time.Millisecond)
	for _, c := range []struct {
		took pasar.Duration
		seq  int64 // of the state; the projection is of 7
		age  time.Duration
		want bool
	}{
		{soon, 7, 900 * time.Millisecond, true}, {soon, 7, 1100 * time.Millisecond, false},
		{late, 7, 4 * time.Second, true}, {late, 7, 6 * time.Second, false},
		{100 * late, 7, 9 * time.Second, true}, {late, 8, 100 * time.Millisecond, true}, {late, 8, 300 * time.Millisecond, false},
		{2 * pasar.Duration(time.Second), 7, 11 * time.Second, false}, {3 * pasar.Duration(time.Second), 8, 11 * time.Second, true},
	} {
		f := &forecast{seq: 7, at: at, took: c.took}
		if got := f.fresh(c.seq, at.Add(c.age)); got != c.want {
			t.Errorf("one that took %s, of a state %d further, after %s: %t", c.took, c.seq-7, c.age, got)
		}
	}
}
