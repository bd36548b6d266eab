package vt

import "unicode/utf8"

// AppendSnapshot appends what makes a terminal of the same size, cleared and reset, show this screen and
// have its modes, cursor, tab stops, character sets and scroll region: the program goes on as if it had
// been attached to that terminal all the time. A Screen that is written a snapshot has the same snapshot.
//
// Neither the history nor the title is part of it, and there is never a query in it nor mode 2026.
func (s *Screen) AppendSnapshot(b []byte) []byte {
	b = s.appendPlane(b, s.main)
	if s.main.saved != (cursor{}) || s.alt != nil {
		b = s.appendCursor(b, s.main, s.main.saved)
		if s.alt == nil {
			b = append(b, "\x1b7"...)
		}
	}
	at := s.main.saved
	if s.alt != nil {
		b = append(b, "\x1b[?1049h"...) // it saves the cursor
		b = s.appendReset(b, at)
		b = s.appendPlane(b, s.alt)
		if at = s.alt.saved; at != (cursor{}) {
			b = s.appendCursor(b, s.alt, at)
			b = append(b, "\x1b7"...)
		}
	}
	b = s.appendReset(b, at)
	b = s.appendTabs(b)
	if s.top != 0 || s.bottom != s.rows-1 {
		b = appendCSI(b, "", 'r', s.top+1, s.bottom+1)
	}
	b = s.appendModes(b)
	return s.appendNow(b)
}

// appendPlane appends the keyboard flags and the rows of a plane. Its terminal's has neither.
func (s *Screen) appendPlane(b []byte, p *plane) []byte {
	b = p.keys.append(b)
	painted := false
	for y := range s.rows {
		r := p.row(y)
		n := r.used()
		if n == 0 {
			continue
		}
		if !painted {
			b, painted = append(b, "\x1b[?7l"...), true // should it think a row wider, it must not scroll
		}
		b = appendCSI(b, "", 'H', y+1, 1)
		b = s.appendPlaced(b, r.slots[:n])
	}
	if painted {
		b = append(b, "\x1b[?7h"...)
	}
	return b
}

// minSkip is the length of a run of blanks that is cheaper to jump over.
const minSkip = 8

// appendPlaced is appendSlots for a blank row of a terminal that may think other widths: whatever follows
// a cluster is put at its column. What must not be joined to the character before comes apart by that too.
func (s *Screen) appendPlaced(b []byte, slots []slot) []byte {
	var p pen
	for x := 0; x < len(slots); x++ {
		at := slots[x]
		if at == 0 || at == ' ' {
			n := 1
			for x+n < len(slots) && (slots[x+n] == 0 || slots[x+n] == ' ') {
				n++
			}
			if n >= minSkip {
				b = appendCSI(pen{}.appendFrom(b, p), "", 'G', x+n+1)
				p = pen{}
				x += n - 1
				continue
			}
		}
		if at&slotTail != 0 {
			continue
		}
		next := s.look.pens[at.pen()]
		b = next.appendFrom(b, p)
		p = next
		if x > 0 && s.wouldJoin(slots, x) {
			b = appendCSI(b, "", 'G', x+1)
		}
		if !at.cluster() {
			b = s.appendText(b, at)
			continue
		}
		n := 1
		if at&slotHead != 0 {
			n = 2
		}
		switch {
		case x+n < len(slots):
			b = appendCSI(s.appendText(b, at), "", 'G', x+n+1)
		case x+n == s.cols && s.plainBase(at):
			// Terminals of tmux's kind join marks to what is before the cursor, which doesn't leave the last
			// column without autowrap.
			b = append(s.appendText(append(b, "\x1b[?7h"...), at), "\x1b[?7l"...)
		default:
			b = s.appendText(b, at)
		}
	}
	return pen{}.appendFrom(b, p)
}

// plainBase says whether a cluster is a letter with marks, of which no terminal thinks that it is wider.
func (s *Screen) plainBase(x slot) bool {
	var text [maxCluster]byte
	b := s.appendText(text[:0], x)
	r, n := utf8.DecodeRune(b)
	if r >= firstClassed && classOf(r)&classEmoji != 0 {
		return false
	}
	for b = b[n:]; len(b) > 0; b = b[n:] {
		if r, n = utf8.DecodeRune(b); r >= 0xfe00 && r <= 0xfe0f || r == 0x20e3 { // "1" and others may become emoji
			return false
		}
	}
	return true
}

