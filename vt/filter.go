package vt

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Filter lets through what a program may do to the terminal of whoever looks at it: text, cursor, erasing,
// colour and the modes listed below. Everything else is left out by default: no titles, no clipboard, no
// queries that the terminal would answer, no strings that it would keep. Modes that change what the keys and
// the mouse send are left out too, unless the terminal is the program's Own: else whoever filters sets those that are
// wanted, from a Screen.
//
// What passes is whole sequences and whole characters, wherever the input is cut. The zero value is ready.
type Filter struct {
	// Flat: the terminal shows its alternate screen all the time, whichever of its own the program uses.
	// A switch breaks the screen then.
	Flat bool
	// Snapshot: the input is a model's, which draws both screens in turn: the second is to be drawn over the first.
	Snapshot bool
	// Own: the terminal is there for this program alone, as in a page, and forgotten with it. So resets pass, and the modes
	// of keys and mouse that make it say nothing by itself.
	Own bool
	// Links: links to http and https pass (OSC 8), as whoever shows them says where they lead before going there. Those that
	// are of another scheme, too long or not as they should be are text.
	Links bool

	Broke     bool // the program did something to its screen that doesn't pass: it has to be painted anew
	Alternate bool // the alternate screen was asked for
	Tabs      bool // tab stops were set

	state filterState
	seq   []byte // of the sequence under way
	out   []byte
}

type filterState int

const (
	inText filterState = iota
	inUTF8
	inEscape
	inCSI
	inString    // OSC, DCS, APC, PM or SOS: left out to its end
	inStringEsc // ESC within a string: its end, with \
	inOSC       // one that may be a link
	inOSCEsc
)

// maxSequence bounds a sequence; a longer one is left out.
const maxSequence = 128

// maxLink bounds a link's address, in bytes: as much as the longest that browsers and servers take for granted.
const maxLink = 2048

// Pass returns what may pass of b; it is valid until the next call. Sequences may be cut anywhere.
func (f *Filter) Pass(b []byte) []byte {
	f.out = f.out[:0]
	for len(b) > 0 {
		if f.state == inText { // most is plain text
			n := 0
			for n < len(b) && b[n] >= 0x20 && b[n] < 0x7f {
				n++
			}
			f.out = append(f.out, b[:n]...)
			if b = b[n:]; len(b) == 0 {
				break
			}
		}
		f.byte(b[0])
		b = b[1:]
	}
	return f.out
}

func (f *Filter) byte(c byte) {
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
	case inOSC:
		f.osc(c)
	case inOSCEsc:
		f.state = inText
		if c == '\\' {
			f.link()
		} else {
			f.begin(inEscape)
			f.escape(c)
		}
	default:
		f.text(c)
	}
}

func (f *Filter) begin(s filterState) { f.state, f.seq = s, f.seq[:0] }

func (f *Filter) text(c byte) {
	switch {
	case c == 0x1b:
		f.begin(inEscape)
	case c >= 0x20 && c < 0x7f, c >= 0x07 && c <= 0x0f: // BEL BS HT LF VT FF CR SO SI; not ENQ
		f.out = append(f.out, c)
	case c >= 0x80:
		f.begin(inUTF8)
		f.utf8(c)
	}
}

// utf8 passes whole characters but for the C1 controls, which some terminals obey.
func (f *Filter) utf8(c byte) {
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

func (f *Filter) escape(c byte) {
	switch {
	case c == 0x1b:
		f.begin(inEscape)
	case c == 0x18 || c == 0x1a:
		f.state = inText
	case c < 0x20: // a control within a sequence does what it does outside
		s := f.state
		f.text(c)
		f.state = s
	case c < 0x30: // an intermediate
		if len(f.seq) < maxSequence {
			f.seq = append(f.seq, c)
		}
	case len(f.seq) > 0:
		f.state = inText
		switch s := string(f.seq); {
		case (s == "(" || s == ")") && (c == 'B' || c == '0'): // a character set: ASCII, or line drawing
			f.out = append(append(append(f.out, 0x1b), s...), c)
		case s == "#" && c == '8': // fills the screen, to align it
			if f.Broke = !f.Own; f.Own {
				f.out = append(f.out, "\x1b#8"...)
			}
		}
	case c == '[':
		f.begin(inCSI)
	case c == ']' && f.Links:
		f.begin(inOSC)
	case strings.IndexByte("]PX^_", c) >= 0:
		f.state = inString
	default:
		f.state = inText
		switch {
		case c == 'c': // a terminal's reset goes further than its screen
			if f.Broke, f.Alternate = !f.Own, false; f.Own {
				f.out = append(f.out, "\x1bc"...)
			}
		case (c == '=' || c == '>') && f.Own: // the keypad
			f.out = append(f.out, 0x1b, c)
		case strings.IndexByte("78DEHM", c) >= 0:
			f.Tabs = f.Tabs || c == 'H'
			f.out = append(f.out, 0x1b, c)
		}
	}
}

// osc keeps what may be a link to its end.
func (f *Filter) osc(c byte) {
	switch {
	case c == 0x07:
		f.state = inText
		f.link()
	case c == 0x18 || c == 0x1a:
		f.state = inText
	case c == 0x1b:
		f.state = inOSCEsc
	case len(f.seq) < maxSequence+maxLink:
		f.seq = append(f.seq, c)
	default:
		f.state = inString
		f.link()
	}
}

// link passes the beginning or the end of a link: 8;params;address. One that may not pass ends the one before, as it
// would have.
func (f *Filter) link() {
	rest, ok := strings.CutPrefix(string(f.seq), "8;")
	if !ok {
		return
	}
	_, to, _ := strings.Cut(rest, ";")
	if !mayLink(to) {
		to = ""
	}
	f.out = append(append(append(f.out, "\x1b]8;;"...), to...), "\x1b\\"...)
}

// mayLink reports whether a link may lead to an address. A name before the host could only pass for the host.
func mayLink(to string) bool {
	if len(to) > maxLink || strings.ContainsFunc(to, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return false
	}
	u, err := url.Parse(to)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil
}

func (f *Filter) csi(c byte) {
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
		f.allow(string(f.seq), c)
	case c < 0x40 && len(f.seq) <= maxSequence:
		f.seq = append(f.seq, c)
	}
}

