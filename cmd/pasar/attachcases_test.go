package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"pasar/ipc"
)

// sized is a session whose terminal has the double's size.
func (d *double) onTerminal(args ...string) *session {
	d.t.Helper()
	s := d.h.onTerminal(args...)
	if err := pty.Setsize(s.tty, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		d.t.Fatal(err)
	}
	return s
}

func TestWhatAScreenMustNotDoReachesNoTerminal(t *testing.T) {
	d := newDouble(t)
	s := d.onTerminal("attach", "-i", "7")
	c := d.next()
	const bad = "\x1b[?2026h\x1b]52;c;aGk=\a\x1b]52;c;?\a\x1b]0;title\a\x1b[c\x1b[>c\x1b[6n\x1b]11;?\a\x1bP+q\x1b\\\x1b[21t\x1b[3J\x1b[?3h\x05"
	c.screen(bad + "first")
	s.expect("first")
	c.out(bad + " second")
	s.expect("second")
	s.expect("\x1b[?1049h")
	c.out("third" + bad)
	s.expect("third")
	for _, no := range []string{"2026", "\x1b]", "\x1bP", "\x1b[c", "\x1b[>c", "\x1b[6n", "21t", "\x1b[3J", "\x1b[?3h", "\x05"} {
		if strings.Contains(s.text(), no) {
			t.Errorf("%q reached the terminal: %q", no, s.text())
		}
	}
	s.typing("\x1dd")
	if got := c.typed(1); got != "" {
		t.Errorf("the job was sent %q, which nobody typed", got)
	}
	s.expect("left; job #7 goes on")
}

func TestModesOfKeysAndMouseAreTheTypistsAndGoWithIt(t *testing.T) {
	d := newDouble(t)
	const on = "\x1b[?1002h\x1b[?1006h\x1b[?2004h\x1b[?1004h\x1b[?1h\x1b=\x1b[>5u"
	for range 2 { // also who comes back
		s := d.onTerminal("attach", "-i", "7")
		c := d.next()
		c.screen(on + "screen")
		s.expect("screen")
		for _, m := range []string{"\x1b[?1002h", "\x1b[?1006h", "\x1b[?2004h", "\x1b[?1004h", "\x1b[?1h", "\x1b=", "\x1b[>5u"} {
			s.expect(m)
		}
		c.out("\x1b[<u") // popped by the job
		s.expect("\x1b[=0;1u")
		c.send(ipc.AttachHolder, &ipc.HolderNote{Who: "process 9"}) // taken away: keys aren't the job's any more
		s.expect("was taken by process 9")
		s.expect("\x1b[?1002l")
		s.expect("\x1b[?2004l")
		s.typing("q")
		s.expect("left; job #7 goes on")
		text := s.text()
		off, end := strings.LastIndex(text, keysOff), strings.LastIndex(text, "\x1b[?1049l")
		if pop := strings.LastIndex(text, "\x1b[<u"); off < 0 || pop < 0 || end < pop || strings.Count(text, "\x1b[<u") != 1 {
			t.Errorf("it left %q", text)
		}
	}
	s := d.onTerminal("attach", "7")
	c := d.next()
	c.screen(on + "screen")
	s.expect("screen")
	c.out("more")
	s.expect("more")
	for _, m := range []string{"\x1b[?1002h", "\x1b[?2004h", "\x1b[>5u"} {
		if strings.Contains(s.text(), m) {
			t.Errorf("a watcher's terminal got %q", m)
		}
	}
}

func TestWatchingAndTypingLeaveByTheirKeys(t *testing.T) {
	d := newDouble(t)
	for keys, args := range map[string][]string{
		"q": {"7"}, "\x03": {"7"}, "\x04": {"7"}, "xyz\x1b[Aq": {"7"}, "\x1dd": {"-i", "7"}, "\x1b[93;5ud": {"-i", "7"},
		"\x02\x02": {"-i", "--detach-keys", "ctrl-b,ctrl-b", "7"},
	} {
		s := d.onTerminal(append([]string{"attach"}, args...)...)
		before := s.was
		c := d.next()
		c.screen("here")
		s.expect("here")
		s.typing(keys)
		s.ended(before, 0)
		if got := c.typed(1); got != "" {
			t.Errorf("%q reached the job as %q", keys, got)
		}
	}
	s := d.onTerminal("attach", "-i", "7")
	c := d.next()
	c.screen("here")
	s.expect("Ctrl-] then d leaves")
	s.typing("\x03q\x1d\x1d\x04")
	if got := c.typed(4); got != "\x03q\x1d\x04" {
		t.Errorf("the job got %q", got)
	}
}

