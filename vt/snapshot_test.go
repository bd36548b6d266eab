package vt

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// rounds is how often a random test is tried: more in a torture run.
func rounds(usual int) int {
	if os.Getenv("PASAR_TORTURE") != "" {
		return usual * 50
	}
	return usual
}

// slowRounds is rounds for tests that wait for another program.
func slowRounds(usual int) int { return rounds(usual) / max(1, rounds(1)/5) }

// seed is where a random test begins: elsewhere in each torture run, which prints it.
func seed(t testing.TB) int64 {
	t.Helper()
	if s, err := strconv.ParseInt(os.Getenv("PASAR_SEED"), 10, 64); err == nil {
		return s
	}
	if os.Getenv("PASAR_TORTURE") == "" {
		return 1
	}
	s := time.Now().UnixNano()
	t.Logf("PASAR_SEED=%d", s)
	return s
}

// state is all that can be seen of a screen, but for history and title.
func state(s *Screen) string {
	col, row, shown := s.Cursor()
	return fmt.Sprintf("%q %d %d %v %v %+v\n%q", s.Rows(), col, row, shown, s.Alternate(), s.Modes(), s.AppendSnapshot(nil))
}

// checkSnapshot holds that a snapshot brings a fresh screen where this one is, and keeps it there when
// the program goes on.
func checkSnapshot(t *testing.T, s *Screen, raw, on []byte) {
	t.Helper()
	snap := s.AppendSnapshot(nil)
	fresh := NewScreen(s.cols, s.rows)
	fresh.Answer(func([]byte) { t.Fatalf("%q: a query in the snapshot %q", raw, snap) })
	_, _ = fresh.Write(snap)
	checkSane(t, fresh, snap)
	if a, b := state(s), state(fresh); a != b {
		t.Fatalf("%d×%d after %q:\n%s\nthe snapshot gives:\n%s", s.cols, s.rows, raw, a, b)
	}
	if fresh.synced || bytes.Contains(snap, []byte("\x1b[?2026")) {
		t.Fatalf("synchronized output in %q", snap)
	}
	fresh.Answer(nil)
	_, _ = fresh.Write(on)
	_, _ = s.Write(on)
	if a, b := state(s), state(fresh); a != b {
		t.Fatalf("%d×%d after %q, snapshot %q, then %q:\n%s\nfrom the snapshot:\n%s", s.cols, s.rows, raw, snap, on, a, b)
	}
}

var sizes = [][2]int{{120, 40}, {20, 6}, {10, 5}, {7, 3}, {80, 24}, {1, 1}, {1, 8}, {9, 1}, {2, 2}, {3, 7}}

func TestTheProgramGoesOnAfterASnapshot(t *testing.T) {
	r := rand.New(rand.NewSource(seed(t)))
	for i := range rounds(1000) {
		size := sizes[i%len(sizes)]
		b := &babble{r, size[0], size[1]}
		s := NewScreen(size[0], size[1])
		raw := b.output(r.Intn(60))
		_, _ = s.Write(raw)
		checkSane(t, s, raw)
		checkSnapshot(t, s, raw, b.output(1+r.Intn(20)))
	}
}

func TestHowOutputIsCutMakesNoDifference(t *testing.T) {
	r := rand.New(rand.NewSource(seed(t)))
	for i := range rounds(400) {
		size := sizes[i%len(sizes)]
		b := &babble{r, size[0], size[1]}
		checkCut(t, size[0], size[1], b.output(80))
	}
	for _, s := range append(corpus(), hostile...) {
		checkCut(t, 10, 4, []byte(s))
	}
}

// checkCut holds that a screen is the same whether output comes whole or byte by byte.
func checkCut(t *testing.T, cols, rows int, raw []byte) {
	t.Helper()
	whole, single := NewScreen(cols, rows), NewScreen(cols, rows)
	var answers [2][]byte
	whole.Answer(func(b []byte) { answers[0] = append(answers[0], b...) })
	single.Answer(func(b []byte) { answers[1] = append(answers[1], b...) })
	_, _ = whole.Write(raw)
	for i := range raw {
		_, _ = single.Write(raw[i : i+1])
	}
	checkSane(t, whole, raw)
	if a, b := state(whole), state(single); a != b {
		t.Fatalf("%q: whole\n%s\nbyte by byte\n%s", raw, a, b)
	}
	if a, b := whole.AppendHistory(nil, 1e6), single.AppendHistory(nil, 1e6); !bytes.Equal(a, b) || !bytes.Equal(answers[0], answers[1]) {
		t.Fatalf("%q: whole %q, %q; byte by byte %q, %q", raw, a, answers[0], b, answers[1])
	}
}

