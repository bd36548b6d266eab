package vt

// A plane is a screenful of rows: the main screen, or the alternate one.
type plane struct {
	rows  []row    // in no order
	order []uint16 // order[y] is the index in rows of the y-th row: scrolling moves only these
	saved cursor   // by DECSC
	keys  keyStack
}

// A cursor is what DECSC saves: where it is, and how it writes.
type cursor struct {
	row, col int
	pending  bool // the last column is written, and the next character goes to the next row
	origin   bool // rows are counted from the scroll region's top
	pen      pen
	graphics [2]bool // G0 and G1 are line drawing, instead of ASCII
	shift    uint8   // 1: G1 is in use
}

func newPlane(rows int) *plane {
	p := &plane{}
	p.setHeight(rows)
	return p
}

// setHeight makes it have so many rows: it adds at the end, or drops from there.
func (p *plane) setHeight(rows int) {
	if rows == len(p.order) {
		return
	}
	moved, order := make([]row, rows), make([]uint16, rows)
	for y := range order {
		order[y] = uint16(y)
		if y < len(p.order) {
			moved[y] = *p.row(y)
		}
	}
	p.rows, p.order = moved, order
}

func (p *plane) row(y int) *row { return &p.rows[p.order[y]] }

// up moves rows top to bottom, inclusive, up by n; those that leave come back as blank ones at the bottom.
func (p *plane) up(top, bottom, n int, blank slot, cols int) {
	o := p.order[top : bottom+1]
	n = min(n, len(o))
	for _, i := range o[:n] {
		p.rows[i].clear(blank, cols)
	}
	rotate(o, n)
}

// down is the opposite of up.
func (p *plane) down(top, bottom, n int, blank slot, cols int) {
	o := p.order[top : bottom+1]
	n = min(n, len(o))
	for _, i := range o[len(o)-n:] {
		p.rows[i].clear(blank, cols)
	}
	rotate(o, len(o)-n)
}

// rotate moves the first n elements to the end.
func rotate(o []uint16, n int) {
	if n == 1 {
		first := o[0]
		copy(o, o[1:])
		o[len(o)-1] = first
		return
	}
	if n == len(o) || n == 0 {
		return
	}
	reverse(o[:n])
	reverse(o[n:])
	reverse(o)
}

func reverse(o []uint16) {
	for i, j := 0, len(o)-1; i < j; i, j = i+1, j-1 {
		o[i], o[j] = o[j], o[i]
	}
}
