package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/ipc"
)

func submission(s pasar.Spec) ipc.SubmitRequest {
	return ipc.SubmitRequest{Request: ipc.NewRequest(), Spec: s}
}

func (r *running) planOf(c *command) *pasar.PlanView {
	r.w.t.Helper()
	v, err := r.plan(context.Background(), c)
	if err != nil {
		r.w.t.Fatal(err)
	}
	return v
}

// busy is a world of two GPUs with jobs running and waiting.
func busy(t *testing.T) (*world, *running) {
	w := newWorld(t, 2)
	w.machine.OnLaunch(exact)
	d := w.start(nil)
	for _, s := range []pasar.Spec{
		timed(2*time.Hour, 1000, whole(1)), timed(3*time.Hour, 1000, whole(1)), // run
		timed(time.Hour, 1000, whole(2)), timed(4*time.Hour, 1000, whole(1)), timed(30*minute, 900, whole(1)),
	} {
		d.submit(s)
	}
	time.Sleep(10 * minute)
	synctest.Wait()
	return w, d
}

func TestATrialSubmitChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := busy(t)
		before, lines := mustFreeze(t, d), len(w.journal.lines)
		s := timed(time.Hour, 5000, whole(1))
		s.Key, s.Preempt = "k", true
		v := d.planOf(d.Daemon.submit(submission(s)))
		d.planOf(d.bid(ipc.BidRequest{Job: 4, Bid: 3000, Preempt: true}))
		synctest.Wait()
		if after := mustFreeze(t, d); after != before {
			t.Error("the state is another than before the trial")
		}
		if len(w.journal.lines) != lines {
			t.Errorf("%d facts were journaled for a trial", len(w.journal.lines)-lines)
		}
		s.Key = "another"
		if id := d.submit(s); len(v.Jobs) != 1 || v.Jobs[0].ID != id {
			t.Errorf("planned as %+v, then submitted as job %d", v.Jobs, id)
		}
	})
}

func mustFreeze(t *testing.T, d *running) string {
	t.Helper()
	sv := d.Daemon.state.freeze()
	b, err := sv.encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// starts is when every waiting job did start once all have run.
func (r *running) startsOf(ids ...pasar.JobID) map[pasar.JobID]time.Time {
	out := map[pasar.JobID]time.Time{}
	for _, id := range ids {
		out[id] = r.lookupOrFind(id).current().StartedAt
	}
	return out
}

func TestATrialSubmitSaysWhatThenHappens(t *testing.T) {
	for name, s := range map[string]pasar.Spec{
		"goes first":          timed(time.Hour, 2000, whole(1)),
		"goes last":           timed(time.Hour, 10, whole(2)),
		"fits beside":         timed(20*minute, 1000, pasar.Claim{Kind: pasar.NoGPU}),
		"delays the big ones": timed(5*time.Hour, 2000, whole(2)),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, d := busy(t)
				waiting := []pasar.JobID{3, 4, 5}
				was := map[pasar.JobID]time.Time{}
				for _, id := range waiting {
					was[id] = *d.seen(id).Projected.Start
				}
				v := d.planOf(d.Daemon.submit(submission(s)))
				now := time.Now()
				id := d.submit(s)
				time.Sleep(48 * time.Hour)
				synctest.Wait()
				a := d.lookupOrFind(id).current()
				p := v.Jobs[0]
				if p.Start == nil || !p.Start.Equal(a.StartedAt) || p.Finish == nil || !p.Finish.Equal(a.EndedAt) {
					t.Errorf("planned from %v to %v, ran from %s to %s", p.Start, p.Finish, a.StartedAt, a.EndedAt)
				}
				if p.Now != a.StartedAt.Equal(now) || p.Now == (p.Waiting != nil) {
					t.Errorf("starts now: %v, waits: %v, started at %s after", p.Now, p.Waiting, a.StartedAt.Sub(now))
				}
				if !slices.Equal(p.GPUs, append([]pasar.GPURef{}, a.Grant.GPUs...)) || *p.Machine != a.Grant.Machine {
					t.Errorf("planned on %v of %s, ran on %v", p.GPUs, *p.Machine, a.Grant.GPUs)
				}
				late := map[pasar.JobID]pasar.DelayedJob{}
				for _, dj := range v.Delayed {
					late[dj.ID] = dj
				}
				for id, at := range d.startsOf(waiting...) {
					dj, ok := late[id]
					switch {
					case at.After(was[id]) != ok:
						t.Errorf("job %d was to start at %s and did at %s; planned as delayed: %v", id, was[id], at, ok)
					case ok && (!dj.From.Equal(was[id]) || !dj.To.Equal(at) || dj.Delay.Seconds() != at.Sub(was[id]).Seconds()):
						t.Errorf("job %d was to be delayed from %s to %s; it was from %s to %s", id, dj.From, dj.To, was[id], at)
					}
				}
				if len(v.Stopped) != 0 {
					t.Errorf("without preemption, %v would be stopped", v.Stopped)
				}
			})
		})
	}
}

func TestATrialBidSaysWhatThenHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, d := busy(t)
		was4 := *d.seen(4).Projected.Start
		v := d.planOf(d.bid(ipc.BidRequest{Job: 4, Bid: 1001}))
		if len(v.Jobs) != 1 || v.Jobs[0].Before == nil || !v.Jobs[0].Before.Equal(was4) || !v.Jobs[0].Start.Before(was4) {
			t.Fatalf("planned %+v; it was to start at %s", v.Jobs, was4)
		}
		if _, err := d.do(context.Background(), d.bid(ipc.BidRequest{Request: "b", Job: 4, Bid: 1001})); err != nil {
			t.Fatal(err)
		}
		time.Sleep(48 * time.Hour)
		synctest.Wait()
		if got := d.startsOf(4)[4]; !got.Equal(*v.Jobs[0].Start) {
			t.Errorf("planned for %s, started at %s", v.Jobs[0].Start, got)
		}
		for _, dj := range v.Delayed {
			if got := d.startsOf(dj.ID)[dj.ID]; !got.Equal(*dj.To) {
				t.Errorf("job %d was to be delayed to %s, and started at %s", dj.ID, dj.To, got)
			}
		}
	})
}

func TestATrialPreemptionSaysWhoWouldLoseWhat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := busy(t)
		step := 1.0
		w.machine.Report(key(1, 1), pasar.Event{Kind: pasar.EventCheckpoint, At: time.Now(), Step: &step})
		w.machine.Report(key(2, 1), pasar.Event{Kind: pasar.EventNote, At: time.Now(), Text: "slow"})
		time.Sleep(5 * minute)
		s := timed(time.Hour, 2000, whole(2))
		s.Preempt = true
		v := d.planOf(d.Daemon.submit(submission(s)))
		if len(v.Stopped) != 2 {
			t.Fatalf("stopped would be %+v", v.Stopped)
		}
		for i, loses := range []time.Duration{5 * minute, 15 * minute} {
			st := v.Stopped[i]
			if st.ID != pasar.JobID(i+1) || st.Loses == nil || time.Duration(*st.Loses) != loses || time.Duration(*st.RunTime) != 15*minute {
				t.Errorf("job %d would lose %v of %s", st.ID, st.Loses, st.RunTime)
			}
		}
		if got := d.state(1); got != pasar.Running {
			t.Errorf("after a trial job 1 is %s", got)
		}
		silent := d.lookupOrFind(2).clone()
		silent.Attempts[0].Notes = nil
		r := &dryRun{state: &state{jobs: map[pasar.JobID]*job{2: silent}}}
		if st := d.preempted(r, 2); st.Loses != nil {
			t.Errorf("a job that never reports would lose %s: nobody knows", st.Loses)
		}
	})
}

func TestATrialIsRefusedAsTheRealOneIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, d := busy(t)
		for what, c := range map[string]*command{
			"more GPUs than there are": d.Daemon.submit(submission(timed(time.Hour, 1000, whole(3)))),
			"a bid out of range":       d.bid(ipc.BidRequest{Job: 4, Bid: pasar.MaxBid + 1}),
			"a bid for no job":         d.bid(ipc.BidRequest{Job: 999, Bid: 1}),
		} {
			_, tried := d.plan(context.Background(), c)
			c.request = ipc.NewRequest()
			_, real := d.do(context.Background(), c)
			var a, b *ipc.Error
			if !errors.As(tried, &a) || !errors.As(real, &b) || *a != *b {
				t.Errorf("%s: the trial says %v, the real one %v", what, tried, real)
			}
		}
	})
}

func TestAPlanReadsAsASentence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, d := busy(t)
		v := d.planOf(d.Daemon.submit(submission(timed(time.Hour, 2000, whole(1)))))
		if s := v.Jobs[0].Sentence; !strings.HasPrefix(s, "would start in 1h50m on GPU 0, done in 2h50m; waits for a GPU") {
			t.Errorf("sentence %q", s)
		}
		v = d.planOf(d.Daemon.submit(submission(timed(time.Hour, 2000, pasar.Claim{Kind: pasar.NoGPU}))))
		if s := v.Jobs[0].Sentence; s != "would start now, done in 1h" {
			t.Errorf("sentence %q", s)
		}
		v = d.planOf(d.bid(ipc.BidRequest{Job: 1, Bid: 5}))
		if s := v.Jobs[0].Sentence; s != "is running, done in 1h50m" || v.Jobs[0].Waiting != nil {
			t.Errorf("sentence %q", s)
		}
		b, err := json.Marshal(v)
		if err != nil || strings.Contains(string(b), `"gpus":null`) || strings.Contains(string(b), `"delayed":null`) {
			t.Errorf("%s, %v", b, err)
		}
	})
}

func TestATrialArrayIsAsTheArray(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, d := busy(t)
		r := submission(timed(time.Hour, 2000, whole(1)))
		r.Spec.Key, r.Spec.MaxConcurrent = "sweep", 1
		for i := range 3 {
			r.Points = append(r.Points, pasar.Point{Index: &i, Params: []pasar.Param{{Name: "lr", Value: "0.1"}}})
		}
		v := d.planOf(d.Daemon.submit(r))
		o, err := d.do(context.Background(), d.Daemon.submit(r))
		if err != nil {
			t.Fatal(err)
		}
		again := d.planOf(d.Daemon.submit(r))
		if len(again.Jobs) != 3 || !strings.Contains(again.Jobs[0].Sentence, "nothing would change") || len(again.Delayed) != 0 {
			t.Errorf("planned again: %+v", again)
		}
		time.Sleep(48 * time.Hour)
		synctest.Wait()
		if len(v.Jobs) != 3 {
			t.Fatalf("planned are %+v", v.Jobs)
		}
		for i, id := range o.jobs {
			if a := d.lookupOrFind(id).current(); v.Jobs[i].ID != id || !v.Jobs[i].Start.Equal(a.StartedAt) || !v.Jobs[i].Finish.Equal(a.EndedAt) {
				t.Errorf("planned %+v, and job %d ran from %s to %s", v.Jobs[i], id, a.StartedAt, a.EndedAt)
			}
		}
	})
}

func TestATrialOfWhatCanNeverStartSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := busy(t)
		s := spec("fails", 1000)
		s.Claim = pasar.Claim{Kind: pasar.NoGPU}
		id := d.submit(s)
		w.machine.Finish(key(id, 1), 1)
		d.expect(id, pasar.Failed)
		s.After = []pasar.Dependency{{Job: id, On: pasar.AfterOK}}
		v := d.planOf(d.Daemon.submit(submission(s)))
		if p := v.Jobs[0]; p.Start != nil || !strings.Contains(p.Sentence, "failed") {
			t.Errorf("planned %+v", p)
		}
	})
}
