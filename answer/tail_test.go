package answer

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestTheLastLinesAreTheLastLines(t *testing.T) {
	for _, tc := range []struct {
		n        int
		in, want string
	}{{2, "a\nb\nc\n", "b\nc\n"}, {2, "a\nb\nc", "b\nc"}, {9, "a\nb", "a\nb"}, {0, "a\nb", ""}, {1, "a\n\n", "\n"}} {
		for cut := range len(tc.in) + 1 {
			r := &lineRing{n: tc.n}
			r.add([]byte(tc.in[:cut]))
			r.add([]byte(tc.in[cut:]))
			if got := string(r.bytes()); got != tc.want {
				t.Errorf("last %d of %q: %q, want %q", tc.n, tc.in, got, tc.want)
			}
		}
	}
}

// lined is the lines of text, and after each the offset to go on from.
func lined(t *testing.T, from int64, raw string, cuts, settles int) (lines []string, next []int64) {
	t.Helper()
	l := NewLogLines(1, 1, nil, func(line []byte, n int64) error {
		lines, next = append(lines, string(line)), append(next, n)
		return nil
	})
	for at := int(from); at < len(raw); {
		n := min(cuts, len(raw)-at)
		if err := l.Piece(Piece{Data: []byte(raw[at : at+n]), Offset: int64(at)}); err != nil {
			t.Fatal(err)
		}
		if at += n; settles > 0 && at/settles != (at-n)/settles {
			if err := l.Settle(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.Finish(); err != nil {
		t.Fatal(err)
	}
	return lines, next
}

func TestWhoGoesOnAfterALineHasTheLinesThatFollowItOnce(t *testing.T) {
	var long strings.Builder
	for i := range 200 {
		fmt.Fprintf(&long, "line %d\r\n", i)
	}
	for _, raw := range []string{
		"one\ntwo\n\nfour\nno end", "a\r\n 1%\r 50%\r100%\r\nb\r\n", long.String(), "\x1b[31mred\x1b[0m\n\x1b[1mbold\n", "\n\n\n", "é\xff\xfe\nü",
		"before\n\x1b[?1049hframe\nframe\x1b[?1049lafter\nlast\n", "x\n\x1b[2Jy\nz\n\x1b[Jw\n",
	} {
		for _, cut := range []int{1, 3, 7, 1 << 20} {
			for _, settles := range []int{0, 5, 40} {
				lines, next := lined(t, 0, raw, cut, settles)
				for i, from := range next {
					rest, _ := lined(t, from, raw, cut, 0)
					if got, want := strings.Join(rest, ""), strings.Join(lines[i+1:], ""); got != want {
						t.Fatalf("%.60q in pieces of %d: after line %d, from byte %d: %s\nwant %s", raw, cut, i, from, got, want)
					}
				}
			}
		}
	}
}

func TestALineUnderWayIsToldAsItIsNow(t *testing.T) {
	l := NewLogLines(1, 1, nil, func([]byte, int64) error { return nil })
	for _, c := range []struct{ raw, want string }{
		{"one\n", ""}, {" 1%|>", ` 1%|\u003e`}, {"\r50%|\x1b[31m>>", `50%|\u003e\u003e`}, {"\r\x1b[K", ""}, {"<b>\u202e", `\u003cb\u003e\\u202e`}, {"\nnext", "next"},
	} {
		if err := l.Piece(Piece{Data: []byte(c.raw)}); err != nil {
			t.Fatal(err)
		}
		if err := l.Settle(); err != nil {
			t.Fatal(err)
		}
		b, err := l.Rest()
		want := `{"schema":1,"job":1,"attempt":1,"at":null,"stream":null,"line":"` + c.want + "\"}\n"
		if err != nil || string(b) != want {
			t.Errorf("after %q: %s %v, want %s", c.raw, b, err, want)
		}
	}
	if b, err := l.Rest(); err != nil || !bytes.Contains(b, []byte("next")) {
		t.Errorf("a look changed it: %s %v", b, err)
	}
}
