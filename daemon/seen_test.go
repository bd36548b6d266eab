package daemon

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pasar"
	"pasar/sched"
	"pasar/target/targettest"
)

const gib = pasar.GiB

// A scene is a machine with jobs, strangers and leavers, and what is made of a reading of it.
type scene struct {
	inv pasar.Inventory
	g   *gauge
	v   *seeing
}

func newScene(inv pasar.Inventory) *scene {
	set := &Settings{IdleMem: 64 * pasar.MiB, Settle: 10 * time.Second, PressureFree: 0.05, PressureSome: 0.1, PressureFor: 30 * time.Second}
	return &scene{inv: inv, g: newGauge(inv), v: &seeing{inv: inv, set: set, now: time.Unix(1e9, 0)}}
}

// tenant gives a job a claim on GPUs, long ago.
func (s *scene) tenant(id pasar.JobID, c pasar.Claim, gpus ...int) *scene {
	t := tenant{key: key(id, 1), grant: pasar.Grant{Machine: s.inv.Machine, Claim: c}, since: s.v.now.Add(-time.Hour)}
	for _, i := range gpus {
		t.grant.GPUs = append(t.grant.GPUs, pasar.GPURef{Index: s.inv.GPUs[i].Index, UUID: s.inv.GPUs[i].UUID})
	}
	s.v.tenants = append(s.v.tenants, t)
	return s
}

func (s *scene) with(fs ...func(*pasar.Reading)) *scene {
	for _, f := range fs {
		s.g.set(f)
	}
	return s
}

// look takes a reading and says what is seen of one GPU.
func (s *scene) look(gpu int) sched.GPUSeen {
	old := s.v.sight
	s.v.sight = newSight(old, s.g.now, s.v.now)
	s.v.sight.grow(old, s.v.tenants, s.v.set.Settle)
	seen, _ := s.v.gpu(&s.inv.GPUs[gpu])
	return seen
}

func oneSlice(mem pasar.Bytes) pasar.Claim {
	return pasar.Claim{Kind: pasar.Slice, GPUs: 1, Mem: mem, Limit: mem + 2*gib}
}

var oneWhole = pasar.Claim{Kind: pasar.Whole, GPUs: 1}

func TestMemoryIsItsTenantsOrAStrangersAndNeverBoth(t *testing.T) {
	two := targettest.Machine(2, 80*gib)
	nobody := pasar.AttemptKey{}
	for _, c := range []struct {
		name      string
		scene     *scene
		use       pasar.Bytes // of job 1
		strangers pasar.Bytes
		free      pasar.Bytes
		idle      bool
		who       string
	}{
		{"nothing there", newScene(two), 0, 0, 80 * gib, true, ""},
		{"the driver's own", newScene(two).with(newGauge(two).used(0, 3*pasar.MiB)), 0, 0, 80*gib - 3*pasar.MiB, true, ""},
		{"a stranger", newScene(two).with(newGauge(two).hold(0, 9, nobody, 10*gib)), 0, 10 * gib, 70 * gib, false, "notebook (bob)"},
		{"memory of nobody's", newScene(two).with(newGauge(two).used(0, 10*gib)), 0, 10 * gib, 70 * gib, false, "no process that can be seen"},
		{"a slice in its limit", newScene(two).tenant(1, oneSlice(20*gib), 0).with(newGauge(two).hold(0, 5, key(1, 1), 18*gib)), 18 * gib, 0, 62 * gib, false, ""},
		{"a slice whose memory the driver counts too low", newScene(two).tenant(1, oneSlice(20*gib), 0).with(newGauge(two).hold(0, 5, key(1, 1), 1*gib), newGauge(two).used(0, 20*gib)), gib, 0, 60 * gib, false, ""},
		{"more than the slice can explain", newScene(two).tenant(1, oneSlice(20*gib), 0).with(newGauge(two).hold(0, 5, key(1, 1), 1*gib), newGauge(two).used(0, 30*gib)), gib, 8 * gib, 50 * gib, false, "no process that can be seen"},
		{"a whole job in another container", newScene(two).tenant(1, oneWhole, 0).with(newGauge(two).used(0, 70*gib)), 0, 0, 10 * gib, false, ""},
		{"a slice and a stranger", newScene(two).tenant(1, oneSlice(20*gib), 0).with(newGauge(two).hold(0, 5, key(1, 1), 25*gib), newGauge(two).hold(0, 9, nobody, 10*gib)), 25 * gib, 10 * gib, 45 * gib, false, "notebook (bob)"},
		{"a job on a GPU that it was not given", newScene(two).tenant(1, oneWhole, 1).with(newGauge(two).hold(0, 5, key(1, 1), 4*gib)), 0, 4 * gib, 76 * gib, false, "job 1, which was not given this GPU"},
		{"a job that is over", newScene(two).with(newGauge(two).hold(0, 5, key(1, 1), 4*gib)), 0, 4 * gib, 76 * gib, false, "what job 1 left"},
		{"a job that nobody knows", newScene(two).with(newGauge(two).hold(0, 5, key(99, 7), 4*gib)), 0, 4 * gib, 76 * gib, false, "what job 99 left"},
	} {
		seen := c.scene.look(0)
		var use pasar.Bytes
		for _, u := range seen.Use {
			use += u.Mem
		}
		if use != c.use || seen.Strangers != c.strangers || seen.Free == nil || *seen.Free != c.free || seen.Who != c.who {
			t.Errorf("%s: use %s, strangers %s, free %v, who %q", c.name, use, seen.Strangers, seen.Free, seen.Who)
		}
		if idle := seen.Idle; idle != c.idle && len(c.scene.v.tenants) == 0 {
			t.Errorf("%s: idle %v", c.name, idle)
		}
		if other := c.scene.look(1); other.Strangers != 0 || *other.Free != 80*gib || len(other.Use) != 0 {
			t.Errorf("%s: the other GPU is seen as %+v", c.name, other)
		}
	}
}

