package console

import (
	"slices"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"pasar/ui"
)

// A page fills the screen but for the bottom row.
type page interface {
	place() ui.Place
	draw(p *painter, a area)
	act(act ui.Act) bool // false: it has no such thing
	wheel(x, y, by int)  // by -1 up, 1 down
	changed()            // there is another snapshot
	close()              // it is left
}

// A stack is the pages that are open, of which the last is seen, above the bottom row with messages and hints.
type stack struct {
	*tview.Box
	c     *console
	pages []page
	paint painter

	market    *market
	mood      ui.Mood // as shown
	moodUntil time.Time
}

func newStack(c *console) *stack {
	s := &stack{Box: tview.NewBox(), c: c}
	s.market = newMarket(c)
	s.pages = []page{s.market}
	return s
}

func (s *stack) top() page { return s.pages[len(s.pages)-1] }

// open shows a page above the others.
func (s *stack) open(p page) {
	if side := s.market.side; side != nil {
		side.close() // nobody sees it
	}
	s.pages = append(s.pages, p)
}

// back leaves the page that is seen, but not the first.
func (s *stack) back() {
	if n := len(s.pages); n > 1 {
		s.top().close()
		s.pages = s.pages[:n-1]
		s.top().changed()
	}
}

func (s *stack) changed() {
	for _, p := range s.pages {
		p.changed()
	}
}

// Draw draws what is seen.
func (s *stack) Draw(screen tcell.Screen) {
	screen.HideCursor() // whoever is typed into shows it
	s.DrawForSubclass(screen, s)
	x, y, w, h := s.GetInnerRect()
	s.paint = painter{screen: screen, theme: s.c.theme, ascii: s.c.opt.ASCII}
	whole := area{x, y, w, h}
	if w < minCols || h < minRows {
		s.paint.text(whole, 0, ui.Warn, "the terminal is too small")
		return
	}
	s.mood, _, s.moodUntil = ui.MoodOf(s.c.snap, s.c.opt.now())
	s.top().draw(&s.paint, whole.rows(0, h-1))
	s.bottom(whole.rows(h-1, 1))
	s.tell(whole)
	if s.paint.cursor != nil && s.HasFocus() {
		screen.ShowCursor(s.paint.cursor.x, s.paint.cursor.y)
	}
}

// The smallest terminal that anything is shown on.
const (
	minCols = 20
	minRows = 6
)

// messageRows is how many rows a message may take.
const messageRows = 4

// tell draws what there is to tell over the bottom row, and as many above it as it takes.
func (s *stack) tell(a area) {
	m := s.c.message
	if m.until.IsZero() || !s.c.opt.now().Before(m.until) {
		return
	}
	p := &s.paint
	lines := ui.WrapLine(ui.Line{{Text: m.text, Role: m.role}}, a.w-2)
	lines = lines[:min(len(lines), messageRows, a.h)]
	for i, l := range lines {
		row := a.rows(a.h-len(lines)+i, 1)
		if i == len(lines)-1 && s.c.snap.Lost != "" {
			continue // that there is no connection stands there
		}
		p.wipe(row)
		p.line(row.cols(1, row.w-2), 0, l)
	}
}

// onBottom reports whether a row of the screen is the bottom one.
func (s *stack) onBottom(y int) bool {
	_, top, _, h := s.GetInnerRect()
	return y == top+h-1
}

// bottom is the row of messages, or of hints for keys.
func (s *stack) bottom(a area) {
	p := &s.paint
	x := 1
	if s.c.snap.Lost != "" && !s.c.snap.At.IsZero() {
		x += p.line(a.cols(x, a.w), 0, ui.Line{{Text: "no connection", Role: ui.Bad, Bold: true}}) + 2
	}
	place := s.top().place()
	if s.c.dialog != nil {
		place = ui.InForm
	}
	if s.c.opt.ReadOnly {
		x += p.text(a.cols(x, a.w), 0, ui.Warn, "read-only") + 2
	}
	for _, k := range ui.KeyHints(place, s.c.job(), s.c.opt.ReadOnly, a.w-x) {
		n := p.line(a.cols(x, a.w), 0, ui.Line{{Text: k.Names[0], Role: ui.Accent, Bold: true}, {Text: " " + k.Hint, Role: ui.Faint}})
		p.on(area{a.x + x, a.y, n, 1}, func() { s.c.hint(k) })
		x += n + 2
	}
}

// InputHandler takes keys.
func (s *stack) InputHandler() func(*tcell.EventKey, func(tview.Primitive)) {
	return s.WrapInputHandler(func(ev *tcell.EventKey, _ func(tview.Primitive)) {
		if t, ok := s.top().(typist); ok && t.typed(ev) {
			return
		}
		name := keyName(ev)
		for _, k := range ui.Keys {
			if slices.Contains(k.Names, name) && slices.Contains(k.In, s.top().place()) {
				s.c.act(k.Act)
				return
			}
		}
	})
}

// A typist is a page that one can type into at times.
type typist interface {
	typed(ev *tcell.EventKey) bool
	pasted(text string)
}

// PasteHandler takes what was pasted.
func (s *stack) PasteHandler() func(string, func(tview.Primitive)) {
	return s.WrapPasteHandler(func(text string, _ func(tview.Primitive)) {
		if t, ok := s.top().(typist); ok {
			t.pasted(text)
		}
	})
}

// MouseHandler takes clicks and wheels.
func (s *stack) MouseHandler() func(tview.MouseAction, *tcell.EventMouse, func(tview.Primitive)) (bool, tview.Primitive) {
	return s.WrapMouseHandler(func(action tview.MouseAction, ev *tcell.EventMouse, setFocus func(tview.Primitive)) (bool, tview.Primitive) {
		x, y := ev.Position()
		switch action {
		case tview.MouseLeftDown:
			setFocus(s)
		case tview.MouseLeftClick:
			if do := s.paint.clicked(x, y); do != nil {
				do()
				return true, nil
			}
		case tview.MouseScrollUp:
			s.top().wheel(x, y, -1)
			return true, nil
		case tview.MouseScrollDown:
			s.top().wheel(x, y, 1)
			return true, nil
		case tview.MouseRightClick:
			s.c.act(ui.ActBack)
			return true, nil
		}
		return false, nil
	})
}
