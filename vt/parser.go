// Package vt understands what a program writes to a terminal: it turns the raw bytes into lines of
// text as a person would have seen them (Text), or into the screen as it is (Screen), or keeps of them what somebody
// else's terminal may be sent (Filter).
package vt

import (
	"encoding/binary"
	"unicode/utf8"
)

// Bounds of what a sequence may be. Whatever exceeds one is dropped, and text goes on.
const (
	maxString = 64 << 10 // bytes of an OSC, DCS, APC, PM or SOS string
	maxCSI    = 4 << 10  // bytes of a control sequence
	maxText   = 4 << 10  // bytes of an OSC or DCS string that a device is told; of longer ones it is told nothing
	maxParams = 32
	maxParam  = 9999 // counts beyond it mean the same
)

// A handler is told what a parser found, in order.
type handler interface {
	print(r rune)
	ascii(b []byte)    // printable ASCII, as so many calls of print
	control(c byte)    // a C0 control
	escape(final byte) // ESC final, without intermediate bytes
	sequence(s *sequence)
}

// A device is a handler that wants to know what concerns a terminal itself, not the text on it.
type device interface {
	handler
	designate(inter, final byte)              // ESC inter final
	str(kind byte, text []byte, ender string) // ESC kind text ender; kind is ] or P, and text is at most maxText long
}

// A sequence is a control sequence: CSI private params intermediate final.
type sequence struct {
	private byte   // < = > ? or 0
	params  []int  // omitted ones are -1
	subs    uint32 // bit i: params[i] came after a colon and belongs to the one before
	inter   byte   // the last intermediate byte, or 0
	final   byte
}

// param is parameter i, or def if it was omitted or is 0.
func (s *sequence) param(i, def int) int {
	if i >= len(s.params) || s.params[i] <= 0 {
		return def
	}
	return s.params[i]
}

type parserState int

const (
	ground parserState = iota
	escaped
	escapedMore // an intermediate byte came: a character set or the like
	csi
	stringOSC   // ended by BEL too
	stringOther // DCS, APC, PM, SOS
)

// sub reports whether parameter i belongs to the one before it.
func (s *sequence) sub(i int) bool { return i < len(s.params) && s.subs&(1<<i) != 0 }

// A parser splits a stream of bytes into characters and control functions. How the stream is cut
// into writes makes no difference.
type parser struct {
	h       handler
	state   parserState
	over    bool // the control sequence has more parameters than are kept
	size    int  // bytes of the string or sequence under way
	seq     sequence
	partial []byte // of a UTF-8 character

	dev   device // h, if it is one
	inter byte   // of an escape
	kind  byte   // of a string; 0: nobody wants it
	text  []byte // of the string
}

func (p *parser) write(b []byte) {
	for i := 0; i < len(b); {
		if p.state != ground || len(p.partial) > 0 {
			p.byte(b[i])
			i++
			continue
		}
		switch c := b[i]; {
		case c >= 0x80:
			var r rune
			n := 3
			if r = three(b[i:]); r == 0 {
				r, n = utf8.DecodeRune(b[i:])
			}
			if n == 1 { // broken, or cut
				p.byte(c)
			} else if r >= 0xa0 { // C1 controls are dropped
				p.h.print(r)
			}
			i += n
		case c >= 0x20 && c < 0x7f:
			n := printable(b[i:])
			p.h.ascii(b[i : i+n])
			i += n
		case c == 0x1b:
			n := p.wholeCSI(b[i:])
			if n == 0 {
				p.state, n = escaped, 1
			}
			i += n
		default:
			p.c0(c)
			i++
		}
	}
}

// three is the character of three bytes that b starts with, as most are that aren't Latin: the quick part of
// utf8.DecodeRune. 0: there is none, or it takes a closer look.
func three(b []byte) rune {
	if len(b) < 3 || b[0]&0xf0 != 0xe0 || b[1]&0xc0 != 0x80 || b[2]&0xc0 != 0x80 {
		return 0
	}
	r := rune(b[0]&0xf)<<12 | rune(b[1]&0x3f)<<6 | rune(b[2]&0x3f)
	if r < 0x800 || r >= 0xd800 && r < 0xe000 {
		return 0
	}
	return r
}

// printable is how many bytes at the start are printable ASCII.
func printable(b []byte) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; n+8 <= len(b); n += 8 {
		x := binary.LittleEndian.Uint64(b[n:])
		if ((x-0x20*ones)|(x+ones)|x)&tops != 0 { // a byte below 0x20, or from 0x7f on
			break
		}
	}
	for n < len(b) && b[n] >= 0x20 && b[n] < 0x7f {
		n++
	}
	return n
}

// wholeCSI does the control sequence that b starts with, if all of it is there and nothing is odd about
// it: what csi would do, in less time. It returns its length, or 0.
func (p *parser) wholeCSI(b []byte) int {
	if len(b) < 3 || b[1] != '[' {
		return 0
	}
	s := &p.seq
	*s = sequence{params: s.params[:0]}
	n := -1      // the parameter under way
	any := false // there are parameters
	for i, c := range b[2:min(len(b), maxParams*2)] {
		switch {
		case c >= '0' && c <= '9':
			n = min(max(n, 0)*10+int(c-'0'), maxParam)
			any = true
		case c == ';' || c == ':':
			if len(s.params) == maxParams-2 {
				return 0
			}
			s.params = append(s.params, n)
			if c == ':' {
				s.subs |= 1 << len(s.params)
			}
			n, any = -1, true
		case c >= 0x40 && c < 0x7f:
			if any {
				s.params = append(s.params, n)
			}
			s.final = c
			p.h.sequence(s)
			return i + 3
		case c >= '<' && c <= '?':
			s.private = c
		case c >= 0x20 && c < 0x30:
			s.inter = c
		default:
			return 0
		}
	}
	return 0
}

