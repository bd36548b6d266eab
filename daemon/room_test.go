package daemon

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/sched"
	"pasar/target/targettest"
)

// starts reports whether a slice of exactly so much would start now.
func (s *scene) starts(limit pasar.Bytes) bool {
	in := sched.Input{Machines: []sched.Machine{{Inventory: s.inv, Reachable: true, External: pasar.ExternalShare, Settles: s.v.set.Settle}}}
	for i := range s.inv.GPUs {
		if seen, ok := s.v.gpu(&s.inv.GPUs[i]); ok {
			in.Machines[0].Seen = append(in.Machines[0].Seen, seen)
		}
	}
	for i := range s.v.tenants {
		t := &s.v.tenants[i]
		in.Active = append(in.Active, sched.Running{ID: t.key.Job, Grant: t.grant, Started: t.since, Leaving: t.leaving})
	}
	in.Waiting = []sched.Job{{ID: 1000, Bid: 1000, QueueTime: s.v.now, Claim: pasar.Claim{Kind: pasar.Slice, GPUs: 1, Mem: limit, Limit: limit}}}
	return len(sched.Decide(in, s.v.now).Starts) == 1
}

func TestWhatIsShownAsFreeIsWhatASliceCouldHave(t *testing.T) {
	inv := targettest.Machine(1, 80*gib)
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		some := func(most pasar.Bytes) pasar.Bytes { return pasar.Bytes(r.Int64N(int64(most/pasar.MiB))) * pasar.MiB }
		s := newScene(inv)
		for id := pasar.JobID(1); id <= pasar.JobID(r.IntN(4)); id++ {
			c := oneSlice(gib + some(30*gib))
			if r.IntN(8) == 0 {
				c = oneWhole
			}
			s.tenant(id, c, 0)
			s.v.tenants[len(s.v.tenants)-1].leaving = r.IntN(4) == 0
			if r.IntN(3) > 0 {
				s.with(s.g.hold(0, int(id), key(id, 1), 1+some(25*gib)))
			}
		}
		if r.IntN(2) == 0 {
			s.with(s.g.hold(0, 99, pasar.AttemptKey{}, 1+some(30*gib)))
		}
		if r.IntN(3) == 0 {
			s.with(s.g.used(0, min(80*gib, *s.g.now.GPUs[0].Used+some(20*gib))))
		}
		if *s.g.now.GPUs[0].Used > 80*gib {
			continue
		}
		if r.IntN(10) == 0 {
			s.g.now.GPUs[0].Status = pasar.GPUUnresponsive
		}
		if r.IntN(10) == 0 {
			s.g.now.GPUs[0].Exclusive = true
		}
		s.look(0)
		free := s.v.gpuView(&inv.GPUs[0], nil).Free
		if free > 0 && !s.starts(free) || s.starts(free+1) {
			t.Fatalf("seed %d: %s are shown as free; %v starts, and a byte more %v", seed, free, s.starts(free), s.starts(free+1))
		}
	}
}

func TestSlicesAndWholeJobsNeverOverCommitWhateverReadingsShow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := metered(newWorld(t, 2))
		d := w.start(nil)
		r := rand.New(rand.NewPCG(7, 7))
		var ids []pasar.JobID
		pids := map[pasar.JobID]int{}
		for step := range 300 {
			switch r.IntN(5) {
			case 0, 1:
				s := sliceJob("s", gib*pasar.Bytes(1+r.IntN(50)))
				if r.IntN(3) == 0 {
					s = spec("w", 1000)
				}
				ids = append(ids, d.submit(s))
			case 2: // somebody takes memory, perhaps more than it may
				for _, id := range ids {
					j, err := d.find(id)
					if err == nil && j.Phase == phaseRunning && r.IntN(2) == 0 {
						ref := j.current().Grant.GPUs[0]
						pids[id] = int(1000 + id)
						used := *g.now.GPUs[ref.Index].Used
						if mem := gib * pasar.Bytes(1+r.IntN(40)); used+mem < 80*gib {
							g.show(g.hold(ref.Index, pids[id], key(id, j.current().Attempt), mem))
						}
					}
				}
			case 3: // one ends; its memory goes some time later
				for _, id := range ids {
					j, err := d.find(id)
					if err == nil && j.Phase == phaseRunning && r.IntN(3) == 0 {
						ref := j.current().Grant.GPUs[0]
						w.machine.Finish(key(id, j.current().Attempt), 0)
						if r.IntN(2) == 0 {
							time.Sleep(time.Duration(r.IntN(5000)) * time.Millisecond)
						}
						g.show(g.hold(ref.Index, pids[id], key(id, 1), 0))
					}
				}
			default:
				mem := gib * pasar.Bytes(r.IntN(20))
				if gpu := r.IntN(2); *g.now.GPUs[gpu].Used+mem < 80*gib {
					g.show(g.hold(gpu, 7, pasar.AttemptKey{}, mem))
				}
			}
			time.Sleep(time.Duration(r.IntN(20)) * time.Second)
			synctest.Wait()
			w.check()
			if t.Failed() {
				t.Fatalf("at step %d", step)
			}
		}
		started := 0
		for _, id := range ids {
			if d.state(id) != pasar.Queued {
				started++
			}
		}
		if started < len(ids)/3 {
			t.Errorf("of %d jobs %d have started", len(ids), started)
		}
	})
}

