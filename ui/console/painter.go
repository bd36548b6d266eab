package console

import (
	"strings"

	"github.com/gdamore/tcell/v2"

	"pasar/ui"
)

// An area is a rectangle of the screen.
type area struct{ x, y, w, h int }

func (a area) holds(x, y int) bool { return x >= a.x && x < a.x+a.w && y >= a.y && y < a.y+a.h }

// rows is the part of an area from a row on, of so many rows at most.
func (a area) rows(from, n int) area {
	from = min(max(from, 0), a.h)
	return area{a.x, a.y + from, a.w, min(max(n, 0), a.h-from)}
}

// cols is the part of an area from a column on, of so many columns at most.
func (a area) cols(from, n int) area {
	from = min(max(from, 0), a.w)
	return area{a.x + from, a.y, min(max(n, 0), a.w-from), a.h}
}

// A target is a place that can be clicked, and what that does.
type target struct {
	area
	click func()
}

// A painter draws on a screen. Nothing that it is given is taken for anything but text: whatever draws a job's words
// draws them with it.
type painter struct {
	screen  tcell.Screen
	theme   theme
	ascii   bool
	targets []target
	cursor  *area // where the terminal's cursor is to be; nil: nowhere
}

// line draws a line from the left of a row on, cut with a mark where there is no room, and returns the columns it took.
func (p *painter) line(a area, row int, l ui.Line) int {
	return p.styled(a, row, l, nil)
}

// chosen draws a line as the chosen one, to the right edge.
func (p *painter) chosen(a area, row int, l ui.Line) {
	st := p.theme.chosen()
	if row < 0 || row >= a.h {
		return
	}
	for x := range a.w {
		p.screen.SetContent(a.x+x, a.y+row, ' ', nil, st)
	}
	p.styled(a, row, l, &st)
}

// text draws plain text.
func (p *painter) text(a area, row int, role ui.Role, text string) int {
	return p.line(a, row, ui.Line{{Text: text, Role: role}})
}

// right draws a line so that it ends at the right edge.
func (p *painter) right(a area, row int, l ui.Line) {
	w := min(l.Width(), a.w)
	p.line(a.cols(a.w-w, w), row, l)
}

func (p *painter) styled(a area, row int, l ui.Line, all *tcell.Style) int {
	if row < 0 || row >= a.h || a.w <= 0 {
		return 0
	}
	left, cut := a.w, false
	if l.Width() > a.w {
		left, cut = a.w-1, true
	}
	x := 0
	var style tcell.Style
	for _, s := range l {
		style = p.theme.style(s)
		if all != nil {
			style = *all
			if s.Bold {
				style = style.Bold(true)
			}
		}
		for _, r := range s.Text {
			w := ui.RuneWidth(r)
			switch {
			case w == 0 || r < ' ' || r == 0x7f:
				continue
			case x+w > left:
				if cut {
					p.put(a.x+x, a.y+row, p.mark(), style)
					x++
				}
				return x
			}
			p.put(a.x+x, a.y+row, r, style)
			x += w
		}
	}
	return x
}

func (p *painter) put(x, y int, r rune, st tcell.Style) {
	if p.ascii && r > '~' {
		wide := ui.RuneWidth(r) == 2
		if r = ui.ASCII(r); wide {
			p.screen.SetContent(x+1, y, r, nil, st)
		}
	}
	p.screen.SetContent(x, y, r, nil, st)
	if ui.RuneWidth(r) == 2 {
		p.screen.SetContent(x+1, y, ' ', nil, st)
		p.screen.SetContent(x, y, r, nil, st)
	}
}

// mark stands where something was cut off.
func (p *painter) mark() rune {
	if p.ascii {
		return '>'
	}
	return '…'
}

// rule draws a heading over the whole width: a title, a line, and what stands at its right.
func (p *painter) rule(a area, row int, title string, right ui.Line) {
	if row < 0 || row >= a.h {
		return
	}
	dash := "─"
	if p.ascii {
		dash = "-"
	}
	p.text(a, row, ui.Faint, strings.Repeat(dash, a.w))
	x := p.line(a.cols(1, a.w-2), row, ui.Line{{Text: " "}, {Text: title, Role: ui.Accent, Bold: true}, {Text: " "}})
	if w := right.Width(); w > 0 && w+x+6 <= a.w {
		p.line(a.cols(a.w-w-3, w+2), row, append(append(ui.Line{{Text: " "}}, right...), ui.Span{Text: " "}))
	}
}

// on makes a place clickable. What is drawn later is above.
func (p *painter) on(a area, click func()) {
	if a.w > 0 && a.h > 0 {
		p.targets = append(p.targets, target{a, click})
	}
}

// clicked is what a click does; nil for nothing.
func (p *painter) clicked(x, y int) func() {
	for i := len(p.targets) - 1; i >= 0; i-- {
		if p.targets[i].holds(x, y) {
			return p.targets[i].click
		}
	}
	return nil
}

// wipe clears an area.
func (p *painter) wipe(a area) {
	for y := range a.h {
		for x := range a.w {
			p.screen.SetContent(a.x+x, a.y+y, ' ', nil, tcell.StyleDefault)
		}
	}
}
