package web

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

// A double stands for the daemon: it answers each request with little, and counts them.
type double struct {
	mu    sync.Mutex // guards seen and last
	seen  map[ipc.Verb]int
	last  map[ipc.Verb][]byte // body of the last request
	reply map[ipc.Verb]ipc.Handler
}

func (d *double) calls(v ipc.Verb) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen[v]
}

func (d *double) serve(ctx context.Context, c *ipc.Call) error {
	d.mu.Lock()
	d.seen[c.Verb]++
	d.last[c.Verb] = c.Body
	d.mu.Unlock()
	if h := d.reply[c.Verb]; h != nil {
		return h(ctx, c)
	}
	switch c.Verb {
	case ipc.VerbSubmit, ipc.VerbRestart, ipc.VerbEdit:
		return c.Answer(ipc.SubmitAnswer{Job: 7, Jobs: []pasar.JobID{7}, View: []byte(`{"id":7}`)})
	case ipc.VerbBid:
		return c.Answer(ipc.JobOutcome{Job: 1, State: pasar.Queued, Sentence: "bid is 1500"})
	case ipc.VerbCancel, ipc.VerbHold, ipc.VerbRelease, ipc.VerbPause, ipc.VerbResume, ipc.VerbApprove, ipc.VerbReject:
		return c.Answer(ipc.JobsAnswer{Jobs: []ipc.JobOutcome{{Job: 1, State: pasar.Cancelled, Sentence: "done"}}})
	case ipc.VerbShow:
		return c.Answer(ipc.ViewAnswer{JSON: []byte(`{"id":1,"claim":{"kind":"slice","gpus":1,"mem":1073741824}}`)})
	}
	return c.Answer(ipc.ViewAnswer{JSON: []byte(`{"a":1}`)})
}

func nobody(context.Context) (*ipc.Client, error) {
	return nil, &ipc.Error{Code: ipc.CodeNoDaemon, Message: "no daemon"}
}

// newServer is a server in front of a double.
func newServer(t *testing.T) (*Server, *double) {
	t.Helper()
	d := &double{seen: map[ipc.Verb]int{}, last: map[ipc.Verb][]byte{}, reply: map[ipc.Verb]ipc.Handler{}}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	sock := filepath.Join(dir, "d.sock")
	l, err := ipc.ListenUnix(sock)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	uid := os.Geteuid()
	wg.Go(func() { _ = (&ipc.Server{Handler: d.serve, Log: log, Version: "test", UID: uid}).Serve(ctx, l) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	s, err := New(Options{
		Dial:      func(ctx context.Context) (*ipc.Client, error) { return ipc.Dial(ctx, sock) },
		Connect:   func(context.Context) (net.Conn, error) { return ipc.DialUnix(sock, time.Second) },
		Addresses: []string{"127.0.0.1:8750"}, Listen: []string{"127.0.0.1:8750"}, Hosts: []string{"box.lan"}, UID: uid, TokenFile: filepath.Join(dir, "token"),
		Now: time.Now, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, d
}

// bound decodes the body of the last request of a verb.
func (d *double) bound(t *testing.T, v ipc.Verb, into any) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := ipc.Decode(d.last[v], into); err != nil {
		t.Fatal(err)
	}
}
