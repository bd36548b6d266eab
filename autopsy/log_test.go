package autopsy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pasar"
)

func TestALogIsReadAsLines(t *testing.T) {
	for name, c := range map[string]struct {
		raw   string
		first int
		want  []pasar.Line
	}{
		"lines":                  {"a\nb\r\n\nc", 1, []pasar.Line{{Number: 1, Text: "a"}, {Number: 2, Text: "b"}, {Number: 4, Text: "c"}}},
		"within a line":          {"tail of it\nnext\n", 41, []pasar.Line{{Number: 41, Text: "tail of it"}, {Number: 42, Text: "next"}}},
		"numbers aren't known":   {"a\nb", 0, []pasar.Line{{Text: "a"}, {Text: "b"}}},
		"escapes":                {"\x1b[31mE\x1b[0mrror\x1b]0;title\x07: x\x1b(B\x1b[?25l", 1, []pasar.Line{{Number: 1, Text: "Error: x"}}},
		"controls, bidi, blanks": {"a\x00b\x07\u202ec  \t\n", 1, []pasar.Line{{Number: 1, Text: "abc"}}},
		"backspaces":             {"12%\b\b\b13%\b\b\b14% done", 1, []pasar.Line{{Number: 1, Text: "14% done"}}},
		"no text":                {"\xff\xfeok\n", 1, []pasar.Line{{Number: 1, Text: "\uFFFDok"}}},
		"carriage returns":       {"loading\rValueError: x\n", 7, []pasar.Line{{Number: 7, Text: "loading"}, {Number: 7, Text: "ValueError: x"}}},
		"a bar, drawn again and again": {"1%|# | 1/9\r2%|# | 2/9\r3%|# | 3/9\r4%|# | 4/9\nend", 1,
			[]pasar.Line{{Number: 1, Text: "3%|# | 3/9"}, {Number: 1, Text: "4%|# | 4/9"}, {Number: 2, Text: "end"}}},
	} {
		if got := ReadLog([]byte(c.raw), c.first); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v\nwant %+v", name, got, c.want)
		}
	}
}

func TestTheEndOfALongLogIsKeptWithItsNumbers(t *testing.T) {
	var b strings.Builder
	for i := 1; i <= 100_000; i++ {
		fmt.Fprintf(&b, "line %d of what is printed\n", i)
	}
	lines := ReadLog([]byte(b.String()), 1)
	last := lines[len(lines)-1]
	if last != (pasar.Line{Number: 100_000, Text: "line 100000 of what is printed"}) {
		t.Errorf("last line %+v", last)
	}
	size := 0
	for i, l := range lines {
		size += len(l.Text)
		if l.Text != fmt.Sprintf("line %d of what is printed", l.Number) || i > 0 && l.Number != lines[i-1].Number+1 {
			t.Fatalf("line %+v", l)
		}
	}
	if size < keptBytes*9/10 || size > keptBytes {
		t.Errorf("%d bytes are kept", size)
	}
}

func TestAVeryLongLineKeepsItsBeginningAndItsEnd(t *testing.T) {
	v := Attribute(Evidence{Exit: code(1), Log: logged("Traceback (most recent call last):\n  File \"t.py\", line 1\nValueError: token ids: " + strings.Repeat("50256, ", 30_000) + "end")})
	if v.Reason != pasar.CodeException || !strings.HasPrefix(v.Summary, "ValueError: token ids: 50256") || v.Evidence[0].Number != 3 {
		t.Errorf("%+v", v)
	}
}