func TestAProcessThatOnlyDrawsDoesNotCountAsComputing(t *testing.T) {
	s := newScene(targettest.Machine(1, 80*gib))
	mem := 20 * pasar.MiB
	s.g.now.GPUs[0].Processes = []pasar.GPUProcess{{Pid: 3, Used: &mem, Graphics: true, Name: "Xorg", User: "root"}}
	s.g.now.GPUs[0].Used = &mem
	if seen := s.look(0); !seen.Idle || seen.Strangers != mem {
		t.Errorf("%+v", seen)
	}
	s.g.now.GPUs[0].Processes[0].Graphics = false
	if seen := s.look(0); seen.Idle {
		t.Errorf("%+v", seen)
	}
}

func TestOldReadingsLeaveTheLedgerAlone(t *testing.T) {
	s := newScene(targettest.Machine(1, 80*gib)).with(newGauge(targettest.Machine(1, 80*gib)).hold(0, 9, pasar.AttemptKey{}, 70*gib))
	s.look(0)
	s.v.now = s.v.now.Add(staleAfter)
	if seen, ok := s.v.gpu(&s.inv.GPUs[0]); !ok || seen.Strangers == 0 {
		t.Errorf("while it is fresh: %+v", seen)
	}
	s.v.now = s.v.now.Add(time.Second)
	if seen, _ := s.v.gpu(&s.inv.GPUs[0]); seen.Strangers != 0 || seen.Free != nil || !seen.Idle || seen.Unhealthy != "" {
		t.Errorf("when it is old: %+v", seen)
	}
	// Trouble keeps what was seen for as long, and no longer.
	s.g.now.Trouble = "the driver doesn't answer"
	if seen := s.look(0); seen.Free != nil {
		t.Errorf("in trouble: %+v", seen)
	}
}

func TestASilentOrLostGPUTakesNothingWhileItIsSo(t *testing.T) {
	inv := targettest.Machine(2, 80*gib)
	for status, want := range map[pasar.GPUStatus]string{
		pasar.GPUUnresponsive: "it doesn't answer: hangs", pasar.GPULost: "the driver has lost it: hangs", "made up": "it doesn't answer: hangs", pasar.GPUOK: "",
	} {
		s := newScene(inv)
		s.g.now.GPUs[0].Status, s.g.now.GPUs[0].Detail = status, "hangs"
		seen := s.look(0)
		if seen.Unhealthy != want || (seen.Free == nil) != (want != "") {
			t.Errorf("%s: %+v", status, seen)
		}
		if other := s.look(1); other.Unhealthy != "" || other.Free == nil {
			t.Errorf("%s: the other is %+v", status, other)
		}
	}
}

