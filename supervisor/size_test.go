package supervisor_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"pasar"
	"pasar/ipc"
)

// winch is a job that tells each change of its terminal's size.
const winch = `trap 'echo size $(stty size)' WINCH; echo up; while :; do read x && echo got $x; done`

func TestWhoJoinsOrWatchesChangesNoSize(t *testing.T) {
	r := start(t, "sh", "-c", winch)
	r.paint(ipc.Hello{Mode: ipc.ModeWatch}).sees("up")
	holder := r.attach(ipc.Hello{Mode: ipc.ModeType, Cols: 100, Rows: 30})
	holder.until("size 30 100\r\n")
	var others []*client
	for i := range 5 {
		w := r.attach(ipc.Hello{Mode: ipc.ModeWatch, Paint: i%2 == 0, Cols: 40 + i, Rows: 20 + i})
		for j := range 50 { // a storm
			w.send(ipc.AttachResize, &ipc.Size{Cols: 50 + j, Rows: 10 + j})
			w.send(ipc.AttachTake, &ipc.Note{})
			w.send(ipc.AttachSignal, &ipc.SignalFrame{Signal: ipc.SignalInterrupt})
		}
		typist := r.attach(ipc.Hello{Mode: ipc.ModeType, Offset: -1, Cols: 60 + i, Rows: 25 + i})
		typist.send(ipc.AttachResize, &ipc.Size{Cols: 70 + i, Rows: 26})
		typist.send(ipc.AttachSignal, &ipc.SignalFrame{Signal: ipc.SignalInterrupt})
		others = append(others, w, typist)
	}
	for _, hello := range []ipc.Hello{{Mode: ipc.ModeType, Take: true}, {Mode: ipc.ModeType, Take: true, Cols: 0, Rows: 50}} {
		c := r.attach(hello) // without a size
		_ = c.conn.Close()
	}
	for len(holder.holders) == 0 {
		holder.next(io.Discard)
	}
	holder.send(ipc.AttachTake, &ipc.Note{})
	for n := 0; n == 0 || !holder.holders[n-1].You; n = len(holder.holders) {
		holder.next(io.Discard)
	}
	// Only the last typist's size came, when the keyboard passed on to it, and the holder's own again.
	holder.send(ipc.AttachIn, &ipc.In{Data: []byte("x\n")})
	got := holder.until("got x\r\n")
	for _, line := range strings.Split(got, "\r\n") {
		if strings.HasPrefix(line, "size") && line != "size 30 100" && line != "size 26 74" {
			t.Errorf("the job was told %q", line)
		}
	}
	for _, c := range append(others, holder) {
		_ = c.conn.Close()
	}
	r.cancel()
}

func TestTheNextTypistsSizeCountsAtOnce(t *testing.T) {
	r := start(t, "sh", "-c", winch)
	r.paint(ipc.Hello{Mode: ipc.ModeWatch}).sees("up")
	ws := []*terminal{}
	for i := range 3 {
		ws = append(ws, r.paint(ipc.Hello{Mode: ipc.ModeType, Cols: 80 + i, Rows: 24 + i}))
	}
	ws[2].send(ipc.AttachTake, &ipc.Note{})
	ws[0].sees("size 26 82")
	_ = ws[2].conn.Close()
	ws[0].sees("size 25 81")
	ws[0].awake(func() bool { return len(ws[0].holders) > 1 })
	if h := ws[0].holders; h[0].You || !strings.Contains(h[0].Who, "process ") || h[1].You {
		t.Errorf("who lost the keyboard was told %+v", h)
	}
	_ = ws[1].conn.Close()
	ws[0].sees("size 24 80")
	ws[0].awake(func() bool { return ws[0].holders[len(ws[0].holders)-1].You })
	_ = ws[0].conn.Close()
	r.cancel()
}

func TestAScreenThatGrowsShowsWhatHadScrolledOffToAll(t *testing.T) {
	r := start(t, "sh", "-c", `i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo line $i; done; read x`)
	holder := r.paint(ipc.Hello{Mode: ipc.ModeType, Cols: 80, Rows: 24})
	watcher := r.paint(ipc.Hello{Mode: ipc.ModeWatch})
	for _, size := range []ipc.Size{{Cols: 80, Rows: 30}, {Cols: 100, Rows: 12}, {Cols: 90, Rows: 50}} {
		for _, w := range []*terminal{holder, watcher} {
			w.sees("line 60")
			w.screen.SetHistory(0) // as that of a client that keeps none
		}
		holder.send(ipc.AttachResize, &size)
		for _, w := range []*terminal{holder, watcher} {
			w.awake(func() bool { return strings.HasPrefix(w.text(), fmt.Sprint("line ", 62-size.Rows, "\n")) })
			if cols, rows := w.screen.Size(); cols != size.Cols || rows != size.Rows {
				t.Errorf("the screen is %d×%d", cols, rows)
			}
		}
	}
	_ = holder.conn.Close()
	r.cancel()
}

