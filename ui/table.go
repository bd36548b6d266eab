package ui

import (
	"strings"

	"github.com/mattn/go-runewidth"
)

// A Cell is one field of a table.
type Cell struct {
	Text string // one line, cleaned
	Code string // how it looks, with colour: one of this package's sequences
}

// A Column is how the cells of one column stand.
type Column struct {
	Head  string
	Right bool // aligned to the right
	Max   int  // columns at most when the width is bounded; 0: as wide as needed
}

// A Table is rows under headings.
type Table struct {
	Columns []Column
	Rows    [][]Cell
}

// Render lays the table out. With a width the last column is cut to fit, and each other one to its
// Max; without one nothing is cut.
func (t Table) Render(s Style) string {
	widths := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = runewidth.StringWidth(c.Head)
		for _, r := range t.Rows {
			widths[i] = max(widths[i], runewidth.StringWidth(r[i].Text))
		}
		if s.Width > 0 && c.Max > 0 {
			widths[i] = min(widths[i], c.Max)
		}
	}
	var b strings.Builder
	head := make([]Cell, len(t.Columns))
	for i, c := range t.Columns {
		head[i] = Cell{c.Head, dim}
	}
	t.line(&b, s, widths, head)
	for _, r := range t.Rows {
		t.line(&b, s, widths, r)
	}
	return b.String()
}

const gap = 2

func (t Table) line(b *strings.Builder, s Style, widths []int, cells []Cell) {
	used := 0
	for i, c := range cells {
		last := i == len(cells)-1
		room := widths[i]
		if last && s.Width > 0 {
			room = max(1, s.Width-used)
		}
		text := c.Text
		if s.Width > 0 {
			text = Cut(text, room)
		}
		pad := strings.Repeat(" ", max(0, widths[i]-runewidth.StringWidth(text)))
		switch {
		case t.Columns[i].Right:
			b.WriteString(pad + s.paint(c.Code, text))
		case last || rest(cells[i+1:]):
			b.WriteString(s.paint(c.Code, text))
		default:
			b.WriteString(s.paint(c.Code, text) + pad)
		}
		if last || rest(cells[i+1:]) {
			break
		}
		b.WriteString(strings.Repeat(" ", gap))
		used += widths[i] + gap
	}
	b.WriteByte('\n')
}

// rest reports whether nothing but empty cells follow: a line has no spaces at its end.
func rest(cells []Cell) bool {
	for _, c := range cells {
		if c.Text != "" {
			return false
		}
	}
	return true
}

// Cut shortens text to so many columns, with an ellipsis at the end if something was left out.
func Cut(text string, columns int) string {
	if columns <= 0 || runewidth.StringWidth(text) <= columns {
		return text
	}
	return runewidth.Truncate(text, columns, "…")
}
