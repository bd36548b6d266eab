package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
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

// runOnce runs pasard in a home where it must refuse, and returns its code and what it said.
func (h *home) runOnce(args ...string) (int, string) {
	h.t.Helper()
	ctx := longContext(h.t, 20*time.Second)
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "pasard"), args...)
	cmd.Env = h.env()
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		h.t.Fatalf("pasard did not end by itself: %v\n%s", err, &said)
	}
	return cmd.ProcessState.ExitCode(), said.String()
}

// refusal checks that there is one line and at most one hint, and returns the line.
func refusal(t *testing.T, code, want int, said string) string {
	t.Helper()
	var problems []string
	for _, l := range lines([]byte(said)) {
		if strings.HasPrefix(l, "pasard: ") {
			problems = append(problems, l)
		} else if !strings.HasPrefix(l, "hint: ") {
			t.Errorf("unexpected line: %s", l)
		}
	}
	if code != want || len(problems) != 1 {
		t.Fatalf("exit %d, want %d, and one line:\n%s", code, want, said)
	}
	return problems[0]
}

func TestASecondDaemonNamesTheFirst(t *testing.T) {
	h := newHome(t)
	h.start()
	code, said := h.runOnce()
	if l := refusal(t, code, exitRefused, said); !strings.Contains(l, fmt.Sprint(h.cmd.Process.Pid)) {
		t.Errorf("%s doesn't name pid %d", l, h.cmd.Process.Pid)
	}
	want := fmt.Sprintf("pasard: another pasard (pid %d) serves %s\n", h.cmd.Process.Pid, h.data())
	if code, said := h.runOnce("--autostart"); code != 0 || said != want {
		t.Errorf("the loser of a race exits %d and says %q, want %q", code, said, want)
	}
}

func TestDaemonsOfTwoHomesRunSideBySide(t *testing.T) {
	a, b := newHome(t), newHome(t)
	a.start()
	b.start()
	ctx := longContext(t, time.Minute)
	for _, h := range []*home{a, b} {
		mark := filepath.Join(h.dir, "mark")
		id, err := h.submit(ctx, shell("echo here > "+mark))
		if err != nil || id != 1 {
			t.Fatalf("submit: job %d, %v", id, err)
		}
		c := h.dial(ctx)
		if err := c.Wait(ctx, ipc.WaitRequest{Jobs: []pasar.JobID{id}}, func([]byte) error { return nil }); err != nil {
			t.Error(err)
		}
		_ = c.Close()
		if _, err := os.Stat(mark); err != nil {
			t.Error(err)
		}
	}
}

func TestADaemonNeverStartsOverWhatItCantRead(t *testing.T) {
	h := newHome(t)
	h.start()
	if _, err := h.submit(longContext(t, time.Minute), shell("exit 0")); err != nil {
		t.Fatal(err)
	}
	_ = h.cmd.Process.Signal(syscall.SIGTERM)
	<-h.exited
	h.cmd = nil
	db := filepath.Join(h.data(), "pasar.db")
	whole, err := os.ReadFile(db)
	if err != nil {
		t.Fatal(err)
	}
	newer := bytes.Clone(whole)
	binary.BigEndian.PutUint32(newer[60:], 999) // the schema version: sqlite.org/fileformat.html, offset 60
	for name, content := range map[string][]byte{
		"truncated":      whole[:len(whole)/2],
		"empty":          {},
		"not a database": bytes.Repeat([]byte("garbage "), 1000),
		"newer":          newer,
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(db, content, 0o600); err != nil {
				t.Fatal(err)
			}
			h.t = t
			code, said := h.runOnce()
			if l := refusal(t, code, exitRefused, said); !strings.Contains(l, "pasar.db") {
				t.Errorf("%s doesn't name the file", l)
			}
			if now, err := os.ReadFile(db); err != nil || !bytes.Equal(now, content) {
				t.Errorf("the file was changed (%v)", err)
			}
		})
	}
}

func TestBadConfigurationIsOneLine(t *testing.T) {
	h := newHome(t)
	h.config = filepath.Join(h.dir, "config.toml")
	if err := os.WriteFile(h.config, []byte("autostart = true\nmem_margn_min = \"2G\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, said := h.runOnce()
	l := refusal(t, code, exitInput, said)
	for _, want := range []string{"config.toml:2", "mem_margn_min", "mem_margin_min"} {
		if !strings.Contains(l, want) {
			t.Errorf("%s: no %s in it", l, want)
		}
	}
}

func TestASocketDirectoryOpenToOthersIsRefused(t *testing.T) {
	h := newHome(t)
	run := filepath.Join(h.data(), "run")
	if err := os.MkdirAll(run, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(run, 0o755); err != nil {
		t.Fatal(err)
	}
	code, said := h.runOnce()
	if l := refusal(t, code, exitRefused, said); !strings.Contains(l, "0700") {
		t.Errorf("%s doesn't say what mode is needed", l)
	}
}

func TestALongSocketPathWorks(t *testing.T) {
	h := newHome(t)
	h.dir = filepath.Join(h.dir, strings.Repeat("long", 20), strings.Repeat("path", 20))
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	h.start()
	ctx := longContext(t, time.Minute)
	id, err := h.submit(ctx, shell("exit 0"))
	if err != nil {
		t.Fatal(err)
	}
	c := h.dial(ctx)
	defer c.Close()
	if err := c.Wait(ctx, ipc.WaitRequest{Jobs: []pasar.JobID{id}}, func([]byte) error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestGarbageOnTheSocketHarmsNobody(t *testing.T) {
	h := newHome(t)
	h.start()
	ctx := longContext(t, time.Minute)
	for name, b := range map[string][]byte{
		"text":            []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
		"oversized frame": {0xff, 0xff, 0xff, 0xff, 0x91},
		"huge array":      {0, 0, 0, 5, 0xdd, 0xff, 0xff, 0xff, 0xff},
		"no greeting":     {0, 0, 0, 2, 0x91, 0x02},
		"half a frame":    {0, 0, 0, 9, 0x91},
		"random":          bytes.Repeat([]byte{0xc1, 0x00, 0x93, 0x7f}, 4096),
	} {
		c, err := net.Dial("unix", h.socket())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_ = c.(*net.UnixConn).CloseWrite()
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: the connection is not closed: %v", name, err)
		}
		_ = c.Close()
	}
	if _, err := h.submit(ctx, shell("exit 0")); err != nil {
		t.Errorf("after garbage: %v", err)
	}
}

func TestTheDaemonEndsItsOutputThoughSupervisorsLive(t *testing.T) {
	h := newHome(t)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	h.cmd = exec.Command(filepath.Join(bin, "pasard"))
	h.cmd.Env, h.cmd.Stdout, h.cmd.Stderr = h.env(), in, in
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	h.exited = make(chan error, 1)
	go func() { h.exited <- h.cmd.Wait() }()
	ctx := longContext(t, time.Minute)
	gate := filepath.Join(h.dir, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	id, err := h.submit(ctx, shell("read line < "+gate+"; exit 4"))
	if err != nil {
		t.Fatal(err)
	}
	h.started(ctx, id)
	_ = h.cmd.Process.Kill()
	_ = out.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Errorf("whoever reads the daemon's log waits for its jobs: %v", err)
	}
	<-h.exited
	h.cmd = nil
	openGate(ctx, t, gate) // the job lives: it is reading
	h.start()
	if got := h.exitCode(ctx, id); got != 4 {
		t.Errorf("exit code %d, want 4", got)
	}
}
