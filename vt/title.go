package vt

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// Bounds of titles.
const (
	maxTitle  = 256 // bytes
	maxTitles = 10  // pushed
)

// str does an OSC or DCS string.
func (s *Screen) str(kind byte, text []byte, ender string) {
	if isStringQuery(kind, text) {
		s.stringQuery(kind, text, ender)
		return
	}
	if kind != ']' {
		return
	}
	code, rest, _ := bytes.Cut(text, []byte{';'})
	if c := string(code); c == "0" || c == "2" {
		s.title = cleanTitle(rest)
	}
}

// cleanTitle is a title without what isn't meant to be seen: controls, and characters that reorder or hide
// text. Runs of blanks are one.
func cleanTitle(b []byte) string {
	out := make([]byte, 0, min(len(b), maxTitle))
	blank := false
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		b = b[n:]
		switch {
		case unicode.IsSpace(r):
			blank = len(out) > 0
			continue
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r) && r != 0x200d, r == 0x2028, r == 0x2029:
			continue
		}
		need := utf8.RuneLen(r)
		if blank {
			need++
		}
		if len(out)+need > maxTitle {
			break
		}
		if blank {
			out, blank = append(out, ' '), false
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out)
}

// titleStack does the window operations that push and pop the title. All others are ignored.
func (s *Screen) titleStack(q *sequence) {
	if q.param(1, 0) == 1 {
		return // the icon's
	}
	switch q.param(0, 0) {
	case 22:
		if len(s.titles) == maxTitles {
			s.titles = append(s.titles[:0], s.titles[1:]...)
		}
		s.titles = append(s.titles, s.title)
	case 23:
		if n := len(s.titles); n > 0 {
			s.title, s.titles = s.titles[n-1], s.titles[:n-1]
		}
	}
}
