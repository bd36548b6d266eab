package main

import (
	"bufio"
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pasar/ipc"
)

func TestTheDaemonIsToldApartFromWhatElseASocketCanBe(t *testing.T) {
	asked := make(chan struct{})
	for _, c := range []struct {
		name  string
		make  func(t *testing.T, socket string)
		want  socketState
		asked chan struct{} // closed once nothing more will come
	}{
		{"nothing", func(*testing.T, string) {}, socketMissing, nil},
		{"a file", func(t *testing.T, socket string) {
			if err := os.WriteFile(socket, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, socketNot, nil},
		{"a dead daemon's", func(t *testing.T, socket string) { listenAt(t, socket).Close() }, socketStale, nil},
		{"a daemon's", func(t *testing.T, socket string) {
			serveAt(t, socket, func(_ context.Context, c *ipc.Call) error {
				if c.Verb == ipc.VerbWeb {
					return c.Answer(ipc.WebAnswer{URL: "http://127.0.0.1:8750", Addresses: []ipc.WebAddress{{Address: "127.0.0.1:8750"}, {Address: "[::1]:1", Why: "no"}}})
				}
				return c.Answer(ipc.ViewAnswer{JSON: []byte(`{"schema":1,"data_dir":"/data","problem":"disk full"}`)})
			})
		}, socketAnswers, nil},
		{"a daemon's that tells nonsense", func(t *testing.T, socket string) {
			serveAt(t, socket, func(_ context.Context, c *ipc.Call) error { return c.Answer(ipc.ViewAnswer{JSON: []byte(`[`)}) })
		}, socketSilent, nil},
		{"a daemon's whose owner loop hangs", func(t *testing.T, socket string) {
			serveAt(t, socket, func(ctx context.Context, c *ipc.Call) error { close(asked); <-ctx.Done(); return nil })
		}, socketSilent, asked},
		{"one that hangs up", func(t *testing.T, socket string) { acceptAt(t, socket, func(net.Conn) {}) }, socketSilent, nil},
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
		}, socketRefused, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			socket := filepath.Join(shortDir(t), "s")
			c.make(t, socket)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if c.asked != nil {
				go func() { <-c.asked; cancel() }()
			}
			seen := askDaemon(ctx, socket)
			if seen.state != c.want {
				t.Errorf("it is %+v; want state %d", seen, c.want)
			}
			if (seen.why == "") != (c.want == socketAnswers || c.want == socketMissing) {
				t.Errorf("why is %q", seen.why)
			}
			if c.want == socketAnswers && (seen.pid != os.Getpid() || seen.version != "7.8" || seen.web != "http://127.0.0.1:8750" || seen.noWeb != nil || len(seen.webs) != 2 || seen.webs[1].Why != "no" || seen.status.DataDir != "/data" || *seen.status.Problem != "disk full") {
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
	up := filepath.Join(t.TempDir(), "up")
	if err := unix.Mkfifo(up, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_, _ = os.ReadFile(up) // until the program is up
		cancel()
	}()
	start := time.Now()
	// A child that was left alive would keep standard output open.
	_, err := runProgram(ctx, "/bin/sh", "-c", `sleep 60 & : >"$0"; sleep 60`, up)
	if d := time.Since(start); err != context.Canceled || d > 30*time.Second {
		t.Errorf("it was waited for %s, and ended with %v", d, err)
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
