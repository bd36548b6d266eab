package vt

import "strconv"

// A tint is one of a terminal's colours: 0 is none, then one of 256, or red, green and blue.
type tint uint32

const (
	tintIndexed tint = 1 << 24
	tintDirect  tint = 2 << 24
)

// Attributes of a pen. The underline's style is the three bits from penUnder on: 0 none, 1 single,
// 2 double, 3 curly, 4 dotted, 5 dashed.
const (
	penBold = 1 << iota
	penFaint
	penItalic
	penBlink
	penInverse
	penConceal
	penStruck
	penOver

	penUnder     = 8 // bits to shift
	penUnderMask = 7 << penUnder
)

// A pen is how characters are drawn on a Screen. It knows more than a style, which is all that lines of text need.
type pen struct {
	fore, back, line tint // line is the underline's colour
	attr             uint16
}

// penCodes are the SGR codes of the attributes, by bit.
var penCodes = [...]struct {
	bit  uint16
	code string
}{{penBold, ";1"}, {penFaint, ";2"}, {penItalic, ";3"}, {penBlink, ";5"}, {penInverse, ";7"}, {penConceal, ";8"}, {penStruck, ";9"}, {penOver, ";53"}}

// apply changes the pen as an SGR sequence does.
func (p *pen) apply(seq *sequence) {
	params := seq.params
	if len(params) == 0 {
		*p = pen{}
		return
	}
	for i := 0; i < len(params); i++ {
		n, at := max(params[i], 0), i
		for seq.sub(i + 1) {
			i++
		}
		switch {
		case n == 0:
			*p = pen{}
		case n >= 30 && n <= 37:
			p.fore = tintIndexed | tint(n-30)
		case n >= 40 && n <= 47:
			p.back = tintIndexed | tint(n-40)
		case n >= 90 && n <= 97:
			p.fore = tintIndexed | tint(n-90+8)
		case n >= 100 && n <= 107:
			p.back = tintIndexed | tint(n-100+8)
		case n == 38 || n == 48 || n == 58:
			c, used := extended(params[at+1:])
			if i == at {
				i += used // the form with semicolons
			}
			t := c.tint()
			switch {
			case t == 0: // a broken one changes nothing
			case n == 38:
				p.fore = t
			case n == 48:
				p.back = t
			default:
				p.line = t
			}
		case n == 39:
			p.fore = 0
		case n == 49:
			p.back = 0
		case n == 59:
			p.line = 0
		case n == 4 && i > at:
			p.underline(params[at+1])
		default:
			p.attribute(n)
		}
	}
}

// attribute does the codes that turn an attribute on or off.
func (p *pen) attribute(n int) {
	switch n {
	case 1:
		p.attr |= penBold
	case 2:
		p.attr |= penFaint
	case 3:
		p.attr |= penItalic
	case 4:
		p.underline(1)
	case 5, 6:
		p.attr |= penBlink
	case 7:
		p.attr |= penInverse
	case 8:
		p.attr |= penConceal
	case 9:
		p.attr |= penStruck
	case 21:
		p.underline(2)
	case 22:
		p.attr &^= penBold | penFaint
	case 23:
		p.attr &^= penItalic
	case 24:
		p.underline(0)
	case 25:
		p.attr &^= penBlink
	case 27:
		p.attr &^= penInverse
	case 28:
		p.attr &^= penConceal
	case 29:
		p.attr &^= penStruck
	case 53:
		p.attr |= penOver
	case 55:
		p.attr &^= penOver
	}
}

func (p *pen) underline(kind int) {
	if kind < 0 || kind > 5 {
		kind = 1
	}
	p.attr = p.attr&^penUnderMask | uint16(kind)<<penUnder
}

func (c colour) tint() tint {
	switch c.kind {
	case 5:
		return tintIndexed | tint(c.r)
	case 2:
		return tintDirect | tint(c.r)<<16 | tint(c.g)<<8 | tint(c.b)
	}
	return 0
}

// appendFrom appends the SGR sequence that makes this pen of another one: nothing if it is the same.
func (p pen) appendFrom(b []byte, old pen) []byte {
	switch {
	case p == old:
		return b
	case p == pen{}:
		return append(b, "\x1b[m"...)
	}
	b = append(b, "\x1b["...)
	from := len(b)
	if p.attr != old.attr || p.line != old.line {
		if old != (pen{}) {
			b, old = append(b, ";0"...), pen{}
		}
		b = p.appendAttributes(b)
	}
	if p.fore != old.fore {
		b = p.fore.appendCode(b, 30)
	}
	if p.back != old.back {
		b = p.back.appendCode(b, 40)
	}
	b = append(b[:from], b[from+1:]...) // the first semicolon
	return append(b, 'm')
}

func (p pen) appendAttributes(b []byte) []byte {
	for _, a := range penCodes {
		if p.attr&a.bit != 0 {
			b = append(b, a.code...)
		}
	}
	switch u := p.attr >> penUnder & 7; u {
	case 0:
	case 1:
		b = append(b, ";4"...)
	default:
		b = append(b, ";4:"...)
		b = append(b, '0'+byte(u))
	}
	// With colons, for terminals that don't know 58 would take what follows a semicolon for codes.
	switch {
	case p.line&tintDirect != 0:
		b = append(b, ";58:2:"...)
		for _, shift := range []int{16, 8, 0} {
			b = strconv.AppendUint(append(b, ':'), uint64(p.line>>shift&255), 10)
		}
	case p.line != 0:
		b = strconv.AppendUint(append(b, ";58:5:"...), uint64(p.line&255), 10)
	}
	return b
}

// appendCode appends a colour's codes, each after a semicolon; base is 30 for the foreground, 40 for the background.
func (t tint) appendCode(b []byte, base int) []byte {
	c := colour{}
	switch {
	case t&tintDirect != 0:
		c = colour{2, byte(t >> 16), byte(t >> 8), byte(t)}
	case t != 0:
		c = colour{kind: 5, r: byte(t)}
	default:
		return strconv.AppendInt(append(b, ';'), int64(base+9), 10)
	}
	return c.appendCode(b, base)
}
