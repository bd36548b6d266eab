package supervisor

// A painting is what makes a terminal show the screen, at an offset of the output. It is never changed, so
// that all who look at the same screen share it.
type painting struct {
	at         int64
	cols, rows int
	data       []byte // nil: none
}

// paintBehind is how many bytes a painting may be behind: what comes after it follows as output anyway, so all who
// look at about the same time can have the same one.
const paintBehind = 64 << 10

// paint paints the screen as it is, or was just now.
func (d *display) paint() painting {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.scanned.Load()
	if d.painted.data != nil && at-d.painted.at <= paintBehind {
		return d.painted
	}
	d.follow(at)
	d.painted = painting{at: at, cols: d.cols, rows: d.rows, data: d.screen.AppendSnapshot(make([]byte, 0, 4<<10))}
	return d.painted
}
