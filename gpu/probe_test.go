package gpu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
)

// A fakeDriver is a driver that a test breaks. Its calls hang while there is a hang for them.
type fakeDriver struct {
	mu      sync.Mutex // guards what follows
	gpus    int
	hang    map[int]chan struct{} // by GPU; openHang is Open's
	open    error
	changed error
	looks   map[int]int
	events  chan Event
}

const openHang = -2

func newFakeDriver(gpus int) *fakeDriver {
	return &fakeDriver{gpus: gpus, hang: map[int]chan struct{}{}, looks: map[int]int{}, events: make(chan Event)}
}

func (f *fakeDriver) wait(index int) {
	f.mu.Lock()
	c := f.hang[index]
	f.mu.Unlock()
	if c != nil {
		<-c
	}
}

// stall makes a GPU's calls hang until the returned function is called.
func (f *fakeDriver) stall(index int) (release func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := make(chan struct{})
	f.hang[index] = c
	return sync.OnceFunc(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.hang, index)
		close(c)
	})
}

func (f *fakeDriver) set(open, changed error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open, f.changed = open, changed
}

func (f *fakeDriver) Open(at func(string)) (Versions, int, error) {
	f.wait(openHang)
	f.mu.Lock()
	defer f.mu.Unlock()
	return Versions{Driver: "580.1", CUDA: "13.0"}, f.gpus, f.open
}

func (f *fakeDriver) Changed(at func(string)) error {
	f.wait(systemLane)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

func (f *fakeDriver) Look(index int, at func(string)) []Sight {
	at("nvmlDeviceGetTemperature")
	f.wait(index)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks[index]++
	return []Sight{sight(index)}
}

func (f *fakeDriver) Watch(int, func(string)) error { return nil }

func (f *fakeDriver) Wait() (Event, bool, error) {
	e, ok := <-f.events
	if !ok {
		return e, false, errors.New("no more events")
	}
	return e, true, nil
}

func sight(index int) Sight {
	total := 80 * pasar.GiB
	uuid := fmt.Sprintf("GPU-%d", index)
	return Sight{Device: Device{Index: index, UUID: uuid, Name: "H100", Bus: fmt.Sprintf("00000000:%02X:00.0", 16+index), Total: total},
		Now: pasar.GPUReading{UUID: uuid, Index: index, Status: pasar.GPUOK, Total: &total}}
}

// A stable keeps the probes of a test, which are goroutines instead of processes.
type stable struct {
	t      *testing.T
	driver Driver
	tough  bool // those born from now on don't end when they are killed

	mu     sync.Mutex // guards what follows
	born   int
	living map[int]func()
}

func (s *stable) spawn() (spawned, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.born++
	n, tough := s.born, s.tough
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan struct{})
	end := sync.OnceFunc(func() {
		_ = inR.Close()
		_ = outW.Close()
		close(ended)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.living, n)
	})
	if s.living == nil {
		s.living = map[int]func(){}
	}
	s.living[n] = end
	go func() {
		_ = ServeProbe(inR, outW, s.driver)
		if !tough {
			end()
		}
	}()
	return spawned{pid: n, in: inW, out: outR,
		kill: func() error {
			if !tough {
				end()
			}
			return nil
		},
		wait: func() error { <-ended; return nil },
	}, nil
}

func (s *stable) counts() (born, living int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.born, len(s.living)
}

// kill ends every probe that lives, as an operator might.
func (s *stable) kill() {
	s.mu.Lock()
	var ends []func()
	for _, end := range s.living {
		ends = append(ends, end)
	}
	s.mu.Unlock()
	for _, end := range ends {
		end()
	}
}

func newTestProber(t *testing.T, d *fakeDriver) (*Prober, *stable) {
	s := &stable{t: t, driver: d}
	p := NewProber(nil, slog.New(slog.DiscardHandler))
	p.spawn = s.spawn
	t.Cleanup(func() {
		p.Close()
		s.kill()
		// What a real process takes with it when it ends, a test has to end.
		d.mu.Lock()
		for i, c := range d.hang {
			delete(d.hang, i)
			close(c)
		}
		d.mu.Unlock()
		close(d.events)
	})
	return p, s
}

