package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"pasar/daemon"
	"pasar/ipc"
)

// manager is the end of NOTIFY_SOCKET where systemd would listen.
type manager struct {
	t    *testing.T
	path string
	conn *net.UnixConn
}

func newManager(t *testing.T, dir string) *manager {
	t.Helper()
	m := &manager{t: t, path: filepath.Join(dir, "notify")}
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	m.conn = c
	return m
}

// await reads messages until one has the line, and returns all of that message.
func (m *manager) await(line string) string {
	m.t.Helper()
	buf := make([]byte, 4096)
	for {
		if err := m.conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			m.t.Fatal(err)
		}
		n, err := m.conn.Read(buf)
		if err != nil {
			m.t.Fatalf("no %s came: %v", line, err)
		}
		for l := range strings.Lines(string(buf[:n])) {
			if strings.HasPrefix(l, line) {
				return string(buf[:n])
			}
		}
	}
}

// spawnService runs pasard as systemd would: with a pid in its variables, which only the process
// itself knows, so a shell sets it.
func (h *home) spawnService(files []*os.File, vars ...string) {
	h.t.Helper()
	h.spawnWith(func(cmd *exec.Cmd) {
		script := `export LISTEN_PID=$$ WATCHDOG_PID=$$ SYSTEMD_EXEC_PID=$$; exec "$0"`
		cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", script, cmd.Path}
		cmd.Env = append(cmd.Env, vars...)
		cmd.ExtraFiles = files
	})
}

func TestTheServiceManagerIsToldHowTheDaemonIs(t *testing.T) {
	h := newHome(t)
	m := newManager(t, h.dir)
	h.spawnService(nil, "NOTIFY_SOCKET="+m.path, "WATCHDOG_USEC=20000", "INVOCATION_ID=abc")
	if got := m.await("READY=1"); !strings.Contains(got, "STATUS=0 jobs running, 0 waiting") {
		t.Errorf("at the start: %q", got)
	}
	c := h.dial(longContext(t, time.Minute))
	_ = c.Close() // it answers once it is ready
	m.await("WATCHDOG=1")
	m.await("WATCHDOG=1")
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", h.cmd.Process.Pid))
	if err != nil || !bytes.Contains(env, []byte("NOTIFY_SOCKET")) {
		t.Fatalf("the test did not set what it looks for: %v", err)
	}
	for _, pid := range h.supervisors() {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		for _, v := range serviceVars {
			if err == nil && bytes.Contains(env, []byte(v+"=")) {
				t.Errorf("supervisor %d was given %s", pid, v)
			}
		}
	}
	_ = h.cmd.Process.Signal(syscall.SIGHUP)
	if got := m.await("RELOADING=1"); !strings.Contains(got, "\nMONOTONIC_USEC=") {
		t.Errorf("a reload: %q", got)
	}
	m.await("READY=1")
	if _, err := h.submit(longContext(t, time.Minute), shell("exec sleep 300")); err != nil {
		t.Fatal(err)
	}
	m.await("STATUS=1 job running")
	_ = h.cmd.Process.Signal(syscall.SIGTERM)
	m.await("STOPPING=1")
	if err := <-h.exited; err != nil {
		t.Error(err)
	}
	h.cmd = nil
}

func TestADaemonThatAClientStartedSpeaksToNoServiceManager(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "/nowhere")
	t.Setenv("SYSTEMD_EXEC_PID", fmt.Sprint(os.Getpid()))
	log := slog.New(slog.DiscardHandler)
	if n := newNotifier(true, log); n.socket != "" {
		t.Error("it would, started by a client")
	}
	if n := newNotifier(false, log); n.socket == "" {
		t.Error("it would not, though it is the service")
	}
	t.Setenv("SYSTEMD_EXEC_PID", "1")
	if n := newNotifier(false, log); n.socket != "" {
		t.Error("it would, though it was started by the service and isn't it")
	}
}

// stuckServant answers until its loop is stuck.
type stuckServant struct {
	stuck chan struct{}
	beats int
}

