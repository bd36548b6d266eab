package web

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// eventsProtocol is the subprotocol of a WebSocket that carries a stream of events. A browser has six connections to a
// server for all of its tabs together, and WebSockets aren't among them: a page that held a stream as a plain answer
// would soon keep the next from loading.
const eventsProtocol = "pasar-events"

// leaveTime is for what a stream over a WebSocket still does when it ends: a message under way, and the client's answer to
// its end.
const leaveTime = time.Second

// overSocket lets a stream of events that a page asks for be carried by a WebSocket: the same bytes, in messages. Until the
// stream begins the request can be refused as any other. What is returned takes the place of the request and its answer, and
// end is to be called when the answer is over.
func (s *Server) overSocket(w http.ResponseWriter, r *http.Request) (_ http.ResponseWriter, _ *http.Request, end func()) {
	if _, e := isWebSocket(r, eventsProtocol); e != nil {
		return w, r, func() {}
	}
	ctx, cancel := context.WithCancel(r.Context())
	c := &socket{ResponseWriter: w, ctx: ctx, cancel: cancel}
	c.r = r.WithContext(ctx)
	s.taken.Add(1)
	return c, c.r, func() {
		defer s.taken.Done()
		defer cancel()
		if c.ws == nil {
			return
		}
		status := websocket.StatusNormalClosure
		if r.Context().Err() != nil {
			status = websocket.StatusGoingAway
		}
		late := time.AfterFunc(leaveTime, func() { _ = c.ws.CloseNow() }) // a client need not answer
		defer late.Stop()
		_ = c.ws.Close(status, "")
	}
}

// A socket is an answer over a WebSocket, which is opened with the answer's first byte. Each write is a message of bytes.
type socket struct {
	http.ResponseWriter
	r      *http.Request
	ctx    context.Context
	cancel context.CancelFunc // when the client has gone
	ws     *websocket.Conn

	mu       sync.Mutex // guards the rest
	deadline time.Time  // of the next write
	stop     func()     // ends the one under way; nil: there is none
}

func (c *socket) Write(b []byte) (int, error) {
	if c.ws == nil {
		c.Header().Del("Content-Type") // that of the messages
		// Whether the page is ours the gate has seen to.
		ws, err := websocket.Accept(c.ResponseWriter, c.r, &websocket.AcceptOptions{Subprotocols: []string{eventsProtocol}, InsecureSkipVerify: true})
		if err != nil {
			return 0, err
		}
		c.ws = ws
		gone := ws.CloseRead(context.WithoutCancel(c.ctx)) // an end here is told with a close
		context.AfterFunc(gone, c.cancel)
	}
	c.mu.Lock()
	ctx, stop := context.WithDeadline(context.WithoutCancel(c.ctx), c.deadline)
	c.stop = stop
	c.mu.Unlock()
	err := c.ws.Write(ctx, websocket.MessageBinary, b)
	c.mu.Lock()
	c.stop = nil
	c.mu.Unlock()
	stop()
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

// FlushError does nothing: a message is sent whole.
func (c *socket) FlushError() error { return nil }

// SetReadDeadline does nothing: nothing is read.
func (c *socket) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline bounds the next write, and with a time that is over the one under way: it has leaveTime, since a message
// that is broken off takes the connection with it, and then the client isn't told that the stream has ended.
func (c *socket) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	if c.stop != nil && time.Until(t) <= 0 {
		time.AfterFunc(leaveTime, c.stop)
	}
	return nil
}
