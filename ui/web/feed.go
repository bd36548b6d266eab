package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"pasar/ipc"
)

// What may wait for a client of a stream of changes. One that falls further behind is told so, and then how all is.
const (
	maxBehind = 8 << 20 // bytes, with the view that it is being sent
	maxViews  = 100
)

// errLagged ends a subscription whose client has fallen behind.
var errLagged = errors.New("the client is too slow")

// stream answers with the jobs that match and the status, and then with what changes of them, until either side ends it.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	if err := only(q, listKeys...); err != nil {
		return err
	}
	req, err := listRequest(q, s.Now())
	if err != nil {
		return err
	}
	w, r, end := s.overSocket(w, r)
	defer end()
	e := newEvents(w, r)
	defer e.end()
	if r.Method == http.MethodHead { // it has no end to wait for
		return e.begin()
	}
	for {
		err := s.feed(r.Context(), e, req)
		if !errors.Is(err, errLagged) {
			return e.broken(err)
		}
		if err := e.send("lagged", "", []byte(`{"schema":1,"lagged":true}`)); err != nil {
			return e.broken(err)
		}
	}
}

// feed sends views as they come from the daemon, of a subscription of its own, until it ends.
func (s *Server) feed(ctx context.Context, e *events, req ipc.ListRequest) error {
	c, err := s.Dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f := &feed{events: e, views: make(chan []byte, maxViews)}
	var wg sync.WaitGroup
	f.begun = func() { wg.Go(func() { cancel(f.send()) }) }
	err = c.ChangesInPieces(ctx, ipc.ChangesRequest{List: req}, f.take)
	_ = c.Close() // the daemon need not go on until the client has taken what it is being sent
	f.drop()
	close(f.views)
	wg.Wait()
	return err
}

// A feed is what a client is sent of one subscription. The first view may be as long as the queue: it is passed on
// piece by piece, as fast as the client takes it. Those that follow wait for the client in a queue, so that the
// client's pace is its own affair: the daemon keeps nothing for it, and what it misses is dropped here.
type feed struct {
	events *events
	begun  func() // the first view has been passed on
	whole  bool   // and so it has
	within bool   // a piece of it has
	part   []byte // of a view whose end hasn't come yet
	views  chan []byte
	size   atomic.Int64 // bytes of views, and of the one that is being sent
}

// take takes the next piece of a view from the daemon.
func (f *feed) take(piece []byte, last bool) error {
	if f.whole {
		return f.put(piece, last)
	}
	if !f.within {
		f.within = true
		if err := f.events.start("snapshot", seqOf(piece)); err != nil {
			return err
		}
	}
	if err := f.events.piece(piece); err != nil || !last {
		return err
	}
	f.whole = true
	if err := f.events.finish(); err != nil {
		return err
	}
	f.begun()
	return nil
}

// put lets a view wait for the client, once it has all its pieces. The error is errLagged when it may not.
func (f *feed) put(piece []byte, last bool) error {
	if f.size.Load()+int64(len(f.part)+len(piece)) > maxBehind {
		return errLagged
	}
	f.part = append(f.part, piece...)
	if !last {
		return nil
	}
	f.size.Add(int64(len(f.part)))
	select {
	case f.views <- f.part:
		f.part = nil
		return nil
	default:
		return errLagged
	}
}

// send sends views to the client as it takes them, until there will be no more.
func (f *feed) send() error {
	for v := range f.views {
		if err := f.events.send("change", seqOf(v), v); err != nil {
			return err
		}
		f.size.Add(-int64(len(v)))
	}
	return nil
}

// drop throws away what waits. Nothing may be put behind it.
func (f *feed) drop() {
	f.part = nil
	for {
		select {
		case <-f.views:
		default:
			return
		}
	}
}

// seqOf is a view's seq, which is among its first keys, before any text; "" where a piece ends before it.
func seqOf(view []byte) string {
	_, after, _ := bytes.Cut(view[:min(len(view), 64)], []byte(`"seq":`))
	n := bytes.IndexFunc(after, func(c rune) bool { return c < '0' || c > '9' })
	return string(after[:max(n, 0)])
}
