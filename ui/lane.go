package ui

import (
	"strings"
	"time"

	"pasar"
)

// looks are the signs that bars are drawn with.
type looks struct {
	ran, runs, planned, open, failed, now, cut string
}

var (
	barLooks      = looks{"▄", "█", "░", "▒", "✗", "│", "…"}
	asciiBarLooks = looks{"-", "=", ".", ">", "x", "|", "~"}
)

// columnAt is where a time is between two others in so many columns, not rounded; below 0 and above width is outside.
func columnAt(t, from, to time.Time, width int) float64 {
	span := to.Sub(from)
	if span <= 0 {
		return 0
	}
	return float64(t.Sub(from)) / float64(span) * float64(width)
}

// Render draws a lane between two times, and says for each column which job it is; 0 is none. It is exactly width columns.
func (l Lane) Render(from, to, now time.Time, width int, selected pasar.JobID, ascii bool) (Line, []pasar.JobID) {
	width = max(0, width)
	c := newCells(width)
	s := barLooks
	if ascii {
		s = asciiBarLooks
	}
	if at := columnAt(now, from, to, width); from.Before(to) && at >= 0 && at < float64(width) {
		c.set(int(at), s.now, Span{Role: Accent}, 0)
	}
	at := func(t time.Time) int { return int(min(max(columnAt(t, from, to, width), 0), float64(width)) + 0.5) }
	free := 0 // columns before it are taken
	for i := range l.Bars {
		b := &l.Bars[i]
		begin, end := min(at(b.From), width-1), at(b.To)
		if width == 0 || !b.From.Before(to) || b.To.Before(from) {
			continue
		}
		if begin = max(begin, free); begin >= end {
			if begin > min(at(b.From), width-1)+1 || begin >= width {
				continue // there is no room for it beside so many others
			}
			end = begin + 1
		}
		free = end
		b.draw(c, begin, end, &s, b.Job == selected && selected != 0, ascii)
	}
	return c.line(), c.jobs
}

// draw draws a bar into the columns from begin up to end.
func (b *Bar) draw(c *cells, begin, end int, s *looks, selected, ascii bool) {
	look, sign := Span{Hue: b.Hue}, s.ran
	switch b.Kind {
	case BarRuns:
		sign = s.runs
		look.Role = Good
	case BarPlanned:
		sign = s.planned
		look.Role = Warn
	default:
		look.Role = Faint
	}
	if selected {
		look.Bold, look.Hue, look.Role = true, 0, Accent
	}
	for i := begin; i < end; i++ {
		c.set(i, sign, look, b.Job)
	}
	n := end - begin
	room := end
	switch {
	case b.Failed:
		bad := look
		bad.Role, bad.Hue = Bad, 0
		room--
		c.set(room, s.failed, bad, b.Job)
	case b.Open && n > 3:
		room--
		c.set(room, s.open, look, b.Job)
	}
	if n < 3 {
		return
	}
	if b.Kind == BarRuns {
		look.Back = true // the label stands in the bar
	}
	first := begin
	if n > 5 { // an edge on either side
		first, room = begin+1, min(room, end-1)
	}
	c.text(first, within(b.Label, room-first, s.cut, ascii), look, b.Job)
}

// within cuts a label to so many columns. It is never cut inside of the job's id: one that doesn't fit isn't shown.
func within(label string, columns int, cut string, ascii bool) string {
	label = Shown(label)
	if ascii {
		label = strings.Map(func(r rune) rune {
			switch {
			case r <= '~':
				return r
			case narrow.RuneWidth(r) == 0:
				return -1
			}
			return '?'
		}, label)
	}
	if narrow.StringWidth(label) <= columns {
		return label
	}
	id, rest, _ := strings.Cut(label, " ")
	switch w := narrow.StringWidth(id); {
	case w > columns:
		return ""
	case rest == "" || w+2 >= columns: // no room for a letter of the name
		return id
	}
	return narrow.Truncate(label, columns, cut)
}
