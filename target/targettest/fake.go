package targettest

import (
	"context"
	"slices"
	"sync"
	"time"

	"pasar"
	"pasar/target"
)

// A Fake is one daemon's view of a World: a target whose attempts do what the test says, and whose
// every method can be made to fail, to be lost or to be where the daemon dies.
type Fake struct {
	w    *World
	once sync.Once
	dead chan struct{}
}

var (
	_ target.Target       = (*Fake)(nil)
	_ target.Watcher      = (*Fake)(nil)
	_ target.Acknowledger = (*Fake)(nil)
)

// Crashed is closed when the daemon that has this view died at an injected Crash.
func (f *Fake) Crashed() <-chan struct{} { return f.dead }

// Kill makes the view dead, as an injected Crash does.
func (f *Fake) Kill() { f.once.Do(func() { close(f.dead) }) }

// Inventory implements target.Target.
func (f *Fake) Inventory(ctx context.Context) (pasar.Inventory, error) {
	if err := f.at(ctx, Call{Method: Inventory, When: Before}); err != nil {
		return pasar.Inventory{}, err
	}
	f.w.mu.Lock()
	inv := f.w.inv
	inv.GPUs, inv.Notes = slices.Clone(inv.GPUs), slices.Clone(inv.Notes)
	f.w.mu.Unlock()
	return inv, f.at(ctx, Call{Method: Inventory, When: After})
}

// Launch implements target.Target.
func (f *Fake) Launch(ctx context.Context, a target.Attempt) (target.Handle, error) {
	c := Call{Method: Launch, Key: a.Spec.Key, When: Before}
	if err := f.at(ctx, c); err != nil {
		return target.Handle{}, err
	}
	f.w.mu.Lock()
	f.w.calls[a.Spec.Key]++
	f.w.mu.Unlock()
	// The claim, and then the start: between them the supervisor may be alone.
	f.w.launch(a, false)
	c.When = Midway
	if err := f.at(ctx, c); err != nil {
		return target.Handle{}, err
	}
	f.w.launch(a, true)
	c.When = After
	return target.Handle{Key: a.Spec.Key, Nonce: a.Spec.Nonce}, f.at(ctx, c)
}

// Find implements target.Target.
func (f *Fake) Find(ctx context.Context) ([]target.Observation, error) {
	if err := f.at(ctx, Call{Method: Find, When: Before}); err != nil {
		return nil, err
	}
	f.w.mu.Lock()
	var all []target.Observation
	for _, k := range f.w.keys() {
		all = append(all, f.w.attempts[k].obs)
	}
	f.w.mu.Unlock()
	return all, f.at(ctx, Call{Method: Find, When: After})
}

// find is the attempt that a handle names, or nil; the lock is held.
func (w *World) find(h target.Handle) *attempt {
	if at := w.attempts[h.Key]; at != nil && at.obs.Handle == h {
		return at
	}
	return nil
}

// Observe implements target.Target.
func (f *Fake) Observe(ctx context.Context, h target.Handle) (target.Observation, error) {
	if err := f.at(ctx, Call{Method: Observe, Key: h.Key, When: Before}); err != nil {
		return target.Observation{}, err
	}
	o := target.Observation{Handle: h, Status: target.Absent}
	f.w.mu.Lock()
	if at := f.w.find(h); at != nil {
		o = at.obs
	}
	f.w.mu.Unlock()
	if err := f.at(ctx, Call{Method: Observe, Key: h.Key, When: After}); err != nil {
		return target.Observation{}, err
	}
	return o, nil
}

// again are the reports that a new watch is told of: the latest of each lasting kind.
func (at *attempt) again() []target.Observation {
	var out []target.Observation
	for _, kind := range []pasar.EventKind{pasar.EventCheckpoint, pasar.EventResumed, pasar.EventProgress} {
		for _, o := range slices.Backward(at.past) {
			if o.Event != nil && o.Event.Kind == kind {
				event, n := o.Event, o.EventNum
				o = at.obs
				o.Event, o.EventNum = event, n
				out = append(out, o)
				break
			}
		}
	}
	return out
}

