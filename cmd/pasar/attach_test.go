package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// A home is surroundings with a real daemon, which ends with the test.
type home struct {
	t   *testing.T
	dir string
	env []string
	bin string // where its pasar is; empty: with those that all tests share
}

func newHome(t *testing.T) *home {
	t.Helper()
	dir, err := os.MkdirTemp("", "pasar")
	if err != nil {
		t.Fatal(err)
	}
	h := &home{t: t, dir: dir, env: []string{"HOME=" + dir, "USER=ada", "LANG=C.UTF-8", "TERM=xterm", "PATH=" + bin + ":" + os.Getenv("PATH")}}
	t.Cleanup(func() {
		h.bin = "" // a test's own programs are gone by now
		h.pasar("cancel", "--now", "1-20")
		h.pasar("wait", "--timeout", "20s", "1-20")
		if out := h.pasar("shutdown"); !strings.Contains(out, "the daemon has ended") && !strings.Contains(out, "no daemon") {
			t.Errorf("a daemon may be left behind: %q", out)
		}
		_ = os.RemoveAll(dir)
	})
	return h
}

func (h *home) command(args ...string) *exec.Cmd {
	at := bin
	if h.bin != "" {
		at = h.bin
	}
	c := exec.Command(filepath.Join(at, "pasar"), args...)
	c.Env, c.Dir = h.env, h.dir
	return c
}

func (h *home) pasar(args ...string) string {
	out, _ := h.command(args...).CombinedOutput() // what it says is what tests look at
	return string(out)
}

// A session is a client on a terminal.
type session struct {
	t    *testing.T
	was  unix.Termios // the terminal's modes before the client
	cmd  *exec.Cmd
	tty  *os.File // the master
	side *os.File // the slave, kept to look at its modes

	mu   sync.Mutex // guards seen
	seen bytes.Buffer
	more chan struct{}
}

// onTerminal runs a client in a session of its own, whose terminal it has.
func (h *home) onTerminal(args ...string) *session {
	h.t.Helper()
	return h.onTerminalAs(&unix.SysProcAttr{Setsid: true, Setctty: true}, args...)
}

func (h *home) onTerminalAs(as *unix.SysProcAttr, args ...string) *session {
	h.t.Helper()
	tty, side, err := pty.Open()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 33, Cols: 111}); err != nil {
		h.t.Fatal(err)
	}
	s := &session{t: h.t, cmd: h.command(args...), tty: tty, side: side, more: make(chan struct{}, 1)}
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = side, side, side
	s.cmd.SysProcAttr = as
	s.was = s.modes()
	if err := s.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := tty.Read(b)
			s.mu.Lock()
			s.seen.Write(b[:n])
			s.mu.Unlock()
			select {
			case s.more <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	h.t.Cleanup(func() { _ = s.cmd.Process.Kill(); _ = tty.Close(); _ = side.Close() })
	return s
}

// expect waits until the terminal has shown text.
func (s *session) expect(text string) { s.t.Helper(); s.expectTimes(text, 1) }

// expectTimes waits until a text has appeared so many times.
func (s *session) expectTimes(text string, times int) {
	s.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		if strings.Count(s.text(), text) >= times {
			return
		}
		select {
		case <-s.more:
		case <-deadline:
			s.t.Fatalf("%q did not appear in %q", text, s.text())
		}
	}
}

func (s *session) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.String()
}

func (s *session) typing(keys string) {
	s.t.Helper()
	if _, err := s.tty.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) modes() unix.Termios {
	s.t.Helper()
	m, err := unix.IoctlGetTermios(int(s.side.Fd()), unix.TCGETS)
	if err != nil {
		s.t.Fatal(err)
	}
	return *m
}

// ended waits for the client and checks that the terminal is as it was.
func (s *session) ended(before unix.Termios, code int) {
	s.t.Helper()
	_ = s.cmd.Wait()
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.t.Errorf("exit %d, want %d; it showed %q", got, code, s.text())
	}
	if after := s.modes(); after != before {
		s.t.Errorf("terminal modes are %+v\nbefore: %+v", after, before)
	}
}

// talker is a job that speaks, listens, and waits for a gate.
func (h *home) talker() {
	h.t.Helper()
	if err := unix.Mkfifo(filepath.Join(h.dir, "gate"), 0o600); err != nil {
		h.t.Fatal(err)
	}
	out := h.pasar("submit", "--gpus", "0", "--name", "talk", `printf '\033]0;title\007'; echo ready; while read x; do echo "got <$x>"; test "$x" = end && break; done; exit 6`)
	if !strings.Contains(out, "submitted #1") {
		h.t.Fatal(out)
	}
	h.pasar("wait", "--for", "started", "1")
}

