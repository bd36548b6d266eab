package daemon

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/target"
	"pasar/target/targettest"
)

func limited(name string, limit time.Duration) pasar.Spec {
	s := spec(name, 1000)
	s.TimeLimit = pasar.Duration(limit)
	return s
}

func TestAJobIsStoppedAtItsTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		w.machine.OnLaunch(func(a target.Attempt) targettest.Script {
			if a.Spec.Argv[0] == "saves" {
				return targettest.Script{Pauses: targettest.Saves("/c", 10*time.Second)}
			}
			return targettest.Script{IgnoreTerm: true}
		})
		d := w.start(nil)
		s := limited("saves", 2*time.Hour)
		s.Pausable, s.NoSigterm, s.CheckpointGrace = true, true, pasar.Duration(5*time.Minute)
		saves, stays := d.submit(s), d.submit(limited("stays", 2*time.Hour))
		time.Sleep(2*time.Hour - time.Second)
		d.expect(saves, pasar.Running)
		time.Sleep(2 * time.Second)
		d.expect(saves, pasar.Stopping)
		d.expect(stays, pasar.Stopping)
		stop := w.machine.Stops(key(saves, 1))[0]
		if stop.Why != pasar.StopLimit || !stop.PauseFile || !stop.NoTerm || stop.Grace != s.CheckpointGrace || stop.Wait != 0 {
			t.Errorf("stop = %+v", stop)
		}
		time.Sleep(10 * time.Second)
		d.expect(saves, pasar.Paused)
		if j := d.get(saves); j.Verdict.Reason != pasar.CodeTimeLimit || !strings.HasPrefix(j.Verdict.Summary, "paused at its time limit after 2h: it saved /c") {
			t.Errorf("verdict %+v", j.Verdict)
		}
		time.Sleep(time.Duration(limitGrace))
		d.expect(stays, pasar.Failed)
		if j := d.get(stays); j.Verdict.Reason != pasar.CodeTimeLimit || w.machine.Stops(key(stays, 1))[0].PauseFile {
			t.Errorf("verdict %+v", j.Verdict)
		}
		d.must(d.resume(jobs(saves))) // the limit is of each attempt
		time.Sleep(2*time.Hour - time.Second)
		d.expect(saves, pasar.Running)
		w.check()
	})
}

func TestATimeLimitHoldsOverRestartsAndSetClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		id := d.submit(limited("a", time.Hour))
		time.Sleep(20 * time.Minute)
		w.wall.Store(int64(24 * time.Hour)) // set forward: nothing has passed
		time.Sleep(10 * time.Minute)
		d.expect(id, pasar.Running)
		d.kill()
		w.wall.Store(-int64(24 * time.Hour))
		time.Sleep(20 * time.Minute) // while no daemon runs
		d = w.start(nil)
		time.Sleep(10*time.Minute - time.Second)
		d.expect(id, pasar.Running)
		time.Sleep(time.Second)
		d.expect(id, pasar.Failed)
		d.kill()
		id = func() pasar.JobID { // one whose limit passes while no daemon runs
			d = w.start(nil)
			defer d.kill()
			return d.submit(limited("b", time.Hour))
		}()
		time.Sleep(2 * time.Hour)
		d = w.start(nil)
		d.expect(id, pasar.Failed)
		if j := d.get(id); j.Verdict.Reason != pasar.CodeTimeLimit {
			t.Errorf("verdict %+v", j.Verdict)
		}
	})
}

func TestALimitEndsAPauseThatTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		s := limited("a", time.Hour)
		s.Pausable = true
		id := d.submit(s)
		d.must(d.pause(jobs(id)))
		time.Sleep(time.Hour)
		d.expect(id, pasar.Failed)
		if j := d.get(id); j.Verdict.Reason != pasar.CodeTimeLimit {
			t.Errorf("verdict %+v", j.Verdict)
		}
	})
}

func TestAJobThatIsDueLaterStartsThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		s := spec("a", 1000)
		s.Begin = time.Now().Add(90 * time.Minute)
		id := d.submit(s)
		time.Sleep(90*time.Minute - time.Second)
		d.expect(id, pasar.Queued)
		time.Sleep(time.Second)
		d.expect(id, pasar.Running)
		w.machine.Finish(key(id, 1), 0)
		s.Begin = d.Clock.Now().Add(10 * time.Hour)
		id = d.submit(s)
		w.wall.Store(int64(10 * time.Hour)) // the clock is set: it is due
		time.Sleep(maxSleep)
		d.expect(id, pasar.Running)
	})
}

func TestAFailedJobIsTriedAgainAfterAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		s := spec("a", 1000)
		s.Retries = 2
		id := d.submit(s)
		begun := d.get(id).QueueTime
		for attempt, gap := range []time.Duration{5 * time.Second, 10 * time.Second} {
			w.machine.Finish(key(id, attempt+1), 3)
			d.expect(id, pasar.Queued)
			if j := d.get(id); !j.QueueTime.Equal(begun) || j.Retried != attempt+1 || j.Verdict != nil {
				t.Errorf("after attempt %d: %+v", attempt+1, j)
			}
			time.Sleep(gap - time.Millisecond)
			d.expect(id, pasar.Queued)
			time.Sleep(time.Millisecond)
			d.expect(id, pasar.Running)
		}
		w.machine.Finish(key(id, 3), 3)
		d.expect(id, pasar.Failed)
		d.kill()
		d = w.start(nil)
		if j := d.get(id); j.state() != pasar.Failed || j.Retried != 2 || len(j.Attempts) != 3 {
			t.Errorf("%+v", j)
		}
		w.check()
	})
}

func TestAJobThatIsCancelledIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		s := spec("a", 1000)
		s.Retries = 9
		id := d.submit(s)
		w.machine.Finish(key(id, 1), 3)
		d.expect(id, pasar.Queued)
		d.must(d.cancel(jobs(id))) // in the gap
		d.expect(id, pasar.Cancelled)
		id = d.submit(s)
		d.must(d.cancel(jobs(id)))
		d.expect(id, pasar.Cancelled)
		time.Sleep(time.Hour)
		if j := d.get(id); len(j.Attempts) != 1 {
			t.Errorf("%d attempts", len(j.Attempts))
		}
	})
}

func TestProgressOfOneAttemptIsNotTheNextOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		s := spec("a", 1000)
		s.Retries = 1
		id := d.submit(s)
		report := func(attempt int, step float64) {
			w.machine.Report(key(id, attempt), pasar.Event{Kind: pasar.EventProgress, At: time.Now(), Step: &step})
			synctest.Wait()
		}
		report(1, 100)
		w.machine.Finish(key(id, 1), 1)
		time.Sleep(time.Minute)
		d.expect(id, pasar.Running)
		if p := d.progressOf(id); p != nil {
			t.Errorf("progress %+v", p)
		}
		report(2, 7)
		if p := d.progressOf(id); p == nil || *p.Step != 7 {
			t.Errorf("progress %+v", p)
		}
	})
}
