package vt

// Resize gives the screen another size, as a terminal's window has it.
//
// Rows keep what fits in the new width: nothing is wrapped anew. A lower main screen gives up blank rows
// below the cursor, then rows at the top, which become history, and only then rows below the cursor; a
// higher one gets rows back from there. The alternate screen loses and gains rows at the bottom. The scroll region
// becomes the whole screen. While the alternate screen is on, the main one is resized all the same.
func (s *Screen) Resize(cols, rows int) {
	cols, rows = min(max(cols, MinCols), MaxCols), min(max(rows, MinRows), MaxRows)
	if cols == s.cols && rows == s.rows {
		return
	}
	s.printed = 0
	s.cur.widen(cols, s.cols)
	for _, p := range []*plane{s.main, s.alt} {
		if p == nil {
			continue
		}
		p.saved.widen(cols, s.cols)
		for i := range p.rows {
			p.rows[i].crop(cols)
		}
	}
	s.cols = cols
	anchor := &s.anchor
	if s.alt == nil {
		anchor = &s.cur.row
	}
	moved := s.resizeMain(rows, *anchor)
	*anchor += moved
	s.main.saved.row += moved
	if s.alt != nil {
		s.resizeAlternate(rows)
	}
	s.rows = rows
	s.anchor = min(max(s.anchor, 0), rows-1)
	s.top, s.bottom = 0, rows-1
	s.clamp(&s.cur)
	if s.cur.pending {
		s.attach()
	}
	s.clamp(&s.main.saved)
	if s.alt != nil {
		s.clamp(&s.alt.saved)
	}
	s.dirty = make([]bool, rows)
	s.touchAll(0, rows-1)
}

// widen does what is pending when the screen gets wider: there is room.
func (c *cursor) widen(cols, old int) {
	if c.pending && cols > old {
		c.col++
	}
	c.pending = c.pending && cols == old
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

// resizeMain changes the main screen's height; cursor is the row the cursor is in. It returns by how many rows all
// moved down.
func (s *Screen) resizeMain(rows, cursor int) (moved int) {
	p, old := s.main, len(s.main.order)
	if rows > old {
		p.setHeight(rows)
		n := 0
		for ; n < rows-old; n++ {
			if !s.pull() {
				break
			}
		}
		return n
	}
	blank := 0
	for blank < old-1-cursor && len(p.row(old-1-blank).slots) == 0 {
		blank++
	}
	n := min(max(old-rows-blank, 0), cursor)
	for y := range n {
		s.keep(p.row(y))
	}
	if n > 0 {
		p.up(0, old-1, n, 0, s.cols)
	}
	p.setHeight(rows)
	return -n
}

// pull takes the newest line of history back to the top of the main screen, whose last row is lost.
func (s *Screen) pull() bool {
	text, wrapped, ok := s.hist.newest()
	if !ok {
		return false
	}
	p := s.main
	p.down(0, len(p.order)-1, 1, 0, s.cols)
	s.readRow(p.row(0), text)
	p.row(0).wrapped = wrapped
	s.hist.pop(len(text))
	return true
}

// readRow makes a row of a line of history; what doesn't fit is cut off.
func (s *Screen) readRow(r *row, text []byte) {
	t := &Screen{cols: s.cols, rows: 1, look: s.look, dirty: make([]bool, 1)}
	t.main = &plane{rows: []row{{slots: r.slots[:0]}}, order: []uint16{0}}
	t.now = t.main
	t.p.h = t
	t.p.write(text)
	*r = t.main.rows[0]
	s.look = t.look
}

// resizeAlternate changes the alternate screen's height.
func (s *Screen) resizeAlternate(rows int) {
	p, old := s.alt, len(s.alt.order)
	if n := s.cur.row - (rows - 1); n > 0 {
		p.up(0, old-1, n, 0, s.cols)
		s.cur.row -= n
		p.saved.row -= n
	}
	p.setHeight(rows)
}
