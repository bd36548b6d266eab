package console

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"pasar/ipc"
	"pasar/ui"
)

// A dialog is a form above the page, with notes below its fields: what the form would do, or what is wrong with it.
type dialog struct {
	*tview.Box
	c     *console
	title string
	head  func() []ui.Line // above the fields; nil: nothing
	form  *tview.Form
	notes []ui.Line
	room  int              // rows that notes have at least, so that nothing jumps while one types
	do    func() []ui.Line // has what the form is for done; else says what is wrong
	busy  bool             // it was asked for, and nothing has come back yet
	gone  bool             // it was left
	asks  string           // id of the request: the same for as long as what is asked for is

	fields  map[string]*tview.InputField
	boxes   map[string]*tview.Checkbox
	beside  map[tview.Primitive]string // what stands in a field that is empty, and beside a box
	foresee func()                     // asks what would happen, after a change; nil: nothing is foreseen
	turn    int                        // counts changes, so that only the last one's answer is shown
	top     int                        // first note that is seen
	paint   painter
}

func newDialog(c *console, title string) *dialog {
	d := &dialog{Box: tview.NewBox(), c: c, title: title, form: tview.NewForm(), fields: map[string]*tview.InputField{}, boxes: map[string]*tview.Checkbox{}, beside: map[tview.Primitive]string{}}
	t := c.theme
	d.form.SetItemPadding(0).SetFieldStyle(t.field()).SetButtonsAlign(tview.AlignLeft)
	d.form.SetButtonStyle(t.field()).SetButtonActivatedStyle(t.chosen())
	d.form.SetBorderPadding(0, 0, 1, 1)
	return d
}

// field adds a field to type in.
func (d *dialog) field(label, text, hint string) *dialog {
	f := tview.NewInputField().SetLabel(label + "  ").SetText(text).SetFieldWidth(0)
	d.beside[f] = hint
	f.SetChangedFunc(func(string) { d.changed() })
	d.fields[label] = f
	d.form.AddFormItem(f)
	return d
}

// box adds a box to check.
func (d *dialog) box(label, says string) *dialog {
	b := tview.NewCheckbox().SetLabel(label + "  ").SetCheckedString(tview.Escape("[x]")).SetUncheckedString(tview.Escape("[ ]"))
	b.SetChangedFunc(func(bool) { d.changed() })
	d.boxes[label] = b
	d.beside[b] = says
	d.form.AddFormItem(b)
	return d
}

// text is what was typed into a field.
func (d *dialog) text(label string) string { return d.fields[label].GetText() }

// on reports whether a box is checked.
func (d *dialog) on(label string) bool { return d.boxes[label].IsChecked() }

// buttons adds the button that does it, and the one that doesn't.
func (d *dialog) buttons(do string) *dialog {
	d.form.AddButton(do, d.enter).AddButton("Back", d.leave)
	return d
}

// open shows the dialog.
func (d *dialog) open() {
	if d.c.dialog != nil {
		return // one is enough
	}
	d.c.dialog = d
	d.c.root.AddPage("dialog", d, true, true)
	d.c.app.SetFocus(d)
	d.changed()
}

// leave closes the dialog. What was asked for by it goes on.
func (d *dialog) leave() {
	if d.gone {
		return
	}
	d.turn++
	d.gone = true
	d.c.root.RemovePage("dialog")
	d.c.dialog = nil
	d.c.app.SetFocus(d.c.base)
}

// enter has done what the form is for, once: until that is answered there is nothing more to ask.
func (d *dialog) enter() {
	switch {
	case d.busy:
		return
	case d.c.snap.Lost != "":
		d.notes, d.top = bad("there is no connection to the daemon just now"), 0
		return
	}
	if wrong := d.do(); wrong != nil {
		d.notes, d.top = wrong, 0
	}
}

// send asks the daemon for what the form is for. When it is done the dialog is left; when not, it says why, unless it was
// left meanwhile: then that is told at the bottom.
func (d *dialog) send(ask func(ctx context.Context, cl *ipc.Client) error, done func()) {
	d.busy = true
	d.turn++ // what was foreseen no longer matters
	d.notes, d.top = []ui.Line{{{Text: "asking the daemon …", Role: ui.Faint}}}, 0
	d.c.do(ask, func(err error) {
		d.busy = false
		switch {
		case err == nil:
			d.leave()
			done()
		case d.gone:
			d.c.say(ui.Bad, problem(err))
		case lostAnswer(err):
			d.notes = bad("the connection was lost before the answer came. Enter asks again: if it was done already, it isn't done twice.")
		default:
			d.notes = bad(problem(err))
		}
	})
}

