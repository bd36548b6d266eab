package supervisor_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/vt"
)

func TestASecondTerminalHasTheModesThatWereSetLongBefore(t *testing.T) {
	r := sh(t, `printf '\e[?1049h\e[?2004h\e[?1004h\e[?1000h\e[?1006h\e[?1h\e=\e[>5u\e[?2026h\e[2;5r\e[3;4Hhere'; read x`)
	first := r.paint(ipc.Hello{Mode: ipc.ModeWatch})
	first.sees("here")
	_ = first.conn.Close()
	w := r.paint(ipc.Hello{Mode: ipc.ModeWatch})
	w.sees("here")
	want := vt.Modes{AppCursor: true, AppKeypad: true, Paste: true, Focus: true, Mouse: 1000, MouseEncoding: 1006, Keyboard: 5}
	if got := w.screen.Modes(); got != want || !w.screen.Alternate() {
		t.Errorf("%+v, alternate %v", got, w.screen.Alternate())
	}
	if bytes.Contains(w.raw, []byte("2026")) {
		t.Errorf("output that waits to be shown whole would never be: %q", w.raw)
	}
	if got, want := picture(w.screen), picture(replayed(w.welcome.Cols, w.welcome.Rows, r.output())); got != want {
		t.Errorf("it shows\n%s\nnot\n%s", got, want)
	}
	r.cancel()
}

// scribble draws for a while in all ways, and says so at the end.
const scribble = `stty -onlcr; for i in $(seq 1 300); do
printf '\e[%d;%dH\e[3%dm%d\e[m' $((i%40)) $((i*7%120)) $((i%8)) $i
case $((i%50)) in 7) printf '\e[5;20r';; 9) printf '\e[r';; 11) printf '\e[?1049h';; 23) printf '\e[?1049l';; 31) printf '\e7\e[2J';; 33) printf '\e8';;
41) for j in $(seq 1 100); do printf 'line %d\r\n' $j; done;; esac
if [ $i = 150 ]; then printf halfway; read x; fi; done; printf done`

func TestATerminalGoesOnAsIfItHadBeenThereAllTheTime(t *testing.T) {
	r := startWith(t, func(s *pasar.AttemptSpec) { s.Cols, s.Rows = 90, 30 }, "bash", "-c", scribble)
	ws := []*terminal{r.paint(ipc.Hello{Mode: ipc.ModeType})}
	ws[0].sees("halfway")
	for range 3 {
		ws = append(ws, r.paint(ipc.Hello{Mode: ipc.ModeWatch, Cols: 200, Rows: 100}))
	}
	ws[0].send(ipc.AttachIn, &ipc.In{Data: []byte("\n")})
	for i, w := range ws {
		w.ended()
		if got, want := picture(w.screen), picture(replayed(90, 30, r.output())); got != want {
			t.Errorf("terminal %d shows\n%s\nnot\n%s", i, got, want)
		}
	}
	late := r.paint(ipc.Hello{Mode: ipc.ModeWatch})
	late.ended()
	if got, want := picture(late.screen), picture(ws[0].screen); got != want {
		t.Errorf("who comes after the end sees\n%s\nnot\n%s", got, want)
	}
	r.end()
}

func TestHistoryIsAboveTheScreen(t *testing.T) {
	r := sh(t, `for i in $(seq 1 5000); do printf '\e[32mline %d\e[m of many\n' $i; done; read x`)
	first := r.paint(ipc.Hello{Mode: ipc.ModeWatch})
	first.sees("line 5000")
	_ = first.conn.Close()
	first = r.paint(ipc.Hello{Mode: ipc.ModeWatch})
	if n := first.screen.History(); n != 0 {
		t.Errorf("%d lines of history that nobody asked for", n)
	}
	for _, asked := range []int{1, 39, 1000, 4000, 100_000, 1 << 30} {
		for _, rows := range []int{0, 24, 60} {
			w := r.paint(ipc.Hello{Mode: ipc.ModeWatch, Cols: 120, Rows: rows, History: asked})
			if rows <= w.welcome.Rows {
				lines := w.history()
				above := 5000 - 39 // the last row of the screen is empty
				n := min(asked, above)
				if got := lines[len(lines)-1]; !strings.Contains(got, fmt.Sprintf("line %d\x1b[m of many", above)) {
					t.Errorf("asked for %d: the last is %q, not %d", asked, got, above)
				}
				if len(lines) != n || !strings.Contains(lines[0], fmt.Sprintf("line %d\x1b[m", above-n+1)) {
					t.Errorf("asked for %d: %d lines from %q on", asked, len(lines), lines[0])
				}
			}
			if got, want := picture(w.screen), picture(first.screen); got != want {
				t.Errorf("asked for %d: the screen is\n%s\nnot\n%s", asked, got, want)
			}
			_ = w.conn.Close()
		}
	}
	r.mustBeSmall()
	r.cancel()
}

