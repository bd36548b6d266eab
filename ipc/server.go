package ipc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"
)

// Handler answers one call. What it returns ends the call: nil with whatever Answer was given, or an
// error; an *Error crosses as it is, anything else as CodeInternal. The context ends when the client
// cancels or goes away, or the server shuts down.
type Handler func(ctx context.Context, c *Call) error

// A Call is one request under way.
type Call struct {
	Verb Verb
	Body []byte // msgpack; use Decode
	Peer Peer

	conn   *serverConn
	id     uint64
	answer []byte
}

// A Peer is who is at the other end.
type Peer struct {
	UID     int
	Version string // of the client
	Via     string // by which way it came, if not straight to the socket: ViaHTTP
}

// Bind decodes the call's body into v.
func (c *Call) Bind(v any) error {
	if err := Decode(c.Body, v); err != nil {
		return &Error{Code: CodeBadRequest, Message: fmt.Sprintf("request %s: %v", c.Verb, err)}
	}
	return nil
}

// Chunk sends one piece of a stream, as one frame: a little less than MaxFrame at most. It blocks while
// the client is slow; after WriteTimeout the connection is dropped and an error returned.
func (c *Call) Chunk(b []byte) error { return c.conn.send(typeChunk, c.id, b) }

// Turn waits until no other stream of this connection is making or sending a piece. A stream that makes
// large pieces holds its turn from before it makes one until it is sent, so that a client that asks for
// much and reads nothing costs the memory of one piece. The returned function ends the turn.
func (c *Call) Turn(ctx context.Context) (end func(), err error) {
	select {
	case c.conn.turn <- struct{}{}:
		return func() { <-c.conn.turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Answer sets what the call is answered when its handler returns nil; Empty if never called.
func (c *Call) Answer(v any) error {
	b, err := Encode(v)
	if err != nil {
		return fmt.Errorf("encode answer to %s: %w", c.Verb, err)
	}
	c.answer = b
	return nil
}

// A Server answers connections on the daemon's socket.
type Server struct {
	Handler Handler
	Log     *slog.Logger
	Version string // pasar's version, told to clients
	UID     int    // the only user id that may connect
}

// Serve accepts connections until ctx is done or the listener fails. It returns when every
// connection and call has ended.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	places := make(chan struct{}, MaxConnections)
	for {
		nc, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			if errors.Is(err, net.ErrClosed) {
				// Another listener took its place; the connections there are go on until ctx is done.
				<-ctx.Done()
				return err
			}
			// Out of descriptors, most likely: the connections there are go on.
			if ne, ok := err.(net.Error); ok && ne.Timeout() || isTemporary(err) {
				s.Log.Warn("accept", "error", err)
				select {
				case <-ctx.Done():
				case <-time.After(100 * time.Millisecond):
				}
				continue
			}
			return fmt.Errorf("accept: %w", err)
		}
		select {
		case places <- struct{}{}:
		default:
			refuse(nc, &Error{Code: CodeOverLimit, Message: fmt.Sprintf("the daemon has %d connections already", MaxConnections)})
			_ = nc.Close()
			continue
		}
		wg.Go(func() {
			defer func() { <-places }()
			s.serveConn(ctx, nc)
		})
	}
}

type serverConn struct {
	conn net.Conn
	turn chan struct{} // held by the one stream that is making its next piece

	mu  sync.Mutex // guards buf and the order of writes
	buf []byte
}

func (c *serverConn) send(parts ...any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, err := AppendFrame(c.buf[:0], MaxFrame, parts...)
	if err != nil {
		return err
	}
	c.buf = b
	if cap(c.buf) > 2*MaxChunk {
		c.buf = nil // one large answer doesn't cost memory for the life of the connection
	}
	if err := c.conn.SetWriteDeadline(time.Now().Add(WriteTimeout)); err != nil {
		return fmt.Errorf("send to client: %w", err)
	}
	if _, err := c.conn.Write(b); err != nil {
		_ = c.conn.Close()
		return fmt.Errorf("send to client: %w", err)
	}
	return nil
}

func refuse(nc net.Conn, e *Error) {
	c := &serverConn{conn: nc}
	_ = c.send(typeRefused, string(e.Code), e.Message, e.Hint)
}

// greet checks who connects and agrees on a version.
func (s *Server) greet(nc net.Conn, r *bufio.Reader) (Peer, error) {
	uid, err := PeerUID(nc)
	if err != nil {
		return Peer{}, err
	}
	if uid != s.UID {
		return Peer{}, &Error{Code: CodeNotAllowed, Message: fmt.Sprintf("this daemon serves uid %d only; you are uid %d", s.UID, uid)}
	}
	if err := nc.SetReadDeadline(time.Now().Add(GreetTimeout)); err != nil {
		return Peer{}, err
	}
	b, err := ReadFrame(r, MaxFrame)
	if err != nil {
		if errors.Is(err, ErrTooLarge) || errors.Is(err, ErrMalformed) {
			return Peer{}, &Error{Code: CodeBadRequest, Message: "not a pasar client: " + err.Error()}
		}
		return Peer{}, err
	}
	var typ, lo, hi int
	p := Peer{UID: uid}
	if err := Unpack(b, &typ, &lo, &hi, &p.Version, &p.Via); err != nil || typ != typeHello {
		return Peer{}, &Error{Code: CodeBadRequest, Message: "not a pasar client: no greeting"}
	}
	if hi < MinVersion || lo > MaxVersion {
		side, hint := "client", "use the `pasar` that belongs to this daemon"
		if lo > MaxVersion {
			side, hint = "daemon", "`pasar shutdown` with the old client, then run the new one; jobs go on meanwhile"
		}
		return Peer{}, &Error{Code: CodeVersion, Hint: hint, Message: fmt.Sprintf(
			"the %s is too old: pasar %s speaks protocol %d to %d, pasard %s speaks %d to %d",
			side, p.Version, lo, hi, s.Version, MinVersion, MaxVersion)}
	}
	return p, nc.SetReadDeadline(time.Time{})
}

func (s *Server) serveConn(ctx context.Context, nc net.Conn) {
	defer nc.Close()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { _ = nc.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel() // before Wait: the calls of a connection end with it

	r := bufio.NewReaderSize(nc, 4<<10)
	c := &serverConn{conn: nc, turn: make(chan struct{}, 1)}
	peer, err := s.greet(nc, r)
	if err != nil {
		var e *Error
		if errors.As(err, &e) {
			refuse(nc, e)
		}
		s.Log.Debug("refused a connection", "error", err)
		return
	}
	if err := c.send(typeWelcome, MaxVersion, s.Version, os.Getpid()); err != nil {
		return
	}
	calls := &callSet{under: map[uint64]context.CancelFunc{}}
	for {
		b, err := ReadFrame(r, MaxFrame)
		if err != nil {
			if !errors.Is(err, io.EOF) && ctx.Err() == nil {
				s.Log.Debug("connection ended", "error", err)
				// The reader can't find the next frame, so the connection ends, with a reason.
				if errors.Is(err, ErrTooLarge) || errors.Is(err, ErrMalformed) {
					refuse(nc, &Error{Code: CodeBadRequest, Message: err.Error()})
				}
			}
			return
		}
		var typ int
		var id uint64
		var verb string
		var body []byte
		if err := Unpack(b, &typ, &id, &verb, &body); err != nil {
			refuse(nc, &Error{Code: CodeBadRequest, Message: err.Error()})
			return
		}
		switch typ {
		case typeCancel:
			calls.cancel(id)
		case typeRequest:
			cctx, ccancel := context.WithCancel(ctx)
			if e := calls.add(id, ccancel); e != nil {
				ccancel()
				_ = c.send(typeFault, id, string(e.Code), e.Message, e.Hint)
				continue
			}
			call := &Call{Verb: Verb(verb), Body: body, Peer: peer, conn: c, id: id}
			wg.Go(func() {
				defer ccancel()
				err := s.run(cctx, call)
				calls.remove(id)
				s.finish(call, err)
			})
		}
	}
}

// run calls the handler; a panic in a request is that request's error.
func (s *Server) run(ctx context.Context, c *Call) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.Log.Error("panic in a request", "verb", c.Verb, "panic", p, "stack", string(debug.Stack()))
			err = &Error{Code: CodeInternal, Message: fmt.Sprintf("request %s: fault in pasard: %v", c.Verb, p)}
		}
	}()
	return s.Handler(ctx, c)
}