// lostAnswer reports whether it isn't known what became of a request.
func lostAnswer(err error) bool {
	var e *ipc.Error
	return errors.As(err, &e) && (e.Code == ipc.CodeNoDaemon || e.Code == ipc.CodeInterrupted)
}

func bad(text string) []ui.Line { return []ui.Line{{{Text: ui.Shown(text), Role: ui.Bad}}} }

// foreseeAfter is how long a form is left alone before it is asked what it would do.
const foreseeAfter = 150 * time.Millisecond

// changed has what would happen asked for, once the person pauses.
func (d *dialog) changed() {
	d.turn++
	d.asks = ipc.NewRequest()
	if d.foresee == nil {
		return
	}
	turn := d.turn
	d.c.work(func() {
		select {
		case <-d.c.ctx.Done():
			return
		case <-time.After(foreseeAfter):
		}
		d.c.post(func() {
			if d.turn == turn {
				d.foresee()
			}
		})
	})
}

// ask has something asked of the daemon for the notes; an answer that comes after another change isn't shown.
func (d *dialog) ask(ask func(ctx context.Context, c *ipc.Client) error, then func(err error)) {
	turn := d.turn
	d.c.do(ask, func(err error) {
		if d.turn == turn {
			then(err)
		}
	})
}

// width is that of the dialog's inside on a screen.
func (d *dialog) width(screen int) int { return max(1, min(screen-4, 84)) }

// notesMin is how many rows are kept for notes however small the screen is: what was refused must be seen.
const notesMin = 2

// Draw draws it in the middle of the screen.
func (d *dialog) Draw(screen tcell.Screen) {
	x, y, w, h := d.GetRect()
	h-- // the bottom row stays
	p := &d.paint
	*p = painter{screen: screen, theme: d.c.theme, ascii: d.c.opt.ASCII}
	if w < minCols || h < minRows {
		return
	}
	inner := d.width(w)
	wrap := func(lines []ui.Line) (out []ui.Line) {
		for _, l := range lines {
			out = append(out, ui.WrapLine(l, inner-2)...)
		}
		return out
	}
	notes := wrap(d.notes)
	var head []ui.Line
	if d.head != nil {
		head = append(wrap(d.head()), ui.Line{})
	}
	fields := d.form.GetFormItemCount()
	if d.form.GetButtonCount() > 0 {
		fields += 2
	}
	d.room = max(d.room, len(notes))
	rows := min(len(head)+fields+1+d.room, h-2)
	// With too little room the form scrolls, then what is above it goes.
	form := min(fields, max(3, rows-len(head)-1-notesMin))
	above := min(len(head), max(0, rows-form-1-min(notesMin, len(notes))))
	a := area{x + (w-inner-2)/2, y + max(0, (h-rows-2)/2), inner + 2, rows + 2}
	p.wipe(a)
	p.frame(a, d.title)
	in := area{a.x + 1, a.y + 1, inner, rows}
	for i := range above {
		p.line(in.cols(1, inner-2), i, head[i])
	}
	at := in.rows(above, form)
	d.form.SetRect(at.x, at.y, at.w, at.h)
	d.form.Draw(screen)
	d.hints(p, at)
	rest := in.rows(above+form, in.h)
	if rest.h > notesMin {
		rest = rest.rows(1, rest.h)
	}
	rest = rest.cols(1, inner-2)
	d.top = min(max(d.top, 0), max(0, len(notes)-rest.h))
	for i := range min(rest.h, len(notes)-d.top) {
		p.line(rest, i, notes[d.top+i])
	}
	if d.top+rest.h < len(notes) && rest.h > 0 {
		p.right(rest, rest.h-1, ui.Line{{Text: " more: PgDn ", Role: ui.Accent}})
	}
}

// hints draws what stands in empty fields, and beside boxes.
func (d *dialog) hints(p *painter, form area) {
	label := 0
	for i := range d.form.GetFormItemCount() {
		label = max(label, wide(d.form.GetFormItem(i).GetLabel()))
	}
	for i := range d.form.GetFormItemCount() {
		item := d.form.GetFormItem(i)
		x, y, w, _ := item.GetRect()
		if y < form.y || y >= form.y+form.h {
			continue // scrolled away
		}
		at := label + 1
		if item.HasFocus() {
			p.text(area{x - 1, y, 1, 1}, 0, ui.Accent, ">")
		}
		if f, ok := item.(*tview.InputField); ok {
			if f.GetText() == "" {
				st := p.theme.field().Dim(true)
				p.styled(area{x + at, y, w - at, 1}, 0, ui.Line{{Text: ui.Shown(d.beside[item])}}, &st)
			}
			continue
		}
		p.text(area{x + at + 5, y, w - at - 5, 1}, 0, ui.Faint, d.beside[item])
	}
}