// wouldJoin says whether the character at x would become part of the one before it if it were printed right
// behind that.
func (s *Screen) wouldJoin(slots []slot, x int) bool {
	if !slots[x].cluster() && slots[x]&slotChar < firstClassed {
		return false
	}
	var text [maxCluster]byte
	r, _ := utf8.DecodeRune(s.appendText(text[:0], slots[x]))
	if r < firstClassed {
		return false
	}
	k := classOf(r)
	if !k.joins(r) {
		return false
	}
	before := slots[x-1]
	if before&slotTail != 0 {
		before = slots[x-2]
	}
	return joinable(s.appendText(text[:0], before), r, k)
}

// appendCursor appends what gives a terminal with neither scroll region nor anything set a cursor. P is
// what the terminal shows.
func (s *Screen) appendCursor(b []byte, p *plane, c cursor) []byte {
	if c.origin {
		b = append(b, "\x1b[?6h"...)
	}
	b = s.appendPlace(b, p, c, c.row)
	b = c.pen.appendFrom(b, pen{})
	return c.appendSets(b)
}

// appendPlace appends what brings the cursor to its place; row is as the terminal counts at the moment.
func (s *Screen) appendPlace(b []byte, p *plane, c cursor, row int) []byte {
	if !c.pending {
		return appendCSI(b, "", 'H', row+1, c.col+1)
	}
	return s.appendPrinted(b, p, c.row, row, s.cols)
}

// appendPrinted appends what prints the character before a column again, where it is, so that the cursor
// is as it was after that.
func (s *Screen) appendPrinted(b []byte, p *plane, y, row, behind int) []byte {
	x := behind - 1
	r := p.row(y)
	var at slot
	if x < len(r.slots) {
		at = r.slots[x]
	}
	if at&slotTail != 0 {
		x--
		at = r.slots[x]
	}
	b = appendCSI(b, "", 'H', row+1, x+1)
	look := s.look.pens[at.pen()]
	b = look.appendFrom(b, pen{})
	b = s.appendText(b, at)
	return pen{}.appendFrom(b, look)
}

func (c *cursor) appendSets(b []byte) []byte {
	if c.graphics[0] {
		b = append(b, "\x1b(0"...)
	}
	if c.graphics[1] {
		b = append(b, "\x1b)0"...)
	}
	if c.shift == 1 {
		b = append(b, 0x0e)
	}
	return b
}

// appendReset takes back what appendCursor set.
func (s *Screen) appendReset(b []byte, c cursor) []byte {
	if c.origin {
		b = append(b, "\x1b[?6l"...)
	}
	b = pen{}.appendFrom(b, c.pen)
	if c.graphics[0] {
		b = append(b, "\x1b(B"...)
	}
	if c.graphics[1] {
		b = append(b, "\x1b)B"...)
	}
	if c.shift == 1 {
		b = append(b, 0x0f)
	}
	return b
}

// appendTabs appends the tab stops, if they aren't the usual ones.
func (s *Screen) appendTabs(b []byte) []byte {
	is := func(col int) bool { return s.tabs[col/64]>>(col%64)&1 != 0 }
	usual := true
	for col := range s.cols {
		usual = usual && is(col) == (col%8 == 0 && col > 0)
	}
	if usual {
		return b
	}
	b = append(b, "\x1b[3g"...)
	for col := range s.cols {
		if is(col) {
			b = append(appendCSI(b, "", 'H', 1, col+1), "\x1bH"...)
		}
	}
	return b
}

// appendModes appends the modes, but for insert mode and what moves the cursor.
func (s *Screen) appendModes(b []byte) []byte {
	set := func(on bool, mode int) {
		if on {
			b = appendCSI(b, "?", 'h', mode)
		}
	}
	m := s.modes
	set(m.AppCursor, 1)
	set(s.blinks, 12)
	set(m.Mouse != 0, m.Mouse)
	set(m.Focus, 1004)
	set(m.MouseEncoding != 0, m.MouseEncoding)
	set(m.Paste, 2004)
	if m.AppKeypad {
		b = append(b, "\x1b="...)
	}
	if s.shape != 0 {
		b = append(appendCSI(b, "", ' ', int(s.shape)), 'q')
	}
	if s.hidden {
		b = append(b, "\x1b[?25l"...)
	}
	return b
}

// appendNow appends what the cursor is now. If a character was just printed it is printed again, so that
// what comes next may join it.
func (s *Screen) appendNow(b []byte) []byte {
	if !s.autowrap {
		b = append(b, "\x1b[?7l"...)
	}
	c, row := s.cur, s.cur.row
	if c.origin {
		b = append(b, "\x1b[?6h"...)
		row -= s.top
	}
	if s.printed > 0 {
		b = s.appendPrinted(b, s.now, c.row, row, s.printed)
	} else {
		b = s.appendPlace(b, s.now, c, row)
	}
	b = c.pen.appendFrom(b, pen{})
	b = c.appendSets(b)
	if s.insertMode {
		b = append(b, "\x1b[4h"...)
	}
	return b
}
