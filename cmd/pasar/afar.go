package main

import (
	"context"
	"errors"
	"time"

	"golang.org/x/term"

	"pasar"
	"pasar/ipc"
	"pasar/remote"
)

// urlVariable names another machine, whose daemon every command then means.
const urlVariable = "PASAR_URL"

// afar is the machine that PASAR_URL names; nil for this one.
func (a *app) afar() (*remote.Remote, error) {
	url := a.getenv(urlVariable)
	if a.far != nil || a.here || url == "" {
		return a.far, nil
	}
	ask := a.term.is || a.stdin != nil && term.IsTerminal(int(a.stdin.Fd()))
	far, err := remote.New(url, remote.Options{Env: a.env, Ask: ask && a.name != completeName})
	if err != nil {
		return nil, err
	}
	a.far = far
	return far, nil
}

// connectAfar makes a.client, of the daemon of another machine. None is started on this one.
func (a *app) connectAfar(ctx context.Context, far *remote.Remote, err error) error {
	if err != nil {
		return err
	}
	nc, err := far.Dial(ctx, remote.Errand{NoStart: a.noStart})
	var e *ipc.Error
	switch {
	case err == nil:
		a.met = true
		a.client, err = far.Meet(ctx, nc)
		return err
	case !a.met && errors.As(err, &e) && e.Code == ipc.CodeNoDaemon && !isCut(err):
		return startError{problem{e}} // it is not one that was there and may come back
	}
	return err
}

// over reaches a job's supervisor on the other machine.
func (a *app) over(ctx context.Context, id pasar.JobID, attempt int) func(ipc.Hello) (*ipc.AttachConn, ipc.Welcome, error) {
	return func(h ipc.Hello) (*ipc.AttachConn, ipc.Welcome, error) { return a.far.Attach(ctx, id, attempt, h) }
}

// isCut reports whether err is that the way to the other machine failed.
func isCut(err error) bool {
	var l *remote.LinkError
	return errors.As(err, &l)
}

// heedTime is how long an interruption may take to be noticed here after ssh has noticed it.
const heedTime = 200 * time.Millisecond

// heed makes of a link that was cut an interruption, if it was: Ctrl-C ends ssh, too.
func heed(ctx context.Context, err error) error {
	if !isCut(err) {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(heedTime):
		return err
	}
}

// onlyHere refuses a command that is about this machine while PASAR_URL names another.
func (c *call) onlyHere(instead string) error {
	far, err := c.afar()
	if far == nil || err != nil {
		return err
	}
	return usagef("%s is about this machine, and PASAR_URL names %s", c.name, far.Name).hint("unset PASAR_URL for this one; " + instead)
}
