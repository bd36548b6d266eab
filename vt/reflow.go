package vt

// A place is a cursor's place on the main screen while rows are wrapped anew. Col is the screen's width when
// a wrap is pending.
type place struct{ row, col int }

// reflow wraps the main screen's rows anew for another width, as a text that was written for it. Rows that don't
// fit any more become history; where there are fewer, rows come back from there. Blank rows at the
// end don't count. Places are where they were in the text; the first one stays on the screen.
func (s *Screen) reflow(cols int, places ...*place) {
	p, height := s.main, len(s.main.order)
	s.look.hold()
	var rows []row
	last := places[0].row // the last row that counts
	for y := height - 1; y > last; y-- {
		if p.row(y).used() > 0 {
			last = y
		}
	}
	moved := make([]place, len(places))
	// What row 0 goes on with is taken back from the history.
	line := s.pullWrapped()
	first := 0
	for y := 0; y <= last; y++ {
		r := p.row(y)
		for i, at := range places {
			if at.row == y {
				moved[i] = place{-1, len(line) + at.col}
			}
		}
		ends := !r.wrapped || y == last
		if ends {
			line = append(line, r.slots[:r.used()]...)
		} else {
			line = append(line, r.slots...)
			continue
		}
		split := splitLine(line, cols, r.wrapped)
		for i := range moved {
			if places[i].row >= first && places[i].row <= y {
				moved[i] = placeIn(split, moved[i].col, cols)
				moved[i].row += len(rows)
			}
		}
		rows = append(rows, split...)
		line, first = line[:0:0], y+1
	}
	for i := range moved {
		if places[i].row > last { // in the blank rows at the end
			moved[i] = place{len(rows) + places[i].row - last - 1, places[i].col}
		}
	}
	above := min(max(len(rows)-height, 0), moved[0].row)
	s.cols = cols
	for i := range above {
		s.keep(&rows[i])
	}
	rows = rows[above:]
	back := s.pullRows(height - len(rows))
	rows = append(back, rows...)
	s.look.release()
	fresh := newPlane(height)
	for y := range min(height, len(rows)) {
		*fresh.row(y) = rows[y]
	}
	p.rows, p.order = fresh.rows, fresh.order
	for i, at := range moved {
		*places[i] = place{at.row - above + len(back), at.col}
	}
}

// splitLine makes rows of a line of text. Wrapped says that it goes on behind.
func splitLine(line []slot, cols int, wrapped bool) []row {
	var rows []row
	for len(line) > cols {
		n := cols
		if line[n]&slotTail != 0 {
			n--
		}
		if n == 0 { // a wide character on a screen of one column
			line = line[2:]
			continue
		}
		rows = append(rows, row{append(make([]slot, 0, cols), line[:n]...), true})
		line = line[n:]
	}
	if len(line) == cols && cols == 1 && line[0]&slotHead != 0 {
		line = nil
	}
	return append(rows, row{append(make([]slot, 0, cols), line...), wrapped})
}

// placeIn is where a column of a line is in the rows that it was split into.
func placeIn(rows []row, col, cols int) place {
	for y := range rows {
		n := len(rows[y].slots)
		if y == len(rows)-1 || col < n {
			return place{y, min(col, cols)}
		}
		col -= n
	}
	return place{}
}

// maxLineRows bounds how many lines of history are put together again as one.
const maxLineRows = MaxRows

// pullWrapped takes lines off the history that go on in what follows them. The first part of a line of
// more than maxLineRows stays.
func (s *Screen) pullWrapped() []slot {
	var parts [][]slot
	for range maxLineRows {
		text, wrapped, ok := s.hist.newest()
		if !ok || !wrapped {
			break
		}
		parts = append(parts, s.decode(text))
		s.hist.pop(len(text))
	}
	var line []slot
	for i := len(parts) - 1; i >= 0; i-- {
		line = append(line, parts[i]...)
	}
	return line
}

// pullRows takes the newest n rows, or all there are, back from the history.
func (s *Screen) pullRows(n int) []row {
	var back []row
	for len(back) < n {
		text, wrapped, ok := s.hist.newest()
		if !ok {
			break
		}
		last := s.decode(text)
		s.hist.pop(len(text))
		split := splitLine(append(s.pullWrapped(), last...), s.cols, wrapped)
		if more := len(back) + len(split) - n; more > 0 {
			for i := range more {
				s.keep(&split[i])
			}
			split = split[more:]
		}
		back = append(split, back...)
	}
	return back
}

// decode makes slots of a line of history.
func (s *Screen) decode(text []byte) []slot {
	old := *s
	s.now = newPlane(1)
	s.cols, s.autowrap, s.insertMode, s.printed = MaxCols, false, false, 0
	s.cur, s.inked = cursor{}, false
	reader := parser{h: s}
	reader.write(text)
	slots := s.now.row(0).slots
	s.now, s.cur = old.now, old.cur
	s.cols, s.autowrap, s.insertMode, s.printed, s.last = old.cols, old.autowrap, old.insertMode, old.printed, old.last
	s.inked, s.blanked = false, false
	return slots
}
