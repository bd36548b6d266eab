package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mattn/go-runewidth"

	"pasar"
	"pasar/ui"
	"pasar/vt"
)

// paintRows paints the part of the job's screen that fits: the rows that changed, or all.
func (d *display) paintRows(b []byte) []byte {
	col, row, shown := d.job.Cursor()
	left, top := d.part(col, row)
	changed := d.job.Changed()
	b = append(b, "\x1b[?25l"...)
	all := d.full || left != d.left || top != d.top
	if d.full {
		b = d.reset(b)
		b = append(b, "\x1b[?25l"...)
		d.marks, d.lineAt = make([]byte, d.rows), span{}
	}
	d.left, d.top, d.full, d.passing = left, top, false, false

	words := d.lineRows()
	over := span{d.rows - len(words), d.rows} // at the bottom, unless the cursor is there
	if over.has(row - top) {
		over = span{0, len(words)}
	}
	for y := range d.rows {
		dirty := all || slices.Contains(changed, top+y) || d.lineAt.has(y) && d.lineAt != over
		if m := d.mark(y); m != d.marks[y] {
			d.marks[y], dirty = m, true
		}
		if dirty && !over.has(y) {
			b = d.paintRow(b, y)
		}
	}
	for i, text := range words {
		b = moveTo(b, over.from+i, 0)
		b = append(b, "\x1b[m\x1b[K\x1b[7m"...)
		b = append(append(b, text...), "\x1b[m"...)
	}
	d.lineAt = over
	inside := row >= top && row < top+d.rows && col >= left && col <= left+d.cols
	if inside {
		b = moveTo(b, row-top, min(col-left, d.cols-1))
	}
	if shown && inside && !over.has(row-top) {
		b = append(b, "\x1b[?25h"...)
	}
	return b
}

// A span is rows of the terminal, the last one not included.
type span struct{ from, to int }

func (s span) has(row int) bool { return row >= s.from && row < s.to }

// maxLineRows is how many rows a line of ours may take.
const maxLineRows = 3

// lineRows is the line over the screen as it fits.
func (d *display) lineRows() []string {
	if d.line == "" {
		return nil
	}
	rows := strings.Split(ui.Wrap(" "+pasar.Clean(d.line), d.cols-1, 1), "\n")
	rows = rows[:min(len(rows), maxLineRows, max(1, d.rows-1))]
	for i, r := range rows {
		rows[i] = ui.Cut(strings.TrimRight(r, " ")+" ", d.cols)
	}
	return rows
}

// paintRow paints one row of what is in view.
func (d *display) paintRow(b []byte, y int) []byte {
	cols, rows := d.job.Size()
	b = moveTo(b, y, 0)
	b = append(b, "\x1b[m\x1b[K"...)
	if d.top+y >= rows {
		return b
	}
	to := min(cols, d.left+d.cols)
	if d.marks[y] != 0 && d.marks[y] != '<' {
		to = min(to, d.left+d.cols-1)
	}
	f := vt.Filter{Flat: true}
	b = append(b, f.Pass(d.job.AppendRow(nil, d.top+y, d.left, to))...)
	if d.marks[y] != 0 {
		at := d.cols - 1
		if d.marks[y] == '<' {
			at = 0
		}
		b = moveTo(b, y, at)
		b = append(append(append(b, "\x1b[0;2;7m"...), d.marks[y]), "\x1b[m"...)
	}
	return b
}

// mark is what stands where the screen goes on beyond the terminal, as less -S has it: at the end of a row, or at
// its beginning for what is to the left. 0: none.
func (d *display) mark(y int) byte {
	cols, rows := d.job.Size()
	switch {
	case d.cols < 2 || d.top+y >= rows:
		return 0
	case y == 0 && d.top > 0:
		return '^'
	case y == d.rows-1 && d.top+d.rows < rows && d.below():
		return 'v'
	case cols <= d.cols:
		return 0
	}
	text := d.job.Row(d.top + y)
	switch {
	case runewidth.StringWidth(text) > d.left+d.cols:
		return '>'
	case d.left > 0 && strings.TrimSpace(text) != "":
		return '<'
	}
	return 0
}

// below reports whether there is something under what is in view.
func (d *display) below() bool {
	_, rows := d.job.Size()
	for y := d.top + d.rows; y < rows; y++ {
		if d.job.Row(y) != "" {
			return true
		}
	}
	return false
}

// inView moves a window of a size along one axis so that the cursor is in it: no more than needed, and by a step
// more where each move paints everything.
func inView(first, cursor, size, window, step int) int {
	switch {
	case size <= window:
		return 0
	case cursor < first:
		return max(0, cursor-step)
	case cursor >= first+window:
		return min(size-window, cursor-window+1+step)
	}
	return min(first, size-window)
}

// moveTo moves the cursor; row and column are from 0.
func moveTo(b []byte, row, col int) []byte {
	b = append(b, "\x1b["...)
	b = strconv.AppendInt(b, int64(row)+1, 10)
	if col > 0 {
		b = append(b, ';')
		b = strconv.AppendInt(b, int64(col)+1, 10)
	}
	return append(b, 'H')
}