func TestWatchingLeavesByQAndCanTakeTheKeyboard(t *testing.T) {
	h := newHome(t)
	h.talker()
	s := h.onTerminal("attach")
	before := s.was
	s.expect("watching #1 talk; q leaves, i takes the keyboard")
	s.expect("ready")
	s.typing("x\r") // goes nowhere
	s.typing("q")
	s.ended(before, 0)
	s.expect("left; job #1 goes on")
	if strings.Contains(s.text(), "title") {
		t.Errorf("the title came through: %q", s.text())
	}

	s = h.onTerminal("attach", "1")
	before = s.was
	s.expect("ready")
	s.typing("i")
	s.expect("Ctrl-] then d leaves")
	s.typing("hello\r")
	s.expect("got <hello>")
	s.typing("\x1dd")
	s.ended(before, 0)
	s.expect("left; job #1 goes on")
	if out := h.pasar("logs", "1"); strings.Contains(out, "<x>") {
		t.Errorf("a watcher reached the job: %q", out)
	}
}

func TestTypingReachesTheJobAndItsEndIsTold(t *testing.T) {
	h := newHome(t)
	h.talker()
	s := h.onTerminal("attach", "-i", "1")
	before := s.was
	s.expect("ready")
	s.typing("a\x1d") // a lone prefix is typed after a second
	s.typing("\x1db\r")
	s.expect("b>")
	s.typing("end\r")
	s.expect("got <end>")
	s.ended(before, exitFailed)
	s.expect("#1 talk failed after")
	s.expect("code 6")
}

func TestTheJobsTerminalHasTheTypistsSize(t *testing.T) {
	h := newHome(t)
	const job = `import os, signal, sys
def size(*_): print("size %dx%d" % tuple(os.get_terminal_size()), flush=True)
signal.signal(signal.SIGWINCH, size)
print("ready", flush=True)
sys.stdin.readline()`
	h.pasar("submit", "--gpus", "0", "python3", "-c", job)
	h.pasar("wait", "--for", "started", "1")
	w := h.onTerminal("attach", "1") // a watcher's size is of no account
	w.expect("ready")
	s := h.onTerminal("attach", "-i", "1")
	before := s.was
	s.expect("size 111x33")
	if err := pty.Setsize(s.tty, &pty.Winsize{Rows: 22, Cols: 99}); err != nil {
		t.Fatal(err)
	}
	s.expect("size 99x22")
	s.typing("\r")
	s.ended(before, 0)
	s.expect("#1 python3 completed")
}

func TestHoweverAClientLeavesTheTerminalIsPutBack(t *testing.T) {
	h := newHome(t)
	h.talker()
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGINT} {
		s := h.onTerminal("attach", "-i", "--take", "1")
		before := s.was
		s.expect("ready")
		if err := s.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		s.ended(before, exitInterrupted)
		s.expect("\x1b[?7;25h")
		s.expect("\x1b[?1049l")
	}
	if out := h.pasar("show", "1"); !strings.Contains(out, "running") {
		t.Errorf("the job: %s", out)
	}
}

func TestTheKeyboardHasOneHolder(t *testing.T) {
	h := newHome(t)
	h.talker()
	a := h.onTerminal("attach", "-i", "1")
	a.expect("ready")
	b := h.onTerminal("attach", "-i", "1")
	before := b.was
	b.expect("holds the keyboard; q leaves, i takes it from there")
	b.expect("ready")
	b.typing("b\r")
	b.typing("q")
	b.ended(before, 0)
	c := h.onTerminal("attach", "-i", "--take", "1")
	c.expect("ready")
	a.expect("the keyboard was taken")
	a.expect("watching now: q leaves")
	c.typing("c\r")
	c.expect("got <c>")
	if strings.Contains(c.text(), "got <b>") {
		t.Errorf("who doesn't hold the keyboard typed: %q", c.text())
	}
	c.typing("\x1d")
	c.typing("d")
	c.expect("left; job #1 goes on")
	a.expect("nobody types any more; q leaves")
	a.typing("x") // a key for watching, not for the job
	a.expect("watching #1 talk")
	a.typing("i")
	a.expectTimes("attached to", 2)
	a.typing("a\r")
	a.expect("got <a>")
	if strings.Contains(a.text(), "got <xa>") {
		t.Errorf("a watcher's key reached the job: %q", a.text())
	}
	a.typing("\x1d")
	a.typing("d")
	a.expect("left; job #1 goes on")
}

func TestAloneOnATerminalPasarShowsTheMachineAndTheJobs(t *testing.T) {
	h := newHome(t)
	h.pasar("submit", "--gpus", "0", "--hold", "--name", "waits", "true")
	h.bin = t.TempDir() // where there is no console
	if err := os.CopyFS(h.bin, os.DirFS(bin)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(h.bin, "pasar-console")); err != nil {
		t.Fatal(err)
	}
	s := h.onTerminal()
	before := s.was
	for _, text := range []string{"1 queued", "pasard ", "NAME", "waits", "`pasar help` lists the commands"} {
		s.expect(text)
	}
	s.ended(before, 0)
}

