package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/target/targettest"
)

// A watch is a watchdog and what it is shown, second by second.
type watchScene struct {
	*scene
	dog     watchdog
	wards   []ward
	starved map[string]time.Time
	start   time.Time
}

func newWatch(inv pasar.Inventory) *watchScene {
	s := newScene(inv)
	return &watchScene{scene: s, dog: newWatchdog(), starved: map[string]time.Time{}, start: s.v.now}
}

func (w *watchScene) ward(id pasar.JobID, bid pasar.Bid, c pasar.Claim, gpus ...int) {
	j := ward{key: key(id, 1), bid: bid, launched: w.start.Add(time.Duration(id) * time.Second), grant: pasar.Grant{Machine: w.inv.Machine, Claim: c}}
	for _, i := range gpus {
		j.grant.GPUs = append(j.grant.GPUs, pasar.GPURef{UUID: w.inv.GPUs[i].UUID})
	}
	w.wards = append(w.wards, j)
}

// at is what it does at a time, and says of whom.
func (w *watchScene) at(d time.Duration, fs ...func(*pasar.Reading)) string {
	w.v.now = w.start.Add(d)
	w.with(fs...)
	w.look(0)
	out := w.dog.look(&plight{sight: w.v.sight, inv: w.inv, set: w.v.set, wards: w.wards, starved: w.starved})
	var said []string
	for _, st := range out.strikes {
		said = append(said, fmt.Sprintf("kill %d", st.ward.key.Job))
		for i := range w.wards { // it is gone at once
			if w.wards[i].key == st.ward.key {
				w.wards = append(w.wards[:i:i], w.wards[i+1:]...)
				break
			}
		}
	}
	if out.incident != "" {
		said = append(said, "incident")
	}
	if out.urgent {
		said = append(said, "urgent")
	}
	return strings.Join(said, ", ")
}

func (w *watchScene) expect(t *testing.T, d time.Duration, want string, fs ...func(*pasar.Reading)) {
	t.Helper()
	if got := w.at(d, fs...); got != want {
		t.Errorf("at %v: %q, want %q", d, got, want)
	}
}

const sec = time.Second

func TestOverItsLimitWithoutPressureIsLeftAlone(t *testing.T) {
	w := newWatch(targettest.Machine(1, 80*gib))
	w.ward(1, 1000, oneSlice(20*gib), 0)
	w.expect(t, 0, "", w.g.hold(0, 5, key(1, 1), 70*gib))
	w.expect(t, time.Hour, "")
	if !w.wards[0].overLimit(w.inv, w.v.sight) {
		t.Error("it isn't flagged")
	}
}

func TestAFullGPULosesTheJobFurthestOverItsLimitAfterTenSeconds(t *testing.T) {
	w := newWatch(targettest.Machine(2, 80*gib))
	w.ward(1, 1000, oneSlice(20*gib), 0)
	w.ward(2, 2000, oneSlice(20*gib), 0)
	w.ward(3, 10, oneSlice(30*gib), 0)
	w.ward(4, 1, oneSlice(20*gib), 1) // over its own limit, and elsewhere
	w.expect(t, 0, "", w.g.hold(0, 5, key(1, 1), 25*gib), w.g.hold(0, 6, key(2, 1), 30*gib), w.g.hold(0, 7, key(3, 1), 24*gib+512*pasar.MiB), w.g.hold(1, 8, key(4, 1), 60*gib))
	w.expect(t, 9*sec, "")
	w.expect(t, 9500*time.Millisecond, "", w.g.hold(0, 7, key(3, 1), 20*gib)) // it passes: the time begins anew
	w.expect(t, 11*sec, "", w.g.hold(0, 7, key(3, 1), 24*gib+512*pasar.MiB))
	w.expect(t, 20*sec, "")
	w.expect(t, 21*sec, "kill 2")
	w.expect(t, 22*sec, "")
	w.expect(t, 31*sec, "")
	w.expect(t, 32*sec, "kill 1") // what job 2 had is still there, after another ten seconds
	w.expect(t, 33*sec, "")
	w.expect(t, 60*sec, "") // job 3 is in its limit: nobody goes
}

