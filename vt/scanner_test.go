package vt

import (
	"bytes"
	"math/rand"
	"testing"
)

func TestScannerTellsPlainLinesFromDrawing(t *testing.T) {
	for _, c := range []struct {
		raw   string
		drew  int
		asked bool
	}{
		{"", -1, false},
		{"loss 0.1\r\n\t\a\b世界 \xff", -1, false},
		{"\x1b[1;31mred\x1b[m", -1, false},
		{"\x1b[38:2::1:2:3mx\x1b[", -1, false},
		{"a\x1b[Hb", 4, false},
		{"a\x1b[Kb\x1b[mc", 4, false},
		{"a\x0bb", 2, false},
		{"a\x0e\x0fb", 3, false},
		{"\x1b[?25l", 6, false},
		{"\x1b[>4;2m", 7, false},
		{"\x1b7x", 2, false},
		{"\x1b(0x", 3, false},
		{"\x1b]0;title\ax", 10, false},
		{"\x1b]0;title\x1b\\x", 11, false},
		{"\x1b]0;titl", 8, false},
		{"\x1b]0;t\x1b[mx", 6, false},
		{"\x1b[31\x18x", 5, false},
		{"\x1b[3\u00e9x", 4, false},
		{"\x1b[cx", 3, true},
		{"\x1b[?6nx", 5, true},
		{"\x1b[6x", 4, false},
		{"\x1b]11;?\ax", 7, true},
		{"\x1b]11;#000\ax", 10, false},
		{"\x1b]52;c;?\ax", 9, false},
		{"\x05x", -1, false},
		{"\x1bP$qm\x1b\\x", 7, true},
		{"\x1bP+q544e\x1b\\x", 10, true},
	} {
		var s Scanner
		asked, drew := s.Scan([]byte(c.raw))
		if asked != c.asked || drew != c.drew {
			t.Errorf("%q: asked %v, drew %d; want %v, %d", c.raw, asked, drew, c.asked, c.drew)
		}
	}
}

// checkScanner holds a Scanner against a Screen, and against itself with the stream cut in places.
func checkScanner(t *testing.T, raw []byte, cut *rand.Rand) {
	t.Helper()
	asks := 0
	screen := NewScreen(10, 3)
	screen.Answer(func(reply []byte) {
		asks++
		if len(reply) == 0 {
			t.Fatalf("%q: an empty reply", raw)
		}
	})
	_, _ = screen.Write(raw)
	var whole, pieces Scanner
	asked, drew := whole.Scan(raw)
	if asked != (asks > 0) {
		t.Fatalf("%q: asked %v, but the screen gave %d answers", raw, asked, asks)
	}
	cutAsked, cutDrew := false, -1
	for at := 0; at < len(raw); {
		n := 1
		if cut != nil {
			n = min(1+cut.Intn(8), len(raw)-at)
		}
		a, d := pieces.Scan(raw[at : at+n])
		cutAsked = cutAsked || a
		if d >= 0 {
			cutDrew = at + d
		}
		at += n
	}
	if cutAsked != asked || cutDrew != drew {
		t.Fatalf("%q: asked %v, drew %d; in pieces %v, %d", raw, asked, drew, cutAsked, cutDrew)
	}
}

func TestScannerFindsWhatTheScreenAnswers(t *testing.T) {
	for _, s := range append(corpus(), hostile...) {
		checkScanner(t, []byte(s), nil)
		checkScanner(t, []byte(s), rand.New(rand.NewSource(1)))
	}
}

func FuzzScanner(f *testing.F) {
	for _, s := range append(corpus(), hostile...) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		checkScanner(t, raw, nil)
		checkScanner(t, raw, rand.New(rand.NewSource(int64(len(raw)))))
	})
}

func TestScannerAllocatesNothing(t *testing.T) {
	var s Scanner
	raw := bytes.Repeat([]byte("\x1b]0;title\a\x1b[1;31mx\x1b[2K\x1b]11;?\a世界\r\n"), 10)
	s.Scan(raw)
	if n := testing.AllocsPerRun(100, func() { s.Scan(raw) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
