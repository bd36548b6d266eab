package daemon

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/target"
	"pasar/target/targettest"
)

// xidOf is one that the kernel reports of a GPU; pid 0: it names no process.
func xidOf(uuid string, code int, action pasar.XidAction, class pasar.XidClass, pid int) func(*pasar.Reading) {
	x := pasar.Xid{At: time.Now(), UUID: uuid, Code: code, Action: action, Class: class, Meaning: "it went wrong", Source: "kernel"}
	if pid != 0 {
		x.Pid = &pid
	}
	return func(r *pasar.Reading) { r.Xids = append(r.Xids, x) }
}

func on(s pasar.Spec, gpu string) pasar.Spec {
	s.Claim.IDs = []string{gpu}
	return s
}

func TestAGPUThatFallsOffTheBusIsDrainedAndTheOtherGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := metered(newWorld(t, 2))
		d := w.start(nil)
		a, b := d.submit(on(spec("a", 1000), "0")), d.submit(on(spec("b", 1000), "1"))
		d.expect(a, pasar.Running)
		d.expect(b, pasar.Running)
		g.show(xidOf("GPU-0", 79, pasar.XidDrainReboot, pasar.XidHW, 0))
		v := machineNow(t, d)
		if h := v.GPUs[0].Drained; h == nil || *h.Xid != 79 || !h.Mends || h.Person || h.Boot != "boot-1" || !strings.Contains(h.Reason, "Xid 79: it went wrong") || !strings.Contains(h.Remedy, "restart the machine") || v.GPUs[0].Free != 0 {
			t.Errorf("drained = %+v", h)
		}
		if v.GPUs[1].Drained != nil {
			t.Errorf("the other is drained: %+v", v.GPUs[1].Drained)
		}
		w.machine.Finish(key(a, 1), 1)
		time.Sleep(2 * time.Second)
		// It died of its GPU, and is tried once more though nothing was asked; its own GPU takes nothing.
		d.expect(a, pasar.Queued)
		got := jobNow(t, d, a).Attempts[0]
		if got.Verdict == nil || got.Verdict.Reason != pasar.CodeGPUXid || got.Verdict.Confidence != pasar.Likely || !strings.Contains(got.Verdict.Summary, "Xid 79") {
			t.Errorf("verdict %+v", got.Verdict)
		}
		if len(got.Xids) != 1 || got.Xids[0].Code != 79 {
			t.Errorf("Xids %+v", got.Xids)
		}
		c := d.submit(on(spec("c", 1000), "1"))
		w.machine.Finish(key(b, 1), 0)
		time.Sleep(time.Minute)
		d.expect(c, pasar.Running)
		for range 50 {
			g.show(xidOf("GPU-0", 79, pasar.XidDrainReboot, pasar.XidHW, 0))
		}
		if in := d.incidents(); len(in) != 1 || !strings.Contains(in[0], "GPU 0 takes no more jobs: Xid 79") {
			t.Errorf("incidents %q", in)
		}
		w.check()
	})
}

func TestADrainThatARestartMendsEndsInAnotherBoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := metered(newWorld(t, 2))
		d := w.start(nil)
		g.show(xidOf("GPU-0", 79, pasar.XidDrainReboot, pasar.XidHW, 0))
		g.show(xidOf("GPU-1", 64, pasar.XidDrainOperator, pasar.XidHW, 0))
		d.stop()
		d = w.start(nil)
		if v := machineNow(t, d); v.GPUs[0].Drained == nil || v.GPUs[1].Drained == nil {
			t.Errorf("a restart of the daemon mended %+v, %+v", v.GPUs[0].Drained, v.GPUs[1].Drained)
		}
		d.stop()
		w.boot = "boot-2"
		d = w.start(nil)
		if v := machineNow(t, d); v.GPUs[0].Drained != nil || v.GPUs[1].Drained == nil {
			t.Errorf("after a restart of the machine: %+v, %+v", v.GPUs[0].Drained, v.GPUs[1].Drained)
		}
	})
}

