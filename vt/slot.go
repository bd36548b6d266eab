package vt

import "unicode/utf8"

// A slot is a cell of a Screen in 8 bytes: in bits 0–31 a character, or a cluster's number with
// slotCluster; in bits 32–47 the number of its pen; above that, whether it is half of a wide character.
// The zero slot is blank: nothing was written there, or it was erased without a background.
type slot uint64

const (
	slotCluster slot = 1 << 31
	slotPen          = 32 // bits to shift
	slotHead    slot = 1 << 48
	slotTail    slot = 1 << 49
	slotChar    slot = 1<<32 - 1
)

func (x slot) pen() uint16    { return uint16(x >> slotPen) }
func (x slot) cluster() bool  { return x&slotCluster != 0 }
func (x slot) number() uint32 { return uint32(x & slotChar &^ slotCluster) }

// A row is one line of a screen. Slots beyond its end are blank.
type row struct {
	slots   []slot // at most as many as the screen has columns
	wrapped bool   // the text goes on in the next row
}

// reach makes the row have n slots at least. Cols is how many it may ever have.
func (r *row) reach(n, cols int) {
	if n <= len(r.slots) {
		return
	}
	if n > cap(r.slots) {
		grown := make([]slot, len(r.slots), max(cols, n))
		copy(grown, r.slots)
		r.slots = grown
	}
	old := len(r.slots)
	r.slots = r.slots[:n]
	clear(r.slots[old:])
}

// split makes sure that no wide character lies across the left border of a column: one that does is
// blanked, both halves.
func (r *row) split(col int) {
	if col > 0 && col < len(r.slots) && r.slots[col]&slotTail != 0 {
		r.slots[col-1], r.slots[col] = 0, 0
	}
}

// erase blanks columns [from, to) with a blank, which may have a background.
func (r *row) erase(from, to int, blank slot, cols int) {
	r.split(from)
	r.split(to)
	if blank == 0 {
		if to >= len(r.slots) {
			r.slots = r.slots[:min(from, len(r.slots))]
		} else {
			clear(r.slots[from:to])
		}
		return
	}
	r.reach(to, cols)
	fill(r.slots[from:to], blank)
}

func fill(s []slot, x slot) {
	if len(s) == 0 {
		return
	}
	s[0] = x
	for n := 1; n < len(s); n *= 2 { // copy is faster than a loop
		copy(s[n:], s[:n])
	}
}

// insert moves what is from a column on to the right by n and leaves blanks there.
func (r *row) insert(col, n int, blank slot, cols int) {
	n = min(n, cols-col)
	r.split(col)
	r.split(cols - n) // what is cut off at the edge
	if col < len(r.slots) {
		old := len(r.slots)
		r.reach(min(old+n, cols), cols)
		copy(r.slots[col+n:], r.slots[col:old])
		clear(r.slots[col : col+n])
	}
	if blank != 0 {
		r.reach(col+n, cols)
		fill(r.slots[col:col+n], blank)
	}
}

// remove takes n columns out; blanks come in at the right edge.
func (r *row) remove(col, n int, blank slot, cols int) {
	n = min(n, cols-col)
	r.split(col)
	r.split(col + n)
	if col < len(r.slots) {
		kept := copy(r.slots[col:], r.slots[min(col+n, len(r.slots)):])
		r.slots = r.slots[:col+kept]
	}
	if blank != 0 {
		r.reach(cols, cols)
		fill(r.slots[cols-n:], blank)
	}
}

// clear blanks the whole row.
func (r *row) clear(blank slot, cols int) {
	r.slots, r.wrapped = r.slots[:0], false
	if blank != 0 {
		r.erase(0, cols, blank, cols)
	}
}

// used is how many slots there are without the plain blanks at the end.
func (r *row) used() int {
	n := len(r.slots)
	for n > 0 && (r.slots[n-1] == 0 || r.slots[n-1] == ' ') {
		n--
	}
	return n
}

// appendText appends what is in a slot, as UTF-8.
func (s *Screen) appendText(b []byte, x slot) []byte {
	switch c := uint32(x & slotChar); {
	case x&slotTail != 0:
		return b
	case c == 0:
		return append(b, ' ')
	case c < utf8.RuneSelf:
		return append(b, byte(c))
	case x.cluster():
		return append(b, s.look.clusters[x.number()]...)
	default:
		return utf8.AppendRune(b, rune(c))
	}
}