func TestTwoGPUsAndAStranger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := metered(newWorld(t, 2))
		d := w.start(nil)
		g.show(g.hold(1, 7, pasar.AttemptKey{}, 60*gib))
		a, b, c := d.submit(sliceJob("a", 40*gib)), d.submit(sliceJob("b", 40*gib)), d.submit(sliceJob("c", 15*gib))
		time.Sleep(time.Minute)
		d.expect(a, pasar.Running)
		d.expect(b, pasar.Queued)
		d.expect(c, pasar.Running) // beside the stranger, or a
		if free := machineNow(t, d).GPUs[1]; free.Processes[0].User != "bob" || free.Processes[0].Job != nil {
			t.Errorf("%+v", free.Processes)
		}
		g.show(g.hold(1, 7, pasar.AttemptKey{}, 0)) // the stranger goes: b needn't wait for anything else
		d.expect(b, pasar.Running)

		avoid := spec("avoid", 1000)
		avoid.Claim.External = pasar.ExternalAvoid
		for _, id := range []pasar.JobID{a, b, c} {
			w.machine.Finish(key(id, 1), 0)
		}
		g.show(g.hold(0, 8, pasar.AttemptKey{}, gib))
		g.show(g.hold(1, 7, pasar.AttemptKey{}, gib))
		time.Sleep(time.Minute)
		e := d.submit(avoid)
		d.expect(e, pasar.Queued)
		if r := d.pub.Load().reasonFor(d.lookup(e)); r.Why != pasar.WaitStranger {
			t.Errorf("it waits for %+v", r)
		}
		g.show(g.hold(1, 7, pasar.AttemptKey{}, 0))
		d.expect(e, pasar.Running)
		if gpu := d.lookup(e).current().Grant.GPUs[0].Index; gpu != 1 {
			t.Errorf("it is on GPU %d", gpu)
		}
	})
}

func TestMemoryThatLingersIsNamedInTheReasonOfTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := metered(newWorld(t, 1))
		d := w.start(nil)
		a := d.submit(spec("a", 1000))
		g.show(g.hold(0, 5, key(a, 1), 40*gib))
		b := d.submit(spec("b", 1000))
		g.set(g.vanish(0, 5))
		w.machine.Finish(key(a, 1), 0)
		time.Sleep(time.Second)
		synctest.Wait()
		if r := d.pub.Load().reasonFor(d.lookup(b)); r.Why != pasar.WaitRelease || len(r.Holders) != 1 || r.Holders[0] != a {
			t.Errorf("it waits for %+v", r)
		}
	})
}

func TestSlicesOfOneGPUStartOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := metered(newWorld(t, 1))
		d := w.start(nil)
		a, b := d.submit(sliceJob("a", 20*gib)), d.submit(sliceJob("b", 20*gib))
		began := time.Now()
		d.expect(a, pasar.Running)
		d.expect(b, pasar.Queued)
		if r := d.pub.Load().reasonFor(d.lookup(b)); r.Why != pasar.WaitSettle || r.Holders[0] != a || r.Until == nil {
			t.Errorf("it waits for %+v", r)
		}
		if s := machineNow(t, d).GPUs[0].Settling; s == nil || *s != a {
			t.Errorf("settling is %v", s)
		}
		time.Sleep(20 * time.Second)
		d.expect(b, pasar.Queued) // a is still importing its libraries
		g.show(g.hold(0, 5, key(a, 1), 18*gib))
		time.Sleep(13 * time.Second)
		d.expect(b, pasar.Running)
		if at := d.lookup(b).current().LaunchedAt.Sub(began); at < 30*time.Second || at > 33*time.Second {
			t.Errorf("the second started %v after the first", at)
		}
		g.show(g.hold(0, 6, key(b, 1), 22*gib)) // its limit: nobody need wait any longer
		c := d.submit(sliceJob("c", 20*gib))
		d.expect(c, pasar.Running)
		w.check()
	})
}