func TestOnATerminalHelpFitsAndOffItIsAsWritten(t *testing.T) {
	h := newHome(t)
	for _, args := range [][]string{{"help"}, {"help", "submit"}, {"wait", "--help"}} {
		s := h.onTerminal(args...)
		_ = s.cmd.Wait()
		s.expect("Exit codes")
		for l := range strings.SplitSeq(s.text(), "\r\n") {
			if len([]rune(l)) > 111 {
				t.Errorf("%v: %q", args, l)
			}
		}
	}
	for _, c := range commands() {
		wide := commandHelp(c, prepared(c), terminal{})
		for _, width := range []int{60, 80} {
			text := commandHelp(c, prepared(c), terminal{is: true, width: width})
			if strings.Join(strings.Fields(text), " ") != strings.Join(strings.Fields(wide), " ") {
				t.Errorf("%s: other words at width %d", c.name, width)
			}
			for l := range strings.SplitSeq(text, "\n") {
				if len([]rune(l)) > width && len(strings.Fields(l)) > 1 && width == 80 {
					t.Errorf("%s at width %d: %q", c.name, width, l)
				}
			}
		}
	}
}

func TestAttachNeedsNoDaemon(t *testing.T) {
	h := newHome(t)
	h.talker()
	h.pasar("shutdown")
	if err := os.MkdirAll(filepath.Join(h.dir, ".config/pasar"), 0o700); err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(h.dir, ".config/pasar/config.toml")
	if err := os.WriteFile(conf, []byte("autostart = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := h.onTerminal("attach", "-i", "1")
	s.expect("ready")
	s.typing("alone\r")
	s.expect("got <alone>")
	s.typing("\x1dd")
	s.expect("left; job #1 goes on")
	if err := os.Remove(conf); err != nil {
		t.Fatal(err)
	}
}

func TestCtrlCLeavesAFollowedJobRunning(t *testing.T) {
	h := newHome(t)
	s := h.onTerminal("submit", "--gpus", "0", "--wait", "echo ready; read x")
	before := s.was
	s.expect("ready")
	s.typing("\x03")
	s.ended(before, exitInterrupted)
	s.expect("job #1 goes on")
	if out := h.pasar("show", "1"); !strings.Contains(out, "running") {
		t.Errorf("the job: %s", out)
	}
}

func TestATerminalGetsColoursAndNoWiderLines(t *testing.T) {
	h := newHome(t)
	h.pasar("submit", "--gpus", "0", "--hold", "--name", strings.Repeat("long", 40), "true")
	s := h.onTerminal("ls")
	s.expect("queued")
	_ = s.cmd.Wait()
	if !strings.Contains(s.text(), "\x1b[33mqueued") {
		t.Errorf("no colour in %q", s.text())
	}
	for l := range strings.SplitSeq(s.text(), "\r\n") {
		if n := len([]rune(strings.NewReplacer("\x1b[2m", "", "\x1b[33m", "", "\x1b[0m", "").Replace(l))); n > 111 {
			t.Errorf("%d columns: %q", n, l)
		}
	}
}

func TestAProgressBarIsSeenWhileItGrows(t *testing.T) {
	h := newHome(t)
	gates := []string{filepath.Join(h.dir, "a"), filepath.Join(h.dir, "b")} // one each: a reader could meet the writer before
	for _, g := range gates {
		if err := unix.Mkfifo(g, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := h.onTerminal("submit", "--gpus", "0", "--wait", `printf '\033]0;t\007 10%%\r'; read x < a; printf ' 20%%\r'; read x < b; printf '100%%\nend'`)
	for i, step := range []string{" 10%", "\r\x1b[K 20%", "100%\r\n"} {
		s.expect(step)
		if i < len(gates) {
			if err := os.WriteFile(gates[i], []byte("\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.expect("end\r\n") // once or, if its end came later, drawn over
	s.expect("completed")
	if strings.Contains(s.text(), "\x1b]") {
		t.Errorf("the title came through: %q", s.text())
	}
}

func TestALiveLineKeepsToOneRow(t *testing.T) {
	l := &liveLine{width: 11}
	l.add([]byte("done\nab\tcdefghijkl"))
	if got := l.line(); got != "ab    cde…" {
		t.Errorf("shows %q", got)
	}
	if got := l.line(); got != "" {
		t.Errorf("shows it again: %q", got)
	}
	l.add([]byte("\rxy"))
	if got := l.line(); got != "\r\x1b[Kxy    cde…" {
		t.Errorf("then %q", got)
	}
	l.add(bytes.Repeat([]byte("z"), 3*maxLive))
	if len(l.raw) > maxLive {
		t.Errorf("keeps %d bytes", len(l.raw))
	}
	l.add([]byte("\n"))
	if got := l.line() + l.back(); got != "\r\x1b[K" {
		t.Errorf("after its end %q", got)
	}
	if l.back() != "" {
		t.Error("taken back twice")
	}
}
