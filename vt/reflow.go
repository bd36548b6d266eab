package vt

// A place is a cursor's place on the main screen while rows are wrapped anew. Col is the screen's width when
// a wrap is pending.
type place struct{ row, col int }

// A flow is the text of the main screen on its way to another width.
type flow struct {
	s            *Screen
	cols, height int
	rows         []row // done, for the new width
	gone         int   // rows that came before these, and are history already
	places       []*place
	moved        []place // where they are now, from the first row that was done; -1: in the line under way, at a column of it
}

// reflow wraps the main screen's rows anew for another width, as a text that was written for it. Rows that don't
// fit any more become history; where there are fewer, rows come back from there. Blank rows at the
// end don't count. Places are where they were in the text; the first one stays on the screen.
func (s *Screen) reflow(cols int, places ...*place) {
	f := &flow{s: s, cols: cols, height: s.rows, places: places, moved: make([]place, len(places))}
	s.look.hold()
	last := places[0].row // the last row that counts
	for y := s.rows - 1; y > last; y-- {
		if s.main.row(y).used() > 0 {
			last = y
		}
	}
	line := s.pullWrapped() // what row 0 goes on with
	for y := 0; y <= last; y++ {
		r := s.main.row(y)
		for i, at := range places {
			if at.row == y {
				f.moved[i] = place{-1, len(line) + at.col}
			}
		}
		ends := !r.wrapped || y == last
		if ends {
			line = append(line, r.slots[:r.used()]...)
		} else {
			line = append(line, r.slots...)
		}
		if ends || len(line) >= maxLineSlots {
			f.add(line, r.wrapped)
			line = line[:0]
			if y < places[0].row {
				f.keep(len(f.rows) - f.height)
			}
		}
	}
	for i, at := range places {
		if at.row > last { // in the blank rows at the end
			f.moved[i] = place{f.gone + len(f.rows) + at.row - last - 1, at.col}
		}
	}
	f.keep(min(len(f.rows)-f.height, f.moved[0].row-f.gone))
	f.show()
	s.look.release()
}

// add splits a line.
func (f *flow) add(line []slot, wrapped bool) {
	split := splitLine(line, f.cols, wrapped)
	for i, at := range f.moved {
		if at.row < 0 {
			f.moved[i] = placeIn(split, at.col, f.cols)
			f.moved[i].row += f.gone + len(f.rows)
		}
	}
	f.rows = append(f.rows, split...)
}

// keep makes the first n rows history.
func (f *flow) keep(n int) {
	if n <= 0 {
		return
	}
	for i := range n {
		f.s.keep(&f.rows[i])
	}
	f.gone += n
	f.rows = append(f.rows[:0], f.rows[n:]...)
}

// show puts the rows on the main screen, below what comes back from the history.
func (f *flow) show() {
	s := f.s
	s.cols = f.cols
	back := s.pullRows(f.height - len(f.rows))
	fresh := newPlane(f.height)
	for y, r := range append(back, f.rows...)[:min(f.height, len(back)+len(f.rows))] {
		*fresh.row(y) = r
	}
	s.main.rows, s.main.order = fresh.rows, fresh.order
	for i, at := range f.moved {
		*f.places[i] = place{at.row - f.gone + len(back), at.col}
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

// Bounds of a line that is wrapped anew as one: slots, and rows that are taken back from the history. What
// follows is wrapped as a line of its own.
const (
	maxLineSlots = 64 << 10
	maxLineRows  = MaxRows
)

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
