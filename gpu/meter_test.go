package gpu

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
)

// A desk is a meter with sources of a test's.
type desk struct {
	*Meter

	mu    sync.Mutex // guards what follows
	look  Look
	from  string
	err   error
	looks int
	seen  []pasar.Reading
}

func newDesk(o Options, from string, sights ...Sight) *desk {
	o.Machine = "local"
	d := &desk{Meter: NewMeter(o), look: Look{Versions{Driver: "580.1"}, sights}, from: from}
	d.sources = func(context.Context) (Look, string, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.looks++
		if d.err != nil {
			return Look{}, d.from, d.err
		}
		return Look{d.look.Versions, slices.Clone(d.look.Sights)}, d.from, nil
	}
	d.host = func() (pasar.HostReading, error) {
		return pasar.HostReading{Total: 64 * pasar.GiB, Available: 32 * pasar.GiB}, nil
	}
	return d
}

func (d *desk) set(err error, sights ...Sight) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err, d.look.Sights = err, sights
}

func (d *desk) see(r pasar.Reading) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen = append(d.seen, r)
}

// readings takes what was seen until now.
func (d *desk) readings() []pasar.Reading {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.seen
	d.seen = nil
	return out
}

// run runs the meter for the rest of the test.
func (d *desk) run(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); d.Run(ctx, d.see) }()
	t.Cleanup(func() { cancel(); <-done; d.Close() })
}

func TestReadingsComeAtThePaceThatIsWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(Options{}, "nvml", sight(0))
		d.run(t)
		if got := d.readings(); len(got) != 1 || got[0].Source != "nvml" || got[0].Driver != "580.1" || len(got[0].GPUs) != 1 || got[0].Host.Available != 32*pasar.GiB {
			t.Fatalf("at first: %+v", got)
		}
		for pace, want := range map[pasar.Pace]int{pasar.PaceIdle: 6, pasar.PaceSteady: 30, pasar.PaceUrgent: 240} {
			d.Pace(pace)
			d.readings()
			time.Sleep(time.Minute)
			if got := len(d.readings()); got < want-1 || got > want+1 {
				t.Errorf("%s: %d readings in a minute, want %d", pace, got, want)
			}
		}
	})
}

func TestAFasterPaceIsTakenUpAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(Options{}, "nvml", sight(0))
		d.run(t)
		d.readings()
		time.Sleep(5 * time.Second)
		d.Pace(pasar.PaceIdle)
		d.Pace(pasar.PaceUrgent)
		if got := d.readings(); len(got) != 1 {
			t.Errorf("%d readings", len(got))
		}
	})
}

func TestAnIdleMachineWithoutGPUsIsLookedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(Options{}, "none")
		d.run(t)
		time.Sleep(24 * time.Hour)
		if got := d.readings(); len(got) != 1 || got[0].Source != "none" || got[0].GPUs != nil || got[0].Host.Total != 64*pasar.GiB {
			t.Errorf("%d readings: %+v", len(got), got)
		}
		d.Pace(pasar.PaceSteady) // jobs run, of whose memory no decision waits for the next look
		time.Sleep(time.Minute)
		if got := len(d.readings()); got < 6 || got > 8 {
			t.Errorf("%d readings in a minute", got)
		}
	})
}

func TestWithoutADriverTheGPUsAreAsLastSeenAndTheTroubleIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(Options{}, "nvml", sight(0), sight(1))
		d.run(t)
		d.readings()
		d.set(&Broken{FaultMismatch, "different versions"})
		time.Sleep(10 * time.Second)
		got := d.readings()
		if len(got) != 1 || got[0].Trouble != "different versions" || len(got[0].GPUs) != 2 || got[0].GPUs[0].Status != pasar.GPUOK {
			t.Fatalf("%+v", got)
		}
		d.set(&Broken{FaultSilent, "it hangs"})
		time.Sleep(10 * time.Second)
		if got = d.readings(); len(got) != 1 || got[0].GPUs[1].Status != pasar.GPUUnresponsive || got[0].GPUs[1].Detail != "it hangs" {
			t.Fatalf("%+v", got)
		}
		d.set(nil, sight(0), sight(1))
		time.Sleep(10 * time.Second)
		if got = d.readings(); len(got) != 1 || got[0].Trouble != "" || got[0].GPUs[1].Status != pasar.GPUOK {
			t.Errorf("%+v", got)
		}
	})
}

