package vt

import "unicode/utf8"

// A class says how a character takes columns, by the table of go-runewidth: bits 0–1 are the columns, 0 to
// 2; with classEmoji what is joined to it doesn't make it wider than 2; with classAfter it is joined to a zero
// width joiner behind an emoji.
//
// What is one character on the screen: a character and the marks of no width after it (variation selectors
// too, which change no width); an emoji and a skin tone; emoji joined by U+200D; the letters of a Korean syllable. The two halves of a flag
// are a column each. The widths of a row thus are those go-runewidth gives its text.
//
// The table is widthtable.go, made from go-runewidth by this package's test, which also holds it against
// the library. The library's own functions would fill 2 MiB of memory at the first character beyond Latin.
type class uint8

const (
	classWidth class = 3
	classEmoji class = 4
	classAfter class = 8
)

// firstClassed is the first printable character whose width isn't 1.
const firstClassed = 0xad

func (k class) width() int { return int(k & classWidth) }

// joins says whether the character may be joined to one before, though it has a width.
func (k class) joins(r rune) bool { return k&classAfter != 0 || isTone(r) || hangulOf(r) != notHangul }

func isTone(r rune) bool { return r >= 0x1f3fb && r <= 0x1f3ff }

// A hangul is a kind of Korean letter: leading consonant, vowel, trailing consonant, and syllables of two
// and of three.
type hangul byte

const (
	notHangul hangul = iota
	hangulL
	hangulV
	hangulT
	hangulLV
	hangulLVT
)

func hangulOf(r rune) hangul {
	switch {
	case r < 0x1100 || r > 0xd7fb:
	case r <= 0x115f, r >= 0xa960 && r <= 0xa97c:
		return hangulL
	case r <= 0x11a7, r >= 0xd7b0 && r <= 0xd7c6:
		return hangulV
	case r <= 0x11ff, r >= 0xd7cb:
		return hangulT
	case r >= 0xac00 && r <= 0xd7a3:
		if (r-0xac00)%28 == 0 {
			return hangulLV
		}
		return hangulLVT
	}
	return notHangul
}

// follows says whether letters so after one another are one syllable.
func (h hangul) follows(last hangul) bool {
	switch last {
	case hangulL:
		return h != hangulT && h != notHangul
	case hangulV, hangulLV:
		return h == hangulV || h == hangulT
	case hangulT, hangulLVT:
		return h == hangulT
	}
	return false
}

// classOf finds a character's class.
func classOf(r rune) class {
	if r < 0x20000 {
		i := int(classPages[r>>7])<<6 | int(r&127)>>1
		return class(classBlocks[i]>>(r&1*4)) & 15
	}
	switch {
	case r >= 0x20000 && r <= 0x2fffd, r >= 0x30000 && r <= 0x3fffd:
		return 2
	case r == 0xe0001, r >= 0xe0020 && r <= 0xe007f, r >= 0xe0100 && r <= 0xe01ef:
		return 0
	}
	return 1
}

// joinable says whether a character with a width belongs to the cluster before it.
func joinable(cluster []byte, r rune, k class) bool {
	first, _ := utf8.DecodeRune(cluster)
	last, n := utf8.DecodeLastRune(cluster)
	if h := hangulOf(r); h != notHangul {
		return h.follows(hangulOf(last))
	}
	if first < firstClassed || classOf(first)&classEmoji == 0 {
		return false
	}
	if isTone(r) {
		return true
	}
	if last != 0x200d || k&classAfter == 0 {
		return false
	}
	// The joiner must follow an emoji, with nothing but marks between.
	for cluster = cluster[:len(cluster)-n]; len(cluster) > 0; cluster = cluster[:len(cluster)-n] {
		last, n = utf8.DecodeLastRune(cluster)
		if last >= firstClassed && classOf(last).width() == 0 || isTone(last) {
			continue
		}
		return last >= firstClassed && classOf(last)&classAfter != 0
	}
	return false
}
