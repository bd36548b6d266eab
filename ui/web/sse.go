package web

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Of a stream of events.
const (
	quietTime  = 10 * time.Second // of silence, until a comment shows that the stream is there still
	retryTime  = 2 * time.Second  // that a browser waits before it asks again for a stream that ended
	eventPiece = 64 << 10         // bytes that are written at a time, each with its own sendTime
)

// events writes server-sent events (text/event-stream). Nothing is written before the first event, or begin: until then
// a request can be refused with a status. Each piece has its time, so that a slow reader isn't one that takes nothing; a
// stream that has been quiet says a comment, and one whose request is over ends at once, within a piece too. It is for
// one goroutine at a time, and whoever makes one ends it.
type events struct {
	ctx  context.Context
	w    http.ResponseWriter
	rc   *http.ResponseController
	stop func() // undoes what newEvents began

	mu    sync.Mutex // guards the rest, and what is written: comments come from beside
	begun bool
	open  bool // an event has begun whose end is still to come
	over  bool
	quiet *time.Timer
	err   error // of the first write that failed: nothing comes behind half an event
}

// newEvents is a stream that answers a request, and ends with it.
func newEvents(w http.ResponseWriter, r *http.Request) *events {
	e := &events{ctx: r.Context(), w: w, rc: http.NewResponseController(w)}
	done := make(chan struct{})
	unhook := context.AfterFunc(e.ctx, func() {
		defer close(done)
		e.giveUp()
	})
	e.stop = func() {
		if !unhook() {
			<-done
		}
	}
	return e
}

// giveUp makes a write that is under way fail.
func (e *events) giveUp() { _ = e.rc.SetWriteDeadline(time.Unix(1, 0)) }

// end ends what goes on beside the stream. It must be called before the request's handler returns.
func (e *events) end() {
	e.stop()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	if e.quiet != nil {
		e.quiet.Stop()
	}
}

// begin sends the head, so that the client knows that it was let in. The first event does so as well.
func (e *events) begin() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.head()
	return e.flush()
}

// send sends an event: its name, its id or "", and its data, which is one line; an end of line behind it is left out.
func (e *events) send(name, id string, data []byte) error {
	if err := e.start(name, id); err != nil {
		return err
	}
	if err := e.piece(bytes.TrimSuffix(data, []byte("\n"))); err != nil {
		return err
	}
	return e.finish()
}

// add is send, but for sending it on: the next send does that, or begin.
func (e *events) add(name, id string, data []byte) error {
	if err := e.start(name, id); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open = false
	_ = e.write(bytes.TrimSuffix(data, []byte("\n")))
	return e.write([]byte("\n\n"))
}

// start begins an event whose data comes in pieces, up to finish.
func (e *events) start(name, id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.head()
	e.open = true
	head := "event: " + name + "\n"
	if id != "" {
		head += "id: " + id + "\n"
	}
	return e.write([]byte(head + "data: "))
}

// piece sends a piece of the data of the event that was started. No end of line is in it.
func (e *events) piece(b []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.write(b)
}

// finish ends the event that was started, and sends it on.
func (e *events) finish() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open = false
	_ = e.write([]byte("\n\n"))
	return e.flush()
}

// broken is err as of this answer: what can still be told, or not.
func (e *events) broken(err error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil && e.begun {
		return &begunError{err}
	}
	return err
}

// keep says a comment, unless something is being sent, which shows as much.
func (e *events) keep() {
	if !e.mu.TryLock() {
		return
	}
	defer e.mu.Unlock()
	if e.open || e.over {
		return
	}
	_ = e.write([]byte(": \n\n"))
	_ = e.flush()
}

// head begins the answer, once.
func (e *events) head() {
	if e.begun {
		return
	}
	e.begun = true
	h := e.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // a proxy in between is to pass it on as it comes
	e.quiet = time.AfterFunc(quietTime, e.keep)
	_ = e.write([]byte("retry: " + strconv.FormatInt(retryTime.Milliseconds(), 10) + "\n\n"))
}

// write writes what it is given, a piece at a time.
func (e *events) write(b []byte) error {
	for len(b) > 0 && e.err == nil {
		n := min(len(b), eventPiece)
		if e.err = e.allow(); e.err == nil {
			_, e.err = e.w.Write(b[:n])
		}
		b = b[n:]
	}
	return e.err
}

// flush sends on what has been written.
func (e *events) flush() error {
	if e.err == nil {
		e.err = e.allow()
	}
	if e.err == nil {
		e.err = e.rc.Flush()
		e.quiet.Reset(quietTime)
	}
	return e.err
}

// allow gives the next piece its time. If the request ends meanwhile, either it is seen here, or the end comes after
// the deadline that is set here and replaces it.
func (e *events) allow() error {
	_ = e.rc.SetWriteDeadline(time.Now().Add(sendTime))
	if e.ctx.Err() == nil {
		return nil
	}
	e.giveUp()
	return context.Cause(e.ctx)
}
