package supervisor_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pasar/ipc"
	"pasar/vt"
)

// A terminal is someone attached who sees the screen.
type terminal struct {
	*client
	screen  *vt.Screen
	painted int // paintings that were complete
	weight  int // bytes of the last one
	output  int // bytes of output
	partial []byte
	raw     []byte // of the last painting
}

// paint attaches and waits for the screen.
func (r *rig) paint(h ipc.Hello) *terminal {
	r.t.Helper()
	h.Paint = true
	w := &terminal{client: r.attach(h)}
	w.awake(func() bool { return w.painted > 0 })
	return w
}

// step takes one frame. It is true at the end.
func (w *terminal) step() (exit *ipc.ExitFrame) {
	w.t.Helper()
	_ = w.conn.SetReadDeadline(time.Now().Add(patience))
	typ, body, err := w.conn.Recv()
	if err != nil {
		w.t.Fatalf("attached: %v", err)
	}
	decode := func(v any) {
		w.t.Helper()
		if err := ipc.DecodeBody(body, v); err != nil {
			w.t.Fatal(err)
		}
	}
	switch typ {
	case ipc.AttachSnap:
		var s ipc.Snap
		decode(&s)
		w.partial = append(w.partial, s.Data...)
		if s.More {
			return nil
		}
		w.screen = vt.NewScreen(s.Cols, s.Rows)
		w.screen.SetHistory(4 << 20)
		w.screen.Answer(func(p []byte) { w.t.Errorf("the painting asks: %q", p) })
		_, _ = w.screen.Write(w.partial)
		w.screen.Answer(nil)
		w.weight, w.raw, w.partial = len(w.partial), w.partial, nil
		w.painted++
		w.off = s.Offset
	case ipc.AttachOut:
		var o ipc.Out
		decode(&o)
		if o.Offset != w.off || w.screen == nil {
			w.t.Fatalf("output at %d, expected %d", o.Offset, w.off)
		}
		w.off += int64(len(o.Data))
		w.output += len(o.Data)
		_, _ = w.screen.Write(o.Data)
	case ipc.AttachSkip:
		w.t.Error("a terminal is told of a gap")
	case ipc.AttachSize:
		var s ipc.Size
		decode(&s)
		w.sizes = append(w.sizes, s)
		if w.screen != nil {
			w.screen.Resize(s.Cols, s.Rows)
		}
	case ipc.AttachHolder:
		var h ipc.HolderNote
		decode(&h)
		w.holders = append(w.holders, h)
	case ipc.AttachNote:
		var n ipc.Note
		decode(&n)
		w.notes = append(w.notes, n.Text)
	case ipc.AttachExit:
		exit = new(ipc.ExitFrame)
		decode(exit)
	}
	return exit
}

// awake takes frames until something is so.
func (w *terminal) awake(so func() bool) {
	w.t.Helper()
	for !so() {
		if w.step() != nil {
			w.t.Fatalf("the job ended; the screen is %q", w.text())
		}
	}
}

// sees takes frames until the screen has some text.
func (w *terminal) sees(s string) {
	w.t.Helper()
	w.awake(func() bool { return strings.Contains(w.text(), s) })
}

// ended takes frames to the end.
func (w *terminal) ended() ipc.ExitFrame {
	w.t.Helper()
	for {
		if e := w.step(); e != nil {
			return *e
		}
	}
}

func (w *terminal) text() string {
	if w.screen == nil {
		return ""
	}
	return strings.TrimRight(strings.Join(w.screen.Rows(), "\n"), "\n")
}

// picture is all that a screen shows and remembers of the present.
func picture(s *vt.Screen) string {
	col, row, shown := s.Cursor()
	return fmt.Sprintf("%q\n%d %d %v\n%s", s.AppendSnapshot(nil), col, row, shown, strings.Join(s.Rows(), "\n"))
}

// replayed is the screen that a log makes.
func replayed(cols, rows int, log string) *vt.Screen {
	s := vt.NewScreen(cols, rows)
	_, _ = s.Write([]byte(log))
	return s
}

// history are the lines above the screen.
func (w *terminal) history() []string {
	b := string(w.screen.AppendHistory(nil, w.screen.History()))
	return strings.Split(strings.TrimSuffix(b, "\r\n"), "\r\n")
}

// shot asks for the screen as text.
func (r *rig) shot() ipc.ScreenFrame {
	r.t.Helper()
	c := r.attach(ipc.Hello{Mode: ipc.ModeScreen})
	defer c.conn.Close()
	var all ipc.ScreenFrame
	for {
		_ = c.conn.SetReadDeadline(time.Now().Add(patience))
		typ, body, err := c.conn.Recv()
		if err != nil {
			r.t.Fatal(err)
		}
		if typ != ipc.AttachScreen {
			r.t.Fatalf("frame type %d", typ)
		}
		var f ipc.ScreenFrame
		if err := ipc.DecodeBody(body, &f); err != nil {
			r.t.Fatal(err)
		}
		if f.Row != len(all.Lines) {
			r.t.Fatalf("row %d after %d rows", f.Row, len(all.Lines))
		}
		all.Lines, f.Lines = append(all.Lines, f.Lines...), nil
		lines := all.Lines
		all = f
		all.Lines = lines
		if !f.More {
			return all
		}
	}
}

// rows is a screen's text.
func rowsOf(f ipc.ScreenFrame) string { return strings.TrimRight(strings.Join(f.Lines, "\n"), "\n") }

// residentMost is the most that a supervisor may ever have had in memory, in KiB.
const residentMost = 16 << 10

// mustBeSmall fails if the supervisor was ever larger than it may be.
func (r *rig) mustBeSmall() {
	r.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	if err != nil {
		r.t.Fatal(err)
	}
	peak := 0
	if _, rest, ok := bytes.Cut(b, []byte("VmHWM:")); ok {
		_, _ = fmt.Sscan(string(rest), &peak)
	}
	r.t.Logf("largest resident size: %d KiB", peak)
	if len(buildFlags) == 0 && (peak == 0 || peak > residentMost) {
		r.t.Errorf("%d KiB were resident, at most %d may be", peak, residentMost)
	}
}

func sh(t testing.TB, script string) *rig {
	t.Helper()
	return start(t, "bash", "-c", script)
}
