package main

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

// A double stands for a supervisor, with a daemon that knows of it.
type double struct {
	t      *testing.T
	h      *home // where commands find both
	daemon *fake
	came   chan *caller

	mu      sync.Mutex // guards what follows
	path    string
	welcome func(ipc.Hello) any
	busy    bool // it doesn't notice that a client has sent all
	over    bool // the job has ended
	l       net.Listener
	call    []*caller
}

// A caller is a client that attached to a double.
type caller struct {
	*ipc.AttachConn
	t     *testing.T
	hello ipc.Hello
	got   chan received // what it sent afterwards; closed when it left
}

type received struct {
	typ  int
	body []byte
}

// newDouble is a supervisor of job #7, of 80 columns and 24 rows, whose callers type if they want to.
func newDouble(t *testing.T) *double {
	d := &double{t: t, came: make(chan *caller, 16)}
	v := job(7, pasar.Failed, pasar.CodeExit)
	v.Name = "train"
	d.daemon = newFake(t, verbs{
		ipc.VerbAttach: func(_ context.Context, c *ipc.Call) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.over {
				return c.Answer(ipc.AttachAnswer{Attempt: 1, State: pasar.Failed})
			}
			return c.Answer(ipc.AttachAnswer{Attempt: 1, Socket: d.path, State: pasar.Running})
		},
		ipc.VerbShow: func(_ context.Context, c *ipc.Call) error {
			return c.Answer(ipc.ViewAnswer{JSON: jobView(t, v)})
		},
		ipc.VerbWait: waits(t, v),
	}.handle)
	d.h = &home{t: t, dir: d.daemon.dir, env: d.daemon.env("TERM=xterm-256color", "LANG=C.UTF-8")}
	d.answers(func(h ipc.Hello) any {
		return &ipc.Welcome{Version: 2, Key: "7.1", State: ipc.AttemptRunning, Cols: 80, Rows: 24, Holder: h.Mode == ipc.ModeType}
	})
	path := filepath.Join(d.daemon.dir, "s.sock")
	l, err := ipc.ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	d.l, d.path = l, path
	d.mu.Unlock()
	go d.accept(l)
	t.Cleanup(d.die)
	return d
}

// answers says what HELLO is answered with: a Welcome, a RefusedFrame, nil for nothing, or an error to hang up. It is
// called with mu held.
func (d *double) answers(f func(ipc.Hello) any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.welcome = f
}

func (d *double) accept(l net.Listener) {
	for {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		c := &caller{AttachConn: ipc.NewAttachConn(nc), t: d.t, got: make(chan received, 1024)}
		d.mu.Lock()
		d.call = append(d.call, c)
		d.mu.Unlock()
		go d.serve(c)
	}
}

func (d *double) serve(c *caller) {
	defer close(c.got)
	_, body, err := c.Recv()
	if err != nil || ipc.DecodeBody(body, &c.hello) != nil {
		return
	}
	d.mu.Lock()
	answer := d.welcome(c.hello)
	d.mu.Unlock()
	switch w := answer.(type) {
	case *ipc.Welcome:
		if c.Send(ipc.AttachWelcome, w) != nil {
			return
		}
	case *ipc.RefusedFrame:
		_ = c.Send(ipc.AttachRefused, w)
		_ = c.Close()
		return
	case error:
		_ = c.Close()
		return
	}
	d.came <- c
	for {
		typ, body, err := c.Recv()
		if err != nil {
			d.mu.Lock()
			defer d.mu.Unlock()
			if !d.busy {
				_ = c.Close()
			}
			return
		}
		c.got <- received{typ, body}
	}
}

// die ends it as kill -9 does.
func (d *double) die() {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.l.Close()
	for _, c := range d.call {
		_ = c.Close()
	}
}

// next is the next caller.
func (d *double) next() *caller {
	d.t.Helper()
	select {
	case c := <-d.came:
		return c
	case <-time.After(20 * time.Second):
		d.t.Fatal("nobody attached")
	}
	return nil
}

func (c *caller) send(typ int, body any) {
	c.t.Helper()
	if err := c.Send(typ, body); err != nil && !errors.Is(err, net.ErrClosed) {
		c.t.Error(err)
	}
}

func (c *caller) screen(data string) {
	c.t.Helper()
	c.send(ipc.AttachSnap, &ipc.Snap{Cols: 80, Rows: 24, Data: []byte(data)})
}

func (c *caller) out(data string) { c.t.Helper(); c.send(ipc.AttachOut, &ipc.Out{Data: []byte(data)}) }

func (c *caller) exit(code int) {
	c.t.Helper()
	c.send(ipc.AttachExit, &ipc.ExitFrame{Exit: pasar.Exit{Code: code}})
}

// typed is what the client types until it is enough, or leaves.
func (c *caller) typed(enough int) string {
	c.t.Helper()
	late := time.After(20 * time.Second)
	var b []byte
	for len(b) < enough {
		select {
		case r, ok := <-c.got:
			if !ok {
				return string(b)
			}
			var in ipc.In
			if r.typ == ipc.AttachIn && ipc.DecodeBody(r.body, &in) == nil {
				b = append(b, in.Data...)
			}
		case <-late:
			c.t.Fatalf("it typed only %d of %d bytes", len(b), enough)
		}
	}
	return string(b)
}
