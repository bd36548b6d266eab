package local

import (
	"context"
	"errors"
	"strings"
	"testing"

	"pasar"
	"pasar/gpu"
	"pasar/target"
)

func TestAMachineWithoutAGPUHasAVirtualOneOverItsMemoryAndSaysSo(t *testing.T) {
	inv := inventory(Options{}, "b", 8, 64*pasar.GiB, nil)
	want := pasar.GPU{UUID: target.VirtualUUID, Name: "host memory", Total: 48 * pasar.GiB, Virtual: true}
	if len(inv.GPUs) != 1 || inv.GPUs[0] != want || inv.Reserve != 16*pasar.GiB || inv.CPUJobs != 8 || inv.Boot != "b" || inv.Machine != pasar.LocalMachine {
		t.Errorf("%+v", inv)
	}
	if len(inv.Notes) != 1 || !strings.Contains(inv.Notes[0], "48 GiB") {
		t.Errorf("notes %q", inv.Notes)
	}
}

func TestTheReserveIsAQuarterOfASmallMachineUnlessItIsSaid(t *testing.T) {
	for _, c := range []struct {
		ram, said, want pasar.Bytes
		notes           int
	}{
		{256 * pasar.GiB, 0, 16 * pasar.GiB, 1},
		{8 * pasar.GiB, 0, 2 * pasar.GiB, 1},
		{8 * pasar.GiB, pasar.GiB, pasar.GiB, 1},
		{8 * pasar.GiB, 4 * pasar.GiB, 4 * pasar.GiB, 1},
		{8 * pasar.GiB, 8 * pasar.GiB, 2 * pasar.GiB, 2}, // can't be: said in a note
	} {
		inv := inventory(Options{SystemReserve: c.said}, "b", 1, c.ram, nil)
		if inv.Reserve != c.want || len(inv.Notes) != c.notes {
			t.Errorf("%s with %s said: %s kept, notes %q", c.ram, c.said, inv.Reserve, inv.Notes)
		}
	}
}

func TestAUnifiedGPUSharesTheHostsMemory(t *testing.T) {
	inv := inventory(Options{CPUJobs: 3}, "b", 8, 128*pasar.GiB, []gpu.Device{
		{Index: 1, UUID: "GPU-b", Name: "GB10", Unified: true}, {Index: 0, UUID: "GPU-a", Name: "H100", Total: 80 * pasar.GiB}})
	if len(inv.GPUs) != 2 || inv.GPUs[0].Total != 112*pasar.GiB || !inv.GPUs[0].Unified || inv.GPUs[1].Total != 80*pasar.GiB || inv.GPUs[1].Virtual || inv.CPUJobs != 3 || len(inv.Notes) != 0 {
		t.Errorf("%+v", inv)
	}
}

func TestABrokenDriverIsNoMachineWithoutGPUs(t *testing.T) {
	broken := errors.New("driver/library version mismatch")
	m := newPlace(t).open(func(o *Options) {
		o.Discover = func(context.Context) ([]gpu.Device, error) { return nil, broken }
	})
	if inv, err := m.Inventory(t.Context()); !errors.Is(err, broken) || len(inv.GPUs) != 0 || inv.Machine == "" {
		t.Errorf("%+v, %v", inv, err)
	}
}