func TestSizeComesBeforeTheFirstByteThatIsWrittenForIt(t *testing.T) {
	r := start(t, "sh", "-c", `trap 'printf "\e[H\e[J%s" "$(stty size)"' WINCH; printf up; while :; do read x; done`)
	holder := r.paint(ipc.Hello{Mode: ipc.ModeType, Cols: 80, Rows: 24})
	watcher := r.paint(ipc.Hello{Mode: ipc.ModeWatch})
	follower := r.attach(ipc.Hello{Mode: ipc.ModeWatch})
	for i := range rounds(5, 200) {
		cols, rows := 40+i%40, 10+i%20
		holder.send(ipc.AttachResize, &ipc.Size{Cols: cols, Rows: rows})
		for _, w := range []*terminal{holder, watcher} {
			w.sees(fmt.Sprintf("%d %d", rows, cols))
			if c, r := w.screen.Size(); c != cols || r != rows {
				t.Fatalf("the screen is %dx%d when it is drawn for %dx%d", c, r, cols, rows)
			}
		}
		follower.until(fmt.Sprintf("%d %d", rows, cols))
		if s := follower.sizes[len(follower.sizes)-1]; s.Cols != cols || s.Rows != rows || s.Offset > follower.off {
			t.Fatalf("a follower was told %+v before what is drawn for %dx%d", s, cols, rows)
		}
	}
	late := r.paint(ipc.Hello{Mode: ipc.ModeWatch})
	late.awake(func() bool { return late.off == watcher.off }) // what it is shown first may be as old as the last size
	if got, want := picture(late.screen), picture(watcher.screen); got != want {
		t.Errorf("it shows\n%s\nnot\n%s", got, want)
	}
	if late.welcome.Who == "" || late.welcome.Holder {
		t.Errorf("it isn't told who holds the keyboard: %+v", late.welcome)
	}
	for _, c := range []*client{holder.client, watcher.client, follower, late.client} {
		_ = c.conn.Close()
	}
	r.cancel()
}

func TestAFewResizesInATrainAreOne(t *testing.T) {
	r := start(t, "sh", "-c", winch)
	c := r.attach(ipc.Hello{Mode: ipc.ModeType})
	c.until("up\r\n")
	for i := range 3 {
		c.send(ipc.AttachResize, &ipc.Size{Cols: 90 + i, Rows: 30})
	}
	c.until("size 30 92\r\n")
	c.send(ipc.AttachIn, &ipc.In{Data: []byte("x\n")})
	if got := c.until("got x\r\n"); strings.Contains(got, "size") || strings.Count(r.output(), "size") != 1 {
		t.Errorf("%q", r.output())
	}
	_ = c.conn.Close()
	r.cancel()
}

func TestReportsOfATerminalDoNotMoveTheKeyboard(t *testing.T) {
	r := sh(t, `stty raw -echo; printf up; exec cat`)
	a := r.attach(ipc.Hello{Mode: ipc.ModeType})
	a.until("up")
	b := r.attach(ipc.Hello{Mode: ipc.ModeType, Offset: -1})
	for _, report := range []string{"\x1b[I", "\x1b[O", "\x1b[<0;3;4M", "\x1b[?62c", "\x1b[5;1R", "\x1b[?1u", "\x1b]11;rgb:0/0/0\x1b\\", "typed"} {
		b.send(ipc.AttachIn, &ipc.In{Data: []byte(report)})
	}
	b.send(ipc.AttachSignal, &ipc.SignalFrame{Signal: ipc.SignalQuit})
	b.send(ipc.AttachRelease, &ipc.Note{})
	b.send(ipc.AttachResize, &ipc.Size{Cols: 10, Rows: 10})
	b.send(ipc.AttachDetach, &ipc.Note{})
	for { // it has all been read once the connection ends
		if _, _, err := b.conn.Recv(); err != nil {
			break
		}
	}
	a.send(ipc.AttachIn, &ipc.In{Data: []byte("mine")})
	if got := a.until("mine"); got != "mine" || len(a.holders) > 0 || len(a.sizes) > 0 {
		t.Errorf("%q, told %+v, %+v", got, a.holders, a.sizes)
	}
	_ = a.conn.Close()
	r.cancel()
}

func TestTheHolderSendsTheForegroundGroupASignal(t *testing.T) {
	r := sh(t, `set -m; stty raw -echo; trap : INT QUIT; echo shell; sh -c 'trap "echo int" INT; trap "echo quit; exit 3" QUIT; printf up; while :; do read x; done'; echo left $?`)
	c := r.attach(ipc.Hello{Mode: ipc.ModeType})
	c.until("up")
	c.send(ipc.AttachSignal, &ipc.SignalFrame{Signal: "KILL"})
	c.send(ipc.AttachSignal, &ipc.SignalFrame{Signal: ipc.SignalInterrupt})
	c.until("int\n")
	c.send(ipc.AttachSignal, &ipc.SignalFrame{Signal: ipc.SignalQuit})
	if got := c.until("left 3\n"); !strings.Contains(got, "quit") {
		t.Errorf("%q", got)
	}
	if rec := r.end2(c); rec.Typed == nil || rec.Typed.Key != pasar.KeyQuit {
		t.Errorf("typed: %+v", rec.Typed)
	}
}
