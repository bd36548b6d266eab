package daemon

import (
	"context"
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

// must hands a command to the loop that is accepted.
func (r *running) must(c *command) outcome {
	r.w.t.Helper()
	o, err := r.do(context.Background(), c)
	if err != nil {
		r.w.t.Fatalf("%s: %v", c.verb, err)
	}
	synctest.Wait()
	return o
}

// refused hands a command to the loop that is refused, and returns in what words.
func (r *running) refused(c *command) string {
	r.w.t.Helper()
	_, err := r.do(context.Background(), c)
	if err == nil {
		r.w.t.Fatalf("%s was accepted", c.verb)
	}
	return err.Error()
}

// running is a job that holds its claim, as the scheduler is told of it.
func (r *running) running(id pasar.JobID) (out sched.Running) {
	r.w.t.Helper()
	err := r.look(context.Background(), func(s *state, _ time.Time) {
		for _, in := range s.input("").Active {
			if in.ID == id {
				out = in
			}
		}
	})
	if err != nil || out.ID != id {
		r.w.t.Fatalf("job %d isn't active (%v)", id, err)
	}
	return out
}

func jobs(ids ...pasar.JobID) ipc.JobsRequest {
	return ipc.JobsRequest{Request: ipc.NewRequest(), Jobs: ids, By: "ada"}
}

func (r *running) get(id pasar.JobID) *job {
	r.w.t.Helper()
	j, err := r.find(id)
	if err != nil {
		r.w.t.Fatal(err)
	}
	return j
}

// pausing lets programs named as given answer the pause file as the function says.
func (w *world) pausing(how func(name string) *targettest.Pausing) {
	w.machine.OnLaunch(func(a target.Attempt) targettest.Script {
		return targettest.Script{Pauses: how(string(a.Spec.Argv[0]))}
	})
}

func pausable(name string, bid pasar.Bid) pasar.Spec {
	s := spec(name, bid)
	s.Pausable = true
	return s
}

func TestAPauseThatHoldsAndTheResumeOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.pausing(func(string) *targettest.Pausing { return targettest.Saves("/ckpt/1", time.Minute) })
		d := w.start(nil)
		s := pausable("a", 1000)
		s.ResumeCommand = pasar.Args([]string{"a", "--resume"})
		id, next := d.submit(s), d.submit(spec("b", 1000))
		d.expect(id, pasar.Running)
		d.must(d.pause(jobs(id)))
		d.must(d.pause(jobs(id))) // again: nothing more is asked
		d.expect(id, pasar.Stopping)
		if in := d.running(id); !in.Patient || in.Stopping {
			t.Errorf("one that runs on until it has saved: %+v", in)
		}
		stops := w.machine.Stops(key(id, 1))
		if len(stops) != 1 || !stops[0].PauseFile || stops[0].Wait != pasar.Forever || stops[0].Why != pasar.StopPause {
			t.Fatalf("stops = %+v", stops)
		}
		time.Sleep(time.Minute)
		d.expect(id, pasar.Paused)
		d.expect(next, pasar.Running) // its place is another's
		if j := d.get(id); j.Verdict.Reason != pasar.CodePaused || j.Verdict.Summary != "paused by ada: it saved /ckpt/1" {
			t.Errorf("verdict %+v", j.Verdict)
		}
		if n := d.status().Jobs; n[pasar.Paused] != 1 || n[pasar.Failed] != 0 {
			t.Errorf("counts = %v", n)
		}
		w.machine.Finish(key(next, 1), 0)
		d.kill() // and over a crash
		d = w.start(nil)
		d.expect(id, pasar.Paused)
		d.must(d.resume(jobs(id)))
		d.expect(id, pasar.Running)
		a, _ := w.machine.Launched(key(id, 2))
		if a.Checkpoint != "/ckpt/1" || !a.Resuming || len(a.Spec.Argv) != 2 {
			t.Errorf("launched with %+v", a)
		}
		w.machine.Finish(key(id, 2), 0)
		d.expect(id, pasar.Completed)
		w.check()
	})
}

func TestAPauseThatFailsSaysWhatWasMissing(t *testing.T) {
	for name, c := range map[string]struct {
		how    *targettest.Pausing
		kill   time.Duration // --kill-after; 0: none
		state  pasar.State
		reason pasar.Code
		says   string
	}{
		"75 without a marker":      {&targettest.Pausing{Exit: pasar.Exit{Code: 75}, Marker: &pasar.Marker{Missing: "no marker"}}, 0, pasar.Failed, pasar.CodeExit, "no marker"},
		"a marker without 75":      {&targettest.Pausing{Exit: pasar.Exit{Code: 1}, Marker: &pasar.Marker{Checkpoint: "/c"}}, 0, pasar.Failed, pasar.CodeExit, "not with 75"},
		"a crash":                  {&targettest.Pausing{Exit: pasar.Exit{Signal: 11}}, 0, pasar.Failed, pasar.CodeSignal, "asked to pause"},
		"it completes":             {&targettest.Pausing{}, 0, pasar.Completed, pasar.CodeCompleted, "completed"},
		"it doesn't answer":        {nil, time.Minute, pasar.Paused, pasar.CodePaused, "by force"},
		"it answers before that":   {targettest.Saves("/c", 30*time.Second), time.Minute, pasar.Paused, pasar.CodePaused, "it saved /c"},
		"it answers after SIGTERM": {nil, 1, pasar.Paused, pasar.CodePaused, "by force"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)
				w.pausing(func(string) *targettest.Pausing { return c.how })
				d := w.start(nil)
				s := pausable("a", 1000)
				s.Retries = 3 // a person wants it to leave: it isn't started again
				id := d.submit(s)
				r := jobs(id)
				if c.kill > 0 {
					k := pasar.Duration(c.kill)
					r.KillAfter = &k
				}
				d.must(d.pause(r))
				time.Sleep(2 * time.Minute)
				d.expect(id, c.state)
				if j := d.get(id); j.Verdict.Reason != c.reason || !strings.Contains(j.Verdict.Summary, c.says) {
					t.Errorf("verdict %+v", j.Verdict)
				}
			})
		})
	}
}

func TestAPauseThatTakesForEverCanBeCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		id := d.submit(pausable("a", 1000))
		d.must(d.pause(jobs(id)))
		time.Sleep(time.Hour)
		d.expect(id, pasar.Stopping)
		r, after := jobs(id), pasar.Duration(time.Minute)
		r.KillAfter = &after
		d.must(d.pause(r))
		time.Sleep(59 * time.Second)
		d.expect(id, pasar.Stopping)
		time.Sleep(2 * time.Second)
		d.expect(id, pasar.Paused)
		d.must(d.cancel(jobs(id)))
		d.expect(id, pasar.Cancelled)
		if j := d.get(id); j.Verdict.Summary != "cancelled by ada while it was paused" {
			t.Errorf("verdict %+v", j.Verdict)
		}
	})
}

func TestACancelWinsOverAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		id := d.submit(pausable("a", 1000))
		d.must(d.pause(jobs(id)))
		d.must(d.cancel(jobs(id)))
		d.expect(id, pasar.Cancelled)
		// Also when it saved in the meantime, which the daemon hasn't seen.
		w.pausing(func(string) *targettest.Pausing { return targettest.Saves("/c", time.Minute) })
		id = d.submit(pausable("b", 1000))
		d.must(d.pause(jobs(id)))
		stop := &pasar.Stop{ID: "x", Why: pasar.StopPause}
		rec := pasar.ExitRecord{Exit: pasar.Exit{Code: 75}, Stop: stop, StopStep: pasar.StepFile, Marker: &pasar.Marker{Checkpoint: "/c"}}
		d.report(context.Background(),
			pasar.StopAsked{Job: id, Attempt: 1, Stop: pasar.Stop{ID: "y", Why: pasar.StopCancel}},
			pasar.Ended{Job: id, Attempt: 1, Exit: rec, Verdict: pasar.Verdict{Reason: pasar.CodePaused}})
		d.expect(id, pasar.Cancelled)
		if j := d.get(id); j.Verdict.Reason != pasar.CodeCancelled {
			t.Errorf("verdict %+v", j.Verdict)
		}
	})
}

func TestOnlyJobsThatCanPauseAreAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		plain, waits := d.submit(spec("a", 1000)), d.submit(pausable("b", 1000))
		if o := d.must(d.pause(jobs(plain, waits, 99))); len(o.jobs) != 0 {
			t.Errorf("asked %v", o.jobs)
		}
		d.expect(plain, pasar.Running)
		for id, want := range map[pasar.JobID]string{plain: "doesn't say that it can pause", waits: "nothing to pause"} {
			if no := cantPause(d.get(id)); no == nil || !strings.Contains(no.Message, want) || no.Hint == "" {
				t.Errorf("job %d: %+v", id, no)
			}
		}
		if o := d.must(d.resume(jobs(plain, waits))); len(o.jobs) != 0 {
			t.Errorf("resumed %v", o.jobs)
		}
		// One that makes room for another comes back by itself.
		a, b := submitted(1, func(s *pasar.Spec) { s.Pausable = true }), submitted(2, nil)
		s := told(a, b, launched(1, 1), pasar.StopAsked{Job: 1, Attempt: 1, Stop: pasar.Stop{ID: "s", Why: pasar.StopPreempt, For: 2}})
		if no := cantPause(s.jobs[1]); no == nil || !strings.Contains(no.Message, "make room for job 2") {
			t.Errorf("%+v", no)
		}
	})
}

func TestAStoppingJobSaysWhatItStopsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.machine.OnLaunch(func(target.Attempt) targettest.Script { return targettest.Script{IgnoreTerm: true} })
		d := w.start(nil)
		id := d.submit(pausable("low", 1000))
		says := func(reason, want string) {
			t.Helper()
			v := d.view(d.get(id), nil, nil)
			if *v.Reason != reason || v.Summary == nil || *v.Summary != want {
				t.Errorf("%s: %v; want %s: %s", *v.Reason, v.Summary, reason, want)
			}
		}
		d.must(d.pause(jobs(id)))
		says("pausing", "was asked to pause; it runs on until it has saved")
		r, after := jobs(id), pasar.Duration(time.Hour)
		r.KillAfter = &after
		d.must(d.pause(r))
		says("pausing", "was asked to pause; if it hasn't within 1h it is stopped")
		d.must(d.cancel(jobs(id)))
		if v := d.view(d.get(id), nil, nil); *v.Reason != "cancel" || v.Summary != nil {
			t.Errorf("%s: %v", *v.Reason, v.Summary)
		}
		time.Sleep(time.Hour)
		id = d.submit(spec("next", 1000))
		d.submit(preempting("high", 2000))
		says("preempt", "makes room for job 3 (high), and is queued again")
	})
}