// Watch implements target.Watcher. Like a real supervisor it tells a new watch of the latest
// checkpoint, resumption and progress again.
func (f *Fake) Watch(ctx context.Context, h target.Handle, tell func(target.Observation) error) error {
	c := Call{Method: Watch, Key: h.Key, When: Before}
	if err := f.at(ctx, c); err != nil {
		return err
	}
	next := -1 // index in the past; -1: the present is to come first
	var again []target.Observation
	for {
		f.w.mu.Lock()
		at, changed := f.w.find(h), f.w.changed
		var o target.Observation
		have := true
		switch {
		case at == nil:
			o = target.Observation{Handle: h, Status: target.Absent}
		case next < 0:
			o, next = at.obs, len(at.past)
			if !over(o.Status) {
				again = at.again()
			}
		case len(again) > 0:
			o, again = again[0], again[1:]
		case next < len(at.past):
			o = at.past[next]
			next++
		default:
			have = false
		}
		f.w.mu.Unlock()
		if !have {
			select {
			case <-changed:
				continue
			case <-f.dead:
				<-ctx.Done()
				return context.Cause(ctx)
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if c.When == Midway {
			c.Observation = &o
			if err := f.at(ctx, c); err != nil {
				return err
			}
		}
		c.When = Midway
		if err := tell(o); err != nil {
			return err
		}
		switch o.Status {
		case target.Ended, target.Gone, target.Absent:
			return f.at(ctx, Call{Method: Watch, Key: h.Key, When: After})
		}
	}
}

// Acknowledge implements target.Acknowledger.
func (f *Fake) Acknowledge(ctx context.Context, h target.Handle) error {
	c := Call{Method: Acknowledge, Key: h.Key, When: Before}
	if err := f.at(ctx, c); err != nil {
		return err
	}
	f.w.mu.Lock()
	if at := f.w.find(h); at != nil && (at.obs.Status == target.Ended || at.obs.Status == target.Gone) {
		at.acked = true
	}
	f.w.mu.Unlock()
	c.When = After
	return f.at(ctx, c)
}

// Signal implements target.Target.
func (f *Fake) Signal(ctx context.Context, h target.Handle, s pasar.Stop) error {
	c := Call{Method: Signal, Key: h.Key, When: Before}
	if err := f.at(ctx, c); err != nil {
		return err
	}
	f.w.stop(h, s, false)
	c.When = Midway
	if err := f.at(ctx, c); err != nil {
		return err
	}
	f.w.stop(h, s, true)
	c.When = After
	return f.at(ctx, c)
}

// stop records a stop, and with act set carries it out.
func (w *World) stop(h target.Handle, s pasar.Stop, act bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.find(h)
	if at == nil || !at.holds() {
		return
	}
	if i := slices.IndexFunc(at.stops, func(x pasar.Stop) bool { return x.ID == s.ID }); i < 0 {
		at.stops = append(at.stops, s)
	} else if s.Now {
		at.stops[i].Now = true
	}
	if act && at.obs.Status == target.Running {
		w.carryOut(at)
	}
}

// carryOut takes the stop sequence as far as the stops that arrived ask for: the pause file, one SIGTERM
// whatever their number, and SIGKILL when the grace is over or somebody said now. The last stop decides.
func (w *World) carryOut(at *attempt) {
	if slices.ContainsFunc(at.stops, func(s pasar.Stop) bool { return s.Now }) {
		at.step = pasar.StepKill
		w.finish(at, pasar.Exit{Signal: 9})
		return
	}
	s := at.stops[len(at.stops)-1]
	if s.PauseFile && at.step == pasar.StepNone {
		at.step = pasar.StepFile
		if p := at.script.Pauses; p != nil && p.After > 0 {
			w.later(at, p.After, func() { w.pause(at) })
		} else if p != nil {
			w.pause(at)
		}
	}
	if at.obs.Status != target.Running || at.step == pasar.StepTerm || at.step == pasar.StepKill || s.Wait == pasar.Forever {
		return
	}
	if s.Wait > 0 {
		w.again(at, time.Duration(s.Wait), func() { w.terminate(at, s) })
		return
	}
	w.terminate(at, s)
}

// pause is what a program does that watches the pause file.
func (w *World) pause(at *attempt) {
	p := at.script.Pauses
	w.exit(at, p.Exit)
	if at.obs.Status == target.Exited {
		w.end(at, &pasar.ExitRecord{Marker: p.Marker})
	}
}

func (w *World) terminate(at *attempt, s pasar.Stop) {
	if !s.NoTerm {
		at.step = pasar.StepTerm
		if !at.script.IgnoreTerm {
			w.finish(at, pasar.Exit{Signal: 15})
			return
		}
	}
	w.again(at, time.Duration(s.Grace), func() {
		at.step = pasar.StepKill
		w.finish(at, pasar.Exit{Signal: 9})
	})
}

// again is later for the step that comes next; what was to come next before doesn't.
func (w *World) again(at *attempt, d time.Duration, f func()) {
	if at.kill != nil {
		at.kill.Stop()
	}
	at.kill = w.later(at, d, f)
}

// later calls f with the lock held, if the attempt still has its claim.
func (w *World) later(at *attempt, d time.Duration, f func()) *time.Timer {
	return time.AfterFunc(d, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if at.holds() {
			f()
		}
	})
}

// Logs implements target.Target.
func (f *Fake) Logs(ctx context.Context, h target.Handle, from target.Cursor, follow bool, g func(target.Chunk) error) (target.Cursor, error) {
	c := Call{Method: Logs, Key: h.Key, When: Before}
	if err := f.at(ctx, c); err != nil {
		return from, err
	}
	for {
		f.w.mu.Lock()
		at, changed := f.w.find(h), f.w.changed
		var data []byte
		var started time.Time
		over := at == nil
		if at != nil {
			if from < 0 {
				from += target.Cursor(len(at.output))
			}
			from = target.Cursor(max(0, min(int64(from), int64(len(at.output)))))
			data, started = slices.Clone(at.output[from:]), at.obs.StartedAt
			over = at.obs.Status == target.Ended || at.obs.Status == target.Gone
		}
		f.w.mu.Unlock()
		if len(data) > 0 {
			if err := g(target.Chunk{Offset: int64(from), Data: data, At: started}); err != nil {
				return from, err
			}
			from += target.Cursor(len(data))
		}
		if over || !follow {
			c.When = After
			return from, f.at(ctx, c)
		}
		select {
		case <-changed:
		case <-f.dead:
			<-ctx.Done()
			return from, context.Cause(ctx)
		case <-ctx.Done():
			return from, context.Cause(ctx)
		}
	}
}
