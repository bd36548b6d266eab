package web

import (
	"context"
	"slices"
	"sync"
	"time"

	"pasar/ipc"
)

const (
	maxWaiting = 64       // of messages typed that a supervisor hasn't taken; a job that doesn't read loses what is typed beyond
	maxPiece   = 32 << 10 // bytes of what is typed in one frame
	aFewPages  = 8 << 10  // bytes of earlier output, where a supervisor sends no screen
)

// A wire is a connection to a supervisor, or what is kept of an attempt that is over.
type wire struct {
	conn    *ipc.AttachConn // nil: nobody is there any more
	welcome ipc.Welcome
	typist  bool // it may hold the keyboard
	unseen  bool // nobody saw how the attempt ended
	frames  chan frame
	some    chan struct{} // of length 1: something waits
	gone    chan struct{}
	since   time.Time
	wg      sync.WaitGroup

	mu    sync.Mutex // guards queue
	queue []sending  // at most maxWaiting that were typed, and one of each other kind
}

// A frame is what a supervisor sent.
type frame struct {
	typ  int
	body []byte
	err  error
}

// A sending is what a supervisor is to be sent.
type sending struct {
	typ  int
	body any // bytes for IN
}

// connect makes a wire.
func (v *viewer) connect(ctx context.Context, h ipc.Hello) (*wire, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, peerTime, refuse(ipc.CodeUnavailable, "try again in a while", "nobody answers for job #%d", v.job))
	defer cancel()
	h.Paint, h.Offset, h.Who = true, -aFewPages-1, v.who
	conn, w, err := v.dial(ctx, h)
	if err != nil {
		return nil, err
	}
	l := &wire{conn: conn, welcome: w, typist: h.Mode == ipc.ModeType, frames: make(chan frame), some: make(chan struct{}, 1), gone: make(chan struct{}), since: time.Now()}
	l.wg.Go(l.receive)
	l.wg.Go(l.deliver)
	return l, nil
}

// close ends it, and what works on it.
func (l *wire) close() {
	close(l.gone)
	if l.conn != nil {
		_ = l.conn.Close()
	}
	l.wg.Wait()
}

// receive hands over frames until the connection ends. While nobody takes them, none is read.
func (l *wire) receive() {
	for {
		var f frame
		f.typ, f.body, f.err = l.conn.Recv()
		select {
		case l.frames <- f:
		case <-l.gone:
			return
		}
		if f.err != nil {
			return
		}
	}
}

// typed has bytes sent that were typed, without waiting; false if too much waits already.
func (l *wire) typed(b []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	waits := 0
	for _, s := range l.queue {
		if s.typ == ipc.AttachIn {
			waits++
		}
	}
	if waits >= maxWaiting {
		return false
	}
	l.put(sending{ipc.AttachIn, b})
	return true
}

// resize has a size sent in place of one that still waits: the newest is what counts, however many there were.
func (l *wire) resize(s ipc.Size) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = slices.DeleteFunc(l.queue, func(s sending) bool { return s.typ == ipc.AttachResize })
	l.put(sending{ipc.AttachResize, s})
}

// take has the keyboard asked for, behind what waits, unless that waits itself.
func (l *wire) take() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.ContainsFunc(l.queue, func(s sending) bool { return s.typ == ipc.AttachTake }) {
		l.put(sending{ipc.AttachTake, nil})
	}
}

// put has something sent behind what waits. The caller holds mu.
func (l *wire) put(s sending) {
	l.queue = append(l.queue, s)
	nudge(l.some)
}

// next is what is to be sent next, if anything waits.
func (l *wire) next() (s sending, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		return s, false
	}
	s = l.queue[0]
	l.queue = slices.Delete(l.queue, 0, 1)
	return s, true
}

// deliver sends what is in the queue. A connection on which something can't be sent is closed, so that its end is noticed.
func (l *wire) deliver() {
	for {
		select {
		case <-l.some:
		case <-l.gone:
			return
		}
		for s, ok := l.next(); ok; s, ok = l.next() {
			if l.deliverOne(s) != nil {
				_ = l.conn.Close()
				return
			}
		}
	}
}

func (l *wire) deliverOne(s sending) error {
	switch body := s.body.(type) {
	case []byte:
		for piece := range slices.Chunk(body, maxPiece) {
			if err := l.conn.Send(s.typ, &ipc.In{Data: piece}); err != nil {
				return err
			}
		}
		return nil
	case ipc.Size:
		return l.conn.Send(s.typ, &body)
	}
	return l.conn.Send(s.typ, &ipc.Note{})
}