func (s *stuckServant) Beat(ctx context.Context) error {
	select {
	case <-s.stuck:
		<-ctx.Done()
		return ctx.Err()
	default:
		s.beats++
		return nil
	}
}

func (s *stuckServant) Load() (daemon.Load, <-chan struct{}) { return daemon.Load{}, nil }

func TestTheWatchdogStarvesWhenTheLoopIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stuckServant{stuck: make(chan struct{})}
		n := &notifier{every: time.Minute, log: slog.New(slog.DiscardHandler)} // no socket: only the beats are looked at
		ctx, cancel := context.WithCancel(t.Context())
		go n.feed(ctx, s)
		time.Sleep(10*time.Minute + time.Second)
		synctest.Wait()
		if s.beats != 21 {
			t.Errorf("%d beats in ten minutes; want two a minute", s.beats)
		}
		close(s.stuck)
		time.Sleep(time.Hour)
		synctest.Wait()
		if s.beats != 21 {
			t.Errorf("a stuck loop was fed %d times", s.beats-21)
		}
		cancel()
		synctest.Wait()
	})
}

func TestWithoutAServiceManagerNothingWakesUp(t *testing.T) {
	n := newNotifier(true, slog.New(slog.DiscardHandler))
	s := &stuckServant{stuck: make(chan struct{})}
	n.run(t.Context(), s) // returns
	if s.beats != 0 {
		t.Error("the loop was asked")
	}
}

