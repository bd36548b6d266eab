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
		{"a pending wrap is undone by going back", "0123456789\bx", "01234567x9"},
		{"a pending wrap is undone by erasing", "0123456789\x1b[Kx", "012345678x"},
		{"a pending wrap is saved", "0123456789\x1b7\x1b[H\x1b8x", "0123456789\nx"},
		{"a pending wrap survives colours and modes", "0123456789\x1b[31m\x1b[?25h\x1b]0;t\ax", "0123456789\nx"},
		{"no pending wrap after another size of the same place", "0123456789\x1b[10Gx", "012345678x"},
		{"lines outside the scroll region stay", "1\r\n2\r\n3\x1b[2;3r\x1b[L\x1b[M\x1b[5H\x1b[L", "1\n2\n3"},
		{"below the scroll region nothing scrolls", "\x1b[1;2r\x1b[5Ha\r\nb\x1bDc", "\n\n\n\nbc"},
		{"the cursor stops at the scroll region's ends", "\x1b[2;4r\x1b[3H\x1b[9Aa\x1b[9Bb", "\na\n\n b"},
		{"but not from outside", "\x1b[2;4r\x1b[Ha\x1b[9Bb\x1b[5H\x1b[9Ac", "a\nc\n\n b"},
		{"scroll up and down", "1\r\n2\r\n3\x1b[S\x1b[2T", "\n\n2\n3"},
		{"graphics is not scrolling", "1\r\n2\x1b[?1;1;0S\x1b[1;2;3;4;5T", "1\n2"},
		{"a repeat wraps", "ab\x1b[12b", "abbbbbbbbb\nbbbb"},
		{"a repeat of nothing", "a\r\x1b[5bx", "x"},
		{"relative and absolute columns and rows", "a\x1b[5`b\x1b[2ac\x1b[3dd\x1b[2ee", "a   b  c\n\n        d\n\n         e"},
		{"forward and backward tabs", "\x1b[3g\x1b[3G\x1bH\x1b[6G\x1bH\r\x1b[2Ia\x1b[2Zb", "  b  a"},
		{"a wide character at the edge without wrap", "\x1b[?7l\x1b[10Gx世", "         x"},
		{"a wide character in the only column", "\x1b[10G世\x1b[1;10Hx", "         x\n世"},
		{"inserting pushes a wide character over the edge whole", "01234567世\x1b[G\x1b[@", " 01234567"},
		{"deleting half a wide character", "世界\x1b[2G\x1b[P", " 界"},
		{"erasing half a wide character", "世界\x1b[2G\x1b[X\x1b[4G\x1b[K", ""},
		{"insert mode before a wide character", "世界\x1b[4h\x1b[2Gx", " x 界"},
		{"a mark after the cursor moved is dropped", "e\x1b[2G\u0301x", "ex"},
		{"a mark after a colour", "e\x1b[31m\u0301x", "e\u0301x"},
		{"a mark in the last column", "012345678e\u0301x", "012345678e\u0301\nx"},
		{"soft reset", "\x1b[2;3r\x1b[?6h\x1b[4h\x1b(0\x1b[!p\x1b[5Hq", "\n\n\n\nq"},
		{"leaving the alternate screen undoes nothing else", "a\x1b[?1049h\x1b[3Hb\x1b[?1049lc", "ac"},
		{"older alternate screens leave the cursor", "a\x1b[?47h\x1b[3Hb\x1b[?47lc", "a\n\n c"},
		{"erasing everything", "a\r\nb\x1b[2Jc", "\n c"},
		{"full reset from the alternate screen", "a\x1b[?1049hb\x1bcc", "c"},
		{"full reset", "abc\x1b[?6h\x1bcx", "x"},
	} {
		if got := rowsOf(screenOf(10, 5, c.raw)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestErasingKeepsTheBackgroundAsTmuxDoes(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{"\x1b[44mab\x1b[K", "\x1b[44mab        \x1b[m"},
		{"abc\x1b[1;4;44m\x1b[2G\x1b[X", "a\x1b[44m \x1b[mc       "},
		{"\x1b[7mab\x1b[K", "\x1b[7mab\x1b[m        "},
		{"\x1b[44m\x1b[2J", "\x1b[44m          \x1b[m"},
		{"ab\x1b[44m\x1b[G\x1b[@", "\x1b[44m \x1b[mab       "},
		{"ab\x1b[44m\x1b[G\x1b[P", "b        \x1b[44m \x1b[m"},
		{"\x1b[44m\x1b[L", "\x1b[44m          \x1b[m"},
		{"\x1b[44m\x1b[5H\n\x1b[H\x1b[M\x1b[M\x1b[M\x1b[M", "\x1b[44m          \x1b[m"},
		{"\x1b[5H\x1b[44m01234567890\x1b[H\x1b[m\x1b[M\x1b[M\x1b[M\x1b[M", "\x1b[44m0\x1b[m         "},
	} {
		if got := string(screenOf(10, 5, c.raw).AppendRow(nil, 0, 0, 10)); got != c.want {
			t.Errorf("%q: %q, want %q", c.raw, got, c.want)
		}
	}
}

func TestColoursAndStylesAreKept(t *testing.T) {
	for _, sgr := range []string{"1", "2", "3", "4", "5", "7", "8", "9", "53", "4:2", "4:3", "4:4", "4:5", "31", "97", "42", "107", "38;5;200", "48;5;17", "38;2;1;2;3", "48;2;250;251;252",
		"58:5:9", "58:2::1:2:3", "1;2;3;5;7;8;9;53;4:3;58:2::9:8:7;38;2;1;2;3;48;5;99"} {
		want := "\x1b[" + sgr + "mx\x1b[m"
		if got := string(screenOf(10, 5, want).AppendRow(nil, 0, 0, 1)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	// From one to the next only what is different is said.
	got := string(screenOf(10, 1, "\x1b[31ma\x1b[1mb\x1b[32mc\x1b[44md\x1b[39;22me").AppendRow(nil, 0, 0, 5))
	if want := "\x1b[31ma\x1b[0;1;31mb\x1b[32mc\x1b[44md\x1b[0;44me\x1b[m"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPartOfARowHasNoHalfCharacters(t *testing.T) {
	s := screenOf(10, 2, "a世\x1b[31m界b")
	for _, c := range []struct {
		from, to int
		want     string
	}{
		{0, 10, "a世\x1b[31m界b\x1b[m    "}, {1, 3, "世"}, {2, 3, " "}, {1, 2, " "}, {2, 4, " \x1b[31m \x1b[m"}, {0, 2, "a "}, {8, 99, "  "}, {-5, 1, "a"}, {3, 3, ""}, {5, 2, ""},
	} {
		if got := string(s.AppendRow(nil, 0, c.from, c.to)); got != c.want {
			t.Errorf("columns %d to %d: %q, want %q", c.from, c.to, got, c.want)
		}
	}
	if got := s.AppendRow(nil, 2, 0, 5); len(got) > 0 {
		t.Errorf("a row that there isn't: %q", got)
	}
	if s.Row(-1)+s.Row(2) != "" {
		t.Error("rows that there aren't have text")
	}
}

func TestParametersBeyondTheBoundAreDroppedAndNeverText(t *testing.T) {
	for _, n := range []int{31, 32, 33, 34, 63, 64, 65, 500} {
		s := NewScreen(20, 2)
		_, _ = s.Write([]byte("\x1b[" + strings.Repeat("1;", n-1) + "1mX\x1b[" + strings.Repeat("4:", n-1) + "4mY"))
		if got := s.Row(0); got != "XY" {
			t.Errorf("%d parameters: %q", n, got)
		}
	}
}
