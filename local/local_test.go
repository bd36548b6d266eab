package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"pasar"
	"pasar/gpu"
	"pasar/target"
	"pasar/target/targettest"
)

// supervisorPath is the supervisor built for these tests.
var supervisorPath string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if order := os.Getenv(daemonEnv); order != "" {
		return daemon(order)
	}
	dir, err := os.MkdirTemp("", "pasar-local")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	supervisorPath = filepath.Join(dir, "pasar-supervisor")
	build := exec.Command("go", "build", "-o", supervisorPath, "pasar/cmd/pasar-supervisor")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the supervisor: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// A place is a data directory and what is opened on it.
type place struct {
	t    *testing.T
	data string
	run  string
}

func newPlace(t *testing.T) *place {
	p := &place{t: t, data: t.TempDir(), run: filepath.Join(t.TempDir(), "run")}
	t.Cleanup(p.leaveNothing)
	return p
}

func (p *place) options() Options {
	return Options{
		DataDir: p.data, RunDir: p.run, Supervisor: supervisorPath,
		Log:      slog.New(slog.NewTextHandler(testWriter{p.t}, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Discover: func(context.Context) ([]gpu.Device, error) { return nil, nil },
	}
}

// testWriter logs to a test.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Logf("%s", b)
	return len(b), nil
}

func (p *place) open(change ...func(*Options)) *Machine {
	p.t.Helper()
	o := p.options()
	for _, f := range change {
		f(&o)
	}
	m, err := New(o)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = m.Close() })
	return m
}

var errCrashed = errors.New("the daemon died here")

// abandon opens a Machine whose process dies, as far as can be had within one, at a step of its next
// launch: its connections are closed, and it does nothing more.
func (p *place) abandon(step string) (target.Target, <-chan struct{}) {
	m := p.open()
	dead := make(chan struct{})
	m.step = func(s string) error {
		if s != step {
			return nil
		}
		close(dead)
		return errCrashed
	}
	return m, dead
}

// leaveNothing ends whatever attempts a failed test left, and waits until no supervisor is left: each
// removes its socket when it leaves.
func (p *place) leaveNothing() {
	p.endAll()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		left, err := filepath.Glob(filepath.Join(p.run, "*.sock"))
		if err != nil || len(left) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			p.t.Errorf("supervisors stay: %v", left)
			return
		}
	}
}

func (p *place) endAll() {
	m, err := New(p.options())
	if err != nil {
		p.t.Error(err)
		return
	}
	defer m.Close()
	found, err := m.Find(context.Background())
	if err != nil {
		p.t.Log(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for _, o := range found {
		if o.Status != target.Ended && o.Status != target.Gone {
			if err := m.Signal(ctx, o.Handle, pasar.Stop{ID: "cleanup", Why: pasar.StopCancel, Now: true}); err != nil {
				p.t.Error(err)
			}
			if err := m.Watch(ctx, o.Handle, func(target.Observation) error { return nil }); err != nil {
				p.t.Error(err)
			}
		}
		if err := m.Acknowledge(ctx, o.Handle); err != nil {
			p.t.Error(err)
		}
	}
}

func TestThisMachineConforms(t *testing.T) {
	targettest.Conformance(t, func(t *testing.T) targettest.Harness {
		p := newPlace(t)
		return targettest.Harness{
			Open:    func() target.Target { return p.open() },
			Abandon: p.abandon,
			Steps:   []string{stepDir, stepSpec, stepSent, stepClaimed},
			Blind: func(m target.Target, h target.Handle) func() {
				// The claim can't be read: a directory is in its place.
				path := filepath.Join(p.data, jobsDir, h.Key.Job.String(), fmt.Sprint(h.Key.Attempt), pasar.ClaimFile)
				if err := os.Rename(path, path+".hidden"); err != nil {
					t.Fatal(err)
				}
				if err := os.Mkdir(path, 0o700); err != nil {
					t.Fatal(err)
				}
				return func() {
					if err := os.Remove(path); err != nil {
						t.Fatal(err)
					}
					if err := os.Rename(path+".hidden", path); err != nil {
						t.Fatal(err)
					}
				}
			},
		}
	})
}
