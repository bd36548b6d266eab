package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"pasar"
	"pasar/ipc"
	"pasar/target"
)

// rewatches is how many connections of one watch may break before it gives up, so that a supervisor
// that hangs up on everybody isn't asked for ever.
const rewatches = 10

// errBroken says that a connection ended before the attempt did.
var errBroken = errors.New("connection to its supervisor broken")

// Watch tells where an attempt is, and then of each change and report, over the control connection
// to its supervisor. A connection that breaks is made again, or what became of the attempt is found
// on disk.
func (m *Machine) Watch(ctx context.Context, h target.Handle, f func(target.Observation) error) error {
	w := &watch{ctx: ctx, m: m, h: h, f: f}
	for range rewatches {
		err := w.once()
		if !errors.Is(err, errBroken) {
			return err
		}
		if m.isClosed() {
			return fmt.Errorf("watch %s: %w", h.Key, ErrClosed)
		}
	}
	return fmt.Errorf("watch %s: %w, %d times", h.Key, errBroken, rewatches)
}

// A watch is one call of Watch under way.
type watch struct {
	ctx      context.Context
	m        *Machine
	h        target.Handle
	f        func(target.Observation) error
	reported int // number of the last event told: a new connection begins with the latest ones again
}

// once watches over one connection, the one at hand or a new one. It returns nil when the attempt is
// over, errBroken if the connection broke, and f's error as it is.
func (w *watch) once() error {
	l := w.m.take(w.h)
	if l == nil {
		o, fresh, err := w.m.observe(w.ctx, w.h)
		if err != nil {
			return fmt.Errorf("watch %s: %w", w.h.Key, err)
		}
		if fresh == nil {
			return w.f(o)
		}
		l = fresh
		w.m.enter(w.h, l)
	}
	sound := false
	defer func() { w.m.leave(w.h, l, sound) }()
	unhook := context.AfterFunc(w.ctx, func() { _ = l.conn.Close() })
	err := w.follow(l)
	sound = unhook() && !errors.Is(err, errBroken)
	return err
}

// follow tells of the link's last status, the reports before it, and then of all that comes.
func (w *watch) follow(l *link) error {
	status := l.last
	o := status
	for {
		if o.Event == nil && o.Status == target.Ended && o.Record == nil {
			var err error
			if o, err = w.m.recorded(w.m.attemptDir(w.h.Key), w.h); err != nil || o.Record == nil {
				return errBroken
			}
		}
		if err := w.tell(o); err != nil {
			return err
		}
		if o.Event == nil && o.Status == target.Ended {
			return nil
		}
		var err error
		if o, err = w.next(l, status.Status); err != nil {
			return err
		}
		if o.Event != nil {
			event, n := o.Event, o.EventNum
			o = status
			o.Event, o.EventNum = event, n
			continue
		}
		status = o
		w.m.mu.Lock()
		l.last = o
		w.m.mu.Unlock()
	}
}

// next is what comes next on a link, the reports that came early first. What a job reports before its supervisor has said
// that it runs waits for that.
func (w *watch) next(l *link, s target.Status) (o target.Observation, err error) {
	for {
		if len(l.early) > 0 && s != target.Claimed {
			o, l.early = l.early[0], l.early[1:]
			return o, nil
		}
		if o, err = l.next(w.h); err != nil {
			return o, cmp.Or(context.Cause(w.ctx), errBroken)
		}
		if o.Event == nil || s != target.Claimed {
			return o, nil
		}
		l.early = append(l.early, o)
	}
}

// tell passes an observation on, unless it is a report that was told.
func (w *watch) tell(o target.Observation) error {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	if o.Event != nil {
		if o.EventNum <= w.reported {
			return nil
		}
		w.reported = o.EventNum
	}
	return w.f(o)
}

// Signal asks the attempt's supervisor to stop it. An attempt that doesn't run, any more or at all,
// is nobody's to stop: no error. The pause file, if the stop wants it, is there before the supervisor hears of it.
func (m *Machine) Signal(ctx context.Context, h target.Handle, s pasar.Stop) error {
	ask := func(send func(typ int, body any) error) error {
		if s.PauseFile {
			if err := m.makePauseFile(h); err != nil {
				return err
			}
		}
		return send(ipc.AttachStop, &ipc.StopFrame{Stop: s})
	}
	// A connection of its own shows that the stop has arrived. The link of a watch would not: it may be
	// closed the moment after. It serves when the supervisor has no descriptor left for another.
	err := m.reach(ctx, h, func(l *link) error {
		if over(l.last.Status) {
			return nil
		}
		return ask(l.sendLast)
	})
	if err == nil {
		return nil
	}
	if l := m.sender(h); l != nil && ctx.Err() == nil && ask(l.conn.Send) == nil {
		return nil
	}
	return fmt.Errorf("stop %s: %w", h.Key, err)
}

// over reports whether there is nothing left to stop.
func over(s target.Status) bool { return s == target.Exited || s == target.Ended }

// Acknowledge lets the supervisor of an ended attempt leave.
func (m *Machine) Acknowledge(ctx context.Context, h target.Handle) error {
	m.roster.dismiss(h)
	m.mu.Lock()
	delete(m.cleared, h)
	l := m.links[h]
	if l != nil && (l.reading || l.last.Status != target.Ended) {
		l = nil
	} else {
		delete(m.links, h)
	}
	m.mu.Unlock()
	if l != nil {
		err := l.sendLast(ipc.AttachDone, &struct{}{})
		_ = l.conn.Close()
		if err == nil {
			return nil
		}
	}
	err := m.reach(ctx, h, func(l *link) error {
		// The record is there before the supervisor takes the attempt for ended, and it hears only then.
		for l.last.Status != target.Ended {
			if err := l.readStatus(h); err != nil {
				return err
			}
		}
		return l.sendLast(ipc.AttachDone, &struct{}{})
	})
	if err != nil {
		return fmt.Errorf("acknowledge %s: %w", h.Key, err)
	}
	return nil
}

// reach makes a link to the attempt's supervisor for f, again if that fails, as long as there is a
// supervisor and patience. Without one there is nothing to do, and no error.
func (m *Machine) reach(ctx context.Context, h target.Handle, f func(*link) error) error {
	dir := m.attemptDir(h.Key)
	patience := newPatience()
	for {
		c, err := lookAt(dir)
		if err != nil {
			return err
		}
		if c.state == claimNone { // its directory may be gone, and the job not
			c.holding, _ = m.bySocket(ctx, h)
		}
		if c.state != claimHeld && c.holding.Pid == 0 || c.state == claimDead || c.holding.Nonce != "" && c.holding.Nonce != h.Nonce {
			return nil
		}
		l, err := dial(ctx, h, c.holding)
		if err == nil {
			err = f(l)
			_ = l.conn.Close()
		}
		if err == nil {
			return nil
		}
		if err := patience.wait(ctx, err); err != nil {
			return err
		}
	}
}

// makePauseFile makes the file appear that asks the job to save. It is empty, so that it is whole at once;
// whatever has its name already will do, and isn't touched. A directory that somebody removed is made anew: the
// job that looks for the file there lives.
func (m *Machine) makePauseFile(h target.Handle) error {
	path := filepath.Join(m.attemptDir(h.Key), pasar.PauseFile)
	for range 2 {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		switch {
		case err == nil:
			return f.Close()
		case errors.Is(err, os.ErrExist):
			return nil
		case !errors.Is(err, os.ErrNotExist):
			return fmt.Errorf("make pause file: %w", err)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("make pause file: %w", err)
		}
	}
	return fmt.Errorf("make pause file: %s is removed as soon as it is made", filepath.Dir(path))
}
