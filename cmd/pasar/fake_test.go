package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pasar"
	"pasar/ipc"
)

// A fake is a daemon that answers as a test says, and can be killed and started again.
type fake struct {
	t    *testing.T
	dir  string
	path string

	mu    sync.Mutex // guards what follows
	conns []net.Conn
	stop  func()
}

// newFake serves handler, in a home of its own.
func newFake(t *testing.T, handler ipc.Handler) *fake {
	t.Helper()
	dir, err := os.MkdirTemp("", "pasar")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	f := &fake{t: t, dir: dir, path: filepath.Join(dir, "d.sock")}
	f.start(handler)
	t.Cleanup(f.kill)
	return f
}

// Accept notes connections, so that kill can end them without a word.
type noting struct {
	net.Listener
	f *fake
}

func (n noting) Accept() (net.Conn, error) {
	c, err := n.Listener.Accept()
	if err == nil {
		n.f.mu.Lock()
		n.f.conns = append(n.f.conns, c)
		n.f.mu.Unlock()
	}
	return c, err
}

func (f *fake) start(handler ipc.Handler) {
	l, err := ipc.ListenUnix(f.path)
	if err != nil {
		f.t.Error(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	s := &ipc.Server{Handler: handler, Log: slog.New(slog.DiscardHandler), Version: pasar.Version, UID: os.Geteuid()}
	go func() {
		defer close(done)
		_ = s.Serve(ctx, noting{l, f})
	}()
	f.mu.Lock()
	f.stop = func() { cancel(); <-done }
	f.mu.Unlock()
}

// kill ends the daemon as kill -9 does: connections close in the middle of whatever there was.
func (f *fake) kill() {
	f.mu.Lock()
	conns, stop := f.conns, f.stop
	f.conns, f.stop = nil, nil
	f.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
	}
	if stop != nil {
		stop()
	}
}

// replace kills the daemon and starts another; it may be called from a handler, whose call never
// gets an answer.
func (f *fake) replace(handler ipc.Handler) {
	f.mu.Lock()
	conns := f.conns
	f.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
	}
	go func() {
		f.kill()
		f.start(handler)
	}()
}

// shutDown ends the daemon in order and starts another.
func (f *fake) shutDown(handler ipc.Handler) {
	go func() {
		f.mu.Lock()
		stop := f.stop
		f.conns, f.stop = nil, nil
		f.mu.Unlock()
		stop()
		f.start(handler)
	}()
}

func (f *fake) env(more ...string) []string {
	return append([]string{"HOME=" + f.dir, "PATH=/usr/bin:/bin", "PASAR_SOCKET=" + f.path}, more...)
}

// A result is what a command line came to.
type result struct {
	code        int
	out, stderr string
}

func (f *fake) run(args ...string) result { return runIn(f.t, context.Background(), f.env(), args...) }

func runIn(t *testing.T, ctx context.Context, env []string, args ...string) result {
	t.Helper()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var out, errs bytes.Buffer
	code := Run(ctx, args, env, null, &out, &errs)
	return result{code, out.String(), errs.String()}
}

// verbs dispatches to a handler by verb.
type verbs map[ipc.Verb]ipc.Handler

func (v verbs) handle(ctx context.Context, c *ipc.Call) error {
	h, ok := v[c.Verb]
	if !ok {
		return &ipc.Error{Code: ipc.CodeUnsupported, Message: "no " + string(c.Verb)}
	}
	return h(ctx, c)
}

// jobView is a job as JSON.
func jobView(t *testing.T, v pasar.JobView) []byte {
	t.Helper()
	v.Schema = pasar.Schema
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func bind[R any](t *testing.T, c *ipc.Call) R {
	var r R
	if err := c.Bind(&r); err != nil {
		t.Error(err)
	}
	return r
}

func oneLine(s string) bool { return strings.Count(s, "\n") == 1 && strings.HasSuffix(s, "\n") }
