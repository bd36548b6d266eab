package vt

// edit does sequences that erase, insert and delete.
func (s *Screen) edit(q *sequence) {
	n, mode := q.param(0, 1), q.param(0, 0)
	c, blank := &s.cur, s.blank()
	switch q.final {
	case 'J':
		s.eraseDisplay(mode, blank)
	case 'K':
		s.eraseLine(mode, blank)
	case 'X':
		s.line().erase(c.col, min(c.col+n, s.cols), blank, s.cols)
		s.touch(c.row)
	case '@':
		s.line().insert(c.col, n, blank, s.cols)
		s.touch(c.row)
	case 'P':
		s.line().remove(c.col, n, blank, s.cols)
		s.touch(c.row)
	case 'L':
		if c.row >= s.top && c.row <= s.bottom {
			s.now.down(c.row, s.bottom, n, blank, s.cols)
			s.touchAll(c.row, s.bottom)
		}
	case 'M':
		if c.row >= s.top && c.row <= s.bottom {
			s.now.up(c.row, s.bottom, n, blank, s.cols)
			s.touchAll(c.row, s.bottom)
		}
	case 'S':
		s.scrollUp(n, blank)
	case 'T':
		if len(q.params) > 1 {
			return // mouse tracking of old
		}
		s.now.down(s.top, s.bottom, n, blank, s.cols)
		s.touchAll(s.top, s.bottom)
	default:
		return
	}
	c.pending, s.printed = false, 0
}

// eraseLine does EL.
func (s *Screen) eraseLine(mode int, blank slot) {
	switch mode {
	case 0:
		s.line().erase(s.cur.col, s.cols, blank, s.cols)
		s.line().wrapped = false
	case 1:
		s.line().erase(0, s.cur.col+1, blank, s.cols)
	case 2:
		s.line().clear(blank, s.cols)
	}
	s.touch(s.cur.row)
}

// eraseDisplay does ED.
func (s *Screen) eraseDisplay(mode int, blank slot) {
	switch mode {
	case 0:
		if s.cur.row == 0 && s.cur.col == 0 {
			s.clearScreen(blank)
			return
		}
		s.eraseLine(0, blank)
		s.clearRows(s.cur.row+1, s.rows, blank)
	case 1:
		s.clearRows(0, s.cur.row, blank)
		s.eraseLine(1, blank)
	case 2:
		s.clearScreen(blank)
	case 3:
		s.hist.clear()
	}
}

// clearRows blanks rows [from, to).
func (s *Screen) clearRows(from, to int, blank slot) {
	for y := from; y < to; y++ {
		s.now.row(y).clear(blank, s.cols)
		s.dirty[y] = true
	}
}

// written says whether there is any character in a row.
func (r *row) written() bool {
	for _, x := range r.slots {
		if x&slotChar != 0 {
			return true
		}
	}
	return false
}

// clearScreen blanks all. What was on the main screen becomes history.
func (s *Screen) clearScreen(blank slot) {
	if s.now == s.main {
		n := s.rows
		for n > 0 && !s.now.row(n-1).written() {
			n--
		}
		s.keepRows(0, n)
	}
	s.clearRows(0, s.rows, blank)
}

// keepRows adds rows [from, to) of the main screen to the history: those that won't be dropped at once.
func (s *Screen) keepRows(from, to int) {
	first := to
	for size := 0; first > from && size < s.hist.limit; first-- {
		size += s.main.row(first-1).used() + historyFrame
	}
	for y := first; y < to; y++ {
		s.keep(s.main.row(y))
	}
}

// keep adds a row to the history.
func (s *Screen) keep(r *row) {
	if s.hist.limit == 0 {
		return
	}
	n := r.used()
	if r.wrapped {
		n = len(r.slots) // blanks between words
	}
	b := s.appendSlots(s.scratch[:0], r.slots[:n])
	s.hist.add(b, r.wrapped)
	s.scratch = b[:0]
}