func TestALostGPUStaysWhatItWas(t *testing.T) {
	d := newDesk(Options{}, "nvml", sight(0), sight(1))
	before, err := d.Devices(t.Context())
	if err != nil || len(before) != 2 {
		t.Fatalf("%+v, %v", before, err)
	}
	d.set(nil, sight(0), Sight{Device: Device{Index: 1, Left: "GPU is lost"}, Now: pasar.GPUReading{Status: pasar.GPULost, Detail: "GPU is lost"}})
	r, _ := d.reading(t.Context())
	if len(r.GPUs) != 2 || r.GPUs[1].UUID != "GPU-1" || r.GPUs[1].Status != pasar.GPULost || r.GPUs[1].Detail != "GPU is lost" {
		t.Errorf("%+v", r.GPUs)
	}
	after, err := d.Devices(t.Context())
	if err != nil || !slices.Equal(before, after) {
		t.Errorf("the machine has %+v, %v", after, err)
	}
}

func TestADividedGPUThatIsLostTakesItsInstancesWithIt(t *testing.T) {
	part := func(gi int, uuid string) Sight {
		s := sight(0)
		s.Device.UUID, s.Device.Parent, s.Device.Instance = uuid, "GPU-0", gi
		return s
	}
	d := newDesk(Options{}, "nvml", part(3, "MIG-a"), part(4, "MIG-b"))
	if devices, err := d.Devices(t.Context()); err != nil || len(devices) != 2 || devices[1].Parent != "GPU-0" {
		t.Fatalf("%+v, %v", devices, err)
	}
	lost := sight(0)
	lost.Now = pasar.GPUReading{Status: pasar.GPULost}
	d.set(nil, lost)
	r, _ := d.reading(t.Context())
	if len(r.GPUs) != 2 || r.GPUs[0].UUID != "MIG-a" || r.GPUs[1].Status != pasar.GPULost {
		t.Errorf("%+v", r.GPUs)
	}
	if got := d.instance("GPU-0", 4); got != "MIG-b" {
		t.Errorf("instance 4 is %s", got)
	}
	if got := d.instance("GPU-0", -1); got != "GPU-0" {
		t.Errorf("no instance is %s", got)
	}
}

func TestAGPUThatNeverAnsweredIsNotGivenOutAndTheOthersAre(t *testing.T) {
	silent := Sight{Device: Device{Index: 1}, Now: pasar.GPUReading{Status: pasar.GPUUnresponsive, Detail: "it hangs"}}
	d := newDesk(Options{}, "nvml", sight(0), silent)
	devices, err := d.Devices(t.Context())
	if err != nil || len(devices) != 2 || devices[0].Left != "" || devices[1].Left != "it hangs" {
		t.Errorf("%+v, %v", devices, err)
	}
	d = newDesk(Options{}, "nvml", silent)
	if devices, err := d.Devices(t.Context()); err == nil {
		t.Errorf("a machine whose only GPU hangs has %+v", devices)
	}
}

func TestExcludedGPUsAreNotThere(t *testing.T) {
	d := newDesk(Options{}, "nvml", sight(0), sight(1), sight(2))
	d.Exclude([]string{"0", "GPU-2"})
	devices, err := d.Devices(t.Context())
	r, _ := d.reading(t.Context())
	if err != nil || len(devices) != 1 || devices[0].UUID != "GPU-1" || len(r.GPUs) != 1 || r.GPUs[0].UUID != "GPU-1" {
		t.Errorf("%+v, %v; %+v", devices, err, r.GPUs)
	}
}