func TestManyWhoAskForHistoryAndDoNotReadItTakeLittle(t *testing.T) {
	r := sh(t, `seq -f 'line %.0f of output that is of a usual length, more or less' 1 60000; printf done; read x`)
	eventually(t, patience, "all is written", func() bool { return strings.HasSuffix(r.output(), "done") })
	for range 100 {
		r.attach(ipc.Hello{Mode: ipc.ModeWatch, Paint: true, History: ipc.MaxHistory}) // and never reads
	}
	r.paint(ipc.Hello{Mode: ipc.ModeWatch, History: 100}).sees("done")
	r.mustBeSmall()
	r.stop(pasar.Stop{ID: "1", Now: true})
	r.wait(ipc.AttemptEnded)
}

func TestAPaintingIsOfBoundedWeight(t *testing.T) {
	r := sh(t, `for i in $(seq 1 40); do for j in $(seq 1 120); do printf '\e[38;2;%d;2;%d;48;2;9;%d;7mx' $((i*5)) $((j*2)) $((i+j)); done; done; printf '\e[H'; read x`)
	eventually(t, patience, "all is drawn", func() bool { return strings.HasSuffix(r.output(), "\x1b[H") })
	w := r.paint(ipc.Hello{Mode: ipc.ModeWatch})
	if w.weight > 256<<10 || !strings.HasPrefix(w.text(), strings.Repeat("x", 120)) {
		t.Errorf("%d bytes: %q", w.weight, w.text())
	}
	t.Logf("a screen with a colour of its own in each cell: %d bytes", w.weight)
	r.cancel()
}

func TestEndlessLinksAndLinesAreBounded(t *testing.T) {
	for name, script := range map[string]string{
		"links":     fmt.Sprintf(`awk 'BEGIN { for (i = 0; i < %d; i++) printf "\033]8;;http://example.com/%%d\033\\link %%d\033]8;;\033\\\r\n", i, i }'`, rounds(20_000, 100_000)),
		"yes":       `yes | head -c 4000000`,
		"long":      `head -c 1999 /dev/zero | tr '\0' x > $TMPDIR/line; echo >> $TMPDIR/line; for i in $(seq 1 60); do cat $TMPDIR/line $TMPDIR/line $TMPDIR/line $TMPDIR/line $TMPDIR/line $TMPDIR/line $TMPDIR/line $TMPDIR/line $TMPDIR/line $TMPDIR/line; done`,
		"one line":  `head -c 4000000 /dev/zero | tr '\0' x`,
		"a blinker": `awk 'BEGIN { for (i = 0; i < 100000; i++) printf "\033[5;9H%s\033[%dm#\033[m", "", 31 + i % 2 }'`,
		"colours":   `awk 'BEGIN { for (i = 0; i < 30000; i++) printf "\033[38;2;%d;%d;%dm#", i % 256, i / 256, i % 7 }'`,
	} {
		t.Run(name, func(t *testing.T) {
			r := startWith(t, func(s *pasar.AttemptSpec) {
				s.Surroundings.Env = append(s.Surroundings.Env, pasar.Arg("TMPDIR="+t.TempDir()))
			}, "bash", "-c", script+`; printf '\e[m\e[H\e[Jafterwards\n'; read x`)
			w := r.paint(ipc.Hello{Mode: ipc.ModeWatch})
			w.sees("afterwards")
			began := time.Now()
			again := r.paint(ipc.Hello{Mode: ipc.ModeWatch})
			t.Logf("attached in %s", time.Since(began))
			again.sees("afterwards")
			r.mustBeSmall()
			r.cancel()
		})
	}
}

func TestTextAppearsAfterStringsThatNeverEnd(t *testing.T) {
	r := sh(t, `printf 'Mounting \e[0;1;39mdev\e\u2026POSIX\r\n\e]0;never\e_ended\ePq'; head -c 70000 /dev/zero | tr '\0' y; echo; echo later; read x`)
	r.paint(ipc.Hello{Mode: ipc.ModeWatch}).sees("later")
	r.cancel()
}

func TestRandomBytesHarmNothing(t *testing.T) {
	r := sh(t, `head -c 2000000 /dev/urandom; printf '\ec'; echo all is well; read x`)
	w := r.paint(ipc.Hello{Mode: ipc.ModeType, Cols: 80, Rows: 24})
	w.sees("all is well")
	again := r.paint(ipc.Hello{Mode: ipc.ModeWatch})
	again.sees("all is well")
	r.mustBeSmall()
	r.cancel()
}

func TestATerminalThatSleptSeesThePresent(t *testing.T) {
	r := sh(t, `read x; seq 1 600000; echo up to date; read x`)
	w := r.paint(ipc.Hello{Mode: ipc.ModeType})
	w.send(ipc.AttachIn, &ipc.In{Data: []byte("\n")})
	eventually(t, patience, "all is written", func() bool { return strings.HasSuffix(r.shotText(), "up to date") })
	began := time.Now()
	w.sees("up to date")
	if w.painted < 2 || w.output > 2<<20 {
		t.Errorf("%d paintings and %d bytes of output, of which it slept through nearly all", w.painted, w.output)
	}
	t.Logf("up to date in %s", time.Since(began))
	_ = w.conn.Close()
	r.cancel()
}

