package main

import (
	"context"
	"errors"
	"time"

	"pasar/ipc"
)

// reconnectFor is how long a client looks for a daemon that went away, or doesn't start.
var reconnectFor = 5 * time.Second // a variable for tests of what happens when it has passed

// ask has f speak to the daemon, which is started if need be. When the connection is lost f is called
// again on a new one: what it asks for must be harmless to repeat, and every change carries the
// request id that makes it so.
func (a *app) ask(ctx context.Context, f func(*ipc.Client) error) error {
	return a.stream(ctx, func(d *ipc.Client, _ func()) error { return f(d) })
}

// stream is ask for calls that last: f says alive whenever something came, so that only 5 s without a
// daemon end it, however often the daemon went away before. f goes on where it was.
func (a *app) stream(ctx context.Context, f func(d *ipc.Client, alive func()) error) error {
	r := retry{limit: reconnectFor}
	for {
		err := a.connect(ctx)
		if err == nil {
			err = f(a.client, r.reset)
		}
		err = heed(ctx, err)
		if !a.lost(err) {
			return err
		}
		if a.client != nil {
			_ = a.client.Close()
			a.client = nil
		}
		if !r.pause(ctx) {
			if a.farewell != nil && ctx.Err() == nil {
				return a.farewell // says more than that nobody listens
			}
			return err
		}
	}
}

// lost reports whether err means that the connection is gone, so that another may help. A daemon
// that was told to end says so; it is not started again behind the back of whoever ended it.
func (a *app) lost(err error) bool {
	var e *ipc.Error
	if !errors.As(err, &e) || err == error(errInterrupted) || isCut(err) {
		return false
	}
	switch e.Code {
	case ipc.CodeInterrupted:
		a.noStart = true
		a.farewell = problemf(ipc.CodeNoDaemon, "the daemon was shut down").hint("jobs go on; any command starts it again")
		return true
	case ipc.CodeNoDaemon:
		return !errors.Is(err, errNoStart)
	}
	return false
}

// connect makes a.client, starting the daemon when none listens and that is wanted.
func (a *app) connect(ctx context.Context) error {
	if a.client != nil {
		return nil
	}
	if far, err := a.afar(); far != nil || err != nil {
		return a.connectAfar(ctx, far, err)
	}
	cfg, err := a.config()
	if err != nil {
		return err
	}
	a.reached = cfg.Paths.Socket
	a.client, err = ipc.Dial(ctx, cfg.Paths.Socket)
	var e *ipc.Error
	if errors.As(err, &e) && e.Code == ipc.CodeNoDaemon && cfg.Paths.OtherSocket != "" && ctx.Err() == nil {
		if other, oerr := ipc.Dial(ctx, cfg.Paths.OtherSocket); oerr == nil { // linger was turned on or off since it started
			a.client, a.reached, err = other, cfg.Paths.OtherSocket, nil
		}
	}
	if err == nil || !errors.As(err, &e) || e.Code != ipc.CodeNoDaemon || a.noStart {
		return err
	}
	if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) {
		<-ctx.Done() // the greeting may have timed out just before
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	a.client, err = a.start(ctx, cfg, e)
	return err
}

// connectOnly is connect for commands that don't start a daemon.
func (a *app) connectOnly(ctx context.Context) error {
	a.noStart = true
	return a.connect(ctx)
}

// retry paces attempts: 2 ms at first, 100 ms at most, until limit has passed since the first failure.
type retry struct {
	limit time.Duration
	since time.Time
	delay time.Duration
}

func (r *retry) reset() { *r = retry{limit: r.limit} }

// pause waits before the next attempt; false means that there is to be none.
func (r *retry) pause(ctx context.Context) bool {
	now := time.Now()
	if r.since.IsZero() {
		r.since, r.delay = now, 2*time.Millisecond
	}
	if now.Sub(r.since) > r.limit {
		return false
	}
	t := time.NewTimer(r.delay)
	defer t.Stop()
	r.delay = min(2*r.delay, 100*time.Millisecond)
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
