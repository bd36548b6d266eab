package ipc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"sync"
	"syscall"
	"time"

	"pasar"
)

// A Client speaks to a daemon over one connection. Calls may be made from several goroutines.
type Client struct {
	DaemonVersion string
	DaemonPid     int

	conn net.Conn

	wmu sync.Mutex // guards the order of writes

	ended chan struct{} // closed when the connection has ended; err is set then

	mu    sync.Mutex // guards next, calls and err
	next  uint64
	calls map[uint64]chan reply
	err   error // why the connection ended
}

// maxReplies is how many frames of one call wait for their reader: a chunk is made, read and passed on at once, and one
// whose reader has stopped costs little.
const maxReplies = 4

type reply struct {
	typ  int
	body []byte
	err  *Error
}

// Dial connects to the daemon's socket and greets it. When nobody listens the error is an *Error with
// CodeNoDaemon.
func Dial(ctx context.Context, socket string) (*Client, error) {
	nc, err := DialUnix(socket, GreetTimeout)
	if err != nil {
		var e *Error
		if errors.As(err, &e) {
			return nil, e
		}
		if errors.Is(err, fs.ErrPermission) {
			return nil, &Error{Code: CodeNotAllowed, Message: fmt.Sprintf("connect to %s: %v", socket, cause(err)),
				Hint: "pasar serves one user; set PASAR_SOCKET to a socket of your own"}
		}
		return nil, &Error{Code: CodeNoDaemon, Message: fmt.Sprintf("no daemon at %s: %v", socket, cause(err)),
			Hint: "start one with `pasard`, or with any command when `autostart` is on"}
	}
	return NewClient(ctx, nc)
}

// NewClient greets a daemon at the other end of a connection, however that was made; the connection is the client's from
// then on, and closed if that fails. What reading or writing it fails with is told as it is if it has an *Error within.
func NewClient(ctx context.Context, nc net.Conn) (*Client, error) {
	c := &Client{conn: nc, ended: make(chan struct{}), calls: map[uint64]chan reply{}}
	r := bufio.NewReaderSize(nc, 64<<10)
	if err := c.greet(ctx, r); err != nil {
		_ = nc.Close()
		return nil, err
	}
	go c.read(r)
	return c, nil
}

func cause(err error) error {
	var en syscall.Errno
	if errors.As(err, &en) {
		return en
	}
	return err
}

func (c *Client) greet(ctx context.Context, r *bufio.Reader) error {
	deadline := time.Now().Add(GreetTimeout)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	if err := c.conn.SetDeadline(deadline); err != nil {
		return fmt.Errorf("greet daemon: %w", err)
	}
	// A server that refuses without listening has closed already; its reason can still be read.
	sent := c.send(typeHello, MinVersion, MaxVersion, pasar.Version)
	b, err := ReadFrame(r, MaxFrame)
	if err != nil {
		if sent != nil && !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrMalformed) {
			err = sent
		}
		return c.unmet(err)
	}
	var typ int
	if err := Unpack(b, &typ); err != nil {
		return c.unmet(err)
	}
	if typ == typeRefused {
		return decodeRefusal(b)
	}
	var version int
	if err := Unpack(b, &typ, &version, &c.DaemonVersion, &c.DaemonPid); err != nil || typ != typeWelcome {
		return c.unmet(fmt.Errorf("%w: no welcome", ErrMalformed))
	}
	return c.conn.SetDeadline(time.Time{})
}

func decodeRefusal(b []byte) *Error {
	var typ int
	var code string
	e := &Error{}
	if err := Unpack(b, &typ, &code, &e.Message, &e.Hint); err != nil {
		return &Error{Code: CodeInternal, Message: err.Error()}
	}
	e.Code = Code(code)
	return e
}

// An unmetError is that a daemon was connected to and not met: what it is told as, and why.
type unmetError struct{ told, why error }

func (u *unmetError) Error() string   { return u.told.Error() }
func (u *unmetError) Unwrap() []error { return []error{u.told, u.why} }

func (c *Client) unmet(err error) error { return &unmetError{c.lost(err), err} }

