package vt

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"
)

// joined is all lines of history and screen, each whole however it was wrapped.
func joined(s *Screen) (lines []string) {
	var b strings.Builder
	add := func(text string, wrapped bool) {
		b.WriteString(text)
		if !wrapped {
			lines = append(lines, strings.TrimRight(b.String(), " "))
			b.Reset()
		}
	}
	s.hist.each(1e6, func(text []byte, wrapped bool) { add(anySGR.ReplaceAllString(string(text), ""), wrapped) })
	for y := range s.rows {
		add(rowText(s.main, s, y), s.main.row(y).wrapped)
	}
	return lines
}

func TestLinesAreWrappedAnewAsInTmux(t *testing.T) {
	r := rand.New(rand.NewSource(seed(t)))
	for range slowRounds(8) {
		cols, rows := 24, 7
		p := newTmuxPane(t, cols, rows)
		s := NewScreen(cols, rows)
		var raw strings.Builder
		for i := range 40 { // without wide characters, at which tmux forgets that a line goes on
			text := strings.Repeat("the quick éü fox jumps over é 0123456789 ", 3)
			runes := []rune(text)
			fmt.Fprintf(&raw, "\x1b[%dm%d %s\x1b[m", 31+i%7, i, strings.TrimRight(string(runes[:r.Intn(len(runes))]), " "))
			if i < 39 {
				raw.WriteString("\r\n")
			}
		}
		raw.WriteString(" $")
		p.write([]byte(raw.String()))
		_, _ = s.Write([]byte(raw.String()))
		for range 6 {
			cols, rows = 10+r.Intn(40), 3+r.Intn(9)
			s.Resize(cols, rows)
			p.run("resize-window", "-t", "0", "-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows))
			checkSane(t, s, []byte(raw.String()))
			var x, y int
			var theirs, screen []string
			for deadline := time.Now().Add(20 * time.Second); ; {
				out := p.run("display-message", "-p", "#{cursor_x} #{cursor_y}", ";", "capture-pane", "-p")
				head, rest, _ := strings.Cut(out, "\n")
				_, _ = fmt.Sscan(head, &x, &y)
				screen = notBlank(strings.Split(rest, "\n"))
				theirs = notBlank(strings.Split(p.run("capture-pane", "-p", "-J", "-S", "-"), "\n"))
				if strings.TrimSpace(p.run("display-message", "-p", "#{pane_width} #{pane_height}")) == fmt.Sprint(cols, " ", rows) || time.Now().After(deadline) {
					break
				}
			}
			ours := notBlank(joined(s))
			if got, want := strings.Join(ours, "\n"), strings.Join(theirs, "\n"); got != want {
				t.Fatalf("%d×%d: lines\n%s\ntmux says\n%s", cols, rows, numbered(ours), numbered(theirs))
			}
			if got, want := strings.Join(notBlank(s.Rows()), "\n"), strings.Join(screen, "\n"); got != want {
				t.Fatalf("%d×%d: rows\n%s\ntmux says\n%s", cols, rows, numbered(s.Rows()), numbered(screen))
			}
			want := viewOf(s)
			if want.x != x || want.y != y {
				t.Errorf("%d×%d: cursor %d,%d, tmux says %d,%d: %q", cols, rows, want.x, want.y, x, y, s.Rows())
			}
		}
	}
}

func TestNothingIsLostByAnotherWidth(t *testing.T) {
	r := rand.New(rand.NewSource(seed(t)))
	for range rounds(40) {
		s := NewScreen(30, 8)
		for i := range 30 {
			fmt.Fprintf(s, "\x1b[%dm%d %s\x1b[m\r\n", 31+i%7, i, strings.Repeat("0123456789世", r.Intn(9)))
		}
		fmt.Fprint(s, "$ 世")
		before := strings.Join(notBlank(joined(s)), "\n")
		for range 8 {
			s.Resize(2+r.Intn(60), 1+r.Intn(20))
			checkSane(t, s, nil)
			if after := strings.Join(notBlank(joined(s)), "\n"); after != before {
				t.Fatalf("%d×%d: %s\nbefore:\n%s", s.cols, s.rows, after, before)
			}
			if col, row, _ := s.Cursor(); s.Row(row)[:min(1, len(s.Row(row)))] == "" && col > 0 {
				t.Fatalf("the cursor is at %d, %d of %q", col, row, s.Rows())
			}
		}
		_, _ = s.Write([]byte("x"))
		if after := strings.Join(notBlank(joined(s)), "\n"); after != before+"x" {
			t.Fatalf("%d×%d: the cursor isn't at the end: %q", s.cols, s.rows, s.Rows())
		}
	}
}
