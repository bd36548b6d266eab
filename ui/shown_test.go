package ui

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// runeSum is the width of a text whose characters are each as wide as alone.
func runeSum(s string) (n int) {
	for _, r := range s {
		n += narrow.RuneWidth(r)
	}
	return n
}

func TestForeignTextHasTheWidthOfItsCharacters(t *testing.T) {
	for in, want := range map[string]string{
		"train":                     "train",
		"[red]x[-] [\"r\"]":         "[red]x[-] [\"r\"]", // a medium with tags escapes them itself
		"a\x1b[31mb\tc\n":           `a\x1b[31mb\tc\n`,
		"\u202eevil\u2066":          `\u202eevil\u2066`,
		"\x80":                      `\x80`,
		"漢字 모델":                     "漢字 모델",
		"\u1100\u1161\u11a8x\u1161": "\uac01x?",
		"👨\u200d👩\u200d👧 ok":        "👨👩👧 ok",
		"👍\U0001f3fd":               "👍",
		"❤\ufe0f 1\ufe0f\u20e3":     "❤ 1\u20e3",
		"🇲🇾 sea":                    "MY sea",
		"שלום مرحبا":                "שלום مرحبا",
		"e\u0301\u0302\u0303\u0304": "e\u0301\u0302",
		"\u0301x":                   "x",
		"a\u00a0b\u3000c":           "a b c",
		"\ue0b0\U000fffff":          "??",
	} {
		if got := Shown(in); got != want {
			t.Errorf("Shown(%+q) = %+q; want %+q", in, got, want)
		}
	}
}

func TestLongForeignTextIsShownAtOnce(t *testing.T) {
	long := strings.Repeat("字e\u0301\u0302\u0303👨\u200d👩", 1000)
	if got := Shown(long); columns(got) != runeSum(got) || Shown(got) != got {
		t.Errorf("%d columns of %d", columns(got), runeSum(got))
	}
}

func FuzzShown(f *testing.F) {
	for _, s := range []string{"", "a\u0301", "🇩🇪🇩", "\u1112\u1161\u11ab", "क्षि", "👩🏽\u200d🚀", "\xff\xe3\x81", "ｶﾞ", "👍ﾞ", "a\u0600b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got := Shown(in)
		if !utf8.ValidString(got) {
			t.Fatalf("%+q became %+q", in, got)
		}
		if w := narrow.StringWidth(got); w != runeSum(got) {
			t.Fatalf("%+q became %+q: %d columns, its characters have %d", in, got, w, runeSum(got))
		}
		if again := Shown(got); again != got {
			t.Fatalf("%+q became %+q, and that %+q", in, got, again)
		}
	})
}