func TestASilentGPUTakesNothingUntilItAnswersAndTheOtherGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := metered(newWorld(t, 2))
		d := w.start(nil)
		status := func(s pasar.GPUStatus) func(*pasar.Reading) {
			return func(r *pasar.Reading) { r.GPUs[0].Status = s }
		}
		g.show(status(pasar.GPUUnresponsive))
		v := machineNow(t, d)
		if v.GPUs[0].Drained != nil || *v.GPUs[0].Status != pasar.GPUUnresponsive || v.GPUs[0].Free != 0 || v.GPUs[1].Free != 80*gib {
			t.Errorf("%+v", v.GPUs)
		}
		time.Sleep(time.Hour)
		if in := d.incidents(); len(in) != 1 || !strings.Contains(in[0], "GPU 0 doesn't answer") {
			t.Errorf("incidents %q", in)
		}
		g.show(status(pasar.GPUOK))
		if v := machineNow(t, d); v.GPUs[0].Free != 80*gib {
			t.Errorf("it answers, and %s are free", v.GPUs[0].Free)
		}
		g.show(status(pasar.GPULost))
		if h := machineNow(t, d).GPUs[0].Drained; h == nil || !strings.Contains(h.Reason, "lost") {
			t.Errorf("lost: %+v", h)
		}
	})
}

func TestAnXidIsBlamedOnTheJobWhosePidTheKernelNames(t *testing.T) {
	for _, c := range []struct {
		name string
		pid  int // that the kernel names: of a's process, b's, the stranger's, or none
		a, b pasar.Confidence
	}{
		{"a's", 100, pasar.Certain, ""}, {"b's", 200, "", pasar.Certain}, {"a stranger's", 300, "", ""}, {"none", 0, pasar.Guess, pasar.Guess}, {"one that is gone", 999, pasar.Guess, pasar.Guess},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, g := metered(newWorld(t, 1))
			d := w.start(nil)
			a, b := d.submit(sliceJob("a", 20*gib)), d.submit(sliceJob("b", 20*gib))
			time.Sleep(2 * time.Minute)
			g.show(g.hold(0, 100, key(a, 1), 10*gib))
			g.show(g.hold(0, 200, key(b, 1), 10*gib))
			g.show(g.hold(0, 300, pasar.AttemptKey{}, gib))
			d.expect(b, pasar.Running)
			for _, id := range []pasar.JobID{a, b} {
				w.machine.Exit(key(id, 1), pasar.Exit{Code: 1})
				w.machine.End(key(id, 1), &pasar.ExitRecord{Tail: []string{"CUDA error: an illegal memory access was encountered"}})
			}
			time.Sleep(600 * time.Millisecond) // the meter tells of it some time after the program has died of it
			g.set(xidOf("GPU-0", 31, pasar.XidFailJob, pasar.XidApp, c.pid))
			time.Sleep(10 * time.Second)
			for id, want := range map[pasar.JobID]pasar.Confidence{a: c.a, b: c.b} {
				v := jobNow(t, d, id).Attempts[0].Verdict
				if want == "" && v.Reason == pasar.CodeGPUXid || want != "" && (v.Reason != pasar.CodeGPUXid || v.Confidence != want || !strings.Contains(v.Summary, "Xid 31")) {
					t.Errorf("the kernel names %s: job %d has %s (%s): %s", c.name, id, v.Reason, v.Confidence, v.Summary)
				}
			}
			if v := machineNow(t, d).GPUs[0]; v.Drained != nil || len(d.incidents()) != 0 {
				t.Errorf("a program's fault drained the GPU: %+v, %q", v.Drained, d.incidents())
			}
		})
	}
}