func TestAUnifiedMachinesFreeIsWhatASliceCouldHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := meteredMachine(newWorld(t, 0), unifiedMachine())
		d := w.start(nil)
		ram := spec("cpu", 1000)
		ram.Claim = pasar.Claim{Kind: pasar.NoGPU, RAM: 20 * gib}
		d.submit(ram)
		a := d.submit(sliceJob("a", 20*gib))
		g.show(g.hold(0, 5, key(a, 1), 22*gib))
		g.show(g.hold(0, 7, pasar.AttemptKey{}, 5*gib))
		time.Sleep(time.Minute)
		free := machineNow(t, d).GPUs[0].Free
		if free != (112-20-22-5)*gib {
			t.Errorf("%s are free", free)
		}
		over := sliceJob("over", free)
		over.Claim.Limit = free + 1
		fits := sliceJob("fits", free)
		fits.Claim.Limit = free
		o := d.submit(over)
		d.expect(o, pasar.Queued)
		if _, err := d.do(context.Background(), d.cancel(ipc.JobsRequest{Request: "r", Jobs: []pasar.JobID{o}})); err != nil {
			t.Fatal(err)
		}
		d.expect(d.submit(fits), pasar.Running)
	})
}

func TestThePreemptedMemoryThatLingersIsStillThePreemptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := metered(newWorld(t, 2))
		d := w.start(nil)
		a := d.submit(spec("a", 100))
		time.Sleep(time.Minute)
		b := d.submit(spec("b", 100))
		g.show(g.hold(0, 5, key(a, 1), 40*gib))
		g.show(g.hold(1, 6, key(b, 1), 40*gib))
		s := spec("c", 500)
		s.Preempt = true
		g.set(g.vanish(1, 6)) // b goes, its memory stays
		c := d.submit(s)
		time.Sleep(time.Second)
		d.expect(b, pasar.Queued)
		higher := d.submit(spec("higher", 900))
		time.Sleep(20 * time.Second)
		d.expect(a, pasar.Running) // nobody else was stopped
		d.expect(c, pasar.Queued)
		d.expect(higher, pasar.Queued)
		g.show(g.used(1, 0))
		d.expect(c, pasar.Running)
		d.expect(higher, pasar.Queued)
		w.check()
	})
}

func TestAJobWhoseGPUWasLostIsToldSo(t *testing.T) {
	for status, want := range map[pasar.GPUStatus]string{pasar.GPULost: "the driver had lost GPU 0", pasar.GPUUnresponsive: "GPU 0 didn't answer"} {
		synctest.Test(t, func(t *testing.T) {
			w, g := metered(newWorld(t, 1))
			d := w.start(nil)
			a := d.submit(spec("a", 1000))
			g.show(func(r *pasar.Reading) {
				r.GPUs[0].Status = status
				r.Host.Use = map[pasar.AttemptKey]pasar.Bytes{key(a, 1): 7 * gib}
			})
			if v := jobNow(t, d, a); v.Usage.Host == nil || *v.Usage.Host != 7*gib || v.Usage.PeakHost == nil || *v.Usage.PeakHost != 7*gib {
				t.Errorf("usage %+v", v.Usage)
			}
			w.machine.Finish(key(a, 1), 1)
			time.Sleep(4 * time.Second)
			v := jobNow(t, d, a).Attempts[0].Verdict
			if v == nil || (v.Reason == pasar.CodeGPUXid) != (status == pasar.GPULost) || !strings.Contains(v.Evidence[len(v.Evidence)-1].Text, want) {
				t.Errorf("%s: %+v", status, v)
			}
		})
	}
}

// An idle daemon looks seldom; what strangers took meanwhile is not given out.
func TestAnIdleDaemonLooksBeforeItGivesOutAGPU(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := metered(newWorld(t, 2))
		d := w.start(nil)
		time.Sleep(time.Hour + 3*time.Second)
		used, name := 60*gib, "python"
		g.set(func(r *pasar.Reading) {
			for i := range r.GPUs {
				r.GPUs[i].Used = &used
				r.GPUs[i].Processes = []pasar.GPUProcess{{Pid: 7 + i, Name: name, User: "bob", Used: &used}}
			}
		})
		avoid, slice := spec("avoid", 1000), spec("slice", 1000)
		avoid.Claim.External = pasar.ExternalAvoid
		slice.Claim = pasar.Claim{Kind: pasar.Slice, GPUs: 1, Mem: 40 * gib, Limit: 44 * gib}
		for _, id := range []pasar.JobID{d.submit(avoid), d.submit(slice)} {
			d.expect(id, pasar.Queued)
			if v := d.seen(id); v.Waiting == nil || v.Waiting.Why != pasar.WaitStranger && v.Waiting.Why != pasar.WaitMemory {
				t.Errorf("job %d: %+v", id, v.Waiting)
			}
		}
	})
}
