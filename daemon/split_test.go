package daemon

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/target/targettest"
)

// splitMachine is a machine of two GPUs of which the first is split.
func splitMachine() pasar.Inventory {
	inv := targettest.Machine(2, 80*gib)
	first := inv.GPUs[0]
	a, b := first, first
	a.UUID, a.Parent, a.Total = "MIG-0000-a", first.UUID, 40*gib
	b.UUID, b.Parent, b.Total = "MIG-0000-b", first.UUID, 20*gib
	inv.GPUs = []pasar.GPU{a, b, inv.GPUs[1]}
	return inv
}

// become gives the machine other GPUs, and shows them.
func (g *gauge) become(w *world, inv pasar.Inventory) {
	w.machine.SetInventory(inv)
	now := newGauge(inv).now
	g.show(func(r *pasar.Reading) { *r = now })
}

func TestAJobHasAllThatItsGPUIsSplitInto(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := metered(newWorld(t, 2))
		d := w.start(nil)
		a := d.submit(spec("a", 1000))
		if gpu := d.lookup(a).current().Grant.GPUs[0].Index; gpu != 0 {
			t.Fatalf("it is on GPU %d", gpu)
		}
		b := d.submit(spec("b", 1000))
		g.become(w, splitMachine())
		c := d.submit(sliceJob("c", gib))
		d.expect(c, pasar.Queued)
		for i, gpu := range machineNow(t, d).GPUs {
			want, claimed := []pasar.JobID{a}, gpu.Total
			if i == 2 {
				want = []pasar.JobID{b}
			}
			if !slices.Equal(gpu.Jobs, want) || gpu.Claimed != claimed || gpu.Free != 0 {
				t.Errorf("GPU %s has %v, %s of it claimed and %s free", gpu.UUID, gpu.Jobs, gpu.Claimed, gpu.Free)
			}
		}
		w.machine.Finish(key(a, 1), 0)
		time.Sleep(time.Second)
		d.expect(c, pasar.Running)
		ref := d.lookup(c).current().Grant.GPUs[0]
		if ref.Parent == "" {
			t.Fatalf("it is on %+v", ref)
		}
		g.become(w, targettest.Machine(2, 80*gib)) // and back: it is on the whole GPU now
		whole := d.submit(spec("whole", 1000))
		d.expect(whole, pasar.Queued)
		if gpu := machineNow(t, d).GPUs[0]; !slices.Equal(gpu.Jobs, []pasar.JobID{c}) || gpu.Claimed != 3*gib || gpu.Free != 77*gib {
			t.Errorf("GPU %s has %v, %s of it claimed and %s free", gpu.UUID, gpu.Jobs, gpu.Claimed, gpu.Free)
		}
	})
}

func TestNothingStartsOnAGPUThatTheLatestReadingDoesNotHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inv := splitMachine()
		w, g := meteredMachine(newWorld(t, 0), inv)
		d := w.start(nil)
		asked := 0
		w.machine.Hook(func(c targettest.Call) targettest.Act {
			if c.Method == targettest.Inventory && c.When == targettest.Before {
				asked++
			}
			return targettest.Proceed
		})
		whole := newGauge(targettest.Machine(2, 80*gib)).now
		split := newGauge(inv).now
		for range 3 { // within a minute, and each time it is asked again though it doesn't say otherwise
			was := asked
			g.show(func(r *pasar.Reading) { *r = whole })
			if asked != was+1 {
				t.Errorf("asked %d times", asked-was)
			}
			named := spec("on the instance", 1000)
			named.Claim.IDs = []string{"MIG-0000-a", "MIG-0000-b"}
			a := d.submit(named)
			d.expect(a, pasar.Queued)
			if r := d.pub.Load().reasonFor(d.lookup(a)); !strings.Contains(r.Detail, "it isn't there any more") {
				t.Errorf("it waits for %+v", r)
			}
			g.show(func(r *pasar.Reading) { *r = split })
			d.expect(a, pasar.Running)
			w.machine.Finish(key(a, 1), 0)
			time.Sleep(4 * time.Second)
		}
		trouble := split
		trouble.Trouble, trouble.GPUs = "nvidia-smi hangs", nil
		g.show(func(r *pasar.Reading) { *r = trouble }) // nobody knows whether they are there
		d.expect(d.submit(spec("in trouble", 1000)), pasar.Running)
	})
}
