package console

import (
	"context"
	"fmt"
	"strings"

	"github.com/gdamore/tcell/v2"

	"pasar"
	"pasar/ui"
	"pasar/vt"
)

// A logPage is a job's output as lines, followed from near its end on, over its attempts; or that of one attempt before.
type logPage struct {
	c     *console
	id    pasar.JobID
	name  string
	out   *output
	find  finder
	at    spot // what is seen first, unless it follows
	loose bool // it doesn't follow
	width int  // columns and rows, as drawn last
	rows  int
	below int // lines below the last one that is seen, as drawn last
}

// A spot is a row of a log: a line, of all that there ever were, and a row of that line.
type spot struct{ line, row int }

func newLogPage(c *console, id pasar.JobID, name string) *logPage {
	l := &logPage{c: c, id: id, name: name}
	l.out = follow(c, id, 0)
	return l
}

func (l *logPage) place() ui.Place { return ui.InOutput }
func (l *logPage) changed()        {}
func (l *logPage) close()          { l.out.stop() }

func (l *logPage) draw(p *painter, a area) {
	lines := l.out.look()
	defer func(head area) { // it says where this is, once that has been drawn
		l.find.heading(p, head, "Output of "+l.name+"  ("+l.state(lines)+")", l.c)
	}(a)
	a = a.rows(1, a.h)
	l.width, l.rows = a.w, a.h
	if a.w < 1 || a.h < 1 {
		return
	}
	if lines.n() == 0 {
		if lines.note == "" {
			p.text(a.cols(1, a.w), 1, ui.Faint, "It has written nothing yet.")
		}
		return
	}
	end := l.end(lines)
	l.at = lines.within(l.at)
	if !l.loose || !before(l.at, end) {
		l.at, l.loose = end, false
	}
	y := 0
	for i, row := l.at.line, l.at.row; i < lines.past() && y < a.h; i, row = i+1, 0 {
		l.below = lines.past() - 1 - i
		s := l.render(lines, i)
		for n := rowsOf(s); row < n && y < a.h; row, y = row+1, y+1 {
			drawCells(p, a, y, s, row)
		}
	}
}

func before(a, b spot) bool { return a.line < b.line || a.line == b.line && a.row < b.row }

// state says how the log stands, in a few words.
func (l *logPage) state(lines lines) string {
	var parts []string
	if lines.attempt > 0 {
		parts = append(parts, fmt.Sprintf("attempt %d", lines.attempt))
	}
	if lines.note != "" {
		parts = append(parts, ui.Shown(lines.note))
	}
	switch {
	case l.loose:
		parts = append(parts, fmt.Sprintf("%d lines below: End", l.below))
	case lines.note == "":
		parts = append(parts, "following")
	}
	return strings.Join(parts, ", ")
}

// render draws a line on a screen of its own, as many rows high as it may take.
func (l *logPage) render(lines lines, i int) *vt.Screen {
	text := lines.at(i)
	if l.find.hits(plain(text)) {
		text = "\x1b[1;36m»\x1b[m " + text
	}
	s := newScreen(l.width, min(vt.MaxRows, len(text)/l.width+2))
	_, _ = s.Write([]byte(text))
	return s
}

// rowsOf is how many rows of a screen were written on.
func rowsOf(s *vt.Screen) int {
	_, row, _ := s.Cursor()
	return row + 1
}

// end is the spot from which on the last rows fill the page.
func (l *logPage) end(lines lines) spot {
	for i, left := lines.past()-1, l.rows; ; i-- {
		n := rowsOf(l.render(lines, i))
		if n >= left {
			return spot{i, n - left}
		}
		if left -= n; i == lines.dropped {
			return spot{i, 0}
		}
	}
}

func (l *logPage) act(act ui.Act) bool {
	switch act {
	case ui.ActUp:
		l.move(-1)
	case ui.ActDown:
		l.move(1)
	case ui.ActPageUp:
		l.move(-max(1, l.rows-1))
	case ui.ActPageDn:
		l.move(max(1, l.rows-1))
	case ui.ActFirst:
		l.at, l.loose = spot{}, true
	case ui.ActLast:
		l.loose = false
	case ui.ActSearch:
		l.find.ask(l.c)
	case ui.ActAgain:
		l.seek()
	case ui.ActPrevAttempt:
		l.attempt(-1)
	case ui.ActNextAttempt:
		l.attempt(1)
	case ui.ActBack:
		l.c.base.back()
	default:
		return false
	}
	return true
}

// move scrolls by rows. At the end it follows again.
func (l *logPage) move(by int) {
	lines := l.out.look()
	if lines.n() == 0 || l.width < 1 {
		return
	}
	at := lines.within(l.at)
	for ; by < 0; by++ {
		switch {
		case at.row > 0:
			at.row--
		case at.line > lines.dropped:
			at.line--
			at.row = rowsOf(l.render(lines, at.line)) - 1
		}
	}
	for ; by > 0; by-- {
		switch {
		case at.row+1 < rowsOf(l.render(lines, at.line)):
			at.row++
		case at.line+1 < lines.past():
			at = spot{at.line + 1, 0}
		}
	}
	l.at, l.loose = at, true
}

func (l *logPage) seek() {
	lines := l.out.look()
	i := l.find.above(lines.n(), lines.within(l.at).line-lines.dropped, func(i int) string { return plain(lines.at(lines.dropped + i)) })
	switch {
	case i >= 0:
		l.at, l.loose = spot{lines.dropped + i, 0}, true
		l.c.message = message{}
	case l.find.text != "":
		l.c.say(ui.Warn, fmt.Sprintf("not found in the %d lines that are here: %s", lines.n(), l.find.text))
	}
}

// attempt shows the output of the attempt before or after.
func (l *logPage) attempt(by int) {
	lines := l.out.look()
	to := lines.attempt + by
	if lines.attempt == 0 || to < 1 || by > 0 && lines.last {
		l.c.say(ui.Plain, "there is no other attempt")
		return
	}
	if v := l.c.base.market.jobs.byID()[l.id]; v != nil && to >= len(v.Attempts) {
		to = 0 // the latest, and those that come after it
	}
	l.out.stop()
	l.out, l.at, l.loose = follow(l.c, l.id, to), spot{}, false
}

// plain is a line without its colours.
func plain(line string) string {
	var b strings.Builder
	for {
		text, rest, ok := strings.Cut(line, "\x1b[")
		b.WriteString(text)
		if !ok {
			return b.String()
		}
		if _, line, ok = strings.Cut(rest, "m"); !ok {
			return b.String()
		}
	}
}

func (l *logPage) wheel(_, _, by int) { l.move(3 * by) }

func (l *logPage) typed(ev *tcell.EventKey) bool { return l.find.typed(ev, l.seek) }

func (l *logPage) pasted(text string) { l.find.pasted(text) }

// follow reads a job's output: from attempt on to its end, or with 0 that of its latest and those that follow.
func follow(c *console, id pasar.JobID, attempt int) *output {
	ctx, cancel := context.WithCancel(c.ctx)
	o := &output{feed: c.feed, id: id, moved: make(chan struct{}, 1), stop: cancel}
	c.work(func() { o.read(ctx, attempt) })
	c.work(func() { c.drawOn(ctx, o.moved) })
	return o
}
