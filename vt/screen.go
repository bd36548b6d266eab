package vt

import "strings"

// A Screen is a terminal screen: what a program wrote is on it as a person would see it. It has cells, a
// cursor, the alternate screen, modes, wide and combining characters, and a bounded scrollback.
//
// It does what xterm does. Where xterm leaves a choice, it does what tmux does: erasing keeps the pen's
// background; a cleared screen, and what scrolls out of any scroll region, goes into the history, but
// nothing of the alternate screen does. What it doesn't do: left and right margins, double-width lines,
// 132 columns, protected characters, reverse wrap, character sets beyond ASCII and line drawing in G0
// and G1, changed colours, hyperlinks. How wide characters are is said at class.
//
// It isn't safe for use by several goroutines.
type Screen struct {
	p          parser
	cols, rows int
	main, alt  *plane // alt is nil while it is off
	now        *plane // the one of the two that is shown
	anchor     int    // the cursor's row when the alternate screen came on
	hist       history
	look       look

	cur         cursor // its row and col are within the screen
	top, bottom int    // the scroll region, inclusive
	tabs        [(MaxCols + 63) / 64]uint64
	modes       Modes
	insertMode  bool
	autowrap    bool
	hidden      bool // the cursor
	blinks      bool // the cursor, by mode 12
	synced      bool // mode 2026
	shape       uint8
	title       string
	titles      []string // pushed ones

	// printed is the column behind the character just printed, which is in the cursor's row and may
	// be joined or repeated; 0: the cursor has moved since, or a row has changed.
	printed int
	last    rune

	inked, blanked   bool // inkNow and blankNow are those of cur.pen
	inkNow, blankNow slot
	scratch          []byte
	dirty            []bool // by row: changed since Changed
	answer           func(reply []byte)
}

// Limits of a screen, in characters.
const (
	MinCols, MaxCols = 1, 2000
	MinRows, MaxRows = 1, 1000
)

// NewScreen makes an empty screen. Sizes outside the limits are brought within them.
func NewScreen(cols, rows int) *Screen {
	s := &Screen{cols: min(max(cols, MinCols), MaxCols), rows: min(max(rows, MinRows), MaxRows)}
	s.p.h, s.p.dev = s, s
	s.hist.limit = DefaultHistory
	s.look = newLook()
	s.dirty = make([]bool, s.rows)
	s.reset()
	return s
}

// SetHistory sets how many bytes of scrolled-off lines are kept, and forgets those there are. 0 keeps none.
func (s *Screen) SetHistory(bytes int) { s.hist = history{limit: max(bytes, 0)} }

// reset makes everything as it is at first, but for history and title.
func (s *Screen) reset() {
	s.main, s.alt = newPlane(s.rows), nil
	s.now = s.main
	s.cur = cursor{}
	s.top, s.bottom = 0, s.rows-1
	s.resetTabs()
	s.modes = Modes{}
	s.insertMode, s.autowrap, s.hidden, s.blinks, s.synced, s.shape = false, true, false, false, false, 0
	s.printed = 0
	s.inked, s.blanked = false, false
	s.touchAll(0, s.rows-1)
}

// Write takes more output. How it is cut into writes makes no difference. It never fails.
func (s *Screen) Write(p []byte) (int, error) {
	s.p.write(p)
	return len(p), nil
}

// Size is the present size.
func (s *Screen) Size() (cols, rows int) { return s.cols, s.rows }

// Cursor is where the cursor is, from 0, and whether it is shown. Col is cols-1 while a wrap is pending.
func (s *Screen) Cursor() (col, row int, shown bool) { return s.cur.col, s.cur.row, !s.hidden }

// Alternate reports whether the alternate screen is on.
func (s *Screen) Alternate() bool { return s.alt != nil }

// Title is the window title that was set, cleaned, at most 256 bytes.
func (s *Screen) Title() string { return s.title }

// Row is a row's text, without trailing blanks; rows are from 0.
func (s *Screen) Row(row int) string {
	if row < 0 || row >= s.rows {
		return ""
	}
	r := s.now.row(row)
	b := s.scratch[:0]
	for _, x := range r.slots[:r.used()] {
		b = s.appendText(b, x)
	}
	s.scratch = b
	return strings.TrimRight(string(b), " ")
}

// Rows is every row's text.
func (s *Screen) Rows() []string {
	rows := make([]string, s.rows)
	for y := range rows {
		rows[y] = s.Row(y)
	}
	return rows
}

// Changed returns the rows that may look different since the last call, and forgets them; a nil slice is none.
func (s *Screen) Changed() []int {
	var rows []int
	for y, d := range s.dirty {
		if d {
			rows = append(rows, y)
			s.dirty[y] = false
		}
	}
	return rows
}

func (s *Screen) touchAll(from, to int) {
	for y := from; y <= to; y++ {
		s.dirty[y] = true
	}
}

// History is how many lines have scrolled off the top and are kept.
func (s *Screen) History() int { return s.hist.lines }

// AppendHistory appends the last n lines of history for a terminal, oldest first, each with its colours
// and "\r\n".
func (s *Screen) AppendHistory(b []byte, n int) []byte {
	s.hist.each(n, func(text []byte, _ bool) {
		b = append(append(b, text...), "\r\n"...)
	})
	return b
}

// Modes are what a program has asked of the terminal that outlives a screenful.
type Modes struct {
	AppCursor, AppKeypad, Paste, Focus bool
	Mouse                              int // 0 none, 9, 1000, 1002, 1003
	MouseEncoding                      int // 0 none, 1005, 1006, 1015, 1016
	Keyboard                           int // flags of the kitty keyboard protocol in effect
}

// Modes are the modes now.
func (s *Screen) Modes() Modes {
	m := s.modes
	m.Keyboard = int(s.now.keys.flags)
	return m
}

// Answer is called, within Write, with what a terminal would send back for each query of the program's:
// device attributes, status and cursor position, mode requests, colours, keyboard flags. Nil: unanswered.
// The reply is true until f returns.
func (s *Screen) Answer(f func(reply []byte)) { s.answer = f }