func TestAFailedAllocationBesideAJobOverItsLimitCountsAtOnce(t *testing.T) {
	w := newWatch(targettest.Machine(1, 80*gib))
	w.ward(1, 1000, oneSlice(20*gib), 0)
	w.expect(t, 0, "", w.g.hold(0, 5, key(1, 1), 60*gib))
	w.starved["GPU-0"] = w.start.Add(5 * sec)
	w.expect(t, 6*sec, "kill 1")
	w = newWatch(targettest.Machine(1, 80*gib))
	w.ward(1, 1000, oneSlice(20*gib), 0)
	w.starved["GPU-0"] = w.start
	w.expect(t, 11*sec, "", w.g.hold(0, 5, key(1, 1), 60*gib)) // long ago
}

func TestPressureOfHalfAMinuteTakesTheJobFurthestOverItsHostMemory(t *testing.T) {
	inv := targettest.Machine(1, 80*gib)
	host := func(avail pasar.Bytes, some float64, use ...pasar.Bytes) func(*pasar.Reading) {
		return func(r *pasar.Reading) {
			r.Host = pasar.HostReading{Total: 64 * gib, Available: avail, Pressure: &some, Use: map[pasar.AttemptKey]pasar.Bytes{}}
			for i, b := range use {
				r.Host.Use[key(pasar.JobID(i+1), 1)] = b
			}
		}
	}
	ram := func(b pasar.Bytes) pasar.Claim { return pasar.Claim{Kind: pasar.NoGPU, RAM: b} }
	w := newWatch(inv)
	w.ward(1, 1, ram(0), 0) // asked for nothing: it has no limit
	w.ward(2, 2000, ram(4*gib), 0)
	w.ward(3, 1000, ram(20*gib), 0)
	w.expect(t, 0, "", host(30*gib, 0.2, 30*gib, 9*gib, 22*gib))
	w.expect(t, 29*sec, "")
	w.expect(t, 30*sec, "kill 2")
	w.expect(t, 59*sec, "") // 30 s before the next
	w.expect(t, 60*sec, "kill 3")
	w.expect(t, 90*sec, "incident") // nobody is over
	w.expect(t, 10*time.Minute, "")
	w.expect(t, 11*time.Minute, "", host(30*gib, 0.05, 30*gib))
	w.expect(t, 12*time.Minute, "", host(3*gib, 0, 30*gib)) // too little is available: that is pressure as well
	w.expect(t, 12*time.Minute+30*sec, "incident")
}

func TestAVirtualGPUsSliceIsALimitOnHostMemory(t *testing.T) {
	w := newWatch(virtualMachine())
	c := oneSlice(8 * gib)
	w.ward(1, 1000, c, 0)
	w.ward(2, 1000, oneWhole, 0)
	set := func(r *pasar.Reading) {
		some := 0.5
		r.Host.Pressure, r.Host.Use = &some, map[pasar.AttemptKey]pasar.Bytes{key(1, 1): 11 * gib, key(2, 1): 40 * gib}
	}
	w.expect(t, 0, "", set)
	w.expect(t, 30*sec, "kill 1")
	w.expect(t, time.Minute, "incident") // the other has all of the machine
}

func TestUnifiedMemoryIsWatchedCloselyAndOneGoesAtOnce(t *testing.T) {
	inv := unifiedMachine() // 128 GiB: the floor is 6.4
	avail := func(b pasar.Bytes) func(*pasar.Reading) { return func(r *pasar.Reading) { r.Host.Available = b } }
	w := newWatch(inv)
	w.ward(1, 1000, oneSlice(40*gib), 0)
	w.ward(2, 500, oneSlice(40*gib), 0)
	w.ward(3, 800, oneSlice(20*gib), 0)
	w.ward(4, 1, pasar.Claim{Kind: pasar.NoGPU}) // uses next to nothing
	w.expect(t, 0, "", w.g.hold(0, 5, key(1, 1), 50*gib), w.g.hold(0, 6, key(2, 1), 30*gib), w.g.hold(0, 7, key(3, 1), 20*gib), avail(20*gib))
	w.expect(t, sec, "urgent", avail(12*gib))
	w.expect(t, 2*sec, "kill 1, urgent", avail(6*gib))
	w.expect(t, 3*sec, "kill 2, urgent", avail(5*gib)) // job 1 is gone already and it is no better: then the lowest bid
	w.expect(t, 4*sec, "", avail(40*gib))
	w = newWatch(inv)
	w.ward(1, 1000, oneSlice(40*gib), 0)
	w.ward(2, 1000, oneSlice(40*gib), 0)
	w.expect(t, 0, "kill 2, urgent", w.g.hold(0, 5, key(1, 1), 40*gib), w.g.hold(0, 6, key(2, 1), 40*gib), avail(gib)) // of equal bids the younger
}

