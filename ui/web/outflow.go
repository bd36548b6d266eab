package web

import (
	"context"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Of what is on its way to a browser.
const (
	mostOnTheWay = 128 << 10        // bytes; then no more is read from the supervisor, which paints anew what is missed
	askAgain     = 32 << 10         // bytes behind which a ping is sent: its answer shows that they have been taken
	pingEvery    = 10 * time.Second // of silence
	peerTime     = 20 * time.Second // who hasn't taken what was sent for so long is dropped
)

// An outflow writes to a browser and knows how much it hasn't taken yet: behind what is written go pings, and their answers
// come in order. put and full are for one goroutine, and ask is beside it.
type outflow struct {
	ws *websocket.Conn

	mu    sync.Mutex // guards the rest
	sent  int64
	asked int64 // up to where there has been a ping
	heard int64 // up to where an answer has come

	more  chan struct{} // of length 1: a ping is due
	moved chan struct{} // of length 1: heard has grown
}

func newOutflow(ws *websocket.Conn) *outflow {
	return &outflow{ws: ws, more: make(chan struct{}, 1), moved: make(chan struct{}, 1)}
}

// put writes a message.
func (o *outflow) put(typ websocket.MessageType, b []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), peerTime)
	defer cancel()
	if err := o.ws.Write(ctx, typ, b); err != nil {
		return err
	}
	o.mu.Lock()
	o.sent += int64(len(b))
	due := o.sent-o.asked >= askAgain
	o.mu.Unlock()
	if due {
		nudge(o.more)
	}
	return nil
}

// full reports whether no more is to be put for now.
func (o *outflow) full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sent-o.heard >= mostOnTheWay
}

// ask sends pings until ctx is done or one isn't answered in time. Somebody must be reading meanwhile.
func (o *outflow) ask(ctx context.Context) error {
	quiet := time.NewTimer(pingEvery)
	defer quiet.Stop()
	for {
		quiet.Reset(pingEvery)
		select {
		case <-ctx.Done():
			return nil
		case <-o.more:
		case <-quiet.C:
		}
		o.mu.Lock()
		upTo := o.sent
		o.asked = upTo
		o.mu.Unlock()
		if err := o.ping(ctx); err != nil {
			return err
		}
		o.mu.Lock()
		o.heard = upTo
		due := o.sent-o.asked >= askAgain
		o.mu.Unlock()
		nudge(o.moved)
		if due {
			nudge(o.more)
		}
	}
}

func (o *outflow) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, peerTime)
	defer cancel()
	return o.ws.Ping(ctx)
}

// nudge says that there is something to do, unless that has been said.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