func TestALargePasteArrivesWhole(t *testing.T) {
	d := newDouble(t)
	s := d.onTerminal("attach", "-i", "7")
	c := d.next()
	c.screen("here")
	s.expect("here")
	paste := "\x1b[200~" + strings.Repeat("0123456789abcde\r", 1<<16) + "\x1b[201~"
	go func() { _, _ = io.WriteString(s.tty, paste) }()
	if got := c.typed(len(paste)); got != paste {
		t.Errorf("%d bytes arrived of %d", len(got), len(paste))
	}
}

func TestTakingTheKeyboardFromSomebodyIsAskedFor(t *testing.T) {
	d := newDouble(t)
	d.answers(func(h ipc.Hello) any {
		return &ipc.Welcome{Version: 2, Key: "7.1", Cols: 80, Rows: 24, Who: "pr\x1b[31mocess 9", Holder: h.Take}
	})
	s := d.onTerminal("attach", "7")
	watching := d.next()
	watching.screen("screen")
	s.expect("q leaves, i takes the keyboard")
	s.typing("i")
	asked := d.next()
	s.expect(`pr\x1b[31mocess 9 holds the keyboard; i again takes it from there`)
	if asked.hello.Take || asked.typed(1) != "" {
		t.Error("it was taken unasked")
	}
	watching.out("still watching")
	s.expect("still watching")
	s.typing("i")
	c := d.next()
	c.screen("typing")
	s.expect("attached to #7 train")
	if !c.hello.Take || c.hello.Mode != ipc.ModeType || c.hello.Cols != 80 {
		t.Errorf("it said %+v", c.hello)
	}
	s.typing("hello")
	if got := c.typed(5); got != "hello" {
		t.Errorf("the job got %q", got)
	}
}

func TestTheEndOfTheJobIsTheEndOfTheStay(t *testing.T) {
	for _, tc := range []struct {
		name, says string
		before     func(*double)
		code       int
	}{
		{"with its verdict", "#7 train failed", func(*double) {}, exitFailed},
		{"by the supervisor's word", "pasar: #7 train ended with exit code 3; without a daemon nobody says why", func(d *double) { d.daemon.kill() }, exitFailed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := newDouble(t)
			s := d.onTerminal("attach", "-i", "7")
			before := s.was
			c := d.next()
			c.screen("\x1b[31mTraceback\x1b[m\r\n  last words")
			s.expect("last words")
			tc.before(d)
			c.exit(3)
			s.ended(before, tc.code)
			s.expect(tc.says)
			_, after, ok := strings.Cut(s.text(), "\x1b[?1049l")
			if !ok || !strings.Contains(after, "Traceback") || !strings.Contains(after, "  last words\x1b[m\r\n") {
				t.Errorf("the shell's screen shows %q", after)
			}
		})
	}
}

func TestASupervisorThatDiesIsTold(t *testing.T) {
	d := newDouble(t)
	s := d.onTerminal("attach", "-i", "7")
	before := s.was
	d.next().screen("screen")
	s.expect("screen")
	d.die()
	s.ended(before, exitRefused)
	s.expect("pasar: job #7: its supervisor closed the connection")
	s.expect("\x1b[?1049l")
}

func TestAConnectionThatWasLostIsMadeAgain(t *testing.T) {
	d := newDouble(t)
	s := d.onTerminal("attach", "7")
	c := d.next()
	c.screen("screen")
	s.expect("screen")
	time.AfterFunc(1100*time.Millisecond, func() { _ = c.Close() }) // it must have lasted a second
	d.next().screen("again")
	s.expect("again")
	s.typing("q")
	s.expect("left; job #7 goes on")
}

