package console

import (
	"strings"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"pasar/ui"
)

// A textPage is text to read: help, why, GPUs. It is made anew with each snapshot, so that it stays true.
type textPage struct {
	c     *console
	title string
	make  func(width int) []ui.Line
	lines []ui.Line // as drawn last
	find  finder
	scroller
}

// A scroller is how far a page of lines is scrolled.
type scroller struct {
	top  int // first line that is seen
	all  int // lines that there are, and
	seen int // how many of them are, as drawn last
}

// fit takes up how many lines there are, and how many are seen.
func (s *scroller) fit(all, seen int) {
	s.all, s.seen = all, seen
	s.top = min(max(s.top, 0), max(0, all-seen))
}

// below reports whether there are lines below those that are seen.
func (s *scroller) below() bool { return s.top+s.seen < s.all }

func (s *scroller) wheel(_, _, by int) { s.top += 3 * by }

// act scrolls; false if that isn't what is asked for.
func (s *scroller) act(act ui.Act) bool {
	switch act {
	case ui.ActUp:
		s.top--
	case ui.ActDown:
		s.top++
	case ui.ActPageUp:
		s.top -= max(1, s.seen-1)
	case ui.ActPageDn:
		s.top += max(1, s.seen-1)
	case ui.ActFirst:
		s.top = 0
	case ui.ActLast:
		s.top = s.all
	default:
		return false
	}
	return true
}

func newTextPage(c *console, title string, make func(width int) []ui.Line) *textPage {
	return &textPage{c: c, title: title, make: make}
}

func (t *textPage) place() ui.Place { return ui.InText }
func (t *textPage) changed()        {}
func (t *textPage) close()          {}

func (t *textPage) draw(p *painter, a area) {
	t.find.heading(p, a, t.title, t.c)
	a = a.rows(1, a.h).cols(1, a.w-2)
	t.lines = t.make(a.w)
	t.fit(len(t.lines), a.h)
	for y := range min(a.h, len(t.lines)-t.top) {
		l := t.lines[t.top+y]
		if t.find.hits(l.String()) {
			l = append(ui.Line{{Text: "» ", Role: ui.Accent, Bold: true}}, l...)
		}
		p.line(a, y, l)
	}
	if t.below() {
		p.right(a, a.h-1, ui.Line{{Text: " more: arrows ", Role: ui.Accent}})
	}
}

func (t *textPage) act(act ui.Act) bool {
	if t.scroller.act(act) {
		return true
	}
	switch act {
	case ui.ActSearch:
		t.find.ask(t.c)
	case ui.ActAgain:
		t.seek()
	case ui.ActBack:
		t.c.base.back()
	default:
		return false
	}
	return true
}

// seek goes to the next line above that has what is looked for, or else to the last one.
func (t *textPage) seek() {
	if at := t.find.above(len(t.lines), t.top, func(i int) string { return t.lines[i].String() }); at >= 0 {
		t.top = at
	} else if t.find.text != "" {
		t.c.say(ui.Warn, "not found: "+t.find.text)
	}
}

func (t *textPage) typed(ev *tcell.EventKey) bool { return t.find.typed(ev, t.seek) }

func (t *textPage) pasted(text string) { t.find.pasted(text) }

// A finder looks for text in a page.
type finder struct {
	text   string // in lower case; empty: nothing is looked for
	field  *tview.InputField
	asking bool
}

func (f *finder) ask(c *console) {
	f.field, f.asking = newField(c.theme, ""), true
}

func (f *finder) typed(ev *tcell.EventKey, seek func()) bool {
	if !f.asking {
		return false
	}
	switch ev.Key() {
	case tcell.KeyEnter:
		f.asking = false
		f.text = strings.ToLower(f.field.GetText())
		if f.text != "" {
			seek()
		}
	case tcell.KeyEsc:
		f.asking, f.text = false, ""
	default:
		f.field.InputHandler()(ev, func(tview.Primitive) {})
	}
	return true
}

func (f *finder) pasted(text string) {
	if f.asking {
		f.field.PasteHandler()(text, func(tview.Primitive) {})
	}
}

func (f *finder) hits(line string) bool {
	return f.text != "" && strings.Contains(strings.ToLower(line), f.text)
}

// above is the nearest of n lines above one that has the text, going on from the last one at the top; -1 if none has.
func (f *finder) above(n, from int, line func(int) string) int {
	if f.text == "" {
		return -1
	}
	for k := range n {
		if i := ((from-1-k)%n + n) % n; f.hits(line(i)) {
			return i
		}
	}
	return -1
}

// heading is the first row of a page of text: its title, or what is looked for.
func (f *finder) heading(p *painter, a area, title string, c *console) {
	p.rule(a, 0, ui.Cut(title, max(10, a.w-20)), ui.Line{{Text: "Esc back", Role: ui.Faint}})
	p.on(a.rows(0, 1), func() { c.act(ui.ActBack) })
	if f.asking {
		const label = " search: "
		p.wipe(a.rows(0, 1).cols(3, a.w))
		p.line(a.cols(3, a.w), 0, ui.Line{{Text: label, Role: ui.Accent}})
		x := a.x + 3 + len(label)
		f.field.SetRect(x, a.y, max(1, a.x+a.w-x-1), 1)
		f.field.Draw(p.screen)
	}
}
