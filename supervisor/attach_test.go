package supervisor_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

func (r *rig) cancel() pasar.ExitRecord {
	r.t.Helper()
	r.stop(pasar.Stop{ID: "end", Why: pasar.StopCancel, Now: true})
	return r.end()
}

// raw connects without a greeting.
func (r *rig) raw() *net.UnixConn {
	r.t.Helper()
	c, err := net.Dial("unix", r.holding().Socket)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return c.(*net.UnixConn)
}

func TestAGreetingIsAnsweredOrRefusedWithAReason(t *testing.T) {
	r := start(t, "sleep", "1000")
	good := ipc.Hello{Min: ipc.MinAttachVersion, Max: ipc.MaxAttachVersion, Mode: ipc.ModeWatch, Nonce: r.spec.Nonce}
	for _, c := range []struct {
		name   string
		typ    int
		change func(*ipc.Hello)
		code   ipc.Code
	}{
		{"good", ipc.AttachHello, func(*ipc.Hello) {}, ""},
		{"newer, but speaks ours", ipc.AttachHello, func(h *ipc.Hello) { h.Max = 99 }, ""},
		{"too new", ipc.AttachHello, func(h *ipc.Hello) { h.Min, h.Max = 98, 99 }, ipc.CodeVersion},
		{"too old", ipc.AttachHello, func(h *ipc.Hello) { h.Min, h.Max = 0, 0 }, ipc.CodeVersion},
		{"another attempt", ipc.AttachHello, func(h *ipc.Hello) { h.Nonce = "other" }, ipc.CodeUnknownJob},
		{"unknown mode", ipc.AttachHello, func(h *ipc.Hello) { h.Mode = "\x1bx" }, ipc.CodeUnsupported},
		{"no hello", ipc.AttachIn, func(*ipc.Hello) {}, ipc.CodeBadRequest},
	} {
		conn := ipc.NewAttachConn(r.raw())
		h := good
		c.change(&h)
		if err := conn.Send(c.typ, &h); err != nil {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(time.Second))
		typ, body, err := conn.Recv()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if c.code == "" {
			if typ != ipc.AttachWelcome {
				t.Errorf("%s: type %d", c.name, typ)
			}
			continue
		}
		var no ipc.RefusedFrame
		if typ != ipc.AttachRefused || ipc.DecodeBody(body, &no) != nil || no.Code != c.code || no.Message == "" || strings.Contains(no.Message, "\x1b") {
			t.Errorf("%s: type %d, %+v", c.name, typ, no)
		}
	}
	r.cancel()
}

