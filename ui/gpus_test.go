package ui

import (
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"

	"pasar"
)

// machines are a server with GPUs in every condition, one with MIG, and one without a GPU.
func machines() *pasar.GPUsView {
	gib := func(n float64) *pasar.Bytes { return ptr(pasar.Bytes(n * float64(pasar.GiB))) }
	base := pasar.GPUView{GPU: pasar.GPU{Name: "NVIDIA H200", Total: 139 * pasar.GiB}, Free: 139 * pasar.GiB, Status: ptr(pasar.GPUOK), Used: gib(0), Reserved: gib(0.6),
		Util: ptr(0.0), TempC: ptr(31.0), HotC: ptr(85.0), PowerW: ptr(77.0), LimitW: ptr(700.0), ClockMHz: ptr(345.0)}
	gpu := func(index int, uuid string, more func(*pasar.GPUView)) pasar.GPUView {
		g := base
		g.Index, g.UUID = index, uuid
		more(&g)
		return g
	}
	id := func(n pasar.JobID) *pasar.JobID { return &n }
	server := pasar.MachineView{Name: "local", Reachable: true, Cores: 192, CPUJobs: 192, CPUUsed: 2, RAM: 2000 * pasar.GiB, HostMemory: 1984 * pasar.GiB, HostUsed: 64 * pasar.GiB,
		Available: gib(1800), Pressure: ptr(0.003), Source: ptr("nvml"), Driver: ptr("580.95.05"), CUDA: ptr("13.0"), LookedAt: &now,
		GPUs: []pasar.GPUView{
			gpu(0, "GPU-00000000-aaaa", func(g *pasar.GPUView) {
				g.Claimed, g.Free, g.Jobs, g.Used, g.Util, g.TempC, g.PowerW = 139*pasar.GiB, 0, []pasar.JobID{42}, gib(131.2), ptr(99.0), ptr(71.0), ptr(688.0)
				g.Processes = []pasar.GPUProcessView{{Pid: 4711, Name: "python", User: "ada", Used: gib(131.2), Job: id(42)}}
			}),
			gpu(1, "GPU-11111111-bbbb", func(g *pasar.GPUView) {
				g.Claimed, g.Free, g.Jobs, g.Used, g.Util, g.TempC, g.PowerW = 79*pasar.GiB, 54*pasar.GiB, []pasar.JobID{43, 44, 45}, gib(60), ptr(87.0), ptr(88.0), ptr(512.0)
				g.Processes = []pasar.GPUProcessView{{Pid: 1, Name: "python", User: "ada", Used: gib(22), Job: id(43)}, {Pid: 2, Name: "python", User: "bob", Used: gib(12.5), Job: id(44)},
					{Pid: 3, Name: "python", User: "bob", Used: gib(20), Job: id(45)}, {Pid: 999, Name: "jupyter\x1b[2J", User: "eve", Used: gib(5)}, {Pid: 12, Name: "Xorg", User: "root", Used: gib(0.1), Graphics: true}}
				g.Settling, g.Throttle = id(45), []string{"thermal", "power_cap"}
			}),
			gpu(2, "GPU-22222222-cccc", func(g *pasar.GPUView) {
				g.Used = gib(33)
				g.Leaving = []pasar.LeavingView{{Job: 40, Since: now.Add(-4 * time.Second), Used: gib(12)}, {Job: 38, Since: now.Add(-10 * time.Minute), Used: gib(21), Leaked: true}}
			}),
			gpu(3, "GPU-33333333-dddd", func(g *pasar.GPUView) {
				g.Status, g.Used, g.Util, g.TempC, g.PowerW, g.ClockMHz = ptr(pasar.GPULost), nil, nil, nil, nil, nil
				g.Drained = &pasar.Health{Reason: "Xid 79: GPU has fallen off the bus", Remedy: "restart the machine", Xid: ptr(79), Since: start, Mends: true}
			}),
			gpu(4, "GPU-44444444-eeee", func(g *pasar.GPUView) { g.Exclusive = true }),
			gpu(5, "GPU-55555555-ffff", func(g *pasar.GPUView) { g.Status = ptr(pasar.GPUUnresponsive) }),
		}}
	mig := pasar.MachineView{Name: "split", Reachable: true, RAM: 64 * pasar.GiB, HostMemory: 48 * pasar.GiB, LookedAt: ptr(now.Add(-time.Minute)), Trouble: ptr("nvidia-smi hangs"), Source: ptr("nvidia-smi"),
		Drained: &pasar.Health{Reason: "new driver at noon", Since: start, Person: true},
		GPUs: []pasar.GPUView{
			{GPU: pasar.GPU{Index: 0, UUID: "MIG-12345678-1", Name: "NVIDIA A100 MIG 3g.20gb", Total: 20 * pasar.GiB, Parent: "GPU-0"}, Free: 20 * pasar.GiB, Jobs: []pasar.JobID{7}, Used: gib(9.5), Claimed: 20 * pasar.GiB},
			{GPU: pasar.GPU{Index: 0, UUID: "GPU-0", Name: "NVIDIA A100-SXM4-40GB", Total: 40 * pasar.GiB}, TempC: ptr(78.0), HotC: ptr(85.0)},
			{GPU: pasar.GPU{Index: 0, UUID: "MIG-87654321-2", Name: "NVIDIA A100 MIG 1g.5gb", Total: 5 * pasar.GiB, Parent: "GPU-0"}, Free: 5 * pasar.GiB, Used: gib(0)},
		}}
	none := pasar.MachineView{Name: "laptop", Reachable: true, HostMemory: 12 * pasar.GiB, Notes: []string{"no GPU: one virtual GPU over host memory"},
		GPUs: []pasar.GPUView{{GPU: pasar.GPU{Name: "virtual", Total: 12 * pasar.GiB, Virtual: true}, Free: 10 * pasar.GiB, Claimed: 2 * pasar.GiB, Jobs: []pasar.JobID{3}}}}
	return &pasar.GPUsView{Machines: []pasar.MachineView{server, mig, none, {Name: "far"}}}
}

