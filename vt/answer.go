package vt

import (
	"bytes"
	"strconv"
)

// What a Screen says it is: a VT220 with colours; of xterm's kind, from the version on that programs ask for
// mouse coordinates without limit; and by name.
const (
	deviceAttributes = "\x1b[?62;22c"
	deviceVersion    = "\x1b[>1;277;0c"
	deviceUnit       = "\x1bP!|00000000\x1b\\"
	deviceName       = "\x1bP>|pasar\x1b\\"
)

// Colours that programs are told: light grey on black, as most terminals have it, so that they choose colours for
// a dark background.
const (
	defaultFore   tint = 0xe5e5e5
	defaultBack   tint = 0x000000
	defaultCursor tint = 0xe5e5e5
)

// isQuery says whether a sequence is one that query answers. It must not depend on any state: a Scanner
// asks it too.
func isQuery(q *sequence) bool {
	n := q.param(0, 0)
	switch {
	case q.inter == '$' && q.final == 'p':
		return (q.private == 0 || q.private == '?') && len(q.params) == 1
	case q.inter != 0:
		return false
	case q.final == 'c':
		return n == 0 && (q.private == 0 || q.private == '>' || q.private == '=')
	case q.final == 'n':
		return n == 6 && (q.private == 0 || q.private == '?') || n == 5 && q.private == 0
	case q.final == 'q':
		return n == 0 && q.private == '>'
	case q.final == 'u':
		return q.private == '?'
	case q.final == 't':
		return n == 18 && q.private == 0
	}
	return false
}

// query answers a sequence that asks something. False: it doesn't.
func (s *Screen) query(q *sequence) bool {
	if !isQuery(q) {
		return false
	}
	if s.answer == nil {
		return true
	}
	b := make([]byte, 0, 64)
	switch n := q.param(0, 0); q.final {
	case 'c':
		switch q.private {
		case 0:
			b = append(b, deviceAttributes...)
		case '>':
			b = append(b, deviceVersion...)
		default:
			b = append(b, deviceUnit...)
		}
	case 'n':
		if n == 5 {
			b = append(b, "\x1b[0n"...)
			break
		}
		row := s.cur.row
		if s.cur.origin {
			row -= s.top
		}
		private := ""
		if q.private == '?' {
			private = "?"
		}
		b = appendCSI(b, private, 'R', row+1, s.cur.col+1)
	case 'p':
		private := ""
		if q.private == '?' {
			private = "?"
		}
		b = appendCSI(b, private, '$', n, s.mode(q.private == '?', n))
		b = append(b, 'y')
	case 'q':
		b = append(b, deviceName...)
	case 'u':
		b = appendCSI(b, "?", 'u', int(s.now.keys.flags))
	case 't':
		b = appendCSI(b, "", 't', 8, s.rows, s.cols)
	}
	s.answer(b)
	return true
}

// appendCSI appends a control sequence.
func appendCSI(b []byte, private string, final byte, params ...int) []byte {
	b = append(append(b, "\x1b["...), private...)
	for i, n := range params {
		if i > 0 {
			b = append(b, ';')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, final)
}

// isStringQuery says whether a string is one that stringQuery answers.
func isStringQuery(kind byte, text []byte) bool {
	if kind == 'P' {
		return bytes.HasPrefix(text, []byte("$q")) || bytes.HasPrefix(text, []byte("+q"))
	}
	asks := false
	eachColour(text, func(int) { asks = true })
	return asks
}

// eachColour calls f with each colour that OSC 4, 10, 11 and 12 ask for: 0–255 of the palette, or a number plus 1000.
func eachColour(text []byte, f func(colour int)) {
	code, rest, _ := bytes.Cut(text, []byte{';'})
	n, err := strconv.Atoi(string(code))
	if err != nil || n != 4 && (n < 10 || n > 12) {
		return
	}
	for more := true; more; {
		var item []byte
		item, rest, more = bytes.Cut(rest, []byte{';'})
		which := n + 1000
		if n == 4 {
			i, err := strconv.Atoi(string(item))
			if err != nil || i < 0 || i > 255 || !more {
				return
			}
			which = i
			item, rest, more = bytes.Cut(rest, []byte{';'})
		} else if n++; n > 13 {
			return
		}
		if string(item) == "?" {
			f(which)
		}
	}
}

// stringQuery answers a string that asks something.
func (s *Screen) stringQuery(kind byte, text []byte, ender string) {
	if s.answer == nil {
		return
	}
	if kind == 'P' {
		s.answer(s.settings(text))
		return
	}
	var b []byte
	eachColour(text, func(which int) {
		var c tint
		switch which {
		case 1010:
			c = defaultFore
		case 1011:
			c = defaultBack
		case 1012:
			c = defaultCursor
		default:
			c = paletteColour(which)
		}
		b = append(b[:0], "\x1b]"...)
		if which < 256 {
			b = append(b, "4;"...)
			b = strconv.AppendInt(b, int64(which), 10)
		} else {
			b = strconv.AppendInt(b, int64(which-1000), 10)
		}
		b = append(b, ";rgb:"...)
		for i, shift := range []int{16, 8, 0} {
			if i > 0 {
				b = append(b, '/')
			}
			const digits = "0123456789abcdef"
			hi, lo := digits[c>>shift>>4&15], digits[c>>shift&15]
			b = append(b, hi, lo, hi, lo)
		}
		s.answer(append(b, ender...))
	})
}

// settings answers DECRQSS and XTGETTCAP. No capability is known by the latter.
func (s *Screen) settings(text []byte) []byte {
	b := []byte("\x1bP0$r")
	if text[0] == '+' {
		b[3] = '+'
		return append(b, "\x1b\\"...)
	}
	switch string(text[2:]) {
	case "m":
		b = append(b[:2], "1$r0"...)
		if p := s.cur.pen; p != (pen{}) {
			sgr := p.appendFrom(nil, pen{})
			b = append(append(b, ';'), sgr[2:len(sgr)-1]...)
		}
		b = append(b, 'm')
	case "r":
		b = appendCSI(b[:2], "1$r", 'r', s.top+1, s.bottom+1)
		b = append(b[:2], b[4:]...)
	case " q":
		b = append(b[:2], "1$r"...)
		b = append(append(b, '0'+s.shape), " q"...)
	}
	return append(b, "\x1b\\"...)
}

// paletteColour is xterm's colour of a number, 0 to 255.
func paletteColour(n int) tint {
	switch {
	case n < 16:
		return basicColours[n]
	case n < 232:
		level := func(i int) tint {
			if i == 0 {
				return 0
			}
			return tint(55 + 40*i)
		}
		n -= 16
		return level(n/36)<<16 | level(n/6%6)<<8 | level(n%6)
	default:
		return tint(8+10*(n-232)) * 0x010101
	}
}

var basicColours = [16]tint{
	0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5,
	0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00, 0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff,
}
