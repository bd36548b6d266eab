package vt

// control does a C0 control.
func (s *Screen) control(c byte) {
	switch c {
	case '\n', '\v', '\f':
		s.printed, s.cur.pending = 0, false
		s.index(s.blank())
	case '\r':
		s.printed, s.cur.pending = 0, false
		s.cur.col = 0
	case '\b':
		s.printed, s.cur.pending = 0, false
		s.cur.col = max(0, s.cur.col-1)
	case '\t':
		s.tab(1)
	case 0x0e:
		s.cur.shift = 1
	case 0x0f:
		s.cur.shift = 0
	}
}

// escape does ESC final.
func (s *Screen) escape(final byte) {
	switch final {
	case '=', '>':
		s.modes.AppKeypad = final == '='
		return
	case '7':
		s.now.saved = s.cur
		return
	case 'H':
		s.setTab(s.cur.col, true)
		return
	case '8':
		s.restore()
		return
	case 'D', 'E', 'M', 'c':
	default:
		return
	}
	s.cur.pending, s.printed = false, 0
	switch final {
	case 'D':
		s.index(s.blank())
	case 'E':
		s.cur.col = 0
		s.index(s.blank())
	case 'M':
		if s.cur.row == s.top {
			s.now.down(s.top, s.bottom, 1, s.blank(), s.cols)
			s.touchAll(s.top, s.bottom)
		} else {
			s.cur.row = max(0, s.cur.row-1)
		}
	case 'c':
		if s.alt != nil {
			s.leaveAlternate()
		}
		s.clearScreen(0)
		s.reset()
	}
}

// designate does ESC inter final: character sets, and the alignment test.
func (s *Screen) designate(inter, final byte) {
	switch {
	case inter == '(':
		s.cur.graphics[0] = final == '0'
	case inter == ')':
		s.cur.graphics[1] = final == '0'
	case inter == '#' && final == '8':
		s.top, s.bottom = 0, s.rows-1
		s.cur.row, s.cur.col, s.cur.pending, s.printed = 0, 0, false, 0
		for y := range s.rows {
			r := s.now.row(y)
			r.clear(0, s.cols)
			r.reach(s.cols, s.cols)
			fill(r.slots, 'E')
		}
		s.touchAll(0, s.rows-1)
	}
}

// sequence does a control sequence.
func (s *Screen) sequence(q *sequence) {
	switch {
	case q.final == 'm' && q.private == 0 && q.inter == 0:
		s.cur.pen.apply(q)
		s.inked, s.blanked = false, false
	case s.query(q):
	case q.inter != 0:
		s.intermediate(q)
	case q.private == '?' && (q.final == 'h' || q.final == 'l'):
		for i := range q.params {
			s.setMode(q.param(i, 0), q.final == 'h')
		}
	case q.private == '?' && (q.final == 'J' || q.final == 'K'): // nothing is protected
		s.edit(q)
	case q.final == 'u' && q.private != 0:
		switch keys := &s.now.keys; q.private {
		case '>':
			keys.push(q.param(0, 0))
		case '<':
			keys.pop(q.param(0, 1))
		case '=':
			keys.set(q.param(0, 0), q.param(1, 1))
		}
	case q.private != 0:
	case q.final == 'h' || q.final == 'l':
		for i := range q.params {
			if q.param(i, 0) == 4 {
				s.insertMode = q.final == 'h'
			}
		}
	case q.final == 'b':
		s.repeat(q.param(0, 1))
	case q.final == 't':
		s.titleStack(q)
	default:
		if !s.move(q) {
			s.edit(q)
		}
	}
}

// intermediate does sequences with an intermediate byte.
func (s *Screen) intermediate(q *sequence) {
	switch {
	case q.private != 0:
	case q.inter == ' ' && q.final == 'q':
		if n := q.param(0, 0); n <= 6 {
			s.shape = uint8(n)
		}
	case q.inter == '!' && q.final == 'p':
		s.softReset()
	}
}

// softReset does DECSTR.
func (s *Screen) softReset() {
	row, col := s.cur.row, s.cur.col
	s.cur = cursor{row: row, col: col}
	s.now.saved = cursor{}
	s.top, s.bottom = 0, s.rows-1
	s.modes.AppCursor, s.modes.AppKeypad = false, false
	s.insertMode, s.autowrap, s.hidden, s.printed = false, true, false, 0
	s.inked, s.blanked = false, false
}

// index moves the cursor down a row, and scrolls at the bottom of the scroll region.
func (s *Screen) index(blank slot) {
	switch {
	case s.cur.row == s.bottom:
		s.scrollUp(1, blank)
	case s.cur.row < s.rows-1:
		s.cur.row++
	}
}

// scrollUp moves the scroll region's rows up; those of the main screen that leave become history.
func (s *Screen) scrollUp(n int, blank slot) {
	n = min(n, s.bottom-s.top+1)
	if s.now == s.main {
		s.keepRows(s.top, s.top+n)
	}
	s.now.up(s.top, s.bottom, n, blank, s.cols)
	s.touchAll(s.top, s.bottom)
}
