package daemon

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
)

func TestAGPUIsBusyUntilAReadingAfterTheExitShowsItsMemoryFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := metered(newWorld(t, 1))
		d := w.start(nil)
		a := d.submit(spec("a", 1000))
		g.show(g.hold(0, 100, key(a, 1), 40*pasar.GiB))
		b := d.submit(spec("b", 1000))
		g.set(g.vanish(0, 100)) // its process goes; its memory stays
		w.machine.Finish(key(a, 1), 0)
		d.expect(a, pasar.Completed)
		d.expect(b, pasar.Queued)
		time.Sleep(5 * time.Second)
		d.expect(b, pasar.Queued)
		v := machineNow(t, d)
		if l := v.GPUs[0].Leaving; len(l) != 1 || l[0].Job != a || l[0].Used == nil || *l[0].Used != 40*pasar.GiB || l[0].Leaked {
			t.Errorf("leaving = %+v", l)
		}
		if g.pace != pasar.PaceUrgent {
			t.Errorf("somebody waits for memory, and the pace is %s", g.pace)
		}
		g.set(g.used(0, 100*pasar.MiB))
		began := time.Now()
		time.Sleep(300 * time.Millisecond)
		d.expect(b, pasar.Running)
		if took := d.lookup(b).current().LaunchedAt.Sub(began); took > 250*time.Millisecond {
			t.Errorf("the next started %v after the memory was free", took)
		}
		if l := machineNow(t, d).GPUs[0].Leaving; len(l) != 0 {
			t.Errorf("leaving = %+v", l)
		}
		w.check()
	})
}

func TestAJobWhoseMemoryWasNeverSeenIsGoneAtTheFirstReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := metered(newWorld(t, 1))
		d := w.start(nil)
		a, b := d.submit(spec("a", 1000)), d.submit(spec("b", 1000))
		time.Sleep(time.Minute)
		ended := time.Now()
		w.machine.Finish(key(a, 1), 0)
		time.Sleep(time.Second)
		d.expect(b, pasar.Running)
		if gap := d.lookup(b).current().LaunchedAt.Sub(ended); gap > 250*time.Millisecond {
			t.Errorf("the next started %v after the end", gap)
		}
		w.check()
	})
}

func TestMachinesWithoutRealGPUsStartTheNextAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inv := virtualMachine()
		w, _ := meteredMachine(newWorld(t, 0), inv)
		d := w.start(nil)
		a, b := d.submit(spec("a", 1000)), d.submit(spec("b", 1000))
		time.Sleep(time.Minute)
		at := time.Now()
		w.machine.Finish(key(a, 1), 3)
		d.expect(a, pasar.Failed)
		d.expect(b, pasar.Running)
		if !d.lookup(b).current().LaunchedAt.Equal(at) || !d.lookup(a).current().EndedAt.Equal(at) {
			t.Error("there was a gap")
		}
	})
}

func virtualMachine() pasar.Inventory {
	return pasar.Inventory{Machine: pasar.LocalMachine, Boot: "boot-0", Cores: 8, RAM: 64 * pasar.GiB, Reserve: 8 * pasar.GiB, CPUJobs: 8,
		GPUs: []pasar.GPU{{UUID: "virtual", Name: "host memory", Total: 56 * pasar.GiB, Virtual: true}}}
}

func TestWithoutReadingsAReleaseEndsWithItsTimeAndTheLedgerCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := metered(newWorld(t, 1))
		d := w.start(nil)
		a, b := d.submit(spec("a", 1000)), d.submit(spec("b", 1000))
		g.show(g.hold(0, 100, key(a, 1), 40*pasar.GiB))
		g.mu.Lock()
		g.dead = true
		g.mu.Unlock()
		w.machine.Finish(key(a, 1), 0)
		time.Sleep(119 * time.Second)
		d.expect(b, pasar.Queued)
		time.Sleep(2 * time.Second)
		d.expect(b, pasar.Running)
		w.check()
	})
}

func TestTheNextDaemonStillWaitsForMemoryOfJobsThatEndedBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := metered(newWorld(t, 1))
		d := w.start(nil)
		a := d.submit(spec("a", 1000))
		g.show(g.hold(0, 100, key(a, 1), 40*pasar.GiB))
		b := d.submit(spec("b", 1000))
		g.set(g.vanish(0, 100))
		w.machine.Finish(key(a, 1), 0)
		d.expect(a, pasar.Completed)
		d.kill()
		d = w.start(nil)
		time.Sleep(10 * time.Second)
		d.expect(b, pasar.Queued)
		g.set(g.used(0, 0))
		time.Sleep(time.Second)
		d.expect(b, pasar.Running)
		w.check()
	})
}

func TestAnIdleDaemonIsNotRousedByReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := metered(newWorld(t, 2))
		d := w.start(nil)
		appends := w.journal.appends
		g.show(g.hold(0, 7, pasar.AttemptKey{}, 10*pasar.GiB))
		time.Sleep(time.Hour)
		synctest.Wait()
		if g.seen < 300 || w.journal.appends != appends {
			t.Errorf("%d readings, %d facts", g.seen, w.journal.appends-appends)
		}
		if slices.Contains(g.paces, pasar.PaceSteady) || len(d.lookout.rouse) > 0 {
			t.Errorf("paces %v", g.paces)
		}
	})
}

func sliceJob(name string, mem pasar.Bytes) pasar.Spec {
	s := spec(name, 1000)
	s.Claim = oneSlice(mem)
	return s
}

func (r *running) incidents() []string {
	synctest.Wait()
	var all []string
	for _, in := range r.pub.Load().incident {
		all = append(all, in.What+": "+in.Detail)
	}
	return all
}

func TestWhatIsNotFreeInTimeHasLeakedAndStaysCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := metered(newWorld(t, 1))
		d := w.start(nil)
		a := d.submit(sliceJob("a", 30*pasar.GiB))
		g.show(g.hold(0, 100, key(a, 1), 30*pasar.GiB))
		w.machine.Finish(key(a, 1), 0) // its process lives on: a container's, say
		b := d.submit(sliceJob("b", 50*pasar.GiB))
		d.expect(b, pasar.Queued)
		time.Sleep(119 * time.Second)
		if in := d.incidents(); len(in) != 0 {
			t.Errorf("incidents before its time: %q", in)
		}
		time.Sleep(2 * time.Second)
		in := d.incidents()
		if len(in) != 1 || !strings.Contains(in[0], "leaked: job 1 ") || !strings.Contains(in[0], "30 GiB of GPU 0") || !strings.Contains(in[0], "python (ada), pid 100") {
			t.Errorf("incidents = %q", in)
		}
		d.expect(b, pasar.Queued) // 80 - 30 that leaked < 52
		if v := machineNow(t, d).GPUs[0]; len(v.Leaving) != 1 || !v.Leaving[0].Leaked || v.Free != 50*pasar.GiB {
			t.Errorf("leaving = %+v, free %s", v.Leaving, v.Free)
		}
		g.show(g.hold(0, 100, key(a, 1), 0))
		time.Sleep(3 * time.Second)
		d.expect(b, pasar.Running)
		if l := machineNow(t, d).GPUs[0].Leaving; len(l) != 0 {
			t.Errorf("leaving = %+v", l)
		}
		time.Sleep(time.Hour)
		if in := d.incidents(); len(in) != 1 {
			t.Errorf("incidents = %q", in)
		}
		w.check()
	})
}

// Of a GPU that doesn't answer nobody knows what is left on it.
func TestWhatIsLeftOnAGPUThatDoesNotAnswerHasNotLeaked(t *testing.T) {
	for _, status := range []pasar.GPUStatus{pasar.GPULost, pasar.GPUUnresponsive} {
		synctest.Test(t, func(t *testing.T) {
			w, g := metered(newWorld(t, 2))
			d := w.start(nil)
			both := spec("a", 1000)
			both.Claim.GPUs = 2
			a := d.submit(both)
			g.show(g.hold(0, 100, key(a, 1), 40*pasar.GiB))
			g.show(g.hold(1, 101, key(a, 1), 40*pasar.GiB))
			g.show(func(r *pasar.Reading) { r.GPUs[0].Status = status })
			w.machine.Finish(key(a, 1), 0)
			g.show(g.hold(1, 101, key(a, 1), 0))
			b, c := d.submit(spec("b", 1000)), d.submit(spec("c", 1000))
			only := spec("only there", 1000)
			only.Claim.IDs = []string{"0"}
			named := d.submit(only)
			d.expect(b, pasar.Queued)
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			for _, in := range d.incidents() {
				if strings.Contains(in, "leaked") {
					t.Errorf("incident %q", in)
				}
			}
			if l := machineNow(t, d).GPUs[0].Leaving; len(l) != 1 || l[0].Leaked || l[0].Used != nil {
				t.Errorf("leaving = %+v", l)
			}
			d.expect(b, pasar.Running) // on the GPU that was seen to be free
			d.expect(c, pasar.Queued)
			if r := d.pub.Load().reasonFor(d.lookup(named)); status == pasar.GPUUnresponsive && !strings.Contains(r.Detail, "it doesn't answer, so it isn't known whether the memory of job 1 is free") {
				t.Errorf("it waits for %+v", r)
			}
			if g.pace == pasar.PaceUrgent {
				t.Error("a GPU that doesn't answer is asked all the time")
			}
			g.show(func(r *pasar.Reading) { r.GPUs[0].Status = pasar.GPUOK })
			if in := d.incidents(); len(in) == 0 || !strings.Contains(in[len(in)-1], "still has 40 GiB of GPU 0") {
				t.Errorf("incidents %q", in)
			}
			w.check()
		})
	}
}