func TestChangedRowsAreAllThatChanged(t *testing.T) {
	r := rand.New(rand.NewSource(seed(t)))
	for i := range rounds(100) {
		size := sizes[i%len(sizes)]
		b := &babble{r, size[0], size[1]}
		s := NewScreen(size[0], size[1])
		look := func() (rows []string) {
			for y := range s.rows {
				rows = append(rows, string(s.AppendRow(nil, y, 0, s.cols)))
			}
			return rows
		}
		s.Changed()
		before := look()
		for range 50 {
			p := b.piece()
			_, _ = s.Write([]byte(p))
			after, changed := look(), s.Changed()
			for y := range after {
				if after[y] != before[y] && !slices.Contains(changed, y) {
					t.Fatalf("%q changed row %d from %q to %q, but Changed says %v", p, y, before[y], after[y], changed)
				}
			}
			before = after
		}
		if c := s.Changed(); c != nil {
			t.Fatalf("nothing happened, but Changed says %v", c)
		}
	}
}

func TestSnapshotRestoresWhatAProgramAskedFor(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"nothing", "", "\x1b[1;1H"},
		{"text and a pending wrap", "\x1b[3Hab\x1b[31m0123456789", "\x1b[?7l\x1b[3;1Hab\x1b[31m01234567\x1b[m\x1b[4;1H\x1b[31m89\x1b[m\x1b[?7h\x1b[4;2H\x1b[31m9\x1b[m\x1b[31m"},
		{"synchronized output", "a\x1b[?2026h\r", "\x1b[?7l\x1b[1;1Ha\x1b[?7h\x1b[1;1H"},
		{"a link", "\x1b]8;;http://x\x1b\\a\r", "\x1b[?7l\x1b[1;1Ha\x1b[?7h\x1b[1;1H"},
		{"modes", "\x1b[?1;1002;1004;1006;2004h\x1b=\x1b[3 q\x1b[?25l", "\x1b[?1h\x1b[?1002h\x1b[?1004h\x1b[?1006h\x1b[?2004h\x1b=\x1b[3 q\x1b[?25l\x1b[1;1H"},
		{"modes that matter for writing", "\x1b[2;4r\x1b[?6h\x1b[?7l\x1b[4h\x1b[2;3H", "\x1b[2;4r\x1b[?7l\x1b[?6h\x1b[2;3H\x1b[4h"},
		{"the keyboard", "\x1b[=1u\x1b[>3u\x1b[>5u", "\x1b[=1;1u\x1b[>3u\x1b[>5u\x1b[1;1H"},
		{"character sets", "\x1b(0\x1b)0\x0e", "\x1b[1;1H\x1b(0\x1b)0\x0e"},
		{"tab stops", "\x1b[3g\x1b[4G\x1bH\r", "\x1b[3g\x1b[1;4H\x1bH\x1b[1;1H"},
		{"the alternate screen", "a\x1b[?1049hb\x1b[2;2H", "\x1b[?7l\x1b[1;1Ha\x1b[?7h\x1b[1;2H\x1b[?1049h\x1b[?7l\x1b[1;1H b\x1b[?7h\x1b[2;2H"},
		{"a saved cursor", "\x1b[2;3H\x1b[1m\x1b7\x1b[m\x1b[H", "\x1b[2;3H\x1b[1m\x1b7\x1b[m\x1b[1;1H"},
		{"wide and joined characters", "世❤\ufe0f世e\u0301x\r", "\x1b[?7l\x1b[1;1H世❤\ufe0f\x1b[4G世e\u0301\x1b[7Gx\x1b[?7h\x1b[1;1H"},
	} {
		s := screenOf(10, 5, c.raw)
		got := string(s.AppendSnapshot(nil))
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		checkSnapshot(t, s, []byte(c.raw), []byte("on\r\n"))
	}
}
