package vt

import "strconv"

// A colour is one of a terminal's: none, one of 256, or red, green and blue.
type colour struct {
	kind    byte // 0 none, 5 indexed, 2 direct
	r, g, b byte // indexed: r
}

// A style is how a character looks. Concealed text isn't part of it: everything is shown.
type style struct {
	bold, faint, italic, underline, blink, inverse, struck bool
	fore, back                                             colour
}

// apply changes the style as an SGR sequence does.
func (s *style) apply(seq *sequence) {
	params := seq.params
	if len(params) == 0 {
		*s = style{}
		return
	}
	for i := 0; i < len(params); i++ {
		n, at := max(params[i], 0), i
		for seq.sub(i + 1) {
			i++
		}
		switch {
		case n == 0:
			*s = style{}
		case n == 1:
			s.bold = true
		case n == 2:
			s.faint = true
		case n == 3:
			s.italic = true
		case n == 4 || n == 21:
			s.underline = i == at || params[at+1] != 0 // 4:0 is none, 4:3 a curly one
		case n == 5 || n == 6:
			s.blink = true
		case n == 7:
			s.inverse = true
		case n == 9:
			s.struck = true
		case n == 22:
			s.bold, s.faint = false, false
		case n == 23:
			s.italic = false
		case n == 24:
			s.underline = false
		case n == 25:
			s.blink = false
		case n == 27:
			s.inverse = false
		case n == 29:
			s.struck = false
		case n >= 30 && n <= 37:
			s.fore = colour{kind: 5, r: byte(n - 30)}
		case n >= 40 && n <= 47:
			s.back = colour{kind: 5, r: byte(n - 40)}
		case n >= 90 && n <= 97:
			s.fore = colour{kind: 5, r: byte(n - 90 + 8)}
		case n >= 100 && n <= 107:
			s.back = colour{kind: 5, r: byte(n - 100 + 8)}
		case n == 39:
			s.fore = colour{}
		case n == 49:
			s.back = colour{}
		case n == 38 || n == 48 || n == 58:
			c, used := extended(params[at+1:])
			if i == at {
				i += used // the form with semicolons
			}
			switch n {
			case 38:
				s.fore = c
			case 48:
				s.back = c
			}
		}
	}
}

// extended reads the colour after 38 or 48: 5;n or 2;r;g;b.
func extended(p []int) (c colour, used int) {
	at := func(i int) byte { return byte(min(max(p[i], 0), 255)) }
	switch {
	case len(p) >= 2 && p[0] == 5:
		return colour{kind: 5, r: at(1)}, 2
	case len(p) >= 5 && p[0] == 2 && p[1] == -1: // 38:2::r:g:b, with an empty colour space
		return colour{kind: 2, r: at(2), g: at(3), b: at(4)}, 5
	case len(p) >= 4 && p[0] == 2:
		return colour{kind: 2, r: at(1), g: at(2), b: at(3)}, 4
	}
	return colour{}, len(p)
}

// appendSGR appends the sequence that sets exactly this style.
func (s style) appendSGR(b []byte) []byte {
	b = append(b, "\x1b[0"...)
	for _, a := range []struct {
		on   bool
		code string
	}{{s.bold, ";1"}, {s.faint, ";2"}, {s.italic, ";3"}, {s.underline, ";4"}, {s.blink, ";5"}, {s.inverse, ";7"}, {s.struck, ";9"}} {
		if a.on {
			b = append(b, a.code...)
		}
	}
	b = s.fore.appendCode(b, 30)
	b = s.back.appendCode(b, 40)
	return append(b, 'm')
}

// appendCode appends a colour's parameters; base is 30 for the foreground, 40 for the background.
func (c colour) appendCode(b []byte, base int) []byte {
	num := func(n int) { b = strconv.AppendInt(append(b, ';'), int64(n), 10) }
	switch {
	case c.kind == 5 && c.r < 8:
		num(base + int(c.r))
	case c.kind == 5 && c.r < 16:
		num(base + 60 + int(c.r) - 8)
	case c.kind == 5:
		num(base + 8)
		num(5)
		num(int(c.r))
	case c.kind == 2:
		num(base + 8)
		num(2)
		num(int(c.r))
		num(int(c.g))
		num(int(c.b))
	}
	return b
}
