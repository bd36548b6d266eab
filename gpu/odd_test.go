package gpu

import (
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
)

// oddDriver is a driver that says what a test has it say of one GPU.
type oddDriver struct {
	*fakeDriver
	index int
	spoil func(*Sight)
}

func (o *oddDriver) Look(index int, at func(string)) []Sight {
	out := o.fakeDriver.Look(index, at)
	o.mu.Lock()
	defer o.mu.Unlock()
	if index == o.index && o.spoil != nil {
		o.spoil(&out[0])
	}
	return out
}

func (o *oddDriver) say(spoil func(*Sight)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.spoil = spoil
}

func newOddProber(t *testing.T, index int) (*Prober, *stable, *oddDriver) {
	d := &oddDriver{fakeDriver: newFakeDriver(3), index: index}
	p, s := newTestProber(t, d.fakeDriver)
	s.driver = d
	return p, s, d
}

func TestASensorThatTellsNonsenseIsUnknownAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s, d := newOddProber(t, 1)
		huge, low, good := 1e8, -1e8, 60.0
		most := math.MaxFloat64
		pids := []pasar.GPUProcess{{Pid: 7, Used: new(pasar.Bytes)}, {Pid: -1}, {Pid: 8}}
		*pids[0].Used = math.MaxInt64
		d.say(func(s *Sight) {
			r := &s.Now
			r.PowerW, r.TempC, r.FanPct, r.ClockMHz, r.Util, r.LimitW, r.HotC = &huge, &good, &low, &most, &huge, &low, &most
			r.Processes = slices.Clone(pids)
			s.Device.Bus = "a bus\nwith two lines"
		})
		look, err := p.Look(t.Context())
		if err != nil || statuses(look) != "0 ok, 1 ok, 2 ok" {
			t.Fatalf("%s, %v", statuses(look), err)
		}
		r := look.Sights[1].Now
		for i, f := range []*float64{r.PowerW, r.FanPct, r.ClockMHz, r.Util, r.LimitW, r.HotC} {
			if f != nil {
				t.Errorf("number %d was believed: %v", i, *f)
			}
		}
		if r.TempC == nil || *r.TempC != good || *r.Total != 80*pasar.GiB || look.Sights[1].Device.Bus != "" {
			t.Errorf("what could be: %+v", r)
		}
		if ps := r.Processes; len(ps) != 2 || ps[0].Pid != 7 || ps[0].Used != nil || ps[1].Pid != 8 {
			t.Errorf("processes %+v", ps)
		}
		if born, living := s.counts(); born != 1 || living != 1 {
			t.Errorf("%d probes were started, %d live", born, living)
		}
	})
}

func TestAGPUWhoseMemoryOrNameCannotBeDoesNotAnswerAndHidesNoOther(t *testing.T) {
	bytes := func(b pasar.Bytes) *pasar.Bytes { return &b }
	for name, c := range map[string]struct {
		spoil  func(*Sight)
		detail string
	}{
		"huge":          {func(s *Sight) { s.Device.Total, s.Now.Total = 99999999999*pasar.MiB, bytes(99999999999*pasar.MiB) }, "99999999999 MiB of memory"},
		"below nothing": {func(s *Sight) { s.Now.Used = bytes(-pasar.MiB) }, "of used memory"},
		"much reserved": {func(s *Sight) { s.Now.Reserved = bytes(2 * maxMemory) }, "of reserved memory"},
		"no UUID":       {func(s *Sight) { s.Device.UUID = "" }, "no UUID"},
		"no such UUID":  {func(s *Sight) { s.Device.UUID = "GPU-1,GPU-2" }, "a UUID that can't be"},
		"another's":     {func(s *Sight) { s.Device.UUID = "GPU-0" }, "another GPU has its UUID"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, s, d := newOddProber(t, 1)
				m := NewMeter(Options{Machine: "local", Library: true})
				m.prober = p
				d.say(c.spoil)
				// It takes no jobs from the start, and the others do.
				devices, err := m.Devices(t.Context())
				if err != nil || len(devices) != 3 || !strings.Contains(devices[1].Left, c.detail) || devices[0].Left+devices[2].Left != "" {
					t.Fatalf("%+v, %v", devices, err)
				}
				if r, _ := m.reading(t.Context()); len(r.GPUs) != 2 || r.Trouble != "" {
					t.Errorf("%+v", r)
				}
				// It is one as any other once it has sane numbers, and loses nothing but its readings by odd ones.
				d.say(nil)
				if r, _ := m.reading(t.Context()); len(r.GPUs) != 3 || r.GPUs[1].Status != pasar.GPUOK {
					t.Errorf("%+v", r)
				}
				d.say(c.spoil)
				for range 10 { // long enough for one that hangs to be given up
					r, _ := m.reading(t.Context())
					if len(r.GPUs) != 3 || r.GPUs[0].Status != pasar.GPUOK || r.GPUs[2].Status != pasar.GPUOK || r.GPUs[1].UUID != "GPU-1" ||
						r.GPUs[1].Status != pasar.GPUUnresponsive || !strings.Contains(r.GPUs[1].Detail, c.detail) || *r.GPUs[1].Total != 80*pasar.GiB {
						t.Fatalf("%+v", r)
					}
					time.Sleep(partPatience / 5)
				}
				if born, living := s.counts(); born != 1 || living != 1 {
					t.Errorf("%d probes were started, %d live", born, living)
				}
			})
		})
	}
}

func TestOnlyWhatIsNoMessageIsRefused(t *testing.T) {
	for line, ok := range map[string]bool{
		`{"seen":{"look":1,"sights":[{"Device":{"Index":0,"UUID":"GPU-1"},"Now":{"Status":"ok","PowerW":1e300}}]}}`:  true,
		`{"seen":{"look":1,"sights":[{"Device":{"Index":0,"UUID":"GPU-1"},"Now":{"Status":"fine"}}]}}`:               false,
		`{"seen":{"look":1,"sights":[{"Device":{"Index":-1,"UUID":"GPU-1"},"Now":{"Status":"ok"}}]}}`:                false,
		`{"seen":{"look":1,"sights":[{"Device":{"Index":0,"UUID":"GPU-1"},"Now":{"Status":"ok","PowerW":"much"}}]}}`: false,
		`{"seen":`: false,
	} {
		if _, err := decodeMessage([]byte(line)); (err == nil) != ok {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestOneOddNumberOfNvidiaSMIHidesNoOtherGPU(t *testing.T) {
	row := func(i, total, power string) string {
		return i + ", GPU-" + i + ", 00000000:0" + i + ":00.0, 580, " + total + ", 0, 5, 40, 55, " + power + ", 300, 30, 1200, Default, 0x0, [N/A], H100\n"
	}
	if len(smiFields) != 17 {
		t.Fatal("the rows have other fields")
	}
	look, err := parseSMI([]byte(row("0", "81559", "1e9")+row("1", "99999999999", "300")), smiFields)
	if err != nil || statuses(look) != "0 ok, 1 unresponsive" {
		t.Fatalf("%s, %v", statuses(look), err)
	}
	if look.Sights[0].Now.PowerW != nil || !strings.Contains(look.Sights[1].Now.Detail, "99999999999") {
		t.Errorf("%+v", look.Sights)
	}
}
