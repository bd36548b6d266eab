package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/target"
)

// launchTries bounds how often a launch begins again because a supervisor died under it or an empty
// claim was in the way.
const launchTries = 5

// Steps of a launch, between any two of which the daemon can die.
const (
	stepDir     = "directory made"
	stepSpec    = "spec written"
	stepSent    = "handed over"
	stepClaimed = "claimed"
)

// Launch hands the attempt to the supervisor kept warm and returns once its claim is taken. What an
// earlier call began, in this process or another, is found by the claim.
func (m *Machine) Launch(ctx context.Context, a target.Attempt) (target.Handle, error) {
	h := target.Handle{Key: a.Spec.Key, Nonce: a.Spec.Nonce}
	if h.Key.Job <= 0 || h.Key.Attempt <= 0 || h.Nonce == "" {
		return h, target.Never(fmt.Errorf("launch %s: it has no key or no nonce", h.Key))
	}
	defer m.keys.lock(h.Key)()
	if err := m.launch(ctx, h, a); err != nil {
		return h, fmt.Errorf("launch %s: %w", h.Key, err)
	}
	return h, nil
}

func (m *Machine) launch(ctx context.Context, h target.Handle, a target.Attempt) error {
	// Until a supervisor was given the directory, one that this call made is seen by nobody else: a
	// failure is then surely without effect.
	fresh, err := m.makeDirs(h)
	surely := func(err error) error {
		if fresh {
			return target.Never(err)
		}
		return err
	}
	if err != nil {
		return surely(err)
	}
	if err := m.step(stepDir); err != nil {
		return err
	}
	if !fresh {
		if found, err := m.found(h); found || err != nil {
			return err
		}
	}
	if err := m.writeSpec(a); err != nil {
		return surely(err)
	}
	if err := m.step(stepSpec); err != nil {
		return err
	}
	var last error
	for range launchTries {
		if last, err = m.handOver(ctx, h); err != nil {
			return err
		} else if last == nil {
			return nil
		}
		if found, err := m.found(h); found || err != nil {
			return err
		}
	}
	return fmt.Errorf("given up after %d tries: %w", launchTries, last)
}

// found reports whether the attempt was launched already: it runs, it has ended, or it is gone. If
// not, a supervisor can take the claim afterwards.
func (m *Machine) found(h target.Handle) (bool, error) {
	dir := m.attemptDir(h.Key)
	if r, err := readRecord(dir); err != nil && !errors.Is(err, errDamaged) {
		return false, err
	} else if r != nil {
		return true, nil
	}
	for {
		c, err := lookAt(dir)
		if err != nil {
			return false, err
		}
		switch c.state {
		case claimHeld, claimDead:
			return true, nil
		}
		if old, err := m.ofOtherBoot(dir); err != nil || old {
			return old, err
		}
		if c.state == claimNone {
			return false, nil
		}
		if _, err := void(dir); err != nil {
			return false, err
		}
	}
}

// ofOtherBoot reports whether a directory without a filled claim was made in an earlier boot. Claims
// aren't synced, so its attempt may have run until the power was cut.
func (m *Machine) ofOtherBoot(dir string) (bool, error) {
	s, ok, err := readSpec(dir)
	return ok && s.Boot != m.boot, err
}

// handOver gives the attempt to a warm supervisor and waits for its word. again is why it must be
// tried anew; a supervisor that was given the directory then can't run it any more.
func (m *Machine) handOver(ctx context.Context, h target.Handle) (again, err error) {
	w, err := m.pool.take(ctx)
	if err != nil {
		return nil, err
	}
	dir := m.attemptDir(h.Key)
	if err := w.conn.Send(ipc.AttachLaunch, &ipc.Launch{Dir: dir}); err != nil {
		return m.endWarm(w, err), nil
	}
	if err := m.step(stepSent); err != nil {
		_ = w.conn.Close()
		return nil, err
	}
	status, early, err := awaitStatus(ctx, w.conn, m.launchTimeout)
	if err == nil {
		switch status.State {
		case ipc.AttemptTaken:
			_ = w.conn.Close()
			return errors.New("its claim was taken"), nil
		case ipc.AttemptFailed:
			_ = w.conn.Close()
			return nil, target.Never(errors.New(pasar.Clean(status.Error)))
		}
		if err := m.step(stepClaimed); err != nil {
			_ = w.conn.Close()
			return nil, err
		}
		m.pool.mended()
		if w.forget != nil {
			w.forget()
		}
		m.keep(h, w.conn, &status, early)
		return nil, nil
	}
	if ctx.Err() != nil { // the supervisor leaves, or it has the claim by now: ask again
		_ = w.conn.Close()
		return nil, context.Cause(ctx)
	}
	// No word. If it has the claim, it runs; else it must be surely dead before another may.
	if c, lerr := lookAt(dir); lerr != nil {
		_ = w.conn.Close()
		return nil, lerr
	} else if c.state == claimHeld {
		_ = w.conn.Close()
		return nil, nil
	}
	return m.endWarm(w, err), nil
}

// endWarm sees to it that a supervisor that came to nothing is gone, and returns why it did. One that
// hung up is on its way out by itself; one that is silent is killed.
func (m *Machine) endWarm(w *warm, why error) error {
	_ = w.conn.Close()
	if errors.Is(why, errSilent) {
		w.kill()
	}
	kill := time.AfterFunc(time.Second, w.kill)
	defer kill.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case status := <-w.exited:
			w.end()
			if !errors.Is(why, errSilent) {
				why = m.pool.died(w, status)
			}
			m.pool.spoilt(why)
			return why
		case <-tick.C: // the reaper may have been closed
			m.pool.reaper.reap()
		}
	}
}

// errSilent is a supervisor that doesn't answer.
var errSilent = errors.New("the supervisor doesn't answer")

// awaitStatus waits for the answer to LAUNCH. A job that is quick may have reported something before it.
func awaitStatus(ctx context.Context, c *ipc.AttachConn, limit time.Duration) (s ipc.Status, early []target.Observation, err error) {
	if err := c.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return ipc.Status{}, nil, err
	}
	unhook := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Now()) })
	defer unhook()
	for {
		typ, body, err := c.Recv()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return ipc.Status{}, nil, fmt.Errorf("%w, for %s", errSilent, limit)
		}
		if err != nil {
			return ipc.Status{}, nil, fmt.Errorf("the supervisor hung up: %w", err)
		}
		switch typ {
		case ipc.AttachEvent:
			o, err := reportIn(body)
			if err != nil {
				return ipc.Status{}, nil, err
			}
			early = append(early, o)
		case ipc.AttachStatus:
			var s ipc.Status
			if err := ipc.DecodeBody(body, &s); err != nil {
				return ipc.Status{}, nil, err
			}
			if s.State != ipc.AttemptWarm {
				return s, early, c.SetReadDeadline(time.Time{})
			}
		}
	}
}