func (s *Server) finish(c *Call, err error) {
	if err == nil {
		if c.answer == nil {
			_ = c.Answer(Empty{})
		}
		if err = c.conn.send(typeAnswer, c.id, c.answer); err == nil || !errors.Is(err, ErrTooLarge) {
			return
		}
	}
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Code: CodeInternal, Message: err.Error()}
		if errors.Is(err, context.Canceled) {
			e = &Error{Code: CodeInterrupted, Message: "interrupted"}
		}
	}
	_ = c.conn.send(typeFault, c.id, string(e.Code), e.Message, e.Hint)
}

// callSet is the calls under way on one connection.
type callSet struct {
	mu    sync.Mutex // guards under
	under map[uint64]context.CancelFunc
}

func (cs *callSet) add(id uint64, cancel context.CancelFunc) *Error {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if _, dup := cs.under[id]; dup {
		return &Error{Code: CodeBadRequest, Message: fmt.Sprintf("request number %d is under way already", id)}
	}
	if len(cs.under) >= MaxConcurrent {
		return &Error{Code: CodeOverLimit, Message: fmt.Sprintf("%d requests are under way on this connection", MaxConcurrent)}
	}
	cs.under[id] = cancel
	return nil
}

func (cs *callSet) remove(id uint64) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.under, id)
}

func (cs *callSet) cancel(id uint64) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if f := cs.under[id]; f != nil {
		f()
	}
}
