package main

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A screenFilter lets through what a job may do to the terminal of whoever attached: text, cursor,
// erasing, colour and the modes listed below. Everything else is left out by default: no titles, no
// clipboard, no queries that the terminal would answer, no strings that it would keep.
type screenFilter struct {
	types bool // the client types: modes that change what keys and the mouse send make sense
	state filterState
	seq   []byte // of the sequence under way
	out   []byte

	alternate bool // the alternate screen was asked for
	region    bool // scroll region or origin mode were: putting them back moves the cursor
}

type filterState int

const (
	inText filterState = iota
	inUTF8
	inEscape
	inCSI
	inString    // OSC, DCS, APC, PM or SOS: left out to its end
	inStringEsc // ESC within a string: its end, with \
)

// maxSequence bounds a sequence; a longer one is left out.
const maxSequence = 128

// filter returns what may pass of b; it is valid until the next call. Sequences may be cut anywhere.
func (f *screenFilter) filter(b []byte) []byte {
	f.out = f.out[:0]
	for _, c := range b {
		f.byte(c)
	}
	return f.out
}

func (f *screenFilter) byte(c byte) {
	switch f.state {
	case inUTF8:
		f.utf8(c)
	case inEscape:
		f.escape(c)
	case inCSI:
		f.csi(c)
	case inString:
		switch c {
		case 0x07, 0x18, 0x1a:
			f.state = inText
		case 0x1b:
			f.state = inStringEsc
		}
	case inStringEsc:
		f.state = inText
		if c != '\\' { // not an end: the escape begins something new
			f.begin(inEscape)
			f.escape(c)
		}
	default:
		f.text(c)
	}
}

func (f *screenFilter) begin(s filterState) { f.state, f.seq = s, f.seq[:0] }

func (f *screenFilter) text(c byte) {
	switch {
	case c == 0x1b:
		f.begin(inEscape)
	case c >= 0x20 && c < 0x7f, c >= 0x07 && c <= 0x0d: // BEL BS HT LF VT FF CR; neither ENQ nor shifts
		f.out = append(f.out, c)
	case c >= 0x80:
		f.begin(inUTF8)
		f.utf8(c)
	}
}

// utf8 passes whole characters but for the C1 controls, which some terminals obey.
func (f *screenFilter) utf8(c byte) {
	if c < 0x80 || len(f.seq) > 0 && utf8.RuneStart(c) {
		f.out = utf8.AppendRune(f.out, utf8.RuneError)
		f.state = inText
		f.text(c)
		return
	}
	f.seq = append(f.seq, c)
	if !utf8.FullRune(f.seq) {
		return
	}
	f.state = inText
	if r, _ := utf8.DecodeRune(f.seq); r < 0x80 || r > 0x9f {
		f.out = utf8.AppendRune(f.out, r)
	}
}

func (f *screenFilter) escape(c byte) {
	switch {
	case c == 0x1b:
		f.begin(inEscape)
	case c == 0x18 || c == 0x1a:
		f.state = inText
	case c < 0x20: // a control within a sequence does what it does outside
		s := f.state
		f.text(c)
		f.state = s
	case len(f.seq) == 1: // the set for ESC ( or ESC ): ASCII or line drawing
		f.state = inText
		if c == 'B' || c == '0' {
			f.out = append(f.out, 0x1b, f.seq[0], c)
		}
	case c == '[':
		f.begin(inCSI)
	case strings.IndexByte("]PX^_", c) >= 0:
		f.state = inString
	case c == '(' || c == ')':
		f.seq = append(f.seq, c)
	case c < 0x30: // another intermediate: its final byte is text to us, which harms nobody
	default:
		f.state = inText
		if strings.IndexByte("78DEMc=>", c) >= 0 {
			f.out = append(f.out, 0x1b, c)
		}
	}
}

func (f *screenFilter) csi(c byte) {
	switch {
	case c == 0x1b:
		f.begin(inEscape)
	case c == 0x18 || c == 0x1a:
		f.state = inText
	case c < 0x20:
		f.text(c)
		f.state = inCSI
	case c >= 0x40 && c <= 0x7e:
		f.state = inText
		f.allow(f.seq, c)
	case c < 0x40 && len(f.seq) <= maxSequence:
		f.seq = append(f.seq, c)
	}
}

// plainFinals end the control sequences without a prefix that may pass: cursor movement, erasing,
// inserting and deleting, scrolling, colour, scroll region, tabs, repetition, saving the cursor, and
// the modes insert and newline.
const plainFinals = "ABCDEFGHIJKLMPSTXZ@`abdefmrsuhl"

// Modes of CSI ? … h and l that may pass. The second list is for those who type.
const (
	screenModes = " 1 3 5 6 7 12 25 45 47 66 1047 1048 1049 "
	typingModes = " 9 1000 1002 1003 1004 1005 1006 1015 1016 2004 "
)

func (f *screenFilter) allow(params []byte, final byte) {
	if len(params) > maxSequence {
		return
	}
	switch {
	case string(params) == "!" && final == 'p': // soft reset
	case bytes.HasSuffix(params, []byte(" ")) && final == 'q' && numbers(params[:len(params)-1]): // cursor shape
	case bytes.HasPrefix(params, []byte("?")):
		rest := params[1:]
		switch final {
		case 'J', 'K':
			if !numbers(rest) {
				return
			}
		case 'h', 'l':
			f.modes(rest, final)
			return
		default:
			return
		}
	case strings.IndexByte(plainFinals, final) >= 0 && numbers(params):
	default:
		return
	}
	f.region = f.region || final == 'r'
	f.out = append(f.out, "\x1b["...)
	f.out = append(f.out, params...)
	f.out = append(f.out, final)
}

// undo puts a terminal back that the job may have left in any state: mouse, paste and focus reports,
// cursor keys and keypad, insert mode, line drawing, colours, the cursor, and where it was asked for
// the scroll region and the alternate screen. It ends on a fresh line.
func (f *screenFilter) undo() string {
	s := "\x18\x1b[?9;1000;1002;1003;1004;1005;1006;1015;1016;2004l\x1b[?1;5;66l\x1b>\x1b[4;20l\x1b(B\x1b)B\x1b[?7;25h\x1b[0 q\x1b[m"
	if f.region {
		s += "\x1b7\x1b[?6l\x1b[r\x1b8"
	}
	if f.alternate {
		s += "\x1b[?1049l"
	}
	return s + "\r\n"
}

// modes passes those modes of a list that are allowed.
func (f *screenFilter) modes(list []byte, final byte) {
	var kept []string
	for _, m := range strings.Split(string(list), ";") {
		if _, err := strconv.ParseUint(m, 10, 16); err != nil {
			continue
		}
		if in := " " + m + " "; strings.Contains(screenModes, in) || f.types && strings.Contains(typingModes, in) {
			kept = append(kept, m)
			switch m {
			case "47", "1047", "1049":
				f.alternate = final == 'h'
			case "6":
				f.region = true
			}
		}
	}
	if len(kept) > 0 {
		f.out = append(f.out, "\x1b[?"+strings.Join(kept, ";")...)
		f.out = append(f.out, final)
	}
}

// numbers reports whether params are numbers of at most five digits: a larger count could only keep the
// terminal busy.
func numbers(params []byte) bool {
	digits := 0
	for _, c := range params {
		switch {
		case c == ';' || c == ':':
			digits = 0
		case c >= '0' && c <= '9':
			if digits++; digits > 5 {
				return false
			}
		default:
			return false
		}
	}
	return true
}
