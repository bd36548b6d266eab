//go:build cgo

package nvml_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pasar"
	"pasar/gpu"
	"pasar/gpu/nvml"
)

// The library that a test's probes load; a process that has it is a probe.
const probeVariable = "PASAR_TEST_PROBE"

var scratch string

func TestMain(m *testing.M) {
	if lib, ok := os.LookupEnv(probeVariable); ok {
		if err := gpu.ServeProbe(os.Stdin, os.Stdout, nvml.New(lib)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if scratch, err = os.MkdirTemp("", "pasar-nvml"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(scratch)
	return m.Run()
}

// buildDrivers builds the fake drivers, of today and older, once for all tests.
var buildDrivers = sync.OnceValue(func() error {
	src := filepath.Join("..", "..", "..", "shared", "tools", "fake-nvml")
	if out, err := exec.Command("make", "-s", "-C", src, "CFLAGS=-O0", "OUT="+scratch).CombinedOutput(); err != nil {
		return fmt.Errorf("build the fake drivers: %w\n%s", err, out)
	}
	return nil
})

// A box is a machine with a fake driver.
type box struct {
	t     *testing.T
	lib   string
	state string // path
	*gpu.Prober
}

// newBox has a fake driver with a state of these lines.
func newBox(t *testing.T, lines string) *box {
	t.Helper()
	for _, needed := range []string{"gcc", "make"} {
		if _, err := exec.LookPath(needed); err != nil {
			lacks(t, err)
		}
	}
	if _, err := os.Stat(filepath.Join("..", "..", "..", "shared", "tools", "fake-nvml", "fakenvml.c")); err != nil {
		t.Skipf("needs the fake driver, which is not beside the repository: %v", err)
	}
	if err := buildDrivers(); err != nil {
		t.Fatal(err)
	}
	b := &box{t: t, lib: filepath.Join(scratch, "libnvidia-ml.so.1"), state: filepath.Join(t.TempDir(), "state")}
	b.rewrite(lines)
	t.Setenv("FAKE_NVML_STATE", b.state)
	b.start()
	return b
}

func lacks(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("PASAR_CI") == "1" {
		t.Fatalf("in CI this must be there: %v", err)
	}
	t.Skipf("needs a tool that isn't there: %v", err)
}

// start has a prober with the library of the box.
func (b *box) start() {
	b.t.Setenv(probeVariable, b.lib)
	self, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	b.Prober = gpu.NewProber([]string{self}, slog.New(slog.NewTextHandler(b.t.Output(), nil)))
	b.t.Cleanup(b.Prober.Close)
}

// rewrite replaces the state.
func (b *box) rewrite(lines string) {
	b.t.Helper()
	if err := os.WriteFile(b.state+".new", []byte(lines+"\n"), 0o600); err != nil {
		b.t.Fatal(err)
	}
	if err := os.Rename(b.state+".new", b.state); err != nil {
		b.t.Fatal(err)
	}
}

// say adds lines to the state.
func (b *box) say(lines string) {
	b.t.Helper()
	f, err := os.OpenFile(b.state, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString(lines + "\n")
		_ = f.Close()
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) look() []gpu.Sight {
	b.t.Helper()
	look, err := b.Look(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return look.Sights
}

func mib(b *pasar.Bytes) int64 {
	if b == nil {
		return -1
	}
	return int64(*b / pasar.MiB)
}

func val(f *float64) float64 {
	if f == nil {
		return -1
	}
	return *f
}

func TestEverythingThatTheLibrarySaysIsSeen(t *testing.T) {
	b := newBox(t, `driver 581.42
cuda 13010
gpus 2
gpu.0.mem_total 24576
gpu.0.mem_reserved 576
gpu.0.temp 91
gpu.0.temp_slowdown 89
gpu.0.power 300
gpu.0.power_limit 350
gpu.0.util 77
gpu.0.fan 40
gpu.0.throttle 0x44
gpu.0.compute_mode 3
gpu.0.recovery 4
gpu.0.bus 0000:C1:00.0
proc 0 999999901 1000 name=/opt/bin/train
proc 0 999999902 NA type=M
proc 0 999999903 200 type=G name=blender
proc 0 999999901 1000 type=G`)
	look, err := b.Look(t.Context())
	if err != nil || len(look.Sights) != 2 {
		t.Fatalf("%+v, %v", look, err)
	}
	if look.Driver != "581.42" || look.CUDA != "13.1" || look.Library != b.lib {
		t.Errorf("versions %+v", look.Versions)
	}
	d, r := look.Sights[0].Device, look.Sights[0].Now
	if d.Bus != "00000000:C1:00.0" || d.Total != 24000*pasar.MiB || d.Unified || d.Left != "" || d.UUID != "GPU-fa4e0000-0000-4000-8000-000000000000" {
		t.Errorf("device %+v", d)
	}
	if mib(r.Total) != 24576 || mib(r.Reserved) != 576 || mib(r.Used) != 2200 || val(r.TempC) != 91 || val(r.HotC) != 89 || val(r.PowerW) != 300 ||
		val(r.LimitW) != 350 || val(r.Util) != 77 || val(r.FanPct) != 40 || !r.Exclusive || r.Recovery != "drain_and_reset" ||
		!slices.Equal(r.Throttle, []string{"thermal", "power_cap"}) || r.Status != pasar.GPUOK {
		t.Errorf("reading %+v", r)
	}
	var ps []string
	for _, p := range r.Processes {
		ps = append(ps, fmt.Sprintf("%d %d %t %s", p.Pid, mib(p.Used), p.Graphics, p.Name))
	}
	if want := []string{"999999901 1000 false train", "999999902 -1 false python3", "999999903 200 true blender"}; !slices.Equal(ps, want) {
		t.Errorf("processes %q", ps)
	}
}

func TestAnOlderDriverDoesNotEndTheProbe(t *testing.T) {
	b := newBox(t, "gpus 1\ngpu.0.mem_total 24576\ngpu.0.mem_reserved 576\ngpu.0.throttle 0x40\nproc 0 999999901 1000")
	b.lib = filepath.Join(scratch, "old", "libnvidia-ml.so.1")
	b.start()
	r := b.look()[0].Now
	// It has no number for what the driver keeps, which is in what is used.
	if mib(r.Total) != 24576 || r.Reserved != nil || mib(r.Used) != 1576 || len(r.Processes) != 1 || !slices.Equal(r.Throttle, []string{"thermal"}) {
		t.Errorf("%+v", r)
	}
}

func TestAnIdleGPUOfAnOlderDriverIsUnused(t *testing.T) {
	b := newBox(t, "gpus 2\ngpu.0.mem_total 24576\ngpu.0.mem_reserved 576\ngpu.1.mem_total 24576\ngpu.1.mem_reserved 576\nproc 1 999999902 2000\nfail 1 DeviceGetGraphicsRunningProcesses UNKNOWN")
	b.lib = filepath.Join(scratch, "old", "libnvidia-ml.so.1")
	b.start()
	m := meterOf(b)
	defer m.Close()
	check := func(when string, gpu int, reserved, used, total int64) {
		t.Helper()
		look, _, err := m.Look(t.Context())
		if err != nil || len(look.Sights) != 2 {
			t.Fatalf("%s: %+v, %v", when, look, err)
		}
		s := look.Sights[gpu]
		if mib(s.Now.Reserved) != reserved || mib(s.Now.Used) != used || mib(s.Now.Total) != 24576 || mib(&s.Device.Total) != total {
			t.Errorf("%s: %d MiB reserved, %d used, %d to be given out", when, mib(s.Now.Reserved), mib(s.Now.Used), mib(&s.Device.Total))
		}
	}
	check("idle", 0, 576, 0, 24000)
	check("busy from the start", 1, -1, 2576, 24576)
	b.say("proc 0 999999901 1000\nnoproc 1 999999902")
	check("busy", 0, 576, 1000, 24000)
	check("idle, but not surely", 1, -1, 576, 24576)
	b.say("fail 1 DeviceGetGraphicsRunningProcesses OK")
	check("idle at last", 1, 576, 0, 24000)
	b.say("noproc 0 999999901\ngpu.0.mem_extra 3000")
	check("with memory that is nobody's", 0, 576, 3000, 24000)
}

func TestOneOddNumberOfAGPUHidesNoOther(t *testing.T) {
	b := newBox(t, "gpus 3\ngpu.1.power 100000000\ngpu.1.temp 99999\ngpu.1.util 5000\ngpu.1.fan 99999\ngpu.2.mem_total 99999999999")
	all := b.look()
	if len(all) != 3 || all[0].Now.Status != pasar.GPUOK || all[1].Now.Status != pasar.GPUOK || all[2].Now.Status != pasar.GPUUnresponsive {
		t.Fatalf("%+v", all)
	}
	if r := all[1].Now; r.PowerW != nil || r.TempC != nil || r.Util != nil || r.FanPct != nil || r.LimitW == nil || mib(r.Total) != 81559 {
		t.Errorf("%+v", r)
	}
	if r := all[2].Now; r.Total != nil || !strings.Contains(r.Detail, "99999999999 MiB of memory") {
		t.Errorf("%+v", r)
	}
}

func TestAUnifiedGPUHasNoTotalAndOneThatFailsIsNoUnifiedOne(t *testing.T) {
	b := newBox(t, "gpus 3\ngpu.0.unified 1\nproc 0 999999901 1000\nfail 1 DeviceGetMemoryInfo* UNKNOWN\nfail 2 * NO_PERMISSION\nfail 2 DeviceGetUUID OK\nfail 2 DeviceGetName OK\nfail 2 DeviceGetHandleByIndex OK\nfail 2 DeviceGetMemoryInfo* OK")
	all := b.look()
	if g := all[0]; !g.Device.Unified || g.Now.Total != nil || len(g.Now.Processes) != 1 || mib(g.Now.Processes[0].Used) != 1000 || g.Now.Status != pasar.GPUOK {
		t.Errorf("unified: %+v", g)
	}
	if g := all[1]; g.Device.Unified || g.Now.Total != nil || g.Now.Status != pasar.GPUOK {
		t.Errorf("of which memory can't be told: %+v", g)
	}
	if g := all[2]; g.Device.Unified || g.Now.Total == nil || g.Now.TempC != nil || g.Now.Processes != nil || g.Now.Status != pasar.GPUOK {
		t.Errorf("of which little may be read: %+v", g)
	}
}

func TestInstancesOfADividedGPUAreGPUs(t *testing.T) {
	b := newBox(t, `gpus 2
gpu.0.mig 1
mig 0 3 0 uuid=MIG-aaaa mem=9856 profile=1g.10gb
mig 0 4 0 uuid=MIG-bbbb mem=19968 profile=2g.20gb
gpu.1.mig 1
gpu.0.temp 55
proc 0 999999901 1000 gi=3 ci=0
proc 0 999999902 2000 gi=4 ci=0`)
	all := b.look()
	if len(all) != 3 {
		t.Fatalf("%+v", all)
	}
	for i, want := range []struct {
		uuid      string
		instance  int
		total, in int64
		pid       int
	}{{"MIG-aaaa", 3, 9856, 1000, 999999901}, {"MIG-bbbb", 4, 19968, 2000, 999999902}} {
		g := all[i]
		if g.Device.UUID != want.uuid || g.Device.Instance != want.instance || g.Device.Parent != "GPU-fa4e0000-0000-4000-8000-000000000000" || g.Device.Index != 0 ||
			mib(g.Now.Total) != want.total || mib(g.Now.Used) != want.in || len(g.Now.Processes) != 1 || g.Now.Processes[0].Pid != want.pid || val(g.Now.TempC) != 55 {
			t.Errorf("instance %+v", g)
		}
	}
	if d := all[2].Device; d.Left == "" || d.Parent != "" {
		t.Errorf("a GPU that is divided into nothing: %+v", d)
	}
}

func TestOneGPUThatHangsForEverLeavesTheOthers(t *testing.T) {
	b := newBox(t, "gpus 2")
	b.look()
	b.say("hang 1 DeviceGetPowerUsage forever")
	all := b.look()
	if all[0].Now.Status != pasar.GPUOK || all[1].Now.Status != pasar.GPUUnresponsive || !strings.HasPrefix(all[1].Now.Detail, "nvmlDeviceGetPowerUsage has not returned") ||
		all[1].Device.UUID == "" {
		t.Fatalf("%+v", all)
	}
	b.say("hang 1 DeviceGetPowerUsage 0")
	for all[1].Now.Status != pasar.GPUOK { // the call returns within 10 ms
		all = b.look()
	}
}

func TestALostGPUIsLostAndTheOthersAreNot(t *testing.T) {
	b := newBox(t, "gpus 2")
	b.look()
	b.say("gpu.1.lost 1")
	all := b.look()
	if all[0].Now.Status != pasar.GPUOK || all[1].Now.Status != pasar.GPULost || all[1].Device.UUID == "" || all[1].Now.Detail == "" {
		t.Errorf("%+v", all)
	}
	b.start() // a daemon that never knew it
	if all = b.look(); all[0].Now.Status != pasar.GPUOK || all[1].Now.Status != pasar.GPULost || all[1].Device.UUID != "" || all[1].Device.Left == "" {
		t.Errorf("%+v", all)
	}
}

func TestXidsComeFromTheLibrary(t *testing.T) {
	b := newBox(t, "gpus 2\ngpu.1.bus 0000:C1:00.0")
	m := meterOf(b)
	readings := make(chan pasar.Reading, 16)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); m.Run(ctx, func(r pasar.Reading) { readings <- r }) }()
	defer func() { cancel(); <-done; m.Close() }()
	<-readings
	// The probe registers for events beside the first look, and so surely before the next answer.
	m.Pace(pasar.PaceUrgent)
	<-readings
	b.say("xid 1 79")
	for {
		r := <-readings
		if len(r.Xids) == 0 {
			continue
		}
		if x := r.Xids[0]; len(r.Xids) != 1 || x.Code != 79 || x.UUID != "GPU-fa4e0000-0000-4000-8000-000000000001" || x.Source != "nvml" || x.Action != pasar.XidDrainReboot || x.Pid != nil {
			t.Errorf("%+v", r.Xids)
		}
		return
	}
}

func meterOf(b *box) *gpu.Meter {
	self, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	return gpu.NewMeter(gpu.Options{Machine: "local", Probe: []string{self}, Library: true, Log: slog.New(slog.NewTextHandler(b.t.Output(), nil))})
}

func TestADriverThatFailsIsTroubleUntilItAnswers(t *testing.T) {
	b := newBox(t, "gpus 1\ninit LIB_RM_VERSION_MISMATCH")
	m := meterOf(b)
	defer m.Close()
	if d, err := m.Devices(t.Context()); gpu.FaultOf(err) != gpu.FaultMismatch {
		t.Fatalf("%+v, %v", d, err)
	}
	b.rewrite("gpus 1")
	deadline := time.Now().Add(20 * time.Second) // the pause after a failure is a second
	for {
		d, err := m.Devices(t.Context())
		if err == nil && len(d) == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v, %v", d, err)
		}
	}
	// The driver is unloaded under the daemon, and comes back.
	if err := os.Remove(b.state); err != nil {
		t.Fatal(err)
	}
	if d, err := m.Devices(t.Context()); gpu.FaultOf(err) != gpu.FaultNoDriver {
		t.Errorf("without a driver: %+v, %v", d, err)
	}
	b.rewrite("gpus 2")
	for {
		d, err := m.Devices(t.Context())
		if err == nil && len(d) == 2 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v, %v", d, err)
		}
	}
}

func TestAnotherGPUAndAnotherLibraryAreNoticed(t *testing.T) {
	b := newBox(t, "gpus 1\ndriver 1")
	lib := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	text, err := os.ReadFile(b.lib)
	if err != nil {
		t.Fatal(err)
	}
	install := func() {
		if err := os.WriteFile(lib+".new", text, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(lib+".new", lib); err != nil {
			t.Fatal(err)
		}
	}
	install()
	b.lib = lib
	b.start()
	if n := len(b.look()); n != 1 {
		t.Fatalf("%d GPUs", n)
	}
	b.rewrite("gpus 3\ndriver 1")
	if n := len(b.look()); n != 3 {
		t.Errorf("%d GPUs", n)
	}
	install()
	b.rewrite("gpus 3\ndriver 2")
	look, err := b.Look(t.Context())
	if err != nil || look.Driver != "2" { // a probe asks for the version once
		t.Errorf("%+v, %v", look.Versions, err)
	}
}

func TestNoLibraryIsSaid(t *testing.T) {
	b := newBox(t, "gpus 1")
	b.lib = filepath.Join(t.TempDir(), "none.so")
	b.start()
	if _, err := b.Look(t.Context()); gpu.FaultOf(err) != gpu.FaultNoLibrary || !strings.Contains(err.Error(), b.lib) {
		t.Errorf("error %v", err)
	}
}

func TestAProbeEndsWithItsDaemonWhateverHangs(t *testing.T) {
	for name, hang := range map[string]string{"opening": "hang * Init forever", "one GPU": "hang 0 DeviceGetName forever"} {
		t.Run(name, func(t *testing.T) {
			newBox(t, "gpus 2\n"+hang)
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), self)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out := &strings.Builder{}
			cmd.Stdout = out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Fprintln(in, `{"look":1}`); err != nil {
				t.Fatal(err)
			}
			_ = in.Close() // as the end of whoever held it does
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
