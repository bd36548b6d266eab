package vt

import (
	"strings"
	"testing"
)

// screenOf is a screen that was written raw.
func screenOf(cols, rows int, raw string) *Screen {
	s := NewScreen(cols, rows)
	_, _ = s.Write([]byte(raw))
	return s
}

// rowsOf are the rows of a screen, joined by newlines, without the blank ones at the end.
func rowsOf(s *Screen) string { return strings.TrimRight(strings.Join(s.Rows(), "\n"), "\n") }

func TestScreenIsWhatAPersonSees(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"nothing", "", ""},
		{"lines", "a\r\nb", "a\nb"},
		{"a bare newline moves down only", "a\nb", "a\n b"},
		{"wrap", "0123456789ab", "0123456789\nab"},
		{"a full row waits with the wrap", "0123456789\r\nx", "0123456789\nx"},
		{"no wrap", "\x1b[?7l0123456789ab", "012345678b"},
		{"scroll", "1\r\n2\r\n3\r\n4\r\n5\r\n6", "2\n3\n4\n5\n6"},
		{"scroll region", "1\r\n2\r\n3\r\n4\r\n5\x1b[2;4r\x1b[4H\n\nx", "1\n4\n\nx\n5"},
		{"origin mode", "\x1b[2;4r\x1b[?6h\x1b[1;1Hx\x1b[9;1Hy", "\nx\n\ny"},
		{"insert and delete lines", "1\r\n2\r\n3\x1b[2H\x1b[Lx\x1b[1H\x1b[M", "x\n2\n3"},
		{"insert mode", "abc\x1b[4h\x1b[2Gx\x1b[4ly", "axyc"},
		{"insert and delete characters", "abcdef\x1b[3G\x1b[2@xy\x1b[2Px", "abxyxf"},
		{"erase", "abcdef\x1b[3G\x1b[2X", "ab  ef"},
		{"erase to the left", "abcdef\x1b[3G\x1b[1K", "   def"},
		{"erase to the right", "abcdef\x1b[3G\x1b[K", "ab"},
		{"erase below", "1\r\n2\r\n3\x1b[2H\x1b[J", "1"},
		{"erase above", "1\r\n2\r\n3\x1b[2H\x1b[1J", "\n\n3"},
		{"wide", "世界", "世界"},
		{"a wide character wraps whole", "012345678世", "012345678\n世"},
		{"half of a wide character goes with the other", "世界\x1b[2Gx\x1b[3Gy", " xy"},
		{"combining", "e\u0301x", "e\u0301x"},
		{"alternate", "a\x1b[?1049hb\x1b[2Jc\x1b[?1049l", "a"},
		{"line drawing", "\x1b(0lqk\x1b(Bq\x1b)0\x0ex\x0f", "┌─┐q│"},
		{"tabs", "a\tb\x1b[3g\rc\td", "c       bd"},
		{"repeat", "ab\x1b[3b", "abbbb"},
		{"save and restore", "ab\x1b7cd\x1b8x", "abxd"},
		{"reverse index", "1\r\n2\x1b[H\x1bMx", "x\n1\n2"},
		{"alignment test", "\x1b#8", strings.TrimRight(strings.Repeat("EEEEEEEEEE\n", 5), "\n")},
		{"full reset", "abc\x1b[?6h\x1bcx", "x"},
	} {
		if got := rowsOf(screenOf(10, 5, c.raw)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