func TestProcessesHaveNamesUsersAndTheAttemptsThatTheyBelongTo(t *testing.T) {
	s := sight(0)
	s.Now.Processes = []pasar.GPUProcess{{Pid: os.Getpid()}, {Pid: 1 << 30, Name: "told by the driver"}}
	key := pasar.AttemptKey{Job: 7, Attempt: 2}
	d := newDesk(Options{
		AttemptOf: func(pid int) (pasar.AttemptKey, bool) { return key, pid == os.Getpid() },
		HostUse:   func() map[pasar.AttemptKey]pasar.Bytes { return map[pasar.AttemptKey]pasar.Bytes{key: pasar.GiB} },
	}, "nvml", s)
	r, _ := d.reading(t.Context())
	ours, other := r.GPUs[0].Processes[0], r.GPUs[0].Processes[1]
	if ours.Job != key || ours.Name != filepath.Base(os.Args[0]) || ours.User == "" {
		t.Errorf("ours: %+v", ours)
	}
	if other.Job != (pasar.AttemptKey{}) || other.Name != "told by the driver" || other.User != "" {
		t.Errorf("other: %+v", other)
	}
	if r.Host.Use[key] != pasar.GiB {
		t.Errorf("host %+v", r.Host)
	}
}

func TestAnXidMakesAReadingThatNamesTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := pasar.AttemptKey{Job: 7, Attempt: 1}
		d := newDesk(Options{Probe: []string{"unused"}, AttemptOf: func(int) (pasar.AttemptKey, bool) { return key, true }}, "nvml", sight(0))
		d.run(t)
		d.readings()
		d.prober.events <- Event{Index: 0, Bus: "00000000:10:00.0", UUID: "GPU-0", Code: 79, Instance: -1}
		got := d.readings()
		if len(got) != 1 || len(got[0].Xids) != 1 || got[0].Xids[0].UUID != "GPU-0" || got[0].Xids[0].Action != pasar.XidDrainReboot || got[0].Xids[0].Source != "nvml" {
			t.Errorf("%+v", got)
		}
		x, ok := d.ofKernel(KernelXid{Bus: "00000000:10:00.0", Code: 31, Instance: -1, Pid: 5, Name: "python"})
		if !ok || x.UUID != "GPU-0" || x.Job == nil || *x.Job != key || *x.Name != "python" || x.Class != pasar.XidApp {
			t.Errorf("%+v, %t", x, ok)
		}
		if x, ok := d.ofKernel(KernelXid{Bus: "00000000:99:00.0", Code: 31}); ok {
			t.Errorf("of a GPU that isn't there: %+v", x)
		}
	})
}

func TestTheHostsMemoryIsRead(t *testing.T) {
	h, err := readHost()
	if err != nil || h.Total <= 0 || h.Available <= 0 || h.Available > h.Total {
		t.Errorf("%+v, %v", h, err)
	}
	if p := parsePressure([]byte("some avg10=12.50 avg60=0.00 avg300=0.00 total=5\n")); p == nil || *p != 0.125 {
		t.Errorf("pressure %v", p)
	}
	if p := parsePressure([]byte("nothing")); p != nil {
		t.Errorf("pressure %v", *p)
	}
}

func TestThrottleReasonsAreThoseOfTheHardware(t *testing.T) {
	for mask, want := range map[uint64][]string{0: nil, 1: nil, 2: nil, 0x4: {"power_cap"}, 0x20: {"thermal"}, 0x48: {"thermal"},
		0x88: {"power_brake"}, 0x8: {"hw_slowdown"}, 0x1ff: {"thermal", "power_brake", "power_cap"}} {
		if got := ThrottleReasons(mask); !slices.Equal(got, want) {
			t.Errorf("%#x: %v, want %v", mask, got, want)
		}
	}
}
