package main

// A pan is which part of a screen that is larger than the terminal a watcher looks at. Until a key moves it, it
// is where most is to be read: the rows of a program that prints lines follow its cursor, those of a
// full-screen program begin at its top, and columns always begin with the first. Who types sees the cursor.
type pan struct {
	left, top int
	moved     bool // the rows were moved: they no longer follow the cursor
}

// panStep is how many columns a key moves a pan.
const panStep = 8

// panKeys reads what was typed as a key that moves a pan: by columns, by rows, by screenfuls of rows, or to
// where it was at first.
func panKeys(b []byte) (cols, rows, pages int, home, ok bool) {
	switch string(b) {
	case "\x1b[A", "\x1bOA":
		return 0, -1, 0, false, true
	case "\x1b[B", "\x1bOB":
		return 0, 1, 0, false, true
	case "\x1b[C", "\x1bOC":
		return panStep, 0, 0, false, true
	case "\x1b[D", "\x1bOD":
		return -panStep, 0, 0, false, true
	case "\x1b[5~":
		return 0, 0, -1, false, true
	case "\x1b[6~":
		return 0, 0, 1, false, true
	case "\x1b[H", "\x1bOH", "\x1b[1~", "\x1b[7~":
		return 0, 0, 0, true, true
	}
	return 0, 0, 0, false, false
}

// part is the first column and row that are in view.
func (d *display) part(col, row int) (left, top int) {
	cols, rows := d.job.Size()
	if d.types {
		return inView(d.left, col, cols, d.cols, d.cols/3), inView(d.top, row, rows, d.rows, 0)
	}
	left = min(max(d.pan.left, 0), max(0, cols-d.cols))
	switch {
	case d.pan.moved:
		top = min(max(d.pan.top, 0), max(0, rows-d.rows))
	case !d.job.Alternate():
		top = inView(d.top, row, rows, d.rows, 0)
	}
	return left, top
}

// move moves the part that a watcher looks at. It is false if all of the screen is in view.
func (d *display) move(cols, rows, pages int, home bool) bool {
	if !d.larger() {
		return false
	}
	if home {
		d.pan = pan{}
	} else {
		width, height := d.job.Size()
		d.pan.left = min(max(d.pan.left+cols, 0), max(0, width-d.cols))
		if rows += pages * max(1, d.rows-1); rows != 0 {
			d.pan.top, d.pan.moved = min(max(d.top+rows, 0), max(0, height-d.rows)), true
		}
	}
	d.soon()
	return true
}

// larger reports whether the job's screen is larger than the terminal.
func (d *display) larger() bool {
	if d.job == nil {
		return false
	}
	cols, rows := d.job.Size()
	return cols > d.cols || rows > d.rows
}
