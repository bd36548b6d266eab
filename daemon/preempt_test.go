package daemon

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/target"
	"pasar/target/targettest"
)

func preempting(name string, bid pasar.Bid) pasar.Spec {
	s := spec(name, bid)
	s.Preempt = true
	return s
}

func TestAPreemptedJobMakesRoomAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.pausing(func(name string) *targettest.Pausing {
			if name == "low" {
				return targettest.Saves("/c", 30*time.Second)
			}
			return nil
		})
		d := w.start(nil)
		s := pausable("low", 1000)
		s.NoSigterm = true
		low := d.submit(s)
		same := d.submit(preempting("same", 1000)) // equal bids never preempt each other
		begun := d.get(low).QueueTime
		time.Sleep(time.Minute)
		d.expect(low, pasar.Running)
		high := d.submit(preempting("high", 2000))
		d.expect(low, pasar.Stopping)
		d.expect(high, pasar.Queued)
		stop := w.machine.Stops(key(low, 1))[0]
		if stop.Why != pasar.StopPreempt || stop.For != high || !stop.PauseFile || !stop.NoTerm || stop.Grace != s.Grace {
			t.Errorf("stop = %+v", stop)
		}
		other := d.submit(spec("other", 3000)) // the room is promised
		time.Sleep(30 * time.Second)
		d.expect(low, pasar.Queued)
		d.expect(high, pasar.Running)
		d.expect(other, pasar.Queued)
		j := d.get(low)
		if !j.QueueTime.Equal(begun) || j.Retried != 0 || j.Attempts[0].Verdict.Summary != "preempted by job 3 (high): asked by the pause file, it exited with code 75" {
			t.Errorf("%+v, verdict %+v", j, j.Attempts[0].Verdict)
		}
		if d.get(high).Spec.Preempt {
			t.Error("the asking isn't used up")
		}
		for _, id := range []pasar.JobID{high, other} {
			w.machine.Finish(key(id, 1), 0)
			synctest.Wait()
		}
		d.expect(low, pasar.Running) // before the one that came later
		d.expect(same, pasar.Queued)
		if a, _ := w.machine.Launched(key(low, 2)); a.Checkpoint != "/c" || !a.Resuming {
			t.Errorf("launched with %+v", a)
		}
		w.check()
	})
}

func TestABidMayPreempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		low, high := d.submit(spec("low", 1000)), d.submit(spec("high", 1000))
		d.must(d.bid(ipc.BidRequest{Request: "b", Job: high, Bid: 1500}))
		d.expect(low, pasar.Running)
		d.must(d.bid(ipc.BidRequest{Request: "c", Job: high, Bid: 1500, Preempt: true}))
		d.expect(high, pasar.Running)
		d.expect(low, pasar.Queued)
		w.check()
	})
}

func TestACancelWinsOverAPreemption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.machine.OnLaunch(func(target.Attempt) targettest.Script { return targettest.Script{IgnoreTerm: true} })
		d := w.start(nil)
		low := d.submit(spec("low", 1000))
		high := d.submit(preempting("high", 2000))
		d.expect(low, pasar.Stopping)
		d.must(d.cancel(jobs(low)))
		if r := d.running(low); r.StopFor != high {
			t.Errorf("the room is no longer promised: %+v", r)
		}
		time.Sleep(time.Minute)
		d.expect(low, pasar.Cancelled)
		d.expect(high, pasar.Running)
		if v := d.get(low).Verdict; v.Reason != pasar.CodeCancelled || !strings.HasPrefix(v.Summary, "cancelled by ada") {
			t.Errorf("verdict %+v", v)
		}
		w.check()
	})
}

func TestAJobThatCompletesAsItIsToMakeRoomIsCompleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.pausing(func(string) *targettest.Pausing { return &targettest.Pausing{After: time.Second} })
		d := w.start(nil)
		s := pausable("low", 1000)
		s.NoSigterm = true
		low := d.submit(s)
		d.submit(preempting("high", 2000))
		time.Sleep(time.Second)
		d.expect(low, pasar.Completed)
	})
}

func TestOneWhoTakesItsTimeToPauseMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		low := d.submit(pausable("low", 1000))
		d.must(d.pause(jobs(low)))
		high := d.submit(preempting("high", 2000))
		time.Sleep(time.Second)
		d.expect(high, pasar.Running)
		d.expect(low, pasar.Paused) // as its user asked: it doesn't come back by itself
	})
}
