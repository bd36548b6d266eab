package daemon

import (
	"context"
	"fmt"
	"time"
)

// A turnstile lets through so many at a time of what may hang: a disk that doesn't answer keeps a place, and never
// who waits.
type turnstile struct {
	places   chan struct{}
	patience time.Duration
}

func newTurnstile(places int, patience time.Duration) *turnstile {
	return &turnstile{make(chan struct{}, places), patience}
}

// do runs f and returns its error, or after the patience why it isn't done. f keeps its place until it
// returns, whoever waits: so nothing that it touches may be used after an error. It is no effect, which Run
// would wait for: nobody can end a read of a disk that hangs.
func (s *turnstile) do(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.patience, fmt.Errorf("not done within %s", s.patience))
	defer cancel()
	select {
	case s.places <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	done := make(chan error, 1)
	go func() {
		defer func() { <-s.places }()
		done <- f(ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
