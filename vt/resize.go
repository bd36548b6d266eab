package vt

// Resize gives the screen another size, as a terminal's window has it.
//
// With another width the main screen's lines are wrapped anew, as tmux does it; rows of the alternate screen keep what
// fits. A lower main screen gives up blank rows below the cursor, then rows at the top, which become history, and only
// then rows below the cursor; a higher one gets rows back from there. The alternate screen loses rows at the
// top as far as its cursor needs it, else at the bottom, and gains them there. The scroll region becomes the
// whole screen. While the alternate screen is on, the main one is resized all the same.
func (s *Screen) Resize(cols, rows int) {
	cols, rows = min(max(cols, MinCols), MaxCols), min(max(rows, MinRows), MaxRows)
	if cols == s.cols && rows == s.rows {
		return
	}
	s.printed = 0
	s.resizeMain(cols, rows)
	if s.alt != nil {
		s.resizeAlternate(cols, rows)
	}
	s.cols, s.rows = cols, rows
	s.anchor = min(max(s.anchor, 0), rows-1)
	s.top, s.bottom = 0, rows-1
	s.clamp(&s.cur)
	s.cur.pending = s.cur.pending && s.autowrap
	s.clamp(&s.main.saved)
	if s.alt != nil {
		s.clamp(&s.alt.saved)
	}
	s.dirty = make([]bool, rows)
	s.touchAll(0, rows-1)
	if s.cur.pending {
		s.attach()
	}
}

// place is where a cursor is.
func (c *cursor) place(cols int) *place {
	if c.pending {
		return &place{c.row, cols}
	}
	return &place{c.row, c.col}
}

// put puts a cursor somewhere.
func (c *cursor) put(at *place, cols int) {
	c.row, c.col, c.pending = at.row, at.col, at.col >= cols
	if c.pending {
		c.col = cols - 1
	}
}

// resizeMain changes the main screen's size, and moves the cursors that are on it.
func (s *Screen) resizeMain(cols, rows int) {
	saved := s.main.saved.place(s.cols)
	at := s.cur.place(s.cols)
	if s.alt != nil {
		at = &place{s.anchor, 0}
	}
	if cols != s.cols {
		s.reflow(cols, at, saved)
	}
	moved := s.setHeight(rows, at.row)
	at.row += moved
	saved.row += moved
	s.main.saved.put(saved, cols)
	if s.alt != nil {
		s.anchor = at.row
	} else {
		s.cur.put(at, cols)
	}
}

// setHeight changes the main screen's height; cursor is the row the cursor is in. It returns by how many rows all
// moved down.
func (s *Screen) setHeight(rows, cursor int) (moved int) {
	p, old := s.main, len(s.main.order)
	if rows > old {
		p.setHeight(rows)
		s.look.hold()
		back := s.pullRows(rows - old)
		s.look.release()
		p.down(0, rows-1, len(back), 0, s.cols)
		for y := range back {
			*p.row(y) = back[y]
		}
		return len(back)
	}
	blank := 0
	for blank < old-1-cursor && len(p.row(old-1-blank).slots) == 0 {
		blank++
	}
	n := min(max(old-rows-blank, 0), cursor)
	s.keepRows(0, n)
	if n > 0 {
		p.up(0, old-1, n, 0, s.cols)
	}
	p.setHeight(rows)
	return -n
}

// resizeAlternate changes the alternate screen's size.
func (s *Screen) resizeAlternate(cols, rows int) {
	p, old := s.alt, len(s.alt.order)
	for i := range p.rows {
		p.rows[i].crop(cols)
	}
	at, saved := s.cur.place(s.cols), p.saved.place(s.cols)
	if n := s.cur.row - (rows - 1); n > 0 {
		p.up(0, old-1, n, 0, cols)
		at.row -= n
		saved.row -= n
	}
	p.setHeight(rows)
	s.cur.put(at, cols)
	p.saved.put(saved, cols)
}

// crop makes a row fit.
func (r *row) crop(cols int) {
	if len(r.slots) > cols {
		r.split(cols)
		r.slots = r.slots[:cols]
	}
	if cap(r.slots) > 2*cols+64 {
		r.slots = append(make([]slot, 0, cols), r.slots...)
	}
}
