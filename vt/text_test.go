package vt

import (
	"bytes"
	"fmt"
	"math/rand"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var sgr = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// render is the text of raw, lines joined by newlines.
func render(raw string) string {
	var lines []string
	t := NewText(func(l string) { lines = append(lines, l) })
	_, _ = t.Write([]byte(raw))
	t.Close()
	return strings.Join(lines, "\n")
}

func colours(raw string) string {
	var lines []string
	t := NewColours(func(l string) { lines = append(lines, l) })
	_, _ = t.Write([]byte(raw))
	t.Close()
	return strings.Join(lines, "\n")
}

func TestTextIsWhatAPersonSaw(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"nothing", "", ""},
		{"lines", "a\r\nb\r\n", "a\nb"},
		{"bare newlines", "a\nb", "a\nb"},
		{"empty lines", "a\r\n\r\n\r\nb\r\n", "a\n\n\nb"},
		{"no last newline", "a\r\nno newline", "a\nno newline"},
		{"tabs stay", "a\tb\n", "a\tb"},
		{"trailing blanks stay", "a  \n", "a  "},
		{"colours go", "\x1b[1;31mred\x1b[0m\x1b[m plain\n", "red plain"},
		{"title goes, by BEL and by ST", "\x1b]0;title\x07a\x1b]2;t\x1b\\b\n", "ab"},
		{"clipboard goes", "x\x1b]52;c;aGk=\x07y", "xy"},
		{"hyperlink's text stays", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"},
		{"device strings", "a\x1bP1$r\x1b\\b\x1b_apc\x1b\\c\x1b^pm\x1b\\d\x1bXsos\x1b\\e", "abcde"},
		{"a string ended by CAN", "a\x1b]0;never ended\x18b", "ab"},
		{"a string ended by another escape", "a\x1bPnever ended\x1b[1mb", "ab"},
		{"BEL doesn't end a device string", "a\x1bPx\x07y\x1b\\b", "ab"},
		{"an unterminated string is bounded", "a\x1b]0;" + strings.Repeat("x", maxString-2) + "b", "ab"},
		{"character sets", "a\x1b(B\x1b)0\x1b%G\x1b#8b", "ab"},
		{"the boot messages of systemd", "Mounting \x1b[0;1;39mdev\x1b…POSIX\n", "Mounting dev…POSIX"},
		{"a broken sequence", "a\x1b[31\x1b[0mb\x1b[3\x18c\x1b[é", "abcé"},
		{"controls within a sequence", "ab\x1b[3\r1mc", "cb"},
		{"other controls", "a\x00\x01\x07\x0b\x0c\x0e\x0f\x7fb", "ab"},
		{"C1 controls", "a\u0085\u009b31mb", "a31mb"},
		{"broken UTF-8", "a\xffb\xe2\x82c\xf0\x9f\n\xc3", "a\ufffdb\ufffd\ufffdc\ufffd\ufffd\n\ufffd"},
		{"UTF-8", "héllo 世界 🙂\n", "héllo 世界 🙂"},
		{"an escape cuts a character", "\xe2\x82\x1b[1mx", "\ufffd\ufffdx"},
		{"a bar is there once", "10%\r50%\r100%\n", "100%"},
		{"a bar that shrinks", "100%\r9%\n", "9%0%"},
		{"a bar that erases", "100%\r\x1b[K9%\n", "9%"},
		{"erase the whole line", "100%\x1b[2K\r9%\n", "9%"},
		{"erase to the start", "abcdef\x1b[3D\x1b[1Kx", "   xef"},
		{"backspaces", "abc\b\b\bxy\n", "xyc"},
		{"a spinner", "work |\b/\b-\b\\\bdone\n", "work done"},
		{"cursor in the line", "abcdef\x1b[3Dx\x1b[2Gy\x1b[1Cz\n", "ayczef"},
		{"cursor beyond the line", "ab\x1b[10Gx\n", "ab       x"},
		{"blanks that nobody wrote", "ab\x1b[50C\n", "ab"},
		{"insert and delete", "abcd\x1b[3D\x1b[Pe\x1b[@f\x1b[X", "aef"},
		{"two bars", "\x1b[?25ltrain 1%\r\nvalid 1%\x1b[A\rtrain 50%\x1b[B\rvalid 50%\x1b[1A\rtrain 99%\r\n\r\nend\r\n", "train 99%\nvalid 50%\nend"},
		{"tqdm's nested bars", "\r0%\n\r 0%\x1b[A\n\r 100%\x1b[A\r50%\n\r 0%\x1b[A\n\r 100%\x1b[A\r100%\n\nend", "100%\n 100%\nend"},
		{"save and restore", "ab\x1b7cd\x1b8x\x1b[sy\x1b[uz", "abxz"},
		{"next and previous line", "a\r\nb\x1b[Fc\x1b[Ed", "c\nd"},
		{"reverse index", "a\r\nb\x1bM\rc", "c\nb"},
		{"the alternate screen is left out", "before\r\n\x1b[?1049h\x1b[2J\x1b[Hframe 1\r\nframe 2\x1b[?1049lafter\r\n", "before\nafter"},
		{"older alternate screens", "a\x1b[?47hx\x1b[?47lb\x1b[?1047hy\x1b[?1047lc", "abc"},
		{"a clear loses nothing", "one\r\n\x1b[H\x1b[2J\x1b[3Jtwo\r\n", "one\ntwo"},
		{"a page painted in place", "\x1b[Hcpu 1\r\nmem 1\r\n\x1b[Hcpu 2\r\nmem 2\r\n", "cpu 2\nmem 2"},
		{"erase below", "a\r\nb\r\nc\x1b[2A\x1b[Jx", "ax"},
		{"full reset", "a\x1b[1mb\x1bcc", "ab\nc"},
		{"queries", "a\x1b[c\x1b[6n\x1b[?25h\x1b[>4;2m\x1b]11;?\x07b", "ab"},
	} {
		if got := render(c.raw); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestColoursKeepsColoursAndNothingElse(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"plain", "a\tb\r\n", "a\tb"},
		{"red", "\x1b[31mred\x1b[0m plain\r\n", "\x1b[0;31mred\x1b[0m plain"},
		{"a line ends plain and the next begins as it was", "\x1b[1ma\r\nb\x1b[m", "\x1b[0;1ma\x1b[0m\n\x1b[0;1mb\x1b[0m"},
		{"256 and direct", "\x1b[38;5;200;48;2;1;2;3mx\x1b[39;49my", "\x1b[0;38;5;200;48;2;1;2;3mx\x1b[0my"},
		{"with colons", "\x1b[38:2::1:2:3mx\x1b[4:3my", "\x1b[0;38;2;1;2;3mx\x1b[0;4;38;2;1;2;3my\x1b[0m"},
		{"curly underline off", "\x1b[4:3mx\x1b[4:0my", "\x1b[0;4mx\x1b[0my"},
		{"bright", "\x1b[91;107mx", "\x1b[0;91;107mx\x1b[0m"},
		{"concealed text is shown", "\x1b[8msecret", "secret"},
		{"nothing but SGR", "\x1b]0;t\x07\x1b[2J\x1b[5n\x1b[?1049h\x1b[?1049l\x1b[>4mx\x1b[31!my", "xy"},
		{"a coloured bar", "\x1b[32m10%\x1b[0m\r\x1b[32m100%\x1b[0m\r\n", "\x1b[0;32m100%\x1b[0m"},
	} {
		if got := colours(c.raw); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLinesComeOutOnceTheyCannotChange(t *testing.T) {
	var lines []string
	x := NewText(func(l string) { lines = append(lines, l) })
	for i := range Window + 5 {
		_, _ = fmt.Fprintf(x, "line %d\r\n", i)
	}
	if len(lines) != 6 || lines[5] != "line 5" {
		t.Errorf("%d lines are out: %q", len(lines), lines)
	}
	_, _ = x.Write([]byte("part"))
	x.Flush()
	if len(lines) != Window+5 {
		t.Errorf("after Flush %d lines are out", len(lines))
	}
	_, _ = x.Write([]byte("ial\r\x1b[99Awhole"))
	x.Close()
	if got := lines[len(lines)-1]; got != "wholeal" {
		t.Errorf("the last line: %q", got)
	}
}

func TestALongLineIsBoundedAndSaysSo(t *testing.T) {
	got := render(strings.Repeat("x", MaxLine+1234) + "\nnext")
	first, rest, _ := strings.Cut(got, "\n")
	if !strings.HasSuffix(first, "x… [1234 more characters]") || utf8.RuneCountInString(first) > MaxLine+40 || rest != "next" {
		t.Errorf("%d characters, ends in %q", utf8.RuneCountInString(first), first[len(first)-40:])
	}
}

// corpus has what tears programs like this apart.
func corpus() []string {
	out := []string{"", "\x1b", "\x1b[", "\x1b]", "\x1bP", "\xe2\x82", "\x1b[;;;;m", "\x1b[38;5m\x1b[38;2;1mx", "\x1b[?1049hx", "\b\b\r\x1b[A\x1b[999Bx"}
	for _, n := range []string{"2147483647", "99999999999999999999", "-1", "0", ""} {
		for f := byte('@'); f <= '~'; f++ {
			out = append(out, "ab\r\n\x1b["+n+string(f)+"c", "ab\x1b["+n+";"+n+string(f))
		}
	}
	r := rand.New(rand.NewSource(1))
	for range 300 {
		b := make([]byte, r.Intn(200))
		for i := range b {
			const some = "\x1b[[[]]PX^_\\mKJHABCDGsu78cM0123456789;:?\r\n\b\tab\xe2\x82\xac\xff\x18\x07 hl"
			b[i] = some[r.Intn(len(some))]
		}
		out = append(out, string(b))
	}
	return out
}

func checkStream(t *testing.T, raw []byte) {
	t.Helper()
	for _, f := range []func(func(string)) *Text{NewText, func(e func(string)) *Text { return &NewColours(e).Text }} {
		var whole, single bytes.Buffer
		a := f(func(l string) { whole.WriteString(l + "\n") })
		b := f(func(l string) { single.WriteString(l + "\n") })
		_, _ = a.Write(raw)
		for i := range raw {
			_, _ = b.Write(raw[i : i+1])
		}
		a.Close()
		b.Close()
		if whole.String() != single.String() {
			t.Fatalf("%q: whole %q, byte by byte %q", raw, whole.String(), single.String())
		}
		if !utf8.Valid(whole.Bytes()) {
			t.Fatalf("%q: not UTF-8: %q", raw, whole.String())
		}
		rest := whole.String()
		if a.c.colours {
			rest = sgr.ReplaceAllString(rest, "")
		}
		if i := strings.IndexFunc(rest, func(r rune) bool { return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 }); i >= 0 {
			t.Fatalf("%q: a control got through: %q", raw, rest)
		}
	}
}

func TestHowTheStreamIsCutMakesNoDifference(t *testing.T) {
	for _, s := range corpus() {
		checkStream(t, []byte(s))
	}
}

func FuzzText(f *testing.F) {
	for _, s := range corpus() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { checkStream(t, raw) })
}

// No short input may cost much: neither time nor memory.
func TestNoSequenceIsCostly(t *testing.T) {
	for _, s := range []string{"\x1b[9999999C", "\x1b[9999999Cx\n", "\x1b[99999@", "x\x1b[99999@", "\x1b[99999B\n", "\x1b[99999;99999Hx", "\x1b[2J", "\x1b[Hx\n", "\x1b7\x1b8", "\x1b[J", "\x1b[1K", "\x1b[99999X", "\x1bc", "\x1b[38;2;1;2;3mx"} {
		raw := []byte(strings.Repeat(s, 64<<10/len(s)))
		out := 0
		began := time.Now()
		x := NewColours(func(l string) { out += len(l) })
		_, _ = x.Write(raw)
		x.Close()
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("%q: 64 KiB took %s", s, d)
		}
		if out > 32<<20 {
			t.Errorf("%q: 64 KiB became %d bytes", s, out)
		}
	}
}

func BenchmarkText(b *testing.B) {
	lines := []byte(strings.Repeat("epoch 3 step 1200 loss 0.1234 \x1b[32mok\x1b[0m\r\n", 1000))
	bar := []byte(strings.Repeat("\r 45%|████▌     | 45/100 [00:01<00:01, 40.00it/s]", 1000))
	for name, raw := range map[string][]byte{"lines": lines, "bar": bar} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				x := NewText(func(string) {})
				_, _ = x.Write(raw)
				x.Close()
			}
		})
	}
}