func statuses(look Look) string {
	var out []string
	for _, s := range look.Sights {
		out = append(out, fmt.Sprintf("%d %s", s.Device.Index, s.Now.Status))
	}
	return strings.Join(out, ", ")
}

func TestAGPUThatHangsHidesNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeDriver(3)
		p, s := newTestProber(t, d)
		look, err := p.Look(t.Context())
		if err != nil || statuses(look) != "0 ok, 1 ok, 2 ok" || look.Driver != "580.1" {
			t.Fatalf("%s, %v", statuses(look), err)
		}
		release := d.stall(1)
		start := time.Now()
		look, err = p.Look(t.Context())
		if err != nil || statuses(look) != "0 ok, 1 unresponsive, 2 ok" || time.Since(start) > lookPatience {
			t.Fatalf("%s, %v after %s", statuses(look), err, time.Since(start))
		}
		time.Sleep(5 * time.Second)
		if look, err = p.Look(t.Context()); err != nil || statuses(look) != "0 ok, 1 unresponsive, 2 ok" {
			t.Fatalf("%s, %v", statuses(look), err)
		}
		one := look.Sights[1]
		if one.Device.UUID != "GPU-1" || *one.Now.Total != 80*pasar.GiB || one.Now.Detail != "nvmlDeviceGetTemperature has not returned for 7s" {
			t.Errorf("what is known of it: %+v", one)
		}
		release()
		time.Sleep(time.Second)
		if look, err = p.Look(t.Context()); err != nil || statuses(look) != "0 ok, 1 ok, 2 ok" {
			t.Errorf("afterwards: %s, %v", statuses(look), err)
		}
		if born, living := s.counts(); born != 1 || living != 1 {
			t.Errorf("%d probes were started, %d live", born, living)
		}
	})
}

func TestAGPUThatHangsFromTheStartIsKnownByItsIndexAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeDriver(2)
		p, _ := newTestProber(t, d)
		d.stall(0)
		look, err := p.Look(t.Context())
		if err != nil || statuses(look) != "0 unresponsive, 1 ok" || look.Sights[0].Device.UUID != "" {
			t.Errorf("%+v, %v", look, err)
		}
	})
}

func TestAProbeThatIsKilledIsReplacedWithinTheSameLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeDriver(1)
		p, s := newTestProber(t, d)
		for range 3 {
			if look, err := p.Look(t.Context()); err != nil || statuses(look) != "0 ok" {
				t.Fatalf("%s, %v", statuses(look), err)
			}
			s.kill()
			synctest.Wait()
		}
		if born, _ := s.counts(); born != 3 {
			t.Errorf("%d probes were started", born)
		}
	})
}

func TestAtMostTwoProbesThatHangAreKeptAndNoThirdIsStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeDriver(1)
		p, s := newTestProber(t, d)
		s.tough = true
		d.stall(openHang)
		for range 200 { // many times all there is to wait for
			if _, err := p.Look(t.Context()); FaultOf(err) != FaultSilent {
				t.Fatalf("error %v", err)
			}
			time.Sleep(2 * time.Second)
		}
		if born, living := s.counts(); born != 2 || living != 2 {
			t.Fatalf("%d probes were started, %d live", born, living)
		}
		s.kill() // both end at last, and the driver is well again
		d.mu.Lock()
		close(d.hang[openHang])
		delete(d.hang, openHang)
		d.mu.Unlock()
		s.tough = false
		synctest.Wait()
		if look, err := p.Look(t.Context()); err != nil || statuses(look) != "0 ok" {
			t.Errorf("afterwards: %s, %v", statuses(look), err)
		}
	})
}

func TestAProbeOfWhichEverythingHangsIsGivenUpAndOneOfWhichSomeHangsIsTriedAnewOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeDriver(2)
		p, s := newTestProber(t, d)
		s.tough = true
		d.stall(0)
		for range 200 {
			if look, err := p.Look(t.Context()); err != nil || statuses(look) != "0 unresponsive, 1 ok" {
				t.Fatalf("%s, %v", statuses(look), err)
			}
			time.Sleep(2 * time.Second)
		}
		// The second is kept although it hangs as the first does: it tells of the other GPU.
		if born, living := s.counts(); born != 2 || living != 2 {
			t.Fatalf("%d probes were started, %d live", born, living)
		}
		d.stall(1)
		var err error
		for range 20 {
			_, err = p.Look(t.Context())
			time.Sleep(2 * time.Second)
		}
		if born, _ := s.counts(); born != 2 || FaultOf(err) != FaultSilent {
			t.Errorf("%d probes were started; %v", born, err)
		}
	})
}

