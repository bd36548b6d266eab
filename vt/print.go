package vt

import "unicode/utf8"

// maxCluster bounds the bytes of a cluster; marks beyond it are dropped. The longest emoji has 35.
const maxCluster = 48

// ink is the pen's bits of a slot, for printing.
func (s *Screen) ink() slot {
	if !s.inked {
		s.inkNow, s.inked = s.penNumber(s.cur.pen), true
	}
	return s.inkNow
}

// blank is the slot that erasing leaves: blank, on the pen's background.
func (s *Screen) blank() slot {
	if s.cur.pen.back == 0 {
		return 0
	}
	if !s.blanked {
		s.blankNow, s.blanked = s.penNumber(pen{back: s.cur.pen.back}), true
	}
	return s.blankNow
}

// line is the row the cursor is in.
func (s *Screen) line() *row { return s.now.row(s.cur.row) }

func (s *Screen) touch(y int) { s.dirty[y] = true }

// ascii prints characters of one column each.
func (s *Screen) ascii(b []byte) {
	if s.insertMode || s.cur.graphics[s.cur.shift] {
		for _, c := range b {
			s.print(rune(c))
		}
		return
	}
	ink := s.ink()
	for len(b) > 0 {
		if s.cur.pending {
			s.wrap()
		}
		n := min(len(b), s.cols-s.cur.col)
		s.put(b[:n], ink)
		s.cur.col += n
		s.printed, s.last = s.cur.col, rune(b[n-1])
		b = b[n:]
		if s.cur.col == s.cols {
			s.cur.col--
			if s.cur.pending = s.autowrap; !s.autowrap && len(b) > 0 {
				b = b[len(b)-1:] // each overwrites the one before
			}
		}
	}
}

// put writes characters at the cursor; there is room for them.
func (s *Screen) put(b []byte, ink slot) {
	r, at := s.line(), s.cur.col
	end := at + len(b)
	r.split(at)
	r.split(end)
	if old := len(r.slots); end > old {
		if end > cap(r.slots) {
			r.reach(end, s.cols)
		}
		r.slots = r.slots[:end]
		if at > old {
			clear(r.slots[old:at])
		}
	}
	to := r.slots[at:end:end]
	for i := range to {
		to[i] = ink | slot(b[i])
	}
	s.dirty[s.cur.row] = true
}

// print puts a character at the cursor, or joins it to the one just printed.
func (s *Screen) print(r rune) {
	if s.cur.graphics[s.cur.shift] && r >= '_' && r <= '~' {
		r = lineDrawing[r-'_']
	}
	w := 1
	if r >= firstClassed {
		k := classOf(r)
		w = k.width()
		if (w == 0 || k.joins(r)) && s.join(r, k) || w == 0 {
			return
		}
	}
	if w > s.cols {
		return // nowhere to put it
	}
	if s.cur.pending || s.autowrap && s.cur.col > s.cols-w {
		s.wrap()
	}
	at := s.cur.col
	if w == 1 && !s.insertMode {
		// The usual: a character in place of another.
		if to := s.line().slots; at < len(to) && to[at]&(slotHead|slotTail) == 0 {
			to[at] = s.ink() | slot(r)
			s.touch(s.cur.row)
			s.last = r
			s.advance(at + 1)
			return
		}
	}
	if at > s.cols-w {
		return // half of it would be beyond the edge
	}
	if s.insertMode {
		s.line().insert(at, w, 0, s.cols)
	}
	x := s.ink() | slot(r)
	l := s.line()
	l.split(at)
	l.split(at + w)
	l.reach(at+w, s.cols)
	if w == 1 {
		l.slots[at] = x
	} else {
		l.slots[at] = x | slotHead
		l.slots[at+1] = x&^slotChar | slotTail
	}
	s.touch(s.cur.row)
	s.last = r
	s.advance(at + w)
}

// advance puts the cursor behind what was just printed, which ended before a column.
func (s *Screen) advance(col int) {
	s.printed, s.cur.col = col, col
	if col == s.cols {
		s.cur.col, s.cur.pending = col-1, s.autowrap
	}
}

// wrap goes on in the next row.
func (s *Screen) wrap() {
	s.line().wrapped = true
	s.cur.pending, s.cur.col = false, 0
	s.index(0)
}

// join adds a character to the one just printed: a mark, a joiner and what it joins, a skin tone. Nothing
// is joined to what was printed before the cursor moved. False: it doesn't belong there.
func (s *Screen) join(r rune, k class) bool {
	if s.printed == 0 {
		return false
	}
	l := s.line()
	at := s.printed - 1
	if l.slots[at]&slotTail != 0 {
		at--
	}
	text := s.appendText(s.scratch[:0], l.slots[at])
	s.scratch = text
	wide := l.slots[at]&slotHead != 0
	if k.width() > 0 {
		if !joinable(text, r, k) {
			return false
		}
		if !wide && s.printed == s.cols || len(text)+utf8.RuneLen(r) > maxCluster {
			return true // no room: the character is dropped, as it would mean nothing alone
		}
	} else if len(text)+utf8.RuneLen(r) > maxCluster {
		return true
	}
	text = utf8.AppendRune(text, r)
	s.scratch = text
	x, ok := s.clusterSlot(text)
	if !ok {
		return true
	}
	l.slots[at] = l.slots[at]&^slotChar | x
	if k.width() > 0 && !wide {
		l.split(at + 2)
		l.reach(at+2, s.cols)
		l.slots[at] |= slotHead
		l.slots[at+1] = l.slots[at]&(0xffff<<slotPen) | slotTail
		s.advance(at + 2)
	}
	s.touch(s.cur.row)
	return true
}

// repeat prints the last character again, as often as there may be places on a screen.
func (s *Screen) repeat(n int) {
	if s.printed == 0 {
		return
	}
	for range min(n, s.cols*s.rows) {
		s.print(s.last)
	}
}

// lineDrawing is the DEC special graphics set, from '_' on.
var lineDrawing = [...]rune{
	' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼',
	'⎺', '⎻', '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
}