func TestAUnifiedGPUHasWhatTheHostHas(t *testing.T) {
	inv := unifiedMachine()
	s := newScene(inv).tenant(1, oneSlice(30*gib), 0)
	s.with(s.g.hold(0, 5, key(1, 1), 20*gib), s.g.hold(0, 9, pasar.AttemptKey{}, 3*gib))
	s.g.now.Host.Available = 60 * gib
	seen := s.look(0)
	if seen.Free == nil || *seen.Free != 60*gib-floor(s.v.set, inv.RAM) || seen.Strangers != 3*gib || len(seen.Use) != 1 || seen.Use[0].Mem != 20*gib {
		t.Errorf("%+v, free %v", seen, seen.Free)
	}
}

// unifiedMachine is one whose GPU shares 128 GiB with the host.
func unifiedMachine() pasar.Inventory {
	return pasar.Inventory{Machine: pasar.LocalMachine, Boot: "boot-0", Cores: 8, RAM: 128 * gib, Reserve: 16 * gib, CPUJobs: 8,
		GPUs: []pasar.GPU{{UUID: "GPU-0", Name: "GB10", Total: 112 * gib, Unified: true}}}
}

// migMachine has a GPU split in two, and one that isn't.
func migMachine() pasar.Inventory {
	inv := targettest.Machine(0, 0)
	inv.GPUs = []pasar.GPU{
		{Index: 0, UUID: "MIG-a", Name: "H100 3g.40gb", Total: 40 * gib, Parent: "GPU-0"},
		{Index: 0, UUID: "MIG-b", Name: "H100 3g.40gb", Total: 40 * gib, Parent: "GPU-0"},
		{Index: 1, UUID: "GPU-1", Name: "H100", Total: 80 * gib},
	}
	return inv
}

func TestNonsenseChangesNothingThatItShouldNot(t *testing.T) {
	inv := targettest.Machine(2, 80*gib)
	bytes := func(b pasar.Bytes) *pasar.Bytes { return &b }
	nan := math.NaN()
	crowd := make([]pasar.GPUProcess, 10_000)
	for i := range crowd {
		crowd[i] = pasar.GPUProcess{Pid: i + 1, Used: bytes(pasar.MiB), Name: fmt.Sprintf("p%d\x1b[2J", i)}
	}
	for name, f := range map[string]func(*pasar.GPUReading){
		"negative use":     func(g *pasar.GPUReading) { g.Used = bytes(-5) },
		"more than it has": func(g *pasar.GPUReading) { g.Used = bytes(90 * gib) },
		"a negative total": func(g *pasar.GPUReading) { g.Total, g.Used = bytes(-1), nil },
		"no number":        func(g *pasar.GPUReading) { g.TempC, g.Util = &nan, &nan; g.Used = nil },
		"a mad process": func(g *pasar.GPUReading) {
			g.Processes = []pasar.GPUProcess{{Pid: 1, Used: bytes(-9)}, {Pid: 2, Used: bytes(900 * gib)}, {Pid: -4, Used: bytes(gib)}}
		},
		"a job of the void": func(g *pasar.GPUReading) { g.Processes = []pasar.GPUProcess{{Pid: 1, Job: key(-3, 0)}} },
		"its own twin":      func(g *pasar.GPUReading) { g.UUID = "GPU-1" },
		"without a name":    func(g *pasar.GPUReading) { g.UUID = "" },
		"another name":      func(g *pasar.GPUReading) { g.UUID = "GPU-99"; g.Used = bytes(70 * gib) },
	} {
		s := newScene(inv).tenant(1, oneSlice(20*gib), 1)
		f(&s.g.now.GPUs[0])
		gone := ""
		if name == "another name" {
			gone = "it isn't there any more"
		}
		if seen := s.look(0); seen.Strangers != 0 || seen.Unhealthy != gone || seen.Free != nil && *seen.Free != 80*gib {
			t.Errorf("%s: %+v", name, seen)
		}
		if seen := s.look(1); seen.Strangers != 0 || seen.Unhealthy != "" || len(seen.Use) != 0 {
			t.Errorf("%s: the other GPU is seen as %+v", name, seen)
		}
	}
	s := newScene(inv)
	s.g.now.GPUs[0].Processes, s.g.now.GPUs[0].Used = crowd, bytes(10_000*pasar.MiB)
	seen := s.look(0)
	if seen.Strangers != 10_000*pasar.MiB || len(s.v.sight.gpus["GPU-0"].Processes) > maxProcesses || len(seen.Who) > 200 || seen.Who != pasar.Clean(seen.Who) {
		t.Errorf("of a crowd: %s, %d kept, %q", seen.Strangers, len(s.v.sight.gpus["GPU-0"].Processes), seen.Who)
	}
	s = newScene(inv)
	s.g.now.Host = pasar.HostReading{Total: 8 * gib, Available: 9 * gib, Pressure: &nan, Use: map[pasar.AttemptKey]pasar.Bytes{key(1, 1): -4}}
	s.look(0)
	if h := s.v.sight.reading.Host; h.Total != 0 || h.Pressure != nil || len(h.Use) != 0 {
		t.Errorf("host %+v", h)
	}
}

