package ui

import (
	"strings"

	"pasar"
)

// cells is a row that is drawn column by column.
type cells struct {
	chars []string // of the character that begins there; empty behind a wide one
	looks []Span
	jobs  []pasar.JobID
}

func newCells(width int) *cells {
	c := &cells{make([]string, width), make([]Span, width), make([]pasar.JobID, width)}
	for i := range c.chars {
		c.chars[i] = " "
	}
	return c
}

// set fills one column.
func (c *cells) set(i int, text string, look Span, job pasar.JobID) {
	if i >= 0 && i < len(c.chars) {
		c.chars[i], c.looks[i], c.jobs[i] = text, look, job
	}
}

// text writes what is as wide as its characters, as far as there is room.
func (c *cells) text(i int, text string, look Span, job pasar.JobID) {
	last := -1
	for _, r := range text {
		w := narrow.RuneWidth(r)
		switch {
		case w == 0 && last >= 0:
			c.chars[last] += string(r)
			continue
		case w == 0:
			continue
		case i < 0 || i+w > len(c.chars):
			return
		}
		c.set(i, string(r), look, job)
		for k := 1; k < w; k++ {
			c.set(i+k, "", look, job)
		}
		last, i = i, i+w
	}
}

// line joins what looks the same.
func (c *cells) line() Line {
	var out Line
	var b strings.Builder
	for i, t := range c.chars {
		if i > 0 && c.looks[i] != c.looks[i-1] {
			out = append(out, c.span(i-1, &b))
		}
		b.WriteString(t)
	}
	if len(c.chars) > 0 {
		out = append(out, c.span(len(c.chars)-1, &b))
	}
	return out
}

func (c *cells) span(i int, b *strings.Builder) Span {
	s := c.looks[i]
	s.Text = b.String()
	b.Reset()
	return s
}
