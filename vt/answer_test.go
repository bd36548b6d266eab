package vt

import (
	"strings"
	"testing"
)

// answers are what a screen of 80×24 answers to raw.
func answers(raw string) string {
	s := NewScreen(80, 24)
	var b strings.Builder
	s.Answer(func(reply []byte) { b.Write(reply) })
	_, _ = s.Write([]byte(raw))
	return b.String()
}

func TestQueriesAreAnsweredAsByATerminal(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{"\x1b[c", "\x1b[?62;22c"},
		{"\x1b[0c", "\x1b[?62;22c"},
		{"\x1b[>c", "\x1b[>1;277;0c"},
		{"\x1b[=c", "\x1bP!|00000000\x1b\\"},
		{"\x1b[5n", "\x1b[0n"},
		{"ab\r\nc\x1b[6n", "\x1b[2;2R"},
		{"\x1b[?6n", "\x1b[?1;1R"},
		{strings.Repeat("x", 80) + "\x1b[6n", "\x1b[1;80R"},
		{"\x1b[5;9r\x1b[?6h\x1b[2;3H\x1b[6n", "\x1b[2;3R"},
		{"\x1b[?7$p\x1b[?25l\x1b[?25$p", "\x1b[?7;1$y\x1b[?25;2$y"},
		{"\x1b[?1049h\x1b[?1049$p\x1b[?1002h\x1b[?1002$p\x1b[?1000$p", "\x1b[?1049;1$y\x1b[?1002;1$y\x1b[?1000;2$y"},
		{"\x1b[?2026$p\x1b[?2026h\x1b[?2026$p", "\x1b[?2026;2$y\x1b[?2026;1$y"},
		{"\x1b[?2004$p\x1b[?69$p\x1b[?3133$p", "\x1b[?2004;2$y\x1b[?69;4$y\x1b[?3133;0$y"},
		{"\x1b[4$p\x1b[4h\x1b[4$p\x1b[20$p\x1b[99$p", "\x1b[4;2$y\x1b[4;1$y\x1b[20;4$y\x1b[99;0$y"},
		{"\x1b[>q\x1b[>0q", "\x1bP>|pasar\x1b\\\x1bP>|pasar\x1b\\"},
		{"\x1b]11;?\x1b\\", "\x1b]11;rgb:0000/0000/0000\x1b\\"},
		{"\x1b]10;?\a", "\x1b]10;rgb:e5e5/e5e5/e5e5\a"},
		{"\x1b]10;?;?;?\a", "\x1b]10;rgb:e5e5/e5e5/e5e5\a\x1b]11;rgb:0000/0000/0000\a\x1b]12;rgb:e5e5/e5e5/e5e5\a"},
		{"\x1b]4;1;?;208;?;250;?;300;?\a", "\x1b]4;1;rgb:cdcd/0000/0000\a\x1b]4;208;rgb:ffff/8787/0000\a\x1b]4;250;rgb:bcbc/bcbc/bcbc\a"},
		{"\x1b]11;#123456\a\x1b]11;?\a", "\x1b]11;rgb:0000/0000/0000\a"}, // colours stay as they are
		{"\x1b[?u\x1b[>5u\x1b[?u\x1b[<u\x1b[?u", "\x1b[?0u\x1b[?5u\x1b[?0u"},
		{"\x1b[18t", "\x1b[8;24;80t"},
		{"\x1bP$qm\x1b\\\x1b[1;31m\x1bP$qm\x1b\\", "\x1bP1$r0m\x1b\\\x1bP1$r0;1;31m\x1b\\"},
		{"\x1b[2;5r\x1bP$qr\x1b\\\x1b[4 q\x1bP$q q\x1b\\\x1bP$qx\x1b\\", "\x1bP1$r2;5r\x1b\\\x1bP1$r4 q\x1b\\\x1bP0$r\x1b\\"},
		{"\x1bP+q544e\x1b\\", "\x1bP0+r\x1b\\"},
	} {
		if got := answers(c.raw); got != c.want {
			t.Errorf("%q: %q, want %q", c.raw, got, c.want)
		}
	}
}

func TestWhatIsNobodysBusinessIsNotAnswered(t *testing.T) {
	for _, raw := range []string{
		"\x05", "\x1b]52;c;?\a", "\x1b]52;c;aGk=\a", "\x1b]52;p;!\a", "\x1b[21t\x1b[20t\x1b[11t\x1b[13t\x1b[14t\x1b[19t", "\x1b[1c\x1b[?c\x1b[?62c",
		"\x1b[?15n\x1b[?25n\x1b[?53n\x1b[?996n", "\x1b[>4m\x1b[?4m", "\x1b[u\x1b[>u\x1b[=u\x1b[<u", "\x1b]0;?\a\x1b]2;?\a\x1b]13;?\a\x1b]110\a\x1b]4;1;#123\a", "\x1b_Gi=1,a=q\x1b\\", "\x1bPq\x1b\\\x1b^$qm\x1b\\",
		"\x1b[x\x1b[1x", "\x1bZ", "\x1b[8;30;90t\x1b[3;1;1t", "\x1b]11;?\x18", "\x1bP$qm\x18", "\x1b]11;?",
	} {
		if got := answers(raw); got != "" {
			t.Errorf("%q is answered with %q", raw, got)
		}
		s := NewScreen(80, 24)
		_, _ = s.Write([]byte(raw + "\x18"))
		if cols, rows := s.Size(); cols != 80 || rows != 24 {
			t.Errorf("%q: %d×%d", raw, cols, rows)
		}
	}
}

func TestTitlesAreCleanAndShort(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{"\x1b]0;a title\a", "a title"},
		{"\x1b]2;世界 é\x1b\\", "世界 é"},
		{"\x1b]1;icon\a", ""},
		{"\x1b]2;a\tb\nc\x01d\u202ee\u200bf\u009bg\xffh\a", "a b cdefg\ufffdh"},
		{"\x1b]2;  x  \a", "x"},
		{"\x1b]2;" + strings.Repeat("é", 500) + "\a", strings.Repeat("é", 128)},
		{"\x1b]2;a\a\x1b[22;0t\x1b]2;b\a\x1b[22t\x1b]2;c\a\x1b[23t\x1b[23;0t", "a"},
		{"\x1b]2;a\a\x1b[23t", "a"},
		{"\x1b]2;a\a\x1b]2;\a", ""},
		{"\x1b]2;a;b\a", "a;b"},
		{"\x1b]2;a\a\x1b]2;never ended\x18", "a"},
	} {
		if got := screenOf(10, 2, c.raw).Title(); got != c.want {
			t.Errorf("%q: %q, want %q", c.raw, got, c.want)
		}
	}
}