// plainFinals end the control sequences without a prefix that may pass with any numbers: cursor movement,
// erasing, inserting and deleting, scrolling, colour, scroll region, tabs and repetition. Further ones are
// in allow.
const plainFinals = "ABCDEFGHIKLMPSXZ@`abdefgmr"

// screenModes are the modes of CSI ? … h and l that may pass. Not among them is the one of 132 columns, which
// resizes windows.
const screenModes = " 5 6 7 12 25 1048 "

// keyModes are those that may pass as well where the terminal is the program's own: cursor keys, keypad, the mouse in
// the encoding that can be any size, pastes in brackets. Reports of focus aren't among them: a terminal answers to that
// mode with one at once.
const keyModes = " 1 9 66 1000 1002 1003 1006 2004 "

// allow decides about CSI params final.
func (f *Filter) allow(params string, final byte) {
	pass := false
	switch {
	case len(params) > maxSequence:
	case strings.HasPrefix(params, "?"):
		switch final {
		case 'J', 'K':
			pass = numbers(params[1:])
		case 'h', 'l':
			f.modes(params[1:], final)
		}
	case params == "!" && final == 'p': // soft reset
		pass = true
	case strings.HasSuffix(params, " ") && final == 'q': // cursor shape
		pass = numbers(params[:len(params)-1])
	case !numbers(params):
	case final == 'h' || final == 'l': // insert mode; one of the others locks the keyboard
		pass = params == "4"
	case final == 'J': // the scrollback is the user's
		pass = params != "3"
	case final == 'T': // more numbers would be mouse tracking
		pass = !strings.ContainsAny(params, ";:")
	case final == 's' || final == 'u': // with numbers, margins and another thing
		pass = params == ""
	default:
		pass = strings.IndexByte(plainFinals, final) >= 0
		f.Tabs = f.Tabs || final == 'g'
	}
	if pass {
		f.out = append(append(append(f.out, "\x1b["...), params...), final)
	}
}

// modes passes those modes of a list that are allowed.
func (f *Filter) modes(list string, final byte) {
	var kept []string
	for m := range strings.SplitSeq(list, ";") {
		if _, err := strconv.ParseUint(m, 10, 16); err != nil {
			continue
		}
		switch m {
		case "47", "1047", "1049":
			f.Alternate = final == 'h'
			switch {
			case !f.Flat:
				kept = append(kept, m)
			case f.Snapshot && f.Alternate:
				f.out = append(f.out, "\x1b[m\x1b[2J\x1b[H"...) // a terminal's alternate screen keeps no history of it
			}
			f.Broke = f.Flat
		default:
			if word := " " + m + " "; strings.Contains(screenModes, word) || f.Own && strings.Contains(keyModes, word) {
				kept = append(kept, m)
			}
		}
	}
	if len(kept) > 0 {
		f.out = append(f.out, "\x1b[?"+strings.Join(kept, ";")...)
		f.out = append(f.out, final)
	}
}

// SoftReset takes back what may pass, but for tab stops and the screen in use: origin and scroll region, wrapping,
// reverse video, insert mode, character sets, cursor shape, colours. The cursor is at the top.
const SoftReset = "\x1b[?5;6l\x1b[r\x1b[?7;25h\x1b[4l\x1b(B\x1b)B\x0f\x1b[0 q\x1b[m"

// TabStops puts tab stops back at every eighth column of so many.
func TabStops(cols int) []byte {
	b := []byte("\x1b[3g")
	for c := 9; c <= cols; c += 8 {
		b = append(b, "\x1b["+strconv.Itoa(c)+"G\x1bH"...)
	}
	return append(b, '\r')
}

// numbers reports whether params are numbers of at most four digits each: a larger one could only keep the
// terminal busy.
func numbers(params string) bool {
	digits := 0
	for _, c := range []byte(params) {
		switch {
		case c == ';' || c == ':':
			digits = 0
		case c >= '0' && c <= '9':
			if digits++; digits > 4 {
				return false
			}
		default:
			return false
		}
	}
	return true
}