func TestABadFrameEndsOnlyItsConnection(t *testing.T) {
	r := start(t, "sh", "-c", "echo up; read x; echo $x")
	watcher := r.attach(ipc.Hello{Mode: ipc.ModeType})
	frame := func(n uint32, body string) string { return string(binary.BigEndian.AppendUint32(nil, n)) + body }
	good := frame(0, "")
	if b, err := ipc.AppendFrame(nil, ipc.MaxAttachFrame, ipc.AttachHello, &ipc.Hello{Min: 1, Max: 1, Mode: ipc.ModeType}); err == nil {
		good = string(b)
	}
	if b, err := ipc.AppendFrame(nil, ipc.MaxAttachFrame, ipc.AttachHello, &ipc.Hello{Min: 1, Max: 1, Mode: ipc.ModeControl}); err == nil {
		good += string(b)
	}
	for _, bad := range []string{
		"", "GET / HTTP/1.1\r\n\r\n", frame(0xffffffff, ""), frame(65537, strings.Repeat("x", 65537)), frame(0, ""), frame(3, "ab"),
		frame(6, "\x92\x01\xdd\xff\xff\xff"), frame(6, "\x92\x01\xdf\xff\xff\xff"), frame(40, strings.Repeat("\x91", 40)), frame(1, "\xc1"),
		good + frame(2, "\x92\x02"), good + frame(3, "\x92\x02\x91"), good + frame(3, "\x92\x02\xa0"), good + frame(3, "\x92\x03\x93"),
		good + frame(3, "\x92\x08\xc3"), good + frame(4, "\x92\xcd\x7f\xff"),
	} {
		c := r.raw()
		_, _ = c.Write([]byte(bad))
		_ = c.CloseWrite()
		_ = c.SetReadDeadline(time.Now().Add(patience))
		if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	watcher.send(ipc.AttachIn, &ipc.In{Data: []byte("fine\n")})
	watcher.until("fine\r\nfine\r\n")
	r.end2(watcher)
}

func TestOnlyTheHolderOfTheKeyboardTypes(t *testing.T) {
	r := start(t, "sh", "-c", "stty -echo; echo up; while read x; do echo got $x; done")
	first := r.attach(ipc.Hello{Mode: ipc.ModeType})
	first.until("up\r\n")
	second := r.attach(ipc.Hello{Mode: ipc.ModeType, Offset: -1, Who: "a browser\x1b" + strings.Repeat("x", 1000)})
	watcher := r.attach(ipc.Hello{Mode: ipc.ModeWatch, Offset: -1})
	if !first.welcome.Holder || second.welcome.Holder || watcher.welcome.Holder {
		t.Fatal("the first typist must hold the keyboard, and nobody else")
	}
	watcher.send(ipc.AttachIn, &ipc.In{Data: []byte("watcher\n")})
	second.send(ipc.AttachIn, &ipc.In{Data: []byte("second\n")})
	second.send(ipc.AttachTake, &ipc.Note{})
	second.send(ipc.AttachIn, &ipc.In{Data: []byte("taken\n")})
	if got := second.until("got taken\r\n"); got != "got taken\r\n" {
		t.Errorf("the job got %q", got)
	}
	if n := len(second.holders); n == 0 || !second.holders[n-1].You {
		t.Errorf("who took it was told %+v", second.holders)
	}
	first.until("got taken\r\n")
	for len(first.holders) == 0 {
		first.next(io.Discard)
	}
	if h := first.holders[0]; h.You || !strings.HasPrefix(h.Who, `a browser\x1bx`) || len(h.Who) > 100 {
		t.Errorf("who lost it was told %+v", h)
	}
	// The holder leaves: the other typist has it, with what it types from then on.
	_ = second.conn.Close()
	for !first.holders[len(first.holders)-1].You {
		first.next(io.Discard)
	}
	first.send(ipc.AttachIn, &ipc.In{Data: []byte("again\n")})
	first.until("got again\r\n")
	_ = watcher.conn.Close()
	_ = first.conn.Close()
	r.cancel()
}

func TestTheTerminalHasTheHoldersSize(t *testing.T) {
	r := start(t, "sh", "-c", "trap 'echo size $(stty size)' WINCH; echo up; while :; do read x; done")
	holder := r.attach(ipc.Hello{Mode: ipc.ModeType})
	holder.until("up\r\n")
	other := r.attach(ipc.Hello{Mode: ipc.ModeType, Cols: 33, Rows: 11, Offset: -1})
	watcher := r.attach(ipc.Hello{Mode: ipc.ModeWatch, Cols: 44, Rows: 22, Offset: -1})
	watcher.send(ipc.AttachResize, &ipc.Size{Cols: 45, Rows: 23})
	other.send(ipc.AttachResize, &ipc.Size{Cols: 34, Rows: 12})
	for i := range 3 { // one change for the job
		holder.send(ipc.AttachResize, &ipc.Size{Cols: 80 + i, Rows: 24})
	}
	holder.send(ipc.AttachResize, &ipc.Size{}) // ignored
	if got := holder.until("\r\n"); got != "size 24 82\r\n" {
		t.Errorf("%q", got)
	}
	holder.send(ipc.AttachResize, &ipc.Size{Cols: 1 << 20, Rows: 1 << 20})
	if got := holder.until("\r\n"); got != "size 1000 2000\r\n" {
		t.Errorf("%q", got)
	}
	_ = holder.conn.Close() // the next typist's size counts at once
	if got := other.until("size 12 34\r\n"); !strings.HasSuffix(got, "size 12 34\r\n") {
		t.Errorf("%q", got)
	}
	if n := len(other.sizes); n == 0 || other.sizes[n-1].Cols != 34 || other.sizes[n-1].Rows != 12 {
		t.Errorf("it was told of %v", other.sizes)
	}
	_ = other.conn.Close()
	_ = watcher.conn.Close()
	r.cancel()
}

func TestALongPasteArrivesWhole(t *testing.T) {
	r := start(t, "sh", "-c", "stty raw -echo; echo up; head -c 1000000 | cksum")
	c := r.attach(ipc.Hello{Mode: ipc.ModeType})
	c.until("up\n")
	data := bytes.Repeat([]byte("0123456789abcdef\n"), 1_000_000/17+1)[:1_000_000]
	go func() {
		for p := data; len(p) > 0; {
			n := min(len(p), 30_000)
			if c.conn.Send(ipc.AttachIn, &ipc.In{Data: p[:n]}) != nil {
				return
			}
			p = p[n:]
		}
	}()
	var buf bytes.Buffer
	c.readAll(&buf)
	var sum, size int
	if n, err := fmt.Sscan(buf.String(), &sum, &size); n != 2 || size != len(data) {
		t.Errorf("%q: %v", buf.String(), err)
	}
	r.end()
}

func TestTypingThatTheJobDoesNotReadHoldsUpNobody(t *testing.T) {
	r := start(t, "sh", "-c", "stty raw -echo; echo up; exec sleep 1000")
	c := r.attach(ipc.Hello{Mode: ipc.ModeType})
	c.until("up\n")
	go func() {
		for c.conn.Send(ipc.AttachIn, &ipc.In{Data: make([]byte, 30_000)}) == nil {
		}
	}()
	other := r.attach(ipc.Hello{Mode: ipc.ModeWatch})
	other.until("up\n")
	_ = other.conn.Close()
	// What can't be written is waited for, not tried again and again.
	calm := false
	for range 10 {
		before := cpuOf(t, r.cmd.Process.Pid)
		<-time.After(200 * time.Millisecond)
		if calm = cpuOf(t, r.cmd.Process.Pid)-before < 20*time.Millisecond; calm {
			break
		}
	}
	if !calm {
		t.Error("the supervisor is busy though the job doesn't read")
	}
	r.stop(pasar.Stop{ID: "1", Now: true})
	r.wait(ipc.AttemptExited)
	_ = c.conn.Close()
	r.end()
}

func TestALineTooLongForTheTerminalIsNotLostInSilence(t *testing.T) {
	r := start(t, "sh", "-c", "stty -echo; echo up; read x; echo read ${#x}")
	c := r.attach(ipc.Hello{Mode: ipc.ModeType})
	c.until("up\r\n")
	c.send(ipc.AttachIn, &ipc.In{Data: bytes.Repeat([]byte("x"), 8000)})
	for len(c.notes) == 0 {
		c.next(io.Discard)
	}
	c.send(ipc.AttachIn, &ipc.In{Data: []byte("\n")})
	if got := c.until("\r\n"); got != "read 4095\r\n" || !strings.Contains(c.notes[0], "4095") {
		t.Errorf("%q, notes %q", got, c.notes)
	}
	r.end2(c)
}

func TestTheEndSaysHowMuchOfWhatWasTypedWasTaken(t *testing.T) {
	r := start(t, "sh", "-c", "stty -echo; echo up; read x; exec sleep 1000")
	c := r.attach(ipc.Hello{Mode: ipc.ModeType})
	other := r.attach(ipc.Hello{Mode: ipc.ModeType, Offset: -1})
	c.until("up\r\n")
	other.send(ipc.AttachIn, &ipc.In{Data: []byte("it doesn't hold the keyboard")})
	c.send(ipc.AttachIn, &ipc.In{Data: []byte("line\n")})
	c.send(ipc.AttachIn, &ipc.In{Data: []byte("\x03")})
	if e := c.readAll(io.Discard); e.Exit.Signal != 2 || e.Typed != 6 {
		t.Errorf("%+v", e)
	}
	if e := other.readAll(io.Discard); e.Typed != 0 {
		t.Errorf("of who typed nothing: %+v", e)
	}
	_ = other.conn.Close()
	_ = c.conn.Close()
	r.end()
}

func TestARemovedSocketComesBack(t *testing.T) {
	r := start(t, "sleep", "1000")
	path := r.holding().Socket
	before := r.attach(ipc.Hello{Mode: ipc.ModeWatch})
	answers := func() bool {
		c, _, err := dial(path, ipc.Hello{Mode: ipc.ModeWatch})
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}
	for _, remove := range []func() error{
		func() error { return os.Remove(path) },
		func() error { return os.Rename(path, path+".moved") },
		func() error { // renamed first, or the socket would be back before the directory is empty
			if err := os.Rename(r.run, r.run+".old"); err != nil {
				return err
			}
			return os.RemoveAll(r.run + ".old")
		},
		func() error { defer r.cmd.Process.Signal(syscall.SIGUSR1); return os.Remove(path) },
	} {
		if err := remove(); err != nil {
			t.Fatal(err)
		}
		eventually(t, patience, "it answers again", answers)
	}
	_ = before.conn.Close()
	_ = os.Remove(path + ".moved")
	r.cancel()
}

func TestAttachingLeavesNothingBehindInTheSupervisor(t *testing.T) {
	r := start(t, "sh", "-c", "echo up; exec sleep 1000")
	count := func(what string) int {
		d, err := os.ReadDir(fmt.Sprintf("/proc/%d/%s", r.cmd.Process.Pid, what))
		if err != nil {
			t.Fatal(err)
		}
		return len(d)
	}
	fds := count("fd")
	for i := range rounds(100, 1000) {
		mode := ipc.ModeWatch
		if i%3 == 0 {
			mode = ipc.ModeType
		}
		c := r.attach(ipc.Hello{Mode: mode})
		c.until("up\r\n")
		_ = c.conn.Close()
	}
	eventually(t, patience, "descriptors are closed", func() bool { return count("fd") <= fds })
	if n := count("task"); n > 16 {
		t.Errorf("%d threads", n)
	}
	r.cancel()
	if out := r.output(); out != "up\r\n" {
		t.Errorf("attaching changed the output: %q", out)
	}
}

func TestASecondDaemonTakesOverByTheSocket(t *testing.T) {
	r := start(t, "sh", "-c", "echo up; read x")
	_ = r.conn.Close() // the first daemon is gone
	conn, w, err := dial(r.holding().Socket, ipc.Hello{Mode: ipc.ModeControl, Nonce: r.spec.Nonce})
	if err != nil {
		t.Fatal(err)
	}
	r.control = conn
	t.Cleanup(func() { _ = conn.Close() })
	if st := r.next(); w.State != ipc.AttemptRunning || st.State != ipc.AttemptRunning || st.Pid == 0 || st.StartedAt == 0 {
		t.Errorf("welcome %+v, status %+v", w, st)
	}
	r.stop(pasar.Stop{ID: "x", Grace: pasar.Duration(time.Minute)})
	if rec := r.end(); rec.Exit.Signal != 15 {
		t.Errorf("%+v", rec)
	}
}

func TestFollowersGetEveryLineBeforeTheEnd(t *testing.T) {
	r := start(t, "sh", "-c", "read x; seq 10000; exit")
	cs := make([]*client, 5)
	for i := range cs {
		cs[i] = r.attach(ipc.Hello{Mode: ipc.ModeWatch})
	}
	typist := r.attach(ipc.Hello{Mode: ipc.ModeType})
	typist.send(ipc.AttachIn, &ipc.In{Data: []byte("\n")})
	for _, c := range append(cs, typist) {
		var buf bytes.Buffer
		e := c.readAll(&buf)
		if n := strings.Count(buf.String(), "\r\n"); n != 10001 || e.Offset != int64(buf.Len()) {
			t.Errorf("%d lines, %d bytes, exit at %d", n, buf.Len(), e.Offset)
		}
	}
	r.end()
}

func TestASocketRemovedBeforeTheLaunchIsBackWithIt(t *testing.T) {
	for _, remove := range []func(r *rig) error{
		func(r *rig) error {
			names, err := filepath.Glob(filepath.Join(r.run, "*.sock"))
			if err == nil && len(names) == 1 {
				err = os.Remove(names[0])
			}
			return err
		},
		func(r *rig) error { return os.RemoveAll(r.run) },
	} {
		r := warm(t)
		eventually(t, patience, "it listens", func() bool {
			names, _ := filepath.Glob(filepath.Join(r.run, "*.sock"))
			if len(names) != 1 {
				return false
			}
			c, err := net.Dial("unix", names[0])
			if err == nil {
				_ = c.Close()
			}
			return err == nil
		})
		if err := remove(r); err != nil {
			t.Fatal(err)
		}
		r.spec.Argv = pasar.Args([]string{"sleep", "1000"})
		r.launch()
		r.wait(ipc.AttemptRunning)
		c := r.attach(ipc.Hello{Mode: ipc.ModeWatch})
		_ = c.conn.Close()
		r.cancel()
	}
}
