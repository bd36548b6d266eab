package console

import (
	"context"
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
	head  []ui.Line // above the fields
	form  *tview.Form
	notes []ui.Line
	room  int              // rows that notes have at least, so that nothing jumps while one types
	do    func() []ui.Line // what the form is for; nil closes it, else what is wrong
	shut  func()           // when it is left

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
	b := tview.NewCheckbox().SetLabel(label + "  ")
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
	d.form.AddButton(do, d.enter).AddButton("Esc: leave it", d.leave)
	return d
}

// open shows the dialog.
func (d *dialog) open() {
	d.c.dialogs++
	d.c.root.AddPage(dialogName(d.c.dialogs), d, true, true)
	d.c.app.SetFocus(d)
	d.changed()
}

func dialogName(n int) string { return "dialog " + string(rune('0'+n)) }

// leave closes the dialog.
func (d *dialog) leave() {
	d.turn++
	d.c.root.RemovePage(dialogName(d.c.dialogs))
	d.c.dialogs--
	if d.c.dialogs == 0 {
		d.c.app.SetFocus(d.c.base)
	}
	if d.shut != nil {
		d.shut()
	}
}

func (d *dialog) enter() {
	if d.c.snap.Lost != "" {
		d.notes = bad("there is no connection to the daemon just now")
		return
	}
	if wrong := d.do(); wrong != nil {
		d.notes, d.top = wrong, 0
	}
}

func bad(text string) []ui.Line { return []ui.Line{{{Text: ui.Shown(text), Role: ui.Bad}}} }

// foreseeAfter is how long a form is left alone before it is asked what it would do.
const foreseeAfter = 150 * time.Millisecond

// changed has what would happen asked for, once the person pauses.
func (d *dialog) changed() {
	d.turn++
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
func (d *dialog) width(screen int) int { return min(screen-4, 84) }

// Draw draws it in the middle of the screen.
func (d *dialog) Draw(screen tcell.Screen) {
	x, y, w, h := d.GetRect()
	p := &d.paint
	*p = painter{screen: screen, theme: d.c.theme, ascii: d.c.opt.ASCII}
	inner := max(1, d.width(w))
	notes := d.wrapped(inner - 2)
	fields := d.form.GetFormItemCount()
	buttons := 0
	if d.form.GetButtonCount() > 0 {
		buttons = 2
	}
	need := len(d.head) + fields + buttons + 1 + max(len(notes), d.room)
	rows := min(need, h-2)
	a := area{x + (w-inner-2)/2, y + max(0, (h-rows-2)/2), inner + 2, rows + 2}
	p.wipe(a)
	p.frame(a, d.title)
	in := area{a.x + 1, a.y + 1, inner, rows}
	at := 0
	for _, l := range d.head {
		if at < in.h-fields-buttons {
			p.line(in.cols(1, inner-2), at, l)
			at++
		}
	}
	form := in.rows(at, fields+buttons)
	d.form.SetRect(form.x, form.y, form.w, form.h)
	d.form.Draw(screen)
	d.hints(p)
	rest := in.rows(at+fields+buttons, in.h)
	if rest.h > 1 {
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
func (d *dialog) hints(p *painter) {
	label := 0
	for i := range d.form.GetFormItemCount() {
		label = max(label, wide(d.form.GetFormItem(i).GetLabel()))
	}
	for i := range d.form.GetFormItemCount() {
		item := d.form.GetFormItem(i)
		x, y, w, _ := item.GetRect()
		at := label + 1
		switch f := item.(type) {
		case *tview.InputField:
			if f.GetText() != "" {
				continue
			}
			if _, _, _, h := d.form.GetRect(); i >= h {
				continue
			}
			st := p.theme.field().Dim(true)
			p.styled(area{x + at - 1, y, w - at, 1}, 0, ui.Line{{Text: ui.Shown(d.beside[item])}}, &st)
		default:
			p.text(area{x + at + 3, y, w - at - 3, 1}, 0, ui.Faint, d.beside[item])
		}
	}
}

// wrapped is the notes, broken where they are too long.
func (d *dialog) wrapped(width int) (out []ui.Line) {
	for _, l := range d.notes {
		out = append(out, ui.WrapLine(l, width)...)
	}
	return out
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

// PasteHandler hands what was pasted to the field; of several lines they are joined, since fields have one.
func (d *dialog) PasteHandler() func(string, func(tview.Primitive)) {
	return d.WrapPasteHandler(func(text string, setFocus func(tview.Primitive)) {
		d.form.PasteHandler()(oneLine(text), setFocus)
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
		default:
			_, capture := d.form.MouseHandler()(action, ev, setFocus)
			return true, capture
		}
		return true, nil
	})
}