func TestADriverThatCannotBeOpenedIsAskedEverMoreSeldomUntilItCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeDriver(1)
		p, s := newTestProber(t, d)
		d.set(&Broken{FaultMismatch, "different versions"}, nil)
		for range 600 {
			if _, err := p.Look(t.Context()); FaultOf(err) != FaultMismatch || err.Error() != "different versions" {
				t.Fatalf("error %v", err)
			}
			time.Sleep(time.Second)
		}
		if born, living := s.counts(); born < 10 || born > 30 || living != 0 {
			t.Errorf("in ten minutes %d probes were started; %d live", born, living)
		}
		d.set(nil, nil)
		time.Sleep(longestPause)
		if look, err := p.Look(t.Context()); err != nil || statuses(look) != "0 ok" {
			t.Errorf("afterwards: %s, %v", statuses(look), err)
		}
	})
}

func TestAfterTheLibraryWasReplacedAFreshProbeAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeDriver(1)
		p, s := newTestProber(t, d)
		if _, err := p.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.set(nil, &Broken{FaultReplaced, "another file"})
		_, err := p.Look(t.Context()) // the fresh one finds it replaced as well: the fake doesn't know which is which
		if born, _ := s.counts(); FaultOf(err) != FaultReplaced || born != 2 {
			t.Errorf("%v, %d probes", err, born)
		}
		d.set(nil, nil)
		time.Sleep(longestPause)
		if look, err := p.Look(t.Context()); err != nil || statuses(look) != "0 ok" {
			t.Errorf("afterwards: %s, %v", statuses(look), err)
		}
	})
}

func TestAnXidIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeDriver(1)
		p, _ := newTestProber(t, d)
		if _, err := p.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := Event{Index: 0, Bus: "00000000:10:00.0", UUID: "GPU-0", Code: 79, Instance: -1}
		d.events <- want
		if got := <-p.events; got != want {
			t.Errorf("told %+v", got)
		}
		for range 2 * cap(p.events) { // nobody takes them: none is waited for
			d.events <- want
		}
		synctest.Wait()
		if _, err := p.Look(t.Context()); err != nil {
			t.Errorf("after a flood: %v", err)
		}
	})
}

func TestALookIsOverWhenItsContextIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeDriver(1)
		p, _ := newTestProber(t, d)
		d.stall(openHang)
		enough := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, enough)
		defer cancel()
		if _, err := p.Look(ctx); !errors.Is(err, enough) {
			t.Errorf("error %v", err)
		}
	})
}

func TestAProbeThatTalksNonsenseIsEnded(t *testing.T) {
	for body, want := range map[string]string{
		"echo hello":                       "nonsense",
		`echo '{"hello":{"protocol":99}}'`: "protocol 99",
		"exit 3":                           "exit status 3",
		"echo symbol lookup error: nvmlNothing >&2; exit 127":      "symbol lookup error: nvmlNothing",
		`echo '{"bye":{"fault":"no_driver","text":"not loaded"}}'`: "not loaded",
		"exec head -c 5000000 /dev/zero":                           "too long",
	} {
		p := NewProber([]string{script(t, body)}, slog.New(slog.DiscardHandler))
		_, err := p.Look(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", body, err)
		}
		p.Close()
		p.work.Wait()
	}
	p := NewProber([]string{"/nonexistent/pasard"}, slog.New(slog.DiscardHandler))
	if _, err := p.Look(t.Context()); FaultOf(err) != FaultOther {
		t.Errorf("no program: %v", err)
	}
	p.Close()
	if _, err := p.Look(t.Context()); FaultOf(err) != FaultOther {
		t.Errorf("closed: %v", err)
	}
}
