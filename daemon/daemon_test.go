package daemon

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/ipc"
)

func TestJobsStartByBidThenQueueTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		first := d.submit(spec("first", 1000))
		a, b, c := d.submit(spec("a", 1000)), d.submit(spec("b", 1000)), d.submit(spec("c", 1500))
		d.expect(first, pasar.Running)
		now := first
		for _, next := range []pasar.JobID{c, a, b} {
			for _, id := range []pasar.JobID{a, b, c} {
				if d.state(id) != pasar.Queued {
					continue
				}
				if r := d.pub.Load().reasonFor(d.lookup(id)); r.Why != pasar.WaitGPU || len(r.Holders) != 1 || r.Holders[0] != now {
					t.Errorf("job %d waits behind job %d, says %+v", id, now, r)
				}
			}
			w.machine.Finish(key(now, 1), 0)
			d.expect(now, pasar.Completed)
			d.expect(next, pasar.Running)
			now = next
		}
		w.check()
	})
}

func TestARepeatedRequestGetsTheFirstAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		req := ipc.SubmitRequest{Request: "once", Spec: spec("a", 1000)}
		o1, err1 := d.do(context.Background(), d.Daemon.submit(req))
		o2, err2 := d.do(context.Background(), d.Daemon.submit(req))
		d.kill()
		d = w.start(nil)
		o3, err3 := d.do(context.Background(), d.Daemon.submit(req))
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		if o1.jobs[0] != o2.jobs[0] || o1.jobs[0] != o3.jobs[0] {
			t.Errorf("one request made jobs %v, %v, %v", o1.jobs, o2.jobs, o3.jobs)
		}
		if _, err := d.do(context.Background(), d.bid(ipc.BidRequest{Request: "once", Job: o1.jobs[0], Bid: 5})); err == nil {
			t.Error("a request id was taken for a request of another kind")
		}
	})
}

func TestAKeyIsOneJobForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		s := spec("a", 1000)
		s.Key = "k"
		id := d.submit(s)
		w.machine.Finish(key(id, 1), 0)
		d.expect(id, pasar.Completed)
		for range keepFinished + 1 { // until it has left memory
			other := d.submit(spec("b", 1000))
			w.machine.Finish(key(other, 1), 0)
			d.expect(other, pasar.Completed)
		}
		if d.lookup(id) != nil {
			t.Fatalf("job %d is still in memory", id)
		}
		if again := d.submit(s); again != id {
			t.Errorf("key k made job %d, then job %d", id, again)
		}
	})
}

func TestCancelWaitingAndRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		run, wait := d.submit(spec("run", 1000)), d.submit(spec("wait", 1000))
		cancel := func(now bool, ids ...pasar.JobID) {
			t.Helper()
			if _, err := d.do(context.Background(), d.cancel(ipc.JobsRequest{Request: ipc.NewRequest(), Jobs: ids, Now: now})); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		cancel(false, wait, run)
		d.expect(wait, pasar.Cancelled)
		d.expect(run, pasar.Cancelled) // the fake's program dies of SIGTERM
		stops := w.machine.Stops(key(run, 1))
		if len(stops) != 1 || stops[0].Why != pasar.StopCancel || stops[0].Grace != pasar.Duration(time.Minute) {
			t.Errorf("stops = %+v", stops)
		}
		if n := w.machine.Launches(key(wait, 1)); n != 0 {
			t.Errorf("a cancelled job was launched %d times", n)
		}
	})
}

func TestHoldAndRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		s := spec("held", 1000)
		s.Hold = true
		id := d.submit(s)
		d.expect(id, pasar.Queued)
		if r := d.pub.Load().reasonFor(d.lookup(id)); r == nil || r.Why != pasar.WaitHeld {
			t.Errorf("reason = %+v", r)
		}
		if _, err := d.do(context.Background(), d.hold(ipc.JobsRequest{Request: "r", Jobs: []pasar.JobID{id}}, false)); err != nil {
			t.Fatal(err)
		}
		d.expect(id, pasar.Running)
	})
}

func TestRestartKeepsTheHistoryOfAJobThatLeftMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		id := d.submit(spec("a", 1000))
		w.machine.Finish(key(id, 1), 3)
		d.expect(id, pasar.Failed)
		for range keepFinished + 1 {
			other := d.submit(spec("b", 1000))
			w.machine.Finish(key(other, 1), 0)
			d.expect(other, pasar.Completed)
		}
		old, err := d.find(id)
		if err != nil {
			t.Fatal(err)
		}
		bid := pasar.Bid(2000)
		again := old.Spec
		again.Bid = bid
		if _, err := d.do(context.Background(), d.restart(ipc.RestartRequest{Request: "again", Job: id}, old, again)); err != nil {
			t.Fatal(err)
		}
		d.expect(id, pasar.Running)
		w.machine.Finish(key(id, 2), 0)
		d.expect(id, pasar.Completed)
		j, err := d.find(id)
		if err != nil || len(j.Attempts) != 2 || j.Spec.Bid != 2000 {
			t.Errorf("job = %+v, %v", j, err)
		}
		if n := d.status().Jobs; n[pasar.Failed] != 0 || n[pasar.Completed] != keepFinished+2 {
			t.Errorf("counts = %v", n)
		}
		w.check()
	})
}

func TestAFailingJournalRefusesWorkAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		id := d.submit(spec("a", 1000))
		d.expect(id, pasar.Running)
		w.journal.setFail(true)
		_, err := d.do(context.Background(), d.Daemon.submit(ipc.SubmitRequest{Request: "x", Spec: spec("b", 1000)}))
		var e *ipc.Error
		if !errors.As(err, &e) || e.Code != ipc.CodeUnavailable {
			t.Fatalf("submit on a full disk: %v", err)
		}
		if p := d.status().Problem; p == nil {
			t.Error("status doesn't say what is wrong")
		}
		w.machine.Finish(key(id, 1), 0) // what happens meanwhile is not lost
		time.Sleep(5 * time.Second)
		synctest.Wait()
		w.journal.setFail(false)
		time.Sleep(5 * time.Second)
		d.expect(id, pasar.Completed)
		if p := d.status().Problem; p != nil {
			t.Errorf("the problem stays: %s", *p)
		}
		if next := d.submit(spec("c", 1000)); next != id+1 {
			t.Errorf("the refused submit took an id: next is %d", next)
		}
	})
}

func TestASnapshotIsTheSameState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		d := w.start(nil)
		for i := range 40 {
			s := spec("j", pasar.Bid(1000+i%3))
			s.Hold = i%4 == 0
			id := d.submit(s)
			if d.state(id) == pasar.Running && i%2 == 0 {
				w.machine.Finish(key(id, 1), i%3)
				synctest.Wait()
			}
		}
		sv := d.Daemon.state.freeze()
		b1, err1 := sv.encode()
		thawed, err2 := thaw(b1)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		sv = thawed.freeze()
		b2, err := sv.encode()
		if err != nil || string(b1) != string(b2) {
			t.Errorf("a snapshot of a snapshot differs (%v)", err)
		}
		d.kill()
		folded := w.start(nil)
		folded.Daemon.state.seq, thawed.seq = 0, 0 // it has added its own start
		sv1, sv2 := folded.Daemon.state.freeze(), thawed.freeze()
		b1, err1 = sv1.encode()
		b2, err2 = sv2.encode()
		if err := errors.Join(err1, err2); err != nil || string(b1) != string(b2) {
			t.Errorf("folding the facts gives another state than the snapshot (%v)", err)
		}
	})
}

func TestWhatAJobReportsIsKeptOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		id := d.submit(spec("a", 1000))
		k := key(id, 1)
		report := func(kind pasar.EventKind, step float64, text string) {
			time.Sleep(10 * time.Second)
			e := pasar.Event{Kind: kind, At: time.Now(), Text: text}
			if text == "" {
				e.Step = &step
			}
			if kind == pasar.EventProgress {
				total := 100.0
				e.TotalSteps = &total
			}
			w.machine.Report(k, e)
			synctest.Wait()
		}
		report(pasar.EventNote, 0, "warming up\x1b[2J")
		report(pasar.EventCheckpoint, 10, "")
		report(pasar.EventProgress, 20, "")
		view := func() pasar.JobView {
			j, err := d.find(id)
			if err != nil {
				t.Fatal(err)
			}
			return d.view(j, nil, nil)
		}
		v := view()
		if n := v.Attempts[0].Notes; len(n) != 1 || n[0].Text != `warming up\x1b[2J` {
			t.Errorf("notes = %+v", n)
		}
		// 30 s for 20 steps: 80 more need 120 s.
		if v.Remaining == nil || v.Remaining.Seconds() != 120 || *v.EstSource != "progress" {
			t.Errorf("remaining %v, by %v", v.Remaining, v.EstSource)
		}
		time.Sleep(5 * time.Second)
		if v = view(); v.Remaining.Seconds() != 115 {
			t.Errorf("remaining %v five seconds later", v.Remaining)
		}
		before := len(w.journal.lines)
		d.kill()
		d = w.start(nil)
		if n := len(w.journal.lines) - before; n != 1 { // its start
			t.Errorf("a new daemon journaled %d facts, of what was reported before", n)
		}
		if v = view(); len(v.Attempts[0].Notes) != 1 || v.LastCheckpoint == nil || *v.LastCheckpoint.Step != 10 {
			t.Errorf("after a restart: %+v", v.Attempts[0])
		}
	})
}

func TestJobsThatEndTogetherAreAllKept(t *testing.T) {
	const n = 3 * keepFinished
	ids := func(d *running) []pasar.JobID {
		var out []pasar.JobID
		for range n {
			s := spec("held", 1000)
			s.Hold, s.Key = true, ipc.NewRequest()
			out = append(out, d.submit(s))
		}
		return out
	}
	check := func(t *testing.T, d *running, all []pasar.JobID) {
		t.Helper()
		for _, id := range all {
			if got := d.state(id); got != pasar.Cancelled {
				t.Errorf("job %d is %s", id, got)
			}
		}
		if got := d.status().Jobs[pasar.Cancelled]; got != n {
			t.Errorf("%d cancelled jobs are counted, want %d", got, n)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		all := ids(d)
		if _, err := d.do(context.Background(), d.cancel(ipc.JobsRequest{Request: "all", Jobs: all})); err != nil {
			t.Fatal(err)
		}
		check(t, d, all)
		d.kill()
		check(t, w.start(nil), all)
	})
	synctest.Test(t, func(t *testing.T) { // many ends that a new daemon finds at once
		w := newWorld(t, n)
		d := w.start(nil)
		var all []pasar.JobID
		for range n {
			all = append(all, d.submit(spec("a", 1000)))
		}
		d.kill()
		for _, id := range all {
			w.machine.Finish(key(id, 1), 0)
		}
		d = w.start(nil)
		for _, id := range all {
			if got := d.state(id); got != pasar.Completed {
				t.Errorf("job %d is %s", id, got)
			}
		}
	})
}