// frame draws a border with a title.
func (p *painter) frame(a area, title string) {
	h, v, corners := '─', '│', []rune("╭╮╰╯")
	if p.ascii {
		h, v, corners = '-', '|', []rune("++++")
	}
	st := p.theme.style(ui.Span{Role: ui.Accent})
	for x := range a.w {
		p.put(a.x+x, a.y, h, st)
		p.put(a.x+x, a.y+a.h-1, h, st)
	}
	for y := range a.h {
		p.put(a.x, a.y+y, v, st)
		p.put(a.x+a.w-1, a.y+y, v, st)
	}
	for i, c := range [][2]int{{a.x, a.y}, {a.x + a.w - 1, a.y}, {a.x, a.y + a.h - 1}, {a.x + a.w - 1, a.y + a.h - 1}} {
		p.put(c[0], c[1], corners[i], st)
	}
	p.line(a.cols(2, a.w-4), 0, ui.Line{{Text: " "}, {Text: title, Bold: true}, {Text: " "}})
}

// Focus gives it to the form.
func (d *dialog) Focus(delegate func(tview.Primitive)) { delegate(d.form) }

// HasFocus reports whether the form has it.
func (d *dialog) HasFocus() bool { return d.form.HasFocus() }

// InputHandler takes keys: those of the form, and those of every form.
func (d *dialog) InputHandler() func(*tcell.EventKey, func(tview.Primitive)) {
	return d.WrapInputHandler(func(ev *tcell.EventKey, setFocus func(tview.Primitive)) {
		_, button := d.form.GetFocusedItemIndex()
		switch {
		case ev.Key() == tcell.KeyEsc:
			d.leave()
			return
		case ev.Key() == tcell.KeyEnter && button < 0:
			d.enter()
			return
		case ev.Key() == tcell.KeyDown:
			ev = tcell.NewEventKey(tcell.KeyTab, 0, tcell.ModNone)
		case ev.Key() == tcell.KeyUp:
			ev = tcell.NewEventKey(tcell.KeyBacktab, 0, tcell.ModShift)
		case ev.Key() == tcell.KeyPgDn:
			d.top += 5
			return
		case ev.Key() == tcell.KeyPgUp:
			d.top -= 5
			return
		}
		d.form.InputHandler()(ev, setFocus)
	})
}

// press does what a key does.
func (d *dialog) press(k tcell.Key, r rune) {
	d.InputHandler()(tcell.NewEventKey(k, r, tcell.ModNone), func(p tview.Primitive) { d.c.app.SetFocus(p) })
}

// PasteHandler hands what was pasted to the field, which has one line: several would come to mean something else, joined.
func (d *dialog) PasteHandler() func(string, func(tview.Primitive)) {
	return d.WrapPasteHandler(func(text string, setFocus func(tview.Primitive)) {
		if lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }); len(lines) > 1 {
			d.turn++ // what is being foreseen would take its place
			d.notes, d.top = bad(fmt.Sprintf("a field has one line, and %d were pasted: nothing was taken. A script can have more.", len(lines))), 0
			return
		}
		d.form.PasteHandler()(strings.Trim(text, "\r\n"), setFocus)
	})
}

// MouseHandler takes every click: what is below is out of reach.
func (d *dialog) MouseHandler() func(tview.MouseAction, *tcell.EventMouse, func(tview.Primitive)) (bool, tview.Primitive) {
	return d.WrapMouseHandler(func(action tview.MouseAction, ev *tcell.EventMouse, setFocus func(tview.Primitive)) (bool, tview.Primitive) {
		switch action {
		case tview.MouseScrollDown:
			d.top += 2
		case tview.MouseScrollUp:
			d.top -= 2
		case tview.MouseRightClick:
			d.leave()
		case tview.MouseLeftClick:
			if x, y := ev.Position(); d.c.base.onBottom(y) {
				if do := d.c.base.paint.clicked(x, y); do != nil {
					do()
				}
				return true, nil
			}
			fallthrough
		default:
			_, capture := d.form.MouseHandler()(action, ev, setFocus)
			return true, capture
		}
		return true, nil
	})
}
