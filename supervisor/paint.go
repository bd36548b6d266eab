package supervisor

import "pasar/vt"

// A painting is what makes a terminal show the screen, at an offset of the output. It is never changed, so
// that all who look at the same screen share it.
type painting struct {
	at         int64
	cols, rows int
	data       []byte // nil: none
}

// paint paints the screen as it is.
func (d *display) paint() (p painting) {
	d.look(func(s *vt.Screen, at int64) {
		if d.painted.data == nil {
			d.painted = painting{cols: d.cols, rows: d.rows, data: s.AppendSnapshot(make([]byte, 0, 4<<10))}
		}
		d.painted.at = at
		p = d.painted
	})
	return p
}
