package vt

import (
	"math/bits"
	"unicode/utf8"
)

// move does sequences that move the cursor. False: this isn't one.
func (s *Screen) move(q *sequence) bool {
	n := q.param(0, 1)
	c := &s.cur
	switch q.final {
	case 'A':
		s.vertical(-n)
	case 'B':
		s.vertical(n)
	case 'C', 'a':
		c.col = min(s.cols-1, c.col+n)
	case 'D':
		c.col = max(0, c.col-n)
	case 'E':
		s.vertical(n)
		c.col = 0
	case 'F':
		s.vertical(-n)
		c.col = 0
	case 'G', '`':
		c.col = min(n, s.cols) - 1
	case 'H', 'f':
		s.goTo(n-1, q.param(1, 1)-1)
	case 'd':
		s.goTo(n-1, c.col)
	case 'e':
		limit := s.rows - 1
		if c.origin {
			limit = s.bottom
		}
		c.row = min(limit, c.row+n)
	case 'I':
		s.tab(n)
		return true
	case 'Z':
		s.tab(-n)
	case 's':
		s.now.saved = *c
		return true
	case 'u':
		s.restore()
		return true
	case 'r':
		top, bottom := n-1, min(q.param(1, s.rows), s.rows)-1
		if top >= bottom {
			return true
		}
		s.top, s.bottom = top, bottom
		s.goTo(0, 0)
	case 'g':
		switch q.param(0, 0) {
		case 0:
			s.setTab(c.col, false)
		case 3:
			clear(s.tabs[:])
		}
		return true
	default:
		return false
	}
	c.pending, s.printed = false, 0
	return true
}

// vertical moves the cursor by n rows, at most to the scroll region's end if it isn't beyond that.
func (s *Screen) vertical(n int) {
	first, last := 0, s.rows-1
	if s.cur.row >= s.top {
		first = s.top
	}
	if s.cur.row <= s.bottom {
		last = s.bottom
	}
	s.cur.row = min(max(s.cur.row+n, first), last)
}

// goTo puts the cursor somewhere; the row counts from the scroll region's top in origin mode.
func (s *Screen) goTo(row, col int) {
	first, last := 0, s.rows-1
	if s.cur.origin {
		first, last = s.top, s.bottom
	}
	s.cur.row = min(max(row+first, first), last)
	s.cur.col = min(max(col, 0), s.cols-1)
	s.cur.pending, s.printed = false, 0
}

// restore does DECRC.
func (s *Screen) restore() {
	s.cur = s.now.saved
	s.clamp(&s.cur)
	if s.cur.origin {
		s.cur.row = min(max(s.cur.row, s.top), s.bottom)
	}
	s.cur.pending = s.cur.pending && s.autowrap
	s.inked, s.blanked, s.printed = false, false, 0
	if s.cur.pending {
		s.attach()
	}
}

// attach makes the character in the last column the one just printed.
func (s *Screen) attach() {
	r := s.line()
	r.reach(s.cols, s.cols)
	at := s.cols - 1
	if r.slots[at]&slotTail != 0 {
		at--
	}
	s.printed = s.cols
	s.scratch = s.appendText(s.scratch[:0], r.slots[at])
	s.last, _ = utf8.DecodeRune(s.scratch)
}

// clamp brings a cursor within the screen.
func (s *Screen) clamp(c *cursor) {
	c.row = min(max(c.row, 0), s.rows-1)
	c.pending = c.pending && c.col == s.cols-1
	c.col = min(c.col, s.cols-1)
}

// tab moves the cursor by n tab stops. A pending wrap stays.
func (s *Screen) tab(n int) {
	if s.cur.pending && n > 0 {
		return
	}
	s.printed = 0
	for ; n > 0 && s.cur.col < s.cols-1; n-- {
		s.cur.col = min(s.nextTab(s.cur.col+1), s.cols-1)
	}
	for ; n < 0 && s.cur.col > 0; n++ {
		s.cur.col = s.lastTab(s.cur.col - 1)
	}
}

// nextTab is the first tab stop from a column on.
func (s *Screen) nextTab(col int) int {
	for i := col / 64; i < len(s.tabs); i++ {
		w := s.tabs[i]
		if i == col/64 {
			w &= ^uint64(0) << (col % 64)
		}
		if w != 0 {
			return i*64 + bits.TrailingZeros64(w)
		}
	}
	return s.cols - 1
}

// lastTab is the last tab stop up to a column; 0 if there is none.
func (s *Screen) lastTab(col int) int {
	for i := col / 64; i >= 0; i-- {
		w := s.tabs[i]
		if i == col/64 {
			w &= ^uint64(0) >> (63 - col%64)
		}
		if w != 0 {
			return i*64 + bits.Len64(w) - 1
		}
	}
	return 0
}

func (s *Screen) setTab(col int, on bool) {
	if on {
		s.tabs[col/64] |= 1 << (col % 64)
	} else {
		s.tabs[col/64] &^= 1 << (col % 64)
	}
}

// everyEight are tab stops each 8 columns.
const everyEight = 0x0101010101010101

func (s *Screen) resetTabs() {
	for i := range s.tabs {
		s.tabs[i] = everyEight
	}
	s.tabs[0] &^= 1
}
