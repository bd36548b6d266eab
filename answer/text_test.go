package answer

import "testing"

func TestWhatTurnsTextAroundIsSeenAndColoursStay(t *testing.T) {
	for in, want := range map[string]string{
		"plain \ttext":               "plain \ttext",
		"\x1b[31mréd\x1b[0m":         "\x1b[31mréd\x1b[0m",
		"a\u202eb\u2066c\u061cd":     `a\u202eb\u2066c\u061cd`,
		"\ufeffx\u2028y\u2029\u200f": `\ufeffx\u2028y\u2029\u200f`,
		"":                           "",
	} {
		if got := string(appendVisible(nil, in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