func TestTheSocketOfSystemdIsUsedAndKept(t *testing.T) {
	h := newHome(t)
	if err := os.MkdirAll(filepath.Dir(h.socket()), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := ipc.ListenUnix(h.socket())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	was := boundFile(h.socket())
	ctx := longContext(t, time.Minute)
	for range 2 { // the second takes it over from the first
		h.spawnService([]*os.File{f}, "LISTEN_FDS=1")
		c := h.dial(ctx)
		if c.DaemonPid != h.cmd.Process.Pid {
			t.Errorf("pid %d answers, not %d", c.DaemonPid, h.cmd.Process.Pid)
		}
		_ = c.Close()
		_ = h.cmd.Process.Signal(syscall.SIGTERM)
		if err := <-h.exited; err != nil {
			t.Errorf("%v\n%s", err, h.log)
		}
		h.cmd = nil
		if now := boundFile(h.socket()); now == nil || !os.SameFile(was, now) {
			t.Fatal("systemd's socket is gone")
		}
	}

	// A daemon that wasn't given it leaves it alone, and says who has it.
	code, said := h.runOnce()
	if l := refusal(t, code, exitRefused, said); !strings.Contains(l, "systemd listens at "+h.socket()) {
		t.Error(l)
	}
	if code, said := h.runOnce("--autostart"); code != 0 || !strings.HasPrefix(said, "pasard: systemd listens") {
		t.Errorf("started by a client: exit %d, %s", code, said)
	}

	// Once its name is gone it is of no use: the daemon makes one of its own, and takes it away.
	if err := os.Remove(h.socket()); err != nil {
		t.Fatal(err)
	}
	h.spawnService([]*os.File{f}, "LISTEN_FDS=1")
	_ = h.dial(ctx).Close()
	_ = h.cmd.Process.Signal(syscall.SIGTERM)
	<-h.exited
	h.cmd = nil
	if boundFile(h.socket()) != nil {
		t.Error("the daemon's own socket is left")
	}
}

func TestASocketFromSystemdThatIsNotRightIsRefused(t *testing.T) {
	h := newHome(t)
	run := filepath.Dir(h.socket())
	if err := os.MkdirAll(run, 0o700); err != nil {
		t.Fatal(err)
	}
	unixSocket := func(path string, typ int, listen bool) *os.File {
		_ = os.Remove(path)
		fd, err := unix.Socket(unix.AF_UNIX, typ, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if listen {
			if err := unix.Listen(fd, 5); err != nil {
				t.Fatal(err)
			}
		}
		return os.NewFile(uintptr(fd), path)
	}
	good := func() *os.File { return unixSocket(h.socket(), unix.SOCK_STREAM, true) }
	for _, c := range []struct {
		name, want string
		files      func() []*os.File
	}{
		{"a file", "it is no socket", func() []*os.File { f, _ := os.Open(os.DevNull); return []*os.File{f} }},
		{"a datagram socket", "it is not a stream socket", func() []*os.File { return []*os.File{unixSocket(h.socket(), unix.SOCK_DGRAM, false)} }},
		{"one that doesn't listen", "it does not listen", func() []*os.File { return []*os.File{unixSocket(h.socket(), unix.SOCK_STREAM, false)} }},
		{"an Internet socket", "it is not a Unix socket", func() []*os.File {
			l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
			if err != nil {
				t.Skip(err)
			}
			defer l.Close()
			f, _ := l.File()
			return []*os.File{f}
		}},
		{"another path", "but the configuration says " + h.socket(), func() []*os.File { return []*os.File{unixSocket(h.dir+"/s", unix.SOCK_STREAM, true)} }},
		{"two", "hands over 2 sockets", func() []*os.File { return []*os.File{unixSocket(h.dir+"/s", unix.SOCK_STREAM, true), good()} }},
		{"an open mode", "has mode 0666", func() []*os.File {
			f := good()
			if err := os.Chmod(h.socket(), 0o666); err != nil {
				t.Fatal(err)
			}
			return []*os.File{f}
		}},
		{"an open directory", "others can enter it", func() []*os.File {
			f := good()
			if err := os.Chmod(run, 0o755); err != nil {
				t.Fatal(err)
			}
			return []*os.File{f}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.Chmod(run, 0o700); err != nil {
				t.Fatal(err)
			}
			files := c.files()
			h.spawnService(files, fmt.Sprintf("LISTEN_FDS=%d", len(files)))
			for _, f := range files {
				_ = f.Close()
			}
			<-h.exited
			code, said := h.cmd.ProcessState.ExitCode(), h.log.String()
			h.cmd = nil
			h.log.Reset()
			if l := refusal(t, code, exitRefused, said); !strings.Contains(l, c.want) {
				t.Errorf("%s\nwant %s", l, c.want)
			}
		})
	}
}

func TestALineOfProcNetUnix(t *testing.T) {
	for line, want := range map[string]bool{
		"0000000000000000: 00000002 00000000 00010000 0001 01 25043 /run/p":   true,
		"0000000000000000: 00000003 00000000 00000000 0001 03 25043 /run/p":   false, // a connection
		"0000000000000000: 00000002 00000000 00010000 0001 01 25043 /run/p/q": false,
		"0000000000000000: 00000002 00000000 00010000 0001 01 25043 x /run/p": false,
		"0000000000000000: 00000002 00000000 00010000 0001 01 25043":          false,
		" /run/p": false,
		"":        false,
	} {
		if got := listensIn(line, "/run/p"); got != want {
			t.Errorf("%q: %t", line, got)
		}
	}
}

func TestLinesForTheJournalHaveAPriorityAndNoTime(t *testing.T) {
	var b bytes.Buffer
	log := newLog(&b, slog.LevelDebug, true).With("job", 7).WithGroup("g")
	log.Debug("d")
	log.Info("i", "time", "t")
	log.Warn("w")
	log.Error("e")
	const want = "<7>level=DEBUG msg=d job=7\n<6>level=INFO msg=i job=7 g.time=t\n<4>level=WARN msg=w job=7\n<3>level=ERROR msg=e job=7\n"
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	newLog(&b, slog.LevelInfo, false).Info("i")
	if !strings.HasPrefix(b.String(), "time=") {
		t.Errorf("elsewhere: %s", b.String())
	}
}

func TestTheJournalIsKnownByItsFile(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	var st syscall.Stat_t
	if err := syscall.Fstat(int(w.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	right := fmt.Sprintf("%d:%d", st.Dev, st.Ino)
	for stream, want := range map[string]bool{right: true, "": false, "1:2": false, right + "0": false} {
		if ownStream(stream, w) != want {
			t.Errorf("%q: %t", stream, !want)
		}
	}
}
