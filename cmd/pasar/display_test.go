package main

import (
	"slices"
	"strings"
	"testing"

	"pasar/vt"
)

func TestATypistsModesAreSetOnTheScreenInUse(t *testing.T) {
	d := newDisplay(newOutlet(discard()), 10, 3, 100)
	d.begin(10, 3)
	d.types, d.shown, d.passing = true, true, true
	both := func(job string, alternate bool) string {
		_, _ = d.job.Write([]byte(job))
		d.alternate = alternate
		return string(d.keys())
	}
	for _, tc := range []struct {
		job       string
		alternate bool
		want      string
	}{
		{"\x1b[>1u", false, "\x1b[>1u"},
		{"\x1b[?1049h\x1b[>3u", true, "\x1b[>3u"},
		{"\x1b[?1049l", false, ""}, // the main screen's flags are as they were
	} {
		if got := both(tc.job, tc.alternate); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.job, got, tc.want)
		}
	}
	if got := string(d.popKeyboard()); got != "\x1b[?1049h\x1b[<u\x1b[?1049l\x1b[<u" {
		t.Errorf("left with %q", got)
	}
	d.set.pushed, d.alternate = [2]int{2, 4}, true
	if got := string(d.popKeyboard()); got != "\x1b[<u\x1b[?1049l\x1b[<u" {
		t.Errorf("left on the alternate screen with %q", got)
	}
	if got := string(d.popKeyboard()); got != "" {
		t.Errorf("popped twice: %q", got)
	}
}

func TestAPartInViewFollowsTheCursorAndIsMarked(t *testing.T) {
	for _, tc := range []struct{ first, cursor, size, window, step, want int }{
		{0, 5, 80, 100, 0, 0}, {0, 79, 80, 40, 13, 40}, {0, 39, 80, 40, 13, 0}, {0, 40, 80, 40, 13, 14}, {30, 10, 80, 40, 13, 0}, {30, 29, 80, 40, 13, 16},
		{60, 70, 80, 40, 13, 40}, {0, 0, 1, 1, 0, 0}, {5, 0, 24, 10, 0, 0}, {5, 15, 24, 10, 0, 6},
	} {
		if got := inView(tc.first, tc.cursor, tc.size, tc.window, tc.step); got != tc.want {
			t.Errorf("%+v: %d", tc, got)
		}
	}
	const text = "0123456789\r\nab漢字漢字\r\n\r\nshort\r\nlast"
	d := newDisplay(newOutlet(discard()), 6, 3, 0)
	d.types = true
	d.begin(12, 6)
	_, _ = d.job.Write([]byte(text + "\x1b[1;1H"))
	d.ready, d.marks, d.full = true, make([]byte, 3), true
	seen := func() []string {
		s := vt.NewScreen(d.cols, d.rows)
		_, _ = s.Write(d.paintRows(nil))
		return s.Rows()
	}
	if got := seen(); !slices.Equal(got, []string{"01234>", "ab漢 >", "     v"}) {
		t.Errorf("at the top: %q", got)
	}
	_, _ = d.job.Write([]byte("\x1b[5;9H"))
	d.full = true
	if got := seen(); !slices.Equal(got, []string{"     ^", "     <", "     <"}) && got[0][len(got[0])-1] != '^' {
		t.Errorf("further down: %q", got)
	}
	d.cols, d.line, d.full = 14, "a note \x1b[31m of two rows", true
	if got := seen(); got[0] != ` a note \x1b[31m` && got[0] != ` a note` {
		t.Errorf("with a line over it: %q", got)
	}
}

func TestAWatcherSeesTheBeginningsOfLinesAndCanMove(t *testing.T) {
	d := newDisplay(newOutlet(discard()), 6, 3, 0)
	d.begin(12, 6)
	d.ready, d.marks, d.full = true, make([]byte, 3), true
	seen := func() []string {
		s := vt.NewScreen(d.cols, d.rows)
		d.full = true
		_, _ = s.Write(d.paintRows(nil))
		return s.Rows()
	}
	_, _ = d.job.Write([]byte("one\r\ntwo\r\nthree\r\n 45% |####|"))
	if got := seen(); !slices.Equal(got, []string{"two  ^", "three", " 45% >"}) {
		t.Errorf("of lines: %q", got)
	}
	_, _ = d.job.Write([]byte("\x1b[?1049h\x1b[Hhead\x1b[6;12H"))
	if got := seen(); !slices.Equal(got, []string{"head", "", ""}) {
		t.Errorf("of a full-screen program: %q", got)
	}
	_, _ = d.job.Write([]byte("\x1b[6;1Hfoot and mor\x1b[H"))
	for _, key := range []string{"\x1b[6~", "\x1bOB", "\x1b[6~", "\x1b[C"} {
		cols, rows, pages, home, ok := panKeys([]byte(key))
		if !ok || !d.move(cols, rows, pages, home) {
			t.Fatalf("%q moves nothing", key)
		}
	}
	if got := seen(); !slices.Equal(got, []string{"     ^", "", "<d mor"}) {
		t.Errorf("moved to the end: %q", got)
	}
	if _, _, _, home, _ := panKeys([]byte("\x1b[H")); !d.move(0, 0, 0, home) || seen()[0] != "head" {
		t.Errorf("moved back: %q", seen())
	}
	d.cols, d.rows, d.marks = 12, 6, make([]byte, 6)
	if d.move(1, 1, 0, false) {
		t.Error("all is in view, and yet it moves")
	}
}

func TestPaintingAnyPartGivesThatPart(t *testing.T) {
	d := newDisplay(newOutlet(discard()), 1, 1, 0)
	d.begin(40, 10)
	_, _ = d.job.Write([]byte("\x1b[32mgreen \x1b[4munder\x1b[m 漢字 wide\r\n" + strings.Repeat("long line ", 9) + "\r\n\x1b[44m blue \x1b[m"))
	d.ready = true
	for cols := 1; cols <= 50; cols++ {
		for rows := 1; rows <= 12; rows++ {
			d.window(cols, rows)
			d.full = true
			user := vt.NewScreen(cols, rows)
			_, _ = user.Write(d.paintRows(nil))
			if col, row, _ := user.Cursor(); col < 0 || row < 0 || col >= cols || row >= rows {
				t.Fatalf("%dx%d: the cursor is at %d,%d", cols, rows, col, row)
			}
			if cols >= 40 && rows >= 10 {
				for y, want := range d.job.Rows() {
					if got := user.Row(y); got != want {
						t.Fatalf("%dx%d, row %d: %q, want %q", cols, rows, y, got, want)
					}
				}
			}
		}
	}
}
