package web

import (
	"context"
	"errors"
	"sync"
)

// errNewToken is why what was let in by a token ends.
var errNewToken = errors.New("there is another token now")

// A lease bounds what was let in by a token, or by what was made from it, to that token's life.
type lease struct {
	mu     sync.Mutex // guards the rest
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func newLease() *lease {
	l := &lease{}
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	return l
}

// now is done once the present token is worth nothing. Take it before the token is looked at: then none slips through.
func (l *lease) now() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ctx
}

// renew ends what was let in until now.
func (l *lease) renew() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel(errNewToken)
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
}

// within is ctx until a lease is over as well.
func within(ctx, lease context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(lease, func() { cancel(context.Cause(lease)) })
	return ctx, func() { stop(); cancel(nil) }
}
