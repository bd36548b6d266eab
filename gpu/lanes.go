package gpu

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"pasar"
)

// A Driver is the driver's library as the probe asks it. A call may hang for ever; at is told the name of
// each before it is made.
type Driver interface {
	// Open loads the library and says how many GPUs there are. Its errors, and Changed's, are *Broken.
	Open(at func(call string)) (Versions, int, error)
	// Changed says why what Open found no longer holds.
	Changed(at func(call string)) error
	// Look is one GPU and its MIG instances: one sight, or one for each instance.
	Look(index int, at func(call string)) []Sight
	// Watch has Wait tell of a GPU's Xids. It is called again after it failed.
	Watch(index int, at func(call string)) error
	// Wait is the next Xid; ok is false when none came for a while.
	Wait() (e Event, ok bool, err error)
}

// Patience of a probe with its driver.
const (
	lookPatience = 2500 * time.Millisecond // for a GPU to be looked at, before it counts as unresponsive; a busy machine may need a second
	eventPause   = 2 * time.Second         // after an error of Wait
)

// systemLane is the lane that asks what isn't of one GPU.
const systemLane = -1

// A lane makes one GPU's calls, one after the other, on a goroutine of its own, so that a GPU that hangs
// hides no other.
type lane struct {
	index int
	ask   chan struct{}

	busy  bool      // owned by the server: asked, and not answered yet
	since time.Time // of the asking

	mu   sync.Mutex // guards what follows
	call string     // being made
	last []Sight    // the newest
}

func (l *lane) at(call string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.call = call
}

// stuck is what a GPU that doesn't answer was when it last did.
func (l *lane) stuck(now time.Time) []Sight {
	l.mu.Lock()
	defer l.mu.Unlock()
	detail := fmt.Sprintf("%s has not returned for %s", l.call, pasar.Duration(now.Sub(l.since).Truncate(time.Second)))
	out := slices.Clone(l.last)
	if out == nil {
		out = []Sight{{Device: Device{Index: l.index}}}
	}
	for i := range out {
		out[i].Now = pasar.GPUReading{Status: pasar.GPUUnresponsive, Detail: detail,
			Total: out[i].Now.Total, Reserved: out[i].Now.Reserved, Exclusive: out[i].Now.Exclusive}
	}
	return out
}

// An answer is what a lane found.
type answer struct {
	lane   *lane
	sights []Sight
	err    error // of the system's lane
}

// A probe is the far end of the protocol.
type probe struct {
	driver  Driver
	lanes   []*lane // the system's first
	answers chan answer
	done    chan struct{} // closed when the serving is over

	watching sync.Once // the first GPU whose Xids are told starts the waiting for them

	mu  sync.Mutex // guards out
	out io.Writer
}

// ServeProbe is the probe: it answers requests from in on out until in ends, or the driver has to be opened
// anew. It may leave goroutines that hang in the driver, so the process is to end with it.
func ServeProbe(in io.Reader, out io.Writer, d Driver) error {
	p := &probe{driver: d, out: out, answers: make(chan answer), done: make(chan struct{})}
	defer close(p.done)
	requests := make(chan request, 64) // the end of in is seen whatever hangs
	ended := make(chan error, 1)
	go func() {
		s := lines(in)
		for s.Scan() {
			r, err := decodeRequest(s.Bytes())
			if err != nil {
				ended <- err
				return
			}
			select {
			case requests <- r:
			default:
				ended <- errors.New("requests come faster than answers")
				return
			}
		}
		ended <- s.Err()
	}()
	type opened struct {
		Versions
		gpus int
		err  error
	}
	ready := make(chan opened, 1)
	go func() {
		v, n, err := d.Open(func(string) {})
		ready <- opened{v, n, err}
	}()
	var up opened
	select {
	case err := <-ended:
		return err
	case up = <-ready:
	}
	if up.err == nil && up.gpus > maxDevices {
		up.err = &Broken{FaultOther, fmt.Sprintf("the driver has %d GPUs", up.gpus)}
	}
	if up.err != nil {
		return p.bye(up.err)
	}
	for i := systemLane; i < up.gpus; i++ {
		l := &lane{index: i, ask: make(chan struct{}, 1)}
		p.lanes = append(p.lanes, l)
		go p.drive(l)
	}
	if err := p.say(message{Hello: &hello{protocolVersion, up.Versions}}); err != nil {
		return err
	}
	for {
		select {
		case err := <-ended:
			return err
		case a := <-p.answers: // of a look that was over
			if p.take(a); a.err != nil {
				return p.bye(a.err)
			}
		case r := <-requests:
			sights, err := p.look()
			if err != nil {
				return p.bye(err)
			}
			if err := p.say(message{Seen: &seen{r.Look, sights}}); err != nil {
				return err
			}
		}
	}
}

// drive makes a lane's calls.
func (p *probe) drive(l *lane) {
	watched := l.index == systemLane
	for {
		select {
		case <-l.ask:
		case <-p.done:
			return
		}
		a := answer{lane: l}
		if l.index == systemLane {
			a.err = p.driver.Changed(l.at)
		} else {
			a.sights = p.driver.Look(l.index, l.at)
		}
		select {
		case p.answers <- a:
		case <-p.done:
			return
		}
		if !watched {
			if watched = p.driver.Watch(l.index, l.at) == nil; watched {
				p.watching.Do(func() { go p.watch() })
			}
		}
	}
}

// take notes what a lane answered.
func (p *probe) take(a answer) {
	a.lane.busy = false
	a.lane.mu.Lock()
	defer a.lane.mu.Unlock()
	if a.sights != nil {
		a.lane.last = a.sights
	}
}

// look asks every lane that isn't stuck, and waits as long as there is patience.
func (p *probe) look() ([]Sight, error) {
	now := time.Now()
	waiting := 0
	for _, l := range p.lanes {
		if l.busy {
			continue
		}
		l.busy, l.since = true, now
		l.ask <- struct{}{}
		waiting++
	}
	patience := time.NewTimer(lookPatience)
	defer patience.Stop()
	var sights []Sight
	for waiting > 0 {
		var a answer
		select {
		case a = <-p.answers:
		case <-patience.C:
			select {
			case a = <-p.answers: // it was this process that got no time, not the GPU that took it
				patience.Reset(0)
			default:
				waiting = 0
				continue
			}
		}
		if !a.lane.since.Before(now) {
			waiting--
		}
		if p.take(a); a.err != nil {
			return nil, a.err
		}
		sights = append(sights, a.sights...)
	}
	for _, l := range p.lanes {
		if l.busy && l.index != systemLane {
			sights = append(sights, l.stuck(time.Now())...)
		}
	}
	slices.SortStableFunc(sights, func(a, b Sight) int { return cmp.Compare(a.Device.Index, b.Device.Index) })
	return sights, nil
}

// watch tells of Xids for as long as the probe serves.
func (p *probe) watch() {
	for {
		e, ok, err := p.driver.Wait()
		pause := time.Duration(0)
		switch {
		case err != nil:
			pause = eventPause // a GPU that was lost would be told again at once
		case ok:
			_ = p.say(message{Xid: &e}) // the other end is gone: the reader of requests sees that, too
		}
		select {
		case <-time.After(pause):
		case <-p.done:
			return
		}
	}
}

func (p *probe) bye(err error) error {
	var b *Broken
	if !errors.As(err, &b) {
		b = &Broken{FaultOther, err.Error()}
	}
	return p.say(message{Bye: b})
}

func (p *probe) say(m message) error {
	b, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("write a line: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err = p.out.Write(append(b, '\n'))
	return err
}