func TestASupervisorOfAnotherVersionIsTalkedToOrNamed(t *testing.T) {
	t.Run("older", func(t *testing.T) {
		d := newDouble(t)
		d.answers(func(ipc.Hello) any { return &ipc.Welcome{Version: 1, Key: "7.1", Cols: 80, Rows: 24} })
		s := d.onTerminal("attach", "7")
		c := d.next()
		if c.hello.Offset != -backlog-1 {
			t.Errorf("it asks for output from %d", c.hello.Offset)
		}
		c.out("\x1b[32mold\x1b[m\r\n")
		s.expect("old")
		s.typing("q")
		s.expect("left; job #7 goes on")
	})
	for name, tc := range map[string]struct {
		answer any
		says   string
		code   int
	}{
		"silent":  {nil, "pasar: the supervisor did not answer within a second", exitRefused},
		"too new": {&ipc.RefusedFrame{Code: ipc.CodeVersion, Message: "you are older than this supervisor; its job is unharmed"}, "pasar: you are older than this supervisor; its job is unharmed", exitRefused},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDouble(t)
			d.answers(func(ipc.Hello) any { return tc.answer })
			start := time.Now()
			s := d.onTerminal("attach", "7")
			before := s.was
			s.ended(before, tc.code)
			s.expect(tc.says)
			if took := time.Since(start); took > 15*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestWhoComesJustAsTheJobEndsIsToldThatItHas(t *testing.T) {
	d := newDouble(t)
	d.answers(func(ipc.Hello) any {
		d.over = true
		return io.EOF
	})
	s := d.onTerminal("attach", "7")
	before := s.was
	s.ended(before, exitRefused)
	s.expect("pasar: job #7 has ended (failed): it has no terminal any more")
	d.mu.Lock()
	d.over = false
	d.mu.Unlock()
	d.answers(func(ipc.Hello) any { return io.EOF })
	s = d.onTerminal("attach", "7")
	s.ended(before, exitRefused)
	s.expect("it may just have ended: `pasar show 7`")
}

func TestWithoutATerminalTheOutputIsFollowed(t *testing.T) {
	d := newDouble(t)
	cmd := d.h.command("attach", "7")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := d.next()
	if c.hello.Paint || c.hello.Offset != 0 {
		t.Errorf("it said %+v", c.hello)
	}
	c.out("\x1b[31mone\x1b[m\r\ntwo\x1b]0;t\a\r\n 10%\r 90%")
	c.exit(3)
	text, _ := io.ReadAll(out)
	_ = cmd.Wait()
	if string(text) != "one\ntwo\n 90%\n" && string(text) != "one\ntwo\n 90%" {
		t.Errorf("it wrote %q", text)
	}
	if got := errs.String(); !strings.HasPrefix(got, "pasar: standard output is no terminal: following its output") || !strings.Contains(got, "#7 train failed") || cmd.ProcessState.ExitCode() != exitFailed {
		t.Errorf("exit %d, it said %q", cmd.ProcessState.ExitCode(), got)
	}
}

func TestATerminalWithoutASizeFollows(t *testing.T) {
	d := newDouble(t)
	tty, side, err := pty.Open() // of no size
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	defer side.Close()
	cmd := d.h.command("attach", "7")
	cmd.Stdin, cmd.Stdout = side, side
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := d.next()
	c.exit(0)
	_ = cmd.Wait()
	if !strings.Contains(errs.String(), "this terminal has no size: following its output") || c.hello.Cols != 0 {
		t.Errorf("it said %q, and %+v", errs.String(), c.hello)
	}
}

// nobodyReads starts a client whose standard output is a pipe that nobody reads.
func nobodyReads(d *double) (*exec.Cmd, *caller, *os.File) {
	d.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	cmd := d.h.command("attach", "7")
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, d.next(), r
}

func TestAReaderThatReadsNothingKeepsNobody(t *testing.T) {
	d := newDouble(t)
	cmd, c, _ := nobodyReads(d)
	c.out("a line\r\n")
	c.exit(0)
	ends(t, cmd, "after the job's end")

	cmd, c, pipe := nobodyReads(d)
	go func() { // until it takes no more
		for c.Send(ipc.AttachOut, &ipc.Out{Data: bytes.Repeat([]byte("0123456789abcde\n"), 1<<10)}) == nil {
		}
	}()
	for n, deadline := 0, time.Now().Add(20*time.Second); n < 60<<10; { // all but the last page of what a pipe holds
		var err error
		if n, err = unix.IoctlGetInt(int(pipe.Fd()), unix.TIOCINQ); err != nil || time.Now().After(deadline) {
			t.Fatalf("%d bytes wait in the pipe, %v", n, err)
		}
	}
	_ = cmd.Process.Signal(unix.SIGINT)
	ends(t, cmd, "after Ctrl-C")
	_ = c.Close()
	if got := cmd.ProcessState.ExitCode(); got != exitInterrupted {
		t.Errorf("exit %d", got)
	}
}

func ends(t *testing.T, cmd *exec.Cmd, when string) {
	t.Helper()
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		_ = cmd.Process.Kill()
		t.Fatalf("it did not end %s", when)
	}
}

func TestASlowTerminalGetsTheScreenAsItIs(t *testing.T) {
	d := newDouble(t)
	tty, side, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	defer side.Close()
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	cmd := d.h.command("attach", "7")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = side, side, side
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	c := d.next()
	c.screen("screen")
	const each = 16 << 10
	for i := range 2000 { // 32 MiB, which the client takes though its terminal takes nothing
		c.out(strings.Repeat("old line\r\n", each/10))
		if i == 1999 {
			c.out("\x1b[2J\x1b[Hthe newest")
		}
	}
	seen, buf := 0, make([]byte, 1<<16)
	var tail []byte
	for !bytes.Contains(tail, []byte("the newest")) {
		n, err := tty.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		seen += n
		tail = append(tail[max(0, len(tail)-256):], buf[:n]...)
	}
	if seen > 4<<20 {
		t.Errorf("%d bytes were written to a terminal that is slow", seen)
	}
	_, _ = tty.WriteString("q")
	ends(t, cmd, "after q")
}

func TestAClosedTerminalLeavesTheJobAlone(t *testing.T) {
	h := newHome(t)
	h.talker()
	s := h.onTerminal("attach", "-i", "1")
	s.expect("ready")
	_ = s.side.Close()
	_ = s.tty.Close() // as when ssh drops: the client gets SIGHUP
	ends(t, s.cmd, "with its terminal")
	if out := h.pasar("show", "1"); !strings.Contains(out, "running") {
		t.Errorf("the job: %s", out)
	}
	s = h.onTerminal("attach", "-i", "1")
	s.expect("ready")
	s.typing("back\r")
	s.expect("got <back>")
}

func TestThreeInterruptsLeaveTheTerminalAsItWas(t *testing.T) {
	d := newDouble(t)
	s := d.onTerminal("attach", "-i", "7")
	before := s.was
	d.next().screen("screen")
	s.expect("screen")
	for range 3 {
		_ = s.cmd.Process.Signal(unix.SIGINT)
	}
	_ = s.cmd.Wait()
	if after := s.modes(); after != before {
		t.Errorf("terminal modes are %+v\nbefore: %+v", after, before)
	}
	s.expect("\x1b[?1049l")
}

func TestAPanicBesideLeavesTheTerminalAsItWas(t *testing.T) {
	rescued := false
	defer func() {
		if r := recover(); r != "beside" || !rescued {
			t.Errorf("recovered %v, terminal put back: %v", r, rescued)
		}
	}()
	func() {
		defer guarded(func() { rescued = true })
		panic("beside")
	}()
}

func TestAClientToldToSuspendGivesTheTerminalBackMeanwhile(t *testing.T) {
	d := newDouble(t)
	s := d.h.onTerminalAs(&unix.SysProcAttr{Setpgid: true}, "attach", "-i", "7") // as of a shell, which is there to wake it
	before := s.was
	c := d.next()
	c.screen("screen")
	s.expect("screen")
	_ = s.cmd.Process.Signal(unix.SIGTSTP)
	var ws unix.WaitStatus
	if _, err := unix.Wait4(s.cmd.Process.Pid, &ws, unix.WUNTRACED, nil); err != nil || !ws.Stopped() {
		t.Fatal(ws, err)
	}
	s.expect("\x1b[?1049l")
	if m := s.modes(); m != before {
		t.Errorf("terminal modes are %+v\nbefore: %+v", m, before)
	}
	_ = s.cmd.Process.Signal(unix.SIGCONT)
	c.out(" more")
	s.expect("more")
	s.typing("\x1dd")
	s.ended(before, 0)
}

func TestAClientThatNobodyWouldWakeIsNotStopped(t *testing.T) {
	d := newDouble(t)
	s := d.onTerminal("attach", "-i", "7")
	before := s.was
	c := d.next()
	c.screen("screen")
	s.expect("screen")
	_ = s.cmd.Process.Signal(unix.SIGTSTP)
	s.expectTimes("\x1b[?1049h", 2)
	c.out(" more")
	s.expect("more")
	s.typing("\x1dd")
	s.ended(before, 0)
}

func TestAClientThatWasStoppedPaintsAnew(t *testing.T) {
	d := newDouble(t)
	s := d.onTerminal("attach", "-i", "7")
	c := d.next()
	c.screen("\x1b[?1000hscreen")
	s.expect("screen")
	s.expect("\x1b[?1000h")
	_ = s.cmd.Process.Signal(unix.SIGSTOP)
	var ws unix.WaitStatus
	if _, err := unix.Wait4(s.cmd.Process.Pid, &ws, unix.WUNTRACED, nil); err != nil || !ws.Stopped() {
		t.Fatal(ws, err)
	}
	cooked := s.modes() // the shell gave the terminal its own modes and wrote over the screen
	cooked.Lflag |= unix.ICANON | unix.ECHO
	if err := unix.IoctlSetTermios(int(s.side.Fd()), unix.TCSETS, &cooked); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.seen.Reset()
	s.mu.Unlock()
	_ = s.cmd.Process.Signal(unix.SIGCONT)
	s.expect("\x1b[?1049h")
	s.expect("screen")
	s.expect("\x1b[?1000h")
	if m := s.modes(); m.Lflag&(unix.ICANON|unix.ECHO) != 0 {
		t.Errorf("the terminal isn't raw: %+v", m)
	}
	s.typing("x")
	if got := c.typed(1); got != "x" {
		t.Errorf("the job got %q", got)
	}
}

func TestAJobWithoutATerminalIsFollowedAndCannotBeTypedInto(t *testing.T) {
	d := newDouble(t)
	d.answers(func(h ipc.Hello) any { return &ipc.Welcome{Version: 2, Key: "7.1", NoPTY: true} })
	s := d.onTerminal("attach", "7")
	before := s.was
	_ = d.next() // which says so
	c := d.next()
	s.expect("pasar: job #7 has no terminal: following its output")
	c.out("plain\n")
	s.expect("plain\r\n")
	c.exit(3)
	s.ended(before, exitFailed)
	for _, args := range [][]string{{"attach", "-i", "7"}, {"send", "7", "x"}} {
		s := d.onTerminal(args...)
		before := s.was
		s.ended(before, exitRefused)
		s.expect("pasar: job #7 has no terminal, so there is nothing to type into")
	}
}

func TestHistoryStandsAboveTheScreen(t *testing.T) {
	h := newHome(t)
	m := newTmux(h)
	h.pasar("submit", "--gpus", "0", "--size", "80x24", "sh", "-c", "seq 5000; read x")
	h.pasar("wait", "--for", "started", "1")
	p := m.open("mine", 80, 24, "sh")
	p.keys("pasar attach --history 1000", "Enter")
	p.shows("5000")
	p.until("the greeting is gone", func() string {
		if strings.Contains(strings.Join(p.look(), "\n"), "watching") {
			return "it is there"
		}
		return ""
	})
	all := strings.Fields(m.do("capture-pane", "-p", "-S", "-", "-t", "mine"))
	first := -1
	for i, w := range all {
		if w == "3978" { // 23 lines are on the screen, with the cursor on a line of its own
			first = i
		}
	}
	if first < 0 {
		t.Fatalf("the history begins otherwise: %v", all[:min(30, len(all))])
	}
	for i, w := range all[first:] {
		if want := 3978 + i; w != strconv.Itoa(want) {
			t.Fatalf("after %d comes %s", want-1, w)
		}
	}
	if len(all[first:]) != 1023 {
		t.Errorf("%d lines", len(all[first:]))
	}
	p.keys("q")
	p.shows("left; job #1 goes on")
	if s := p.state(); !strings.Contains(s, calm) {
		t.Errorf("the terminal is left %q", s)
	}
}

func TestWhoOnlyReadsNeverTypes(t *testing.T) {
	d := newDouble(t)
	s := d.h.onTerminal("attach", "--read-only", "7")
	c := d.next()
	c.screen("a prompt")
	s.expect("watching #7 train; q leaves")
	s.typing("i")
	s.typing("iyes\r")
	s.typing("q")
	s.ended(s.was, 0)
	if c.hello.Mode != ipc.ModeWatch || strings.Contains(s.text(), "keyboard") {
		t.Errorf("it came to %s, and saw %q", c.hello.Mode, s.text())
	}
	if got := c.typed(1); got != "" {
		t.Errorf("it typed %q", got)
	}
}
