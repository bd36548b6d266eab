package ui

import (
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"

	"pasar"
)

// narrow measures as terminals do that count characters of ambiguous width as one column.
var narrow = &runewidth.Condition{StrictEmojiNeutral: true}

// RuneWidth is how many columns a character takes where each column counts, whatever the locale says of those of
// ambiguous width.
func RuneWidth(r rune) int {
	if r >= ' ' && r <= '~' {
		return 1
	}
	return narrow.RuneWidth(r)
}

// ASCII stands for a character where there is only ASCII: what looks like it for those of pasar's own, else a question mark.
func ASCII(r rune) rune {
	switch {
	case r <= '~':
		return r
	}
	if a, ok := asciiOf[r]; ok {
		return a
	}
	return '?'
}

var asciiOf = map[rune]rune{'·': '-', '…': '~', '→': '>', '↓': 'v', '↑': '^', '×': 'x', '°': '\'', '−': '-', '–': '-', '—': '-', '»': '>', '│': '|', '─': '-',
	'█': '#', '░': '-', '▒': '/', '▓': 'x', '✓': '+', '✗': 'x', '“': '"', '”': '"', '‘': '\'', '’': '\'', '└': '`', 'µ': 'u'}

// marks is how many combining marks are shown on one character.
const marks = 2

// Shown is foreign text for a place where each column counts: clean, and without what terminals give different widths.
// Joiners, variation selectors and skin tones are gone, flags are their two letters, and what has no certain width is
// a question mark. The width of what is left is the sum of its characters' widths, each as if alone.
func Shown(text string) string {
	text = pasar.Clean(text)
	if !strings.ContainsFunc(text, func(r rune) bool { return r > '~' }) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	before, on := rune(0), 0 // the last character that takes room, and how many marks stand on it
	put := func(r rune) {
		b.WriteRune(r)
		before, on = r, 0
	}
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case r <= '~':
			put(r)
		case r == 0x200c || r == 0x200d, r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef, r >= 0x1f3fb && r <= 0x1f3ff:
		case r >= 0x1f1e6 && r <= 0x1f1ff: // regional indicators: two make a flag
			put('A' + r - 0x1f1e6)
		case unicode.Is(unicode.Zs, r):
			put(' ')
		case unicode.Is(unicode.M, r):
			if on++; on <= marks && carries(before) && narrow.RuneWidth(r) == 0 {
				b.WriteRune(r)
			}
		case jamo(r):
			s, n := syllable(runes[i:])
			put(s)
			i += n - 1
		case !unicode.IsPrint(r), r == 0x3164, r == 0xffa0: // not assigned, private, or a filler that can't be seen
			put('?')
		case narrow.StringWidth(string(before)+string(r)) != narrow.RuneWidth(before)+narrow.RuneWidth(r):
			put('?')
		default:
			put(r)
		}
	}
	return b.String()
}

// carries reports whether marks may stand on a character: on pictures they change how wide it is drawn.
func carries(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// jamo reports whether a character is a part of a Hangul syllable, which takes no room behind another part.
func jamo(r rune) bool {
	return r >= 0x1100 && r <= 0x11ff || r >= 0xa960 && r <= 0xa97f || r >= 0xd7b0 && r <= 0xd7ff
}

// syllable puts Hangul together (Unicode 3.12), and says of how many parts; what doesn't go together is a question mark.
func syllable(runes []rune) (rune, int) {
	at := func(i int, first, last rune) rune {
		if i < len(runes) && runes[i] >= first && runes[i] <= last {
			return runes[i] - first
		}
		return -1
	}
	l, v, t := at(0, 0x1100, 0x1112), at(1, 0x1161, 0x1175), at(2, 0x11a8, 0x11c2)
	switch {
	case l < 0 || v < 0:
		return '?', 1
	case t < 0:
		return 0xac00 + (l*21+v)*28, 2
	}
	return 0xac00 + (l*21+v)*28 + t + 1, 3
}
