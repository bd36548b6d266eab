package vt

import "slices"

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
func (s *Screen) appendSlots(b []byte, slots []slot) []byte {
	var p pen
	for len(slots) > 0 {
		// Most are ASCII in the style of the one before.
		number, n := slots[0].pen(), 0
		if next := s.look.pens[number]; next != p {
			b, p = next.appendFrom(b, p), next
		}
		b = slices.Grow(b, len(slots))
		to := b[len(b) : len(b)+len(slots)]
		base := slot(number)<<slotPen | ' '
		for n < len(slots) && slots[n]-base < 0x7f-' ' {
			to[n] = byte(slots[n])
			n++
		}
		b, slots = b[:len(b)+n], slots[n:]
		for len(slots) > 0 && slots[0].pen() == number && slots[0]-base >= 0x7f-' ' {
			b, slots = s.appendText(b, slots[0]), slots[1:]
		}
	}
	return pen{}.appendFrom(b, p)
}