// close ends the stream: what is left of a character is shown as such.
func (p *parser) close() {
	for range p.partial {
		p.h.print(utf8.RuneError)
	}
	p.partial = p.partial[:0]
	p.state = ground
}

func (p *parser) byte(c byte) {
	if len(p.partial) > 0 {
		p.utf8(c)
		return
	}
	switch p.state {
	case ground:
		switch {
		case c >= 0x80:
			p.utf8(c)
		case c >= 0x20 && c != 0x7f:
			p.h.print(rune(c))
		default:
			p.c0(c)
		}
	case escaped, escapedMore:
		p.escape(c)
	case csi:
		p.csi(c)
	default:
		p.string(c)
	}
}

// utf8 collects a character. Bytes that can't be one become U+FFFD each.
func (p *parser) utf8(c byte) {
	p.partial = append(p.partial, c)
	for len(p.partial) > 0 && utf8.FullRune(p.partial) {
		r, n := utf8.DecodeRune(p.partial)
		rest := len(p.partial) - n
		if r < 0x80 { // what follows a broken character is as any other byte
			var again [utf8.UTFMax]byte
			copy(again[:], p.partial)
			p.partial = p.partial[:0]
			for _, c := range again[:n+rest] {
				p.byte(c)
			}
			return
		}
		copy(p.partial, p.partial[n:])
		p.partial = p.partial[:rest]
		if r >= 0xa0 { // C1 controls are dropped
			p.h.print(r)
		}
	}
}

func (p *parser) c0(c byte) {
	switch c {
	case 0x1b:
		p.state = escaped
	case 0x7f, 0:
	default:
		p.h.control(c)
	}
}

// common handles bytes that mean the same within every escape and sequence.
func (p *parser) common(c byte) bool {
	switch {
	case c == 0x18, c == 0x1a: // CAN, SUB
		p.state = ground
	case c == 0x1b:
		p.state = escaped
	case c >= 0x80: // no sequence holds it, so this was none
		p.state = ground
		p.utf8(c)
	case c < 0x20 || c == 0x7f:
		p.c0(c)
	default:
		return false
	}
	return true
}

func (p *parser) escape(c byte) {
	if p.common(c) {
		return
	}
	switch {
	case c < 0x30:
		p.state, p.inter = escapedMore, c
	case p.state == escapedMore:
		p.state = ground
		if p.dev != nil {
			p.dev.designate(p.inter, c)
		}
	case c == '[':
		p.state, p.size, p.over = csi, 0, false
		p.seq = sequence{params: p.seq.params[:0]}
	case c == ']':
		p.state, p.size = stringOSC, 0
		p.begin(c)
	case c == 'P', c == 'X', c == '^', c == '_':
		p.state, p.size = stringOther, 0
		p.begin(c)
	default:
		p.state = ground
		p.h.escape(c)
	}
}

func (p *parser) csi(c byte) {
	if p.common(c) {
		return
	}
	if p.size++; p.size > maxCSI {
		p.state = ground
		return
	}
	s := &p.seq
	switch {
	case p.over && c < 0x40: // as terminals do: what is too much is dropped, and the sequence goes on
	case c >= '0' && c <= '9':
		if len(s.params) == 0 {
			s.params = append(s.params, -1)
		}
		n := &s.params[len(s.params)-1]
		*n = min(max(*n, 0)*10+int(c-'0'), maxParam)
	case c == ';' || c == ':':
		if len(s.params) == 0 {
			s.params = append(s.params, -1)
		}
		if len(s.params) == maxParams {
			p.over = true
			return
		}
		if c == ':' {
			s.subs |= 1 << len(s.params)
		}
		s.params = append(s.params, -1)
	case c >= '<' && c <= '?':
		s.private = c
	case c < 0x30:
		s.inter = c
	default:
		p.state = ground
		s.final = c
		p.h.sequence(s)
	}
}

// begin starts a string.
func (p *parser) begin(kind byte) {
	p.kind, p.text = 0, p.text[:0]
	if p.dev != nil && (kind == ']' || kind == 'P') {
		p.kind = kind
	}
}

// end tells of a string that has come to its end.
func (p *parser) end(ender string) {
	if p.kind != 0 {
		p.dev.str(p.kind, p.text, ender)
	}
	p.kind = 0
}

func (p *parser) string(c byte) {
	switch {
	case c == 0x18, c == 0x1a:
		p.state, p.kind = ground, 0
	case c == 0x07 && p.state == stringOSC:
		p.state = ground
		p.end("\a")
	case c == 0x1b: // ST is ESC \, and any other escape ends a string too
		p.state = escaped
		p.end("\x1b\\")
	default:
		if p.size++; p.size >= maxString {
			p.state, p.kind = ground, 0
		}
		if p.kind != 0 {
			if len(p.text) == maxText {
				p.kind = 0
				return
			}
			p.text = append(p.text, c)
		}
	}
}
