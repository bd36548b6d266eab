package main

import (
	"bufio"
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pasar/ipc"
)

func TestTheDaemonIsToldApartFromWhatElseASocketCanBe(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T, socket string)
		want socketState
	}{
		{"nothing", func(*testing.T, string) {}, socketMissing},
		{"a file", func(t *testing.T, socket string) {
			if err := os.WriteFile(socket, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, socketNot},
		{"a dead daemon's", func(t *testing.T, socket string) { listenAt(t, socket).Close() }, socketStale},
		{"a daemon's", func(t *testing.T, socket string) {
			serveAt(t, socket, func(_ context.Context, c *ipc.Call) error {
				return c.Answer(ipc.ViewAnswer{JSON: []byte(`{"schema":1,"data_dir":"/data","problem":"disk full"}`)})
			})
		}, socketAnswers},
		{"a daemon's that tells nonsense", func(t *testing.T, socket string) {
			serveAt(t, socket, func(_ context.Context, c *ipc.Call) error { return c.Answer(ipc.ViewAnswer{JSON: []byte(`[`)}) })
		}, socketSilent},
		{"a daemon's whose owner loop hangs", func(t *testing.T, socket string) {
			serveAt(t, socket, func(ctx context.Context, c *ipc.Call) error { <-ctx.Done(); return nil })
		}, socketSilent},
		{"one that hangs up", func(t *testing.T, socket string) { acceptAt(t, socket, func(net.Conn) {}) }, socketSilent},
		{"one that refuses", func(t *testing.T, socket string) {
			acceptAt(t, socket, func(c net.Conn) {
				if _, err := ipc.ReadFrame(bufio.NewReader(c), ipc.MaxFrame); err != nil {
					return // the doctor tries whether somebody listens
				}
				const refused = 65
				b, err := ipc.AppendFrame(nil, ipc.MaxFrame, refused, string(ipc.CodeVersion), "you are too new", "")
				if err == nil {
					_, err = c.Write(b)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}, socketRefused},
	} {
		t.Run(c.name, func(t *testing.T) {
			socket := filepath.Join(shortDir(t), "s")
			c.make(t, socket)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond) // only the hanging one takes it
			defer cancel()
			if c.want == socketAnswers {
				ctx = t.Context()
			}
			seen := askDaemon(ctx, socket)
			if seen.state != c.want {
				t.Errorf("it is %+v; want state %d", seen, c.want)
			}
			if (seen.why == "") != (c.want == socketAnswers || c.want == socketMissing) {
				t.Errorf("why is %q", seen.why)
			}
			if c.want == socketAnswers && (seen.pid != os.Getpid() || seen.version != "7.8" || seen.status.DataDir != "/data" || *seen.status.Problem != "disk full") {
				t.Errorf("it says %+v", seen)
			}
		})
	}
}

func listenAt(t *testing.T, socket string) *net.UnixListener {
	t.Helper()
	l, err := ipc.ListenUnix(socket)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serveAt runs a daemon's server until the test ends.
func serveAt(t *testing.T, socket string, h ipc.Handler) {
	t.Helper()
	l := listenAt(t, socket)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		s := &ipc.Server{Handler: h, Log: slog.New(slog.DiscardHandler), Version: "7.8", UID: os.Geteuid()}
		done <- s.Serve(ctx, l)
	}()
	t.Cleanup(func() { stop(); <-done })
}

// acceptAt hands each connection to f and closes it.
func acceptAt(t *testing.T, socket string, f func(net.Conn)) {
	t.Helper()
	l := listenAt(t, socket)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f(c)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
}

func TestAProgramThatHangsIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "hangs")
	// The child keeps standard output open beyond the death of the program.
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho here\nsleep 20 &\nsleep 20\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	out, err := runProgram(ctx, program)
	if err != context.DeadlineExceeded || strings.TrimSpace(string(out)) != "here" {
		t.Errorf("it printed %q and ended with %v", out, err)
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("it was waited for %s", d)
	}
}

func TestAProgramThatIsAskedCannotReachTheDaemon(t *testing.T) {
	t.Setenv("PASAR_SOCKET", "/run/user/1/pasar/pasard.sock")
	out, err := runProgram(t.Context(), "/bin/sh", "-c", `echo "$PASAR_SOCKET"`)
	if err != nil || string(out) != "/dev/null/none\n" {
		t.Errorf("its socket is %q, %v", out, err)
	}
}

func TestAProgramsOutputIsBounded(t *testing.T) {
	out, err := runProgram(t.Context(), "/bin/sh", "-c", "head -c 1000000 /dev/zero")
	if err != nil || len(out) != 64<<10 {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}