func TestAKillIsGivenTimeToFreeMemory(t *testing.T) {
	inv := unifiedMachine()
	w := newWatch(inv)
	w.ward(1, 1000, oneSlice(40*gib), 0)
	w.ward(2, 500, oneSlice(40*gib), 0)
	w.with(w.g.hold(0, 5, key(1, 1), 50*gib), w.g.hold(0, 6, key(2, 1), 40*gib), func(r *pasar.Reading) { r.Host.Available = gib })
	w.look(0)
	see := func(d time.Duration) int {
		w.v.now = w.start.Add(d)
		w.look(0)
		return len(w.dog.look(&plight{sight: w.v.sight, inv: inv, set: w.v.set, wards: w.wards}).strikes)
	}
	if n := see(0); n != 1 {
		t.Fatalf("%d go", n)
	}
	for d := 250 * time.Millisecond; d < strikeRest; d += 250 * time.Millisecond {
		if n := see(d); n != 0 { // job 1 is still going
			t.Fatalf("%d more go after %v", n, d)
		}
	}
	if n := see(strikeRest); n != 1 {
		t.Errorf("then %d go", n)
	}
}

func TestTheWatchdogKillsAtOnceAndTheVerdictSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := metered(newWorld(t, 1))
		d := w.start(nil)
		a, b := d.submit(sliceJob("a", 20*gib)), d.submit(sliceJob("b", 40*gib))
		time.Sleep(time.Minute)
		d.expect(b, pasar.Running)
		g.show(g.hold(0, 5, key(a, 1), 40*gib))
		g.show(g.hold(0, 6, key(b, 1), 39*gib+512*pasar.MiB))
		if v := jobNow(t, d, a); !v.OverLimit || v.Usage.GPU == nil || *v.Usage.GPU != 40*gib {
			t.Errorf("over limit %v, usage %+v", v.OverLimit, v.Usage)
		}
		time.Sleep(13 * time.Second)
		d.expect(a, pasar.Failed)
		d.expect(b, pasar.Running)
		v := jobNow(t, d, a)
		if v.Verdict.Reason != pasar.CodeOOM || !strings.Contains(v.Verdict.Summary, "over its limit of 22 GiB by 18 GiB of GPU memory on GPU 0") {
			t.Errorf("verdict %+v", v.Verdict)
		}
		if p := v.Attempts[0].PeakGPU; p == nil || *p != 40*gib || v.OverLimit || v.Usage.GPU != nil || v.Usage.PeakGPU == nil {
			t.Errorf("peak %v, usage %+v", p, v.Usage)
		}
		stops := w.machine.Stops(key(a, 1))
		if len(stops) != 1 || !stops[0].Now || stops[0].Why != pasar.StopWatchdog {
			t.Errorf("stops %+v", stops)
		}
		if in := d.incidents(); len(in) != 1 || !strings.HasPrefix(in[0], "memory: job 1 was killed: over its limit") {
			t.Errorf("incidents %q", in)
		}
	})
}

func TestTheWatchdogDoesNotWaitForADisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := meteredMachine(newWorld(t, 0), unifiedMachine())
		d := w.start(nil)
		a := d.submit(sliceJob("a", 20*gib))
		time.Sleep(time.Minute)
		g.show(g.hold(0, 5, key(a, 1), 60*gib))
		w.journal.setFail(true)
		_, _ = d.do(context.Background(), d.Daemon.submit(ipc.SubmitRequest{Request: "x", Spec: sliceJob("b", gib)})) // finds out
		g.show(func(r *pasar.Reading) { r.Host.Available = gib })
		if stops := w.machine.Stops(key(a, 1)); len(stops) != 1 || stops[0].Why != pasar.StopWatchdog {
			t.Errorf("stops %+v", stops)
		}
		w.journal.setFail(false)
		time.Sleep(10 * time.Second)
		d.expect(a, pasar.Failed)
		if v := jobNow(t, d, a); v.Verdict.Reason != pasar.CodeOOM {
			t.Errorf("verdict %+v", v.Verdict)
		}
	})
}

func jobNow(t *testing.T, d *running, id pasar.JobID) pasar.JobView {
	t.Helper()
	synctest.Wait()
	b, err := d.viewJSON(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var v pasar.JobView
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