func (r *rig) shotText() string { return rowsOf(r.shot()) }

func TestTheScreenCanBeHadAsText(t *testing.T) {
	r := sh(t, `printf '\e]2;a title\a\e[?1049h\e[2;3Hx\e[?25l\u4e16'; read x; printf '\e[?1049l'; echo bye`)
	eventually(t, patience, "it is drawn", func() bool { return r.shot().Title != "" })
	f := r.shot()
	if rowsOf(f) != "\n  x世" || len(f.Lines) != 40 || f.Cols != 120 || f.Rows != 40 || !f.Alternate || f.CursorShown || f.CursorCol != 5 || f.CursorRow != 1 || f.Title != "a title" || f.Offset != int64(len(r.output())) {
		t.Errorf("%+v", f)
	}
	c := r.attach(ipc.Hello{Mode: ipc.ModeType})
	c.send(ipc.AttachIn, &ipc.In{Data: []byte("\n")})
	var rest bytes.Buffer
	c.readAll(&rest)
	_ = c.conn.Close()
	if got := r.shotText(); got != "bye" && !strings.HasSuffix(got, "\nbye") {
		t.Errorf("after the end: %q", got)
	}
	r.end()
}

func TestAScreenOfTheLargestSizeCanBeHadAsText(t *testing.T) {
	r := startWith(t, func(s *pasar.AttemptSpec) { s.Cols, s.Rows = 2000, 200 }, "bash", "-c",
		`for i in $(seq 1 200); do head -c 1990 /dev/zero | tr '\0' x; [ $i = 200 ] || echo; done; read x`)
	eventually(t, patience, "it is drawn", func() bool { return len(rowsOf(r.shot())) == 200*1991-1 })
	w := r.paint(ipc.Hello{Mode: ipc.ModeWatch})
	if len(w.text()) != 200*1991-1 {
		t.Errorf("%d bytes of text are painted", len(w.text()))
	}
	r.cancel()
}

func TestAJobWithoutATerminalIsFollowedAndCannotBeTypedAt(t *testing.T) {
	r := startWith(t, func(s *pasar.AttemptSpec) { s.NoPTY = true }, "bash", "-c", `for i in $(seq 1 100); do echo $i; done; exec sleep 1000`)
	for _, mode := range []ipc.AttachMode{ipc.ModeType, ipc.ModeScreen} {
		_, _, err := dial(r.holding().Socket, ipc.Hello{Mode: mode, Paint: true, Nonce: r.spec.Nonce})
		var e *ipc.Error
		if !errors.As(err, &e) || e.Code != ipc.CodeWrongState || !strings.Contains(e.Message, "without a terminal") || !strings.Contains(e.Hint, "logs") {
			t.Errorf("%s: %v", mode, err)
		}
	}
	c := r.attach(ipc.Hello{Mode: ipc.ModeWatch, Paint: true})
	if !c.welcome.NoPTY {
		t.Error("nothing says that there is no terminal")
	}
	if got := c.until("\n100\n"); !strings.HasPrefix(got, "1\n2\n") {
		t.Errorf("%q", got)
	}
	last := r.attach(ipc.Hello{Mode: ipc.ModeWatch, Paint: true, History: 3})
	if got := last.until("100\n"); got != "98\n99\n100\n" {
		t.Errorf("the last three lines: %q", got)
	}
	_ = c.conn.Close()
	_ = last.conn.Close()
	if rec := r.cancel(); rec.Screen != nil {
		t.Errorf("a screen: %q", rec.Screen)
	}
}

func TestTheRecordHasTheLastScreen(t *testing.T) {
	rec, _ := run(t, nil, "bash", "-c", `printf 'before\r\n\e[?1049h\e[2;2Hboard'; exit 1`)
	if got := strings.Join(rec.Screen, "|"); got != "| board" {
		t.Errorf("%q", got)
	}
	rec, _ = run(t, nil, "bash", "-c", `echo plain`)
	if rec.Screen != nil {
		t.Errorf("printed lines are a screen: %q", rec.Screen)
	}
}

func TestAnOlderClientGetsTheStreamAsBefore(t *testing.T) {
	r := sh(t, `printf '\e[2;2Hx'; read x`)
	conn := ipc.NewAttachConn(r.raw())
	if err := conn.Send(ipc.AttachHello, &ipc.Hello{Min: 1, Max: 1, Mode: ipc.ModeType}); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	typ, body, err := conn.Recv()
	var welcome ipc.Welcome
	if err != nil || typ != ipc.AttachWelcome || ipc.DecodeBody(body, &welcome) != nil || welcome.Version != 1 {
		t.Fatalf("type %d, %+v, %v", typ, welcome, err)
	}
	c := &client{t: t, conn: conn}
	if got := c.until("x"); got != "\x1b[2;2Hx" {
		t.Errorf("%q", got)
	}
	c.send(ipc.AttachIn, &ipc.In{Data: []byte("\n")})
	r.end2(c)
}