func TestTheOnlyJobOnAGPUIsLikelyToBlame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := metered(newWorld(t, 1))
		d := w.start(nil)
		a := d.submit(spec("a", 1000))
		g.show(xidOf("GPU-0", 13, pasar.XidFailJob, pasar.XidApp, 0))
		g.show(xidOf("GPU-0", 45, pasar.XidNote, pasar.XidInfo, 0))
		w.machine.Finish(key(a, 1), 1)
		time.Sleep(10 * time.Second)
		v := jobNow(t, d, a)
		if v.Attempts[0].Verdict.Reason != pasar.CodeGPUXid || v.Attempts[0].Verdict.Confidence != pasar.Likely || len(v.Attempts[0].Xids) != 2 {
			t.Errorf("%+v with %+v", v.Attempts[0].Verdict, v.Attempts[0].Xids)
		}
		d.expect(a, pasar.Failed) // its own fault: it isn't tried again
	})
}

func TestWhatTheDriverRecommendsIsReadWhereTheTableSaysSo(t *testing.T) {
	for said, want := range map[string]string{"": "", "none": "", "reset": "reset it", "drain_and_reset": "reset it", "reboot": "restart the machine", "exorcism": "have its hardware looked at"} {
		synctest.Test(t, func(t *testing.T) {
			w, g := metered(newWorld(t, 1))
			d := w.start(nil)
			g.set(func(r *pasar.Reading) { r.GPUs[0].Recovery = said })
			g.show(xidOf("GPU-0", 154, pasar.XidReadRecovery, pasar.XidInfo, 0))
			h := machineNow(t, d).GPUs[0].Drained
			if (h != nil) != (want != "") || h != nil && !strings.Contains(h.Remedy, want) {
				t.Errorf("%q: %+v", said, h)
			}
		})
	}
}

func TestAFaultOfAGPUIsOneOfEveryInstanceOnIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := meteredMachine(newWorld(t, 0), migMachine())
		d := w.start(nil)
		g.show(xidOf("GPU-0", 95, pasar.XidDrainReset, pasar.XidHW, 0))
		v := machineNow(t, d)
		if v.GPUs[0].Drained == nil || v.GPUs[1].Drained == nil || v.GPUs[2].Drained != nil {
			t.Errorf("%+v", v.GPUs)
		}
		g.show(xidOf("GPU-1", 94, pasar.XidFailJobReset, pasar.XidHW, 0))
		if h := machineNow(t, d).GPUs[2].Drained; h == nil || !strings.Contains(h.Remedy, "once nothing runs on it") {
			t.Errorf("%+v", h)
		}
	})
}

func TestHeatOfHalfAMinuteIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := metered(newWorld(t, 1))
		d := w.start(nil)
		d.submit(spec("a", 1000)) // so that readings come every two seconds
		temp := 91.0
		throttle := func(why ...string) func(*pasar.Reading) {
			return func(r *pasar.Reading) { r.GPUs[0].Throttle, r.GPUs[0].TempC = why, &temp }
		}
		g.show(throttle("power_cap"))
		time.Sleep(time.Hour)
		g.show(throttle("thermal"))
		time.Sleep(25 * time.Second)
		g.show(throttle())
		time.Sleep(25 * time.Second)
		g.show(throttle("power_brake", "thermal"))
		time.Sleep(25 * time.Second)
		if in := d.incidents(); len(in) != 0 {
			t.Errorf("incidents %q", in)
		}
		time.Sleep(time.Hour)
		if in := d.incidents(); len(in) != 1 || !strings.Contains(in[0], "GPU 0 has been slowed down for 30s: by heat, at 91 °C") {
			t.Errorf("incidents %q", in)
		}
	})
}

func TestTroubleWithTheDriverIsSaidAndJobsStartByWhatIsReserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := metered(newWorld(t, 1))
		d := w.start(nil)
		g.show(g.hold(0, 9, pasar.AttemptKey{}, 79*gib))
		g.show(func(r *pasar.Reading) { r.Trouble = "the driver and its library are of different versions" })
		time.Sleep(time.Hour)
		if in := d.incidents(); len(in) != 1 || !strings.Contains(in[0], "different versions; jobs start by what is reserved") {
			t.Errorf("incidents %q", in)
		}
		if tr := machineNow(t, d).Trouble; tr == nil {
			t.Error("no trouble in the view")
		}
		a := d.submit(sliceJob("a", 20*gib))
		d.expect(a, pasar.Running)
	})
}

