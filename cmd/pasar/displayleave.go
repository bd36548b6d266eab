package main

import (
	"bytes"

	"github.com/mattn/go-runewidth"

	"pasar/vt"
)

// enterMain prepares a terminal's main screen: what is on it scrolls away, and the job's history follows.
func (d *display) enterMain(b []byte) []byte {
	b = moveTo(b, d.rows-1, 0)
	b = append(b, bytes.Repeat([]byte{'\n'}, d.rows)...)
	b = append(b, "\x1b[H"...)
	n := min(d.job.History(), d.history)
	defer d.job.SetHistory(0)
	if n == 0 {
		return b
	}
	f := vt.Filter{Flat: true}
	b = append(b, f.Pass(d.job.AppendHistory(nil, n))...)
	b = moveTo(b, d.rows-1, 0)
	return append(b, bytes.Repeat([]byte{'\n'}, d.rows)...)
}

// leave returns what puts the terminal back that the job may have left in any state: keys, mouse, paste and focus
// reports, keyboard protocols, insert mode, character sets, colours, the cursor, scroll region, tab stops, the
// screen. It ends on a fresh line. With ended, the job's last screen stays.
func (d *display) leave(ended bool) []byte {
	switch {
	case !d.shown && ended && d.ready:
		return d.appendLast(nil)
	case !d.shown:
		return nil
	}
	d.shown = false
	b := append([]byte("\x18"+keysOff), d.popKeyboard()...)
	if d.filter.Tabs {
		b = append(b, vt.TabStops(d.cols)...)
	}
	b = append(b, vt.SoftReset...)
	if d.history > 0 {
		b = moveTo(b, max(0, min(d.rows-1, d.lastRow()-d.top)), 0)
		return append(b, "\r\n"...)
	}
	// Where a terminal has no alternate screen, this is a fresh line below all.
	b = moveTo(b, d.rows-1, 0)
	b = append(b, "\n\x1b[?1049l\x1b[m\r"...)
	if ended {
		b = d.appendLast(b)
	}
	return b
}

// popKeyboard pops what was pushed of the keyboard's flags, each on its screen. With history the terminal
// shows its main screen afterwards.
func (d *display) popKeyboard() []byte {
	const pop, main, alternate = "\x1b[<u", "\x1b[?1049l", "\x1b[?1049h"
	pushed := d.set.pushed
	d.set.pushed = [2]int{}
	s := ""
	switch {
	case pushed[1] == 0:
	case d.history == 0 || d.alternate:
		s = pop
	default: // the job left its alternate screen with flags on it
		s = alternate + pop + main
	}
	if d.history > 0 && d.alternate {
		s += main
		d.alternate = false
	}
	if pushed[0] != 0 {
		s += pop
	}
	return []byte(s)
}

// lastRow is the job's last row with something on it, or the cursor's; at least 0.
func (d *display) lastRow() int {
	_, row, _ := d.job.Cursor()
	_, rows := d.job.Size()
	for y := rows - 1; y > row; y-- {
		if d.job.Row(y) != "" {
			return y
		}
	}
	return row
}

// appendLast appends the job's last screen as lines. That of a full-screen program is of no use to who
// reads on.
func (d *display) appendLast(b []byte) []byte {
	if d.job == nil || d.job.Alternate() {
		return b
	}
	_, rows := d.job.Size()
	for rows > 0 && d.job.Row(rows-1) == "" {
		rows--
	}
	for y := range rows {
		f := vt.Filter{Flat: true}
		b = append(b, f.Pass(d.job.AppendRow(nil, y, 0, runewidth.StringWidth(d.job.Row(y))))...)
		b = append(b, "\x1b[m\r\n"...)
	}
	return b
}
