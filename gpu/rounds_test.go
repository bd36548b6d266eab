package gpu

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// slowDriver is a driver whose looks take a while.
type slowDriver struct {
	*fakeDriver
	takes time.Duration
}

func (s slowDriver) Look(index int, at func(string)) []Sight {
	time.Sleep(s.takes)
	return s.fakeDriver.Look(index, at)
}

func newSlowProber(t *testing.T) (*Prober, *fakeDriver) {
	d := newFakeDriver(1)
	p, s := newTestProber(t, d)
	s.driver = slowDriver{d, 100 * time.Millisecond}
	return p, d
}

func (f *fakeDriver) looked(index int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.looks[index]
}

func TestManyWhoLookAtOnceAreAllAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, d := newSlowProber(t)
		start := time.Now()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				for range 5 {
					if look, err := p.Look(t.Context()); err != nil || statuses(look) != "0 ok" {
						t.Errorf("%s, %v", statuses(look), err)
					}
				}
			})
		}
		all.Wait()
		// Nobody waits for more than the look under way and the one after it.
		if took := time.Since(start); took > 5*2*100*time.Millisecond {
			t.Errorf("five looks of each took %s", took)
		}
		if n := d.looked(0); n > 10 {
			t.Errorf("%d looks for all of them", n)
		}
	})
}

func TestALookBeginsAfterItWasAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, d := newSlowProber(t)
		var first sync.WaitGroup
		first.Go(func() { _, _ = p.Look(t.Context()) })
		time.Sleep(50 * time.Millisecond)
		start := time.Now()
		if _, err := p.Look(t.Context()); err != nil || time.Since(start) != 150*time.Millisecond || d.looked(0) != 2 {
			t.Errorf("after %s and %d looks: %v", time.Since(start), d.looked(0), err)
		}
		first.Wait()
	})
}

func TestOneWhoWaitsNoLongerTakesNothingFromTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newSlowProber(t)
		enough := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, enough)
		defer cancel()
		var other sync.WaitGroup
		other.Go(func() {
			synctest.Wait() // the other has asked
			if _, err := p.Look(t.Context()); err != nil {
				t.Error(err)
			}
		})
		if _, err := p.Look(ctx); !errors.Is(err, enough) {
			t.Errorf("error %v", err)
		}
		other.Wait()
	})
}

func TestManyWhoFindAProbeThatCannotBeginCountAsOneFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeDriver(1)
		p, s := newTestProber(t, d)
		release := d.stall(openHang)
		d.set(&Broken{FaultMismatch, "different versions"}, nil)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, err := p.Look(t.Context()); FaultOf(err) != FaultMismatch {
					t.Errorf("error %v", err)
				}
			})
		}
		synctest.Wait()
		release()
		all.Wait()
		time.Sleep(firstPause)
		d.set(nil, nil)
		if _, err := p.Look(t.Context()); err != nil {
			t.Errorf("after the first pause: %v", err)
		}
		if born, _ := s.counts(); born != 2 {
			t.Errorf("%d probes were started", born)
		}
	})
}
