package daemon

import (
	"strings"
	"testing"
	"testing/synctest"

	"pasar"
	"pasar/ipc"
)

func afterSpec(name string, deps ...pasar.Dependency) pasar.Spec {
	s := spec(name, 1000)
	s.After = deps
	return s
}

func ok(id pasar.JobID) pasar.Dependency { return pasar.Dependency{Job: id, On: pasar.AfterOK} }

func TestAJobThatCanNoLongerStartIsCancelledAndSoAreThoseAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		d := w.start(nil)
		first := d.submit(spec("prep", 1000))
		a := d.submit(afterSpec("a", ok(first)))
		b := d.submit(afterSpec("b", ok(a)))
		c := d.submit(afterSpec("c", pasar.Dependency{Job: b, On: pasar.AfterAny}))
		f := d.submit(afterSpec("f", pasar.Dependency{Job: first, On: pasar.AfterFail}))
		for _, id := range []pasar.JobID{a, b, c, f} {
			d.expect(id, pasar.Queued)
		}
		appends := w.journal.appends
		w.machine.Finish(key(first, 1), 1)
		d.expect(first, pasar.Failed)
		d.expect(a, pasar.Cancelled)
		d.expect(b, pasar.Cancelled)
		d.expect(c, pasar.Running) // any end would do
		d.expect(f, pasar.Running)
		if n := w.journal.appends - appends; n > 4 { // exited, ended, and that c and f have started
			t.Errorf("%d appends", n)
		}
		for id, want := range map[pasar.JobID]string{
			a: "never started: job 1 (prep) failed, and this one was to start only if that completed",
			b: "never started: job 2 (a) was cancelled, and this one was to start only if that completed",
		} {
			if v := d.get(id).Verdict; v.Reason != pasar.CodeDependency || v.Summary != want {
				t.Errorf("job %d: %+v", id, v)
			}
		}
		d.kill()
		d = w.start(nil)
		d.expect(b, pasar.Cancelled)
		w.check()
	})
}

func TestACancelledJobTakesThoseAfterItAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		s := spec("held", 1000)
		s.Hold = true
		first := d.submit(s)
		a := d.submit(afterSpec("a", ok(first)))
		d.must(d.cancel(jobs(first)))
		d.expect(a, pasar.Cancelled)
		if w.machine.Launches(key(a, 1)) != 0 {
			t.Error("it was launched")
		}
	})
}

func TestWhatHasEndedIsLookedUpAtSubmit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		good, bad := d.submit(spec("good", 1000)), d.submit(spec("bad", 1000))
		w.machine.Finish(key(good, 1), 0)
		synctest.Wait()
		w.machine.Finish(key(bad, 1), 1)
		synctest.Wait()
		for range keepFinished + 1 { // until they have left memory
			id := d.submit(spec("x", 1000))
			w.machine.Finish(key(id, 1), 0)
			synctest.Wait()
		}
		if d.lookup(good) != nil || d.lookup(bad) != nil {
			t.Fatal("they are in memory still")
		}
		a := d.submit(afterSpec("a", ok(good)))
		d.expect(a, pasar.Running)
		b := d.submit(afterSpec("b", ok(bad)))
		d.expect(b, pasar.Cancelled) // as if it had been submitted before that end
		if v := d.get(b).Verdict; v.Reason != pasar.CodeDependency {
			t.Errorf("verdict %+v", v)
		}
		got := d.refused(d.Daemon.submit(ipc.SubmitRequest{Request: "r", Spec: afterSpec("c", ok(999))}))
		if !strings.Contains(got, "there is no job 999") {
			t.Error(got)
		}
	})
}

func TestARestartedJobWaitsOnlyForWhatHasNotEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		d := w.start(nil)
		first := d.submit(spec("prep", 1000))
		a := d.submit(afterSpec("a", ok(first)))
		w.machine.Finish(key(first, 1), 1)
		d.expect(a, pasar.Cancelled)
		again := func(id pasar.JobID) { // as `pasar restart`
			t.Helper()
			old := d.get(id)
			d.must(d.restart(ipc.RestartRequest{Request: ipc.NewRequest(), Job: id}, old, old.Spec))
		}
		again(first)
		again(a)
		d.expect(a, pasar.Queued)
		w.machine.Finish(key(first, 2), 0)
		d.expect(a, pasar.Running)
		w.machine.Finish(key(a, 1), 0)
		d.expect(a, pasar.Completed)
		w.check()
	})
}

func TestNoJobWaitsForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		s := spec("held", 1000)
		s.Hold = true
		a := d.submit(s)
		b := d.submit(afterSpec("b", ok(a)))
		c := d.submit(afterSpec("c", ok(b)))
		for _, on := range []pasar.JobID{a, b, c} {
			after := []pasar.Dependency{ok(on)}
			got := d.refused(d.edit(ipc.EditRequest{Request: ipc.NewRequest(), Job: a, More: ipc.Change{After: &after}}))
			if !strings.Contains(got, "would wait for itself") {
				t.Error(got)
			}
		}
		none := []pasar.Dependency{}
		d.must(d.edit(ipc.EditRequest{Request: "e", Job: b, More: ipc.Change{After: &none}}))
		d.expect(b, pasar.Running)
	})
}
