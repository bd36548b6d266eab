package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

// bin is where the real programs were built.
var bin string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "pasard-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	bin = dir
	build := exec.Command("go", "build", "-o", dir+"/", "pasar/cmd/pasard", "pasar/cmd/pasar-supervisor", "pasar/cmd/pasar")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// home is one user's pasar: directories of its own, and the daemon in them.
type home struct {
	t      testing.TB
	dir    string
	config string
	cmd    *exec.Cmd
	exited chan error
	log    *bytes.Buffer
}

// newHome makes the directories. At the test's end the daemon is killed and every job with it.
func newHome(t testing.TB) *home {
	t.Helper()
	dir, err := os.MkdirTemp("", "pasar") // short: socket paths
	if err != nil {
		t.Fatal(err)
	}
	h := &home{t: t, dir: dir, log: &bytes.Buffer{}}
	t.Cleanup(func() {
		if t.Failed() {
			h.tell()
		}
		h.kill()
		h.killJobs()
		if t.Failed() {
			t.Logf("pasard's log:\n%s", tail(h.log.String(), 4000))
		}
		_ = os.RemoveAll(dir)
	})
	return h
}

// tell logs the jobs of a home whose test failed.
func (h *home) tell() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c, err := ipc.Dial(ctx, h.socket())
	if err != nil {
		h.t.Logf("its daemon: %v", err)
		return
	}
	defer c.Close()
	err = c.List(ctx, ipc.ListRequest{}, func(b []byte) error { h.t.Logf("%s", tail(string(b), 4000)); return nil })
	if err != nil {
		h.t.Logf("its jobs: %v", err)
	}
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

func (h *home) env() []string {
	return append(os.Environ(), "HOME="+h.dir, "XDG_DATA_HOME="+h.dir+"/data", "XDG_CONFIG_HOME="+h.dir+"/config",
		"XDG_RUNTIME_DIR="+h.dir+"/run", "XDG_STATE_HOME="+h.dir+"/state", "PASAR_SOCKET=", "PASAR_CONFIG="+h.config, "PASAR_ADDRESS=off")
}

func (h *home) data() string   { return h.dir + "/data/pasar" }
func (h *home) socket() string { return h.data() + "/run/pasard.sock" }

// start runs pasard and waits until it answers.
func (h *home) start(args ...string) {
	h.t.Helper()
	h.spawn(args...)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c := h.dial(ctx)
	_ = c.Close()
}

func (h *home) spawn(args ...string) {
	h.t.Helper()
	h.spawnWith(func(*exec.Cmd) {}, args...)
}

// spawnWith is spawn of a command that is changed before it starts.
func (h *home) spawnWith(change func(*exec.Cmd), args ...string) {
	h.t.Helper()
	h.cmd = exec.Command(filepath.Join(bin, "pasard"), args...)
	h.cmd.Env = h.env()
	h.cmd.Stderr = h.log
	change(h.cmd)
	if err := h.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.exited = make(chan error, 1)
	go func(cmd *exec.Cmd, exited chan error) { exited <- cmd.Wait() }(h.cmd, h.exited)
}

// kill is kill -9.
func (h *home) kill() {
	if h.cmd != nil {
		_ = h.cmd.Process.Kill()
		<-h.exited
		h.cmd = nil
	}
}

// killJobs kills what the supervisors of this home run, by killing them.
func (h *home) killJobs() {
	for _, pid := range h.supervisors() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// supervisors are the pids of the supervisor processes of this home.
func (h *home) supervisors() []int {
	var pids []int
	cmdlines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range cmdlines {
		b, err := os.ReadFile(p)
		if err == nil && bytes.Contains(b, []byte("pasar-supervisor")) && bytes.Contains(b, []byte(h.dir)) {
			var pid int
			if _, err := fmt.Sscanf(p, "/proc/%d/", &pid); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// dial connects, waiting for a daemon that is starting.
func (h *home) dial(ctx context.Context) *ipc.Client {
	h.t.Helper()
	for {
		c, err := ipc.Dial(ctx, h.socket())
		if err == nil {
			return c
		}
		select {
		case <-ctx.Done():
			h.t.Fatalf("the daemon doesn't answer: %v\n%s", err, tail(h.log.String(), 2000))
		case <-time.After(5 * time.Millisecond): // a socket can't be waited for
		}
	}
}

// with makes one call, again on a new connection when the daemon dies in it, as clients do.
func (h *home) with(ctx context.Context, f func(*ipc.Client) error) error {
	for {
		c, err := ipc.Dial(ctx, h.socket())
		if err == nil {
			err = f(c)
			_ = c.Close()
		}
		var e *ipc.Error
		if errors.As(err, &e) && (e.Code == ipc.CodeNoDaemon || e.Code == ipc.CodeInterrupted) && ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(2 * time.Millisecond):
			}
			continue
		}
		return err
	}
}

func (h *home) submit(ctx context.Context, s pasar.Spec) (pasar.JobID, error) {
	r := ipc.SubmitRequest{Request: ipc.NewRequest(), Spec: s, Surroundings: pasar.Surroundings{
		Env: pasar.Args([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.dir}), Umask: 0o022,
	}}
	var a ipc.SubmitAnswer
	err := h.with(ctx, func(c *ipc.Client) (err error) { a, err = c.Submit(ctx, r); return err })
	return a.Job, err
}

// exitCode waits for a job's end; -1 when it has none.
func (h *home) exitCode(ctx context.Context, id pasar.JobID) int {
	h.t.Helper()
	code := -1
	err := h.with(ctx, func(c *ipc.Client) error {
		return c.Wait(ctx, ipc.WaitRequest{Jobs: []pasar.JobID{id}}, func(b []byte) error {
			var v pasar.JobView
			err := json.Unmarshal(b, &v)
			if n := len(v.Attempts); err == nil && n > 0 && v.Attempts[n-1].ExitCode != nil {
				code = *v.Attempts[n-1].ExitCode
			}
			return err
		})
	})
	if err != nil {
		h.t.Fatalf("wait for job %d: %v", id, err)
	}
	return code
}

// started waits until a job runs.
func (h *home) started(ctx context.Context, id pasar.JobID) {
	h.t.Helper()
	if err := h.with(ctx, func(c *ipc.Client) error {
		return c.Wait(ctx, ipc.WaitRequest{Jobs: []pasar.JobID{id}, Started: true}, func([]byte) error { return nil })
	}); err != nil {
		h.t.Fatalf("wait for the start of job %d: %v", id, err)
	}
}

func shell(script string) pasar.Spec {
	return pasar.Spec{Name: "sh", Argv: pasar.Args([]string{"/bin/sh", "-c", script}), Cwd: "/", Bid: 1000,
		Claim: pasar.Claim{Kind: pasar.NoGPU}, Grace: pasar.Duration(5 * time.Second)}
}

func longContext(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func lines(b []byte) []string { return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") }