// brokenDriver is a machine whose inventory can't be taken until it is mended.
type brokenDriver struct {
	*targettest.Fake
	broken *bool
	blind  bool // then nothing at all is told
}

func (b brokenDriver) Inventory(ctx context.Context) (pasar.Inventory, error) {
	inv, err := b.Fake.Inventory(ctx)
	if *b.broken {
		if inv.GPUs = nil; b.blind {
			inv = pasar.Inventory{}
		}
		err = errors.New("the driver doesn't answer")
	}
	return inv, err
}

func TestJobsWithoutAGPURunWhileTheDriverIsBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := metered(newWorld(t, 1))
		broken := true
		w.wrap = func(f *targettest.Fake) target.Target { return brokenDriver{f, &broken, false} }
		g.set(func(r *pasar.Reading) { r.Trouble = "the driver doesn't answer" })
		d := w.start(nil)
		if m := d.status().Machines; len(m) != 1 || !m[0].Reachable || len(m[0].GPUs) != 0 || m[0].Trouble == nil {
			t.Errorf("shown as %+v", m)
		}
		cpu := spec("cpu", 1000)
		cpu.Claim = pasar.Claim{Kind: pasar.NoGPU}
		d.expect(d.submit(cpu), pasar.Running)
		broken = false
		g.show(func(r *pasar.Reading) { r.Trouble = "" })
		d.expect(d.submit(spec("a", 1000)), pasar.Running)
	})
}

func TestADaemonThatStartsWithABrokenDriverGetsItsGPUsOnceItAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := metered(newWorld(t, 1))
		broken := true
		w.wrap = func(f *targettest.Fake) target.Target { return brokenDriver{f, &broken, true} }
		g.set(func(r *pasar.Reading) { r.Trouble = "the driver doesn't answer" })
		d := w.start(nil)
		if in := d.incidents(); len(in) != 1 || !strings.Contains(in[0], "can't look at this machine") {
			t.Errorf("incidents %q", in)
		}
		if m := d.status().Machines; len(m) != 1 || m[0].Reachable || m[0].Trouble == nil || !strings.Contains(*m[0].Trouble, "can't look at this machine") {
			t.Errorf("a machine that nobody could look at is shown as %+v", m)
		}
		broken = false
		g.show(func(r *pasar.Reading) { r.Trouble = "" })
		a := d.submit(spec("a", 1000))
		d.expect(a, pasar.Running)
	})
}

func TestAnotherSetOfGPUsIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := metered(newWorld(t, 1))
		d := w.start(nil)
		a, b := d.submit(spec("a", 1000)), d.submit(spec("b", 1000))
		d.expect(b, pasar.Queued)
		asked := 0
		w.machine.Hook(func(c targettest.Call) targettest.Act {
			if c.Method == targettest.Inventory && c.When == targettest.Before {
				asked++
			}
			return targettest.Proceed
		})
		w.machine.SetInventory(targettest.Machine(2, 80*gib))
		two := newGauge(targettest.Machine(2, 80*gib)).now
		g.show(func(r *pasar.Reading) { *r = two })
		d.expect(b, pasar.Running)
		time.Sleep(time.Hour)
		synctest.Wait()
		if asked != 1 {
			t.Errorf("the machine was asked %d times", asked)
		}
		g.show(func(r *pasar.Reading) { r.GPUs[1].UUID = "GPU-0" }) // nonsense: asked, and asked again at times
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if asked < 2 || asked > 12 {
			t.Errorf("the machine was asked %d times", asked)
		}
		d.expect(a, pasar.Running)
		d.expect(b, pasar.Running)
	})
}