func TestASliceSettlesOnceItsMemoryIsFlatOrItsLimitReached(t *testing.T) {
	inv := targettest.Machine(1, 80*gib)
	s := newScene(inv).tenant(1, oneSlice(20*gib), 0)
	start := s.v.now
	s.v.tenants[0].since = start
	at := func(sec int, mem pasar.Bytes) sched.GPUSeen {
		s.v.now = start.Add(time.Duration(sec) * time.Second)
		s.with(s.g.hold(0, 5, key(1, 1), mem))
		return s.look(0)
	}
	for _, c := range []struct {
		sec   int
		mem   pasar.Bytes
		until int // seconds; 0: it has settled
	}{
		{0, 0, 30}, {2, 0, 30}, // importing
		{12, gib, 22}, {14, 4 * gib, 24}, {16, 4*gib + pasar.MiB, 24}, {20, 5 * gib, 30},
		{29, 5 * gib, 30}, {30, 5 * gib, 0}, {32, 15 * gib, 0}, // what grows later makes nobody wait
	} {
		seen := at(c.sec, c.mem)
		got := 0
		if !seen.Settle.IsZero() {
			got = int(seen.Settle.Sub(start) / time.Second)
		}
		if got != c.until || (seen.SettleFor == 1) != (c.until > 0) {
			t.Errorf("at %d s with %s: until %d s for job %d, want %d", c.sec, c.mem, got, seen.SettleFor, c.until)
		}
	}
	s = newScene(inv).tenant(1, oneSlice(20*gib), 0)
	s.v.tenants[0].since = start
	if seen := at(1, 22*gib); !seen.Settle.IsZero() {
		t.Errorf("at its limit it settles until %v", seen.Settle)
	}
	s = newScene(inv).tenant(1, oneSlice(70*gib), 0)
	s.v.tenants[0].since = start
	for sec := 1; sec < 120; sec++ {
		if seen := at(sec, pasar.Bytes(sec)*gib/2); seen.Settle.IsZero() || seen.Settle.After(start.Add(120*time.Second)) {
			t.Fatalf("after %d s of growing: until %v", sec, seen.Settle)
		}
	}
	if seen := at(120, 61*gib); !seen.Settle.IsZero() {
		t.Errorf("one that never stops growing holds others up until %v", seen.Settle)
	}
}

func TestASlicesSettlingIsNotWaitedForWithoutRealGPUs(t *testing.T) {
	inv := virtualMachine()
	s := newScene(inv).tenant(1, oneSlice(20*gib), 0)
	s.v.tenants[0].since = s.v.now
	if seen, ok := s.v.gpu(&inv.GPUs[0]); ok || !seen.Settle.IsZero() {
		t.Errorf("%+v", seen)
	}
}

func TestPreferredGPUsAreNamedByIndexOrUUID(t *testing.T) {
	inv := targettest.Machine(4, gib)
	if got := preferred([]string{"2", "gpu-0", "7", "", "2"}, inv.GPUs); fmt.Sprint(got) != "[GPU-2 GPU-0]" {
		t.Errorf("%v", got)
	}
}