func TestGPUsAreSeenAtAGlance(t *testing.T) {
	golden(t, "gpus.txt", GPUPage(machines(), now, Style{}))
	golden(t, "gpus-80.txt", GPUPage(machines(), now, Style{Width: 80}))
	golden(t, "gpus-200.txt", GPUPage(machines(), now, Style{Width: 200}))
	golden(t, "gpus-color.txt", strings.ReplaceAll(GPUPage(machines(), now, Style{Color: true, Width: 120}), "\x1b", "^["))
	if got := GPUPage(&pasar.GPUsView{}, now, Style{}); got != "no machines\n" {
		t.Errorf("%q", got)
	}
}

func TestTheGPUsFitATerminal(t *testing.T) {
	for _, width := range []int{80, 100, 120, 200} {
		for l := range strings.Lines(GPUPage(machines(), now, Style{Width: width})) {
			if n := runewidth.StringWidth(strings.TrimSuffix(l, "\n")); n > width {
				t.Errorf("width %d: %d columns: %q", width, n, l)
			}
		}
	}
}

func TestNothingAStrangerSaysReachesATerminalRaw(t *testing.T) {
	all := strings.ReplaceAll(GPUPage(machines(), now, Style{}), "\n", " ")
	if pasar.Clean(all) != all || !strings.Contains(all, `jupyter\x1b[2J of eve`) {
		t.Errorf("%q", all)
	}
}

func TestAGPUsBarIsAsLongAsItsParts(t *testing.T) {
	p := &page{}
	for _, parts := range [][3]float64{{0, 0, 0}, {1, 0, 0}, {0.3, 0.3, 0.4}, {0.5, 0.9, 2}, {0.0011, 0, 0}, {0, 0, 1}} {
		for width := 1; width < 50; width++ {
			r := gpuRow{barUsed: parts[0], barForeign: parts[1], barClaimed: parts[2]}
			if n := runewidth.StringWidth(p.bar(&r, width)); n != width {
				t.Errorf("%v at %d: %d columns", parts, width, n)
			}
		}
	}
}
