package vt

// AppendRow appends columns [from, to) of a row for a terminal: colours and text, no movement; it begins and
// ends with no style in effect. A wide character that is cut is a blank. Blanks up to the last column are
// part of it.
func (s *Screen) AppendRow(b []byte, row, from, to int) []byte {
	from, to = max(from, 0), min(to, s.cols)
	if row < 0 || row >= s.rows || from >= to {
		return b
	}
	slots := s.now.row(row).slots
	var p pen
	for x := from; x < to; x++ {
		var at slot
		if x < len(slots) {
			at = slots[x]
		}
		if at&slotTail != 0 && x == from || at&slotHead != 0 && x+1 == to {
			at = at&(0xffff<<slotPen) | ' '
		}
		if at&slotTail != 0 {
			continue
		}
		next := s.look.pens[at.pen()]
		b = next.appendFrom(b, p)
		p = next
		b = s.appendText(b, at)
	}
	return pen{}.appendFrom(b, p)
}

// appendSlots appends slots as text with SGR sequences, ending with no style in effect.
func (s *Screen) appendSlots(b []byte, slots []slot, p pen) []byte {
	number := uint16(0)
	for _, x := range slots {
		if n := x.pen(); n != number {
			number = n
			next := s.look.pens[n]
			b = next.appendFrom(b, p)
			p = next
		}
		if c := x & slotChar; c-0x20 < 0x60 { // the usual
			b = append(b, byte(c))
		} else {
			b = s.appendText(b, x)
		}
	}
	return pen{}.appendFrom(b, p)
}