func (c *Client) lost(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return err // the connection itself knows more
	}
	return &Error{Code: CodeNoDaemon, Message: fmt.Sprintf("lost the daemon: %v", cause(err)),
		Hint: "it may be restarting; jobs go on without it"}
}

func (c *Client) send(parts ...any) error {
	b, err := AppendFrame(nil, MaxFrame, parts...)
	if err != nil {
		return err
	}
	c.wmu.Lock()
	defer c.wmu.Unlock()
	_, err = c.conn.Write(b)
	return err
}

// read hands replies to their calls until the connection ends.
func (c *Client) read(r *bufio.Reader) {
	for {
		b, err := ReadFrame(r, MaxFrame)
		if err != nil {
			c.end(c.lost(err))
			return
		}
		typ, id, body, ok := splitReply(b)
		if !ok {
			if err := Unpack(b, &typ); err != nil {
				c.end(c.lost(err))
				return
			}
		}
		rep := reply{typ: typ}
		switch typ {
		case typeRefused:
			c.end(decodeRefusal(b))
			return
		case typeChunk, typeAnswer:
			if rep.body = body; !ok {
				err = Unpack(b, &typ, &id, &rep.body)
			}
		case typeFault:
			var code string
			rep.err = &Error{}
			err = Unpack(b, &typ, &id, &code, &rep.err.Message, &rep.err.Hint)
			rep.err.Code = Code(code)
		default:
			continue // from a newer daemon
		}
		if err != nil {
			c.end(c.lost(err))
			return
		}
		c.mu.Lock()
		frames := c.calls[id]
		c.mu.Unlock()
		if frames == nil {
			continue // cancelled
		}
		select {
		case frames <- rep: // a slow reader of one stream holds up its own connection only
		case <-c.ended:
			return
		}
	}
}

func (c *Client) end(err error) {
	_ = c.conn.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.ended)
	}
}

// Close ends the connection; calls under way fail.
func (c *Client) Close() error {
	c.end(&Error{Code: CodeInterrupted, Message: "connection closed"})
	return nil
}

// Call makes one request: chunks of a stream go to each (which may be nil), the answer is decoded
// into answer (which may be nil). When ctx is done the request is cancelled at the daemon and ctx's
// cause returned. Errors from the daemon are *Error.
func (c *Client) Call(ctx context.Context, verb Verb, body, answer any, each func([]byte) error) error {
	raw, err := Encode(body)
	if err != nil {
		return fmt.Errorf("encode request %s: %w", verb, err)
	}
	frames := make(chan reply, maxReplies)
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return c.err
	}
	c.next++
	id := c.next
	c.calls[id] = frames
	c.mu.Unlock()
	if err := c.send(typeRequest, id, string(verb), raw); err != nil {
		c.forget(id, frames)
		if errors.Is(err, ErrTooLarge) {
			return &Error{Code: CodeOverLimit, Message: fmt.Sprintf("request %s: %v", verb, err)}
		}
		return c.lost(err)
	}
	for {
		var rep reply
		select {
		case <-ctx.Done():
			_ = c.send(typeCancel, id, "", []byte(nil))
			c.forget(id, frames)
			return context.Cause(ctx)
		case rep = <-frames:
		case <-c.ended:
			select {
			case rep = <-frames: // what came before the end counts
			default:
				c.mu.Lock()
				defer c.mu.Unlock()
				return c.err
			}
		}
		switch rep.typ {
		case typeChunk:
			if each == nil {
				continue
			}
			if err := each(rep.body); err != nil {
				_ = c.send(typeCancel, id, "", []byte(nil))
				c.forget(id, frames)
				return err
			}
		case typeFault:
			c.forget(id, frames)
			return rep.err
		case typeAnswer:
			c.forget(id, frames)
			if answer == nil {
				return nil
			}
			return Decode(rep.body, answer)
		}
	}
}

// forget ends a call. Frames that still come for it are dropped; emptying the channel lets go a
// reader that is just handing one over.
func (c *Client) forget(id uint64, frames chan reply) {
	c.mu.Lock()
	delete(c.calls, id)
	c.mu.Unlock()
	for {
		select {
		case <-frames:
		default:
			return
		}
	}
}
