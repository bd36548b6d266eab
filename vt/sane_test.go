package vt

import (
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"testing"
	"unicode/utf8"
)

// checkSane holds a screen against what is always true of one.
func checkSane(t *testing.T, s *Screen, raw []byte) {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("%d×%d after %q: %s", s.cols, s.rows, raw, fmt.Sprintf(format, args...))
	}
	c := s.cur
	if c.row < 0 || c.row >= s.rows || c.col < 0 || c.col >= s.cols || c.pending && (c.col != s.cols-1 || !s.autowrap || s.printed != s.cols) {
		fail("the cursor is at %+v", c)
	}
	if s.top < 0 || s.top > s.bottom || s.bottom >= s.rows || c.origin && (c.row < s.top || c.row > s.bottom) {
		fail("the scroll region is %d to %d, the cursor at %+v", s.top, s.bottom, c)
	}
	if s.printed > 0 && (s.printed > s.cols || len(s.line().slots) < s.printed) {
		fail("printed is %d", s.printed)
	}
	if len(s.dirty) != s.rows {
		fail("%d dirty", len(s.dirty))
	}
	for _, p := range []*plane{s.main, s.alt} {
		if p == nil {
			continue
		}
		if o := slices.Sorted(slices.Values(p.order)); len(o) != s.rows || len(p.rows) != s.rows || int(o[s.rows-1]) != s.rows-1 || len(slices.Compact(o)) != s.rows {
			fail("order %v of %d rows", p.order, len(p.rows))
		}
		if p.saved.row >= s.rows || p.saved.col >= s.cols {
			fail("saved cursor %+v", p.saved)
		}
		for y := range s.rows {
			slots := p.row(y).slots
			if len(slots) > s.cols {
				fail("row %d has %d slots", y, len(slots))
			}
			for x, at := range slots {
				head, tail := at&slotHead != 0, at&slotTail != 0
				switch {
				case head && tail, head && (x+1 == len(slots) || slots[x+1]&slotTail == 0), tail && (x == 0 || slots[x-1]&slotHead == 0):
					fail("half a character at %d, %d", x, y)
				case int(at.pen()) >= len(s.look.pens):
					fail("no pen %d", at.pen())
				case at.cluster() && int(at.number()) >= len(s.look.clusters):
					fail("no cluster %d", at.number())
				case tail && at&slotChar != 0:
					fail("text in a tail")
				}
			}
			if !utf8.ValidString(rowText(p, s, y)) {
				fail("row %d is not UTF-8", y)
			}
		}
	}
	if s.hist.size > s.hist.limit {
		fail("%d bytes of history, the limit is %d", s.hist.size, s.hist.limit)
	}
}

// rowText is all the text of a row of a plane.
func rowText(p *plane, s *Screen, y int) string {
	var b []byte
	for _, x := range p.row(y).slots {
		b = s.appendText(b, x)
	}
	return string(b)
}

// A babble makes up output of the kinds that programs write, with all that a Screen knows.
type babble struct {
	r          *rand.Rand
	cols, rows int
}

var words = []string{"a", "Z", " ", "hello world", "the quick brown fox", "       ", "0123456789", "世", "界世界", "é", "e\u0301", "a\u0301\u0302\u0303",
	"👍", "👍🏽", "👩\u200d👩\u200d👧", "❤\ufe0f", "❤\ufe0f\u200d🔥", "🇩🇪", "1\ufe0f\u20e3", "한글", "\u1112\u1161\u11ab", "\u200d", "🏽", "\u0301", "☁", "█▌", "\xff", "\u00ad", "ｱﾞ", "नि", "🏴\U000e0067\U000e0062\U000e007f", "lqk"}

// piece is one control function or some text.
func (b *babble) piece() string {
	r := b.r
	n := func(most int) string {
		switch r.Intn(12) {
		case 0:
			return ""
		case 1:
			return "0"
		case 2:
			return "99999"
		}
		return strconv.Itoa(1 + r.Intn(most+1))
	}
	of := func(list ...string) string { return list[r.Intn(len(list))] }
	switch k := r.Intn(100); {
	case k < 34:
		return of(words...)
	case k < 44:
		return of("\r\n", "\r\n", "\n", "\r", "\b", "\t", "\v")
	case k < 54:
		return "\x1b[" + n(b.rows) + ";" + n(b.cols) + "H"
	case k < 64:
		return "\x1b[" + of(n(5), n(b.cols)) + of("A", "B", "C", "D", "E", "F", "G", "d", "e", "a", "I", "Z", "`")
	case k < 72:
		return "\x1b[" + of("", "0", "1", "2") + of("J", "K", "K")
	case k < 80:
		return "\x1b[" + of("", n(4), n(b.cols)) + of("X", "@", "P", "L", "M", "S", "T", "b")
	case k < 88:
		return "\x1b[" + of("", "0", "1", "31", "42", "7", "4:3", "38;5;200", "48;2;1;2;3", "58:2::9:8:7", "39;49", "22;27", "4;9;53", "8", "94;103", "38;2;"+n(255)+";7;7", "48;5;"+n(255)) + "m"
	case k < 91:
		return "\x1b[" + n(b.rows) + ";" + n(b.rows) + "r"
	case k < 94:
		return of("\x1b7", "\x1b8", "\x1b[s", "\x1b[u", "\x1bM", "\x1bD", "\x1bE", "\x1bH", "\x1b[g", "\x1b[3g", "\x1b=", "\x1b>", "\x1b#8", "\x1bc", "\x1b[!p", "\x1b[?1048h")
	case k < 97:
		return of("\x1b[?", "\x1b[?") + of("1", "6", "7", "12", "25", "47", "1047", "1049", "1049", "1000", "1002", "1006", "1004", "2004", "2026", "9") + of("h", "h", "l")
	default:
		return of("\x1b[4h", "\x1b[4l", "\x1b(0", "\x1b(B", "\x1b)0", "\x0e", "\x0f", "\x1b[3 q", "\x1b[0 q", "\x1b[>5u", "\x1b[<u", "\x1b[=3;2u", "\x1b]0;title\a", "\x1b]8;;http://x\x1b\\", "\x1b[22t", "\x1b[23t", "\x1bP$qm\x1b\\", "\x1b[c", "\x1b[6n")
	}
}

// output is some pieces.
func (b *babble) output(pieces int) []byte {
	var out []byte
	for range pieces {
		out = append(out, b.piece()...)
	}
	return out
}
