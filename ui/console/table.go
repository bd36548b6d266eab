package console

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"pasar"
	"pasar/ui"
)

// A table is the jobs: sorted, filtered, grouped by state, one of them chosen.
type table struct {
	c       *console
	filter  string
	by      ui.Sort
	back    bool // sorted the other way round
	rows    []ui.Row
	job     pasar.JobID // that is chosen; 0: none
	top     int         // first row that is seen
	height  int         // rows that are seen
	free    bool        // it was scrolled away from what is chosen
	field   *tview.InputField
	asking  bool // the filter is being typed
	before  string
	want    pasar.JobID  // to be chosen once it is there
	of      *ui.Snapshot // that rows were made of
	indexed map[pasar.JobID]*pasar.JobView
}

func newTable(c *console) table { return table{c: c, by: ui.SortQueue} }

// changed makes the rows anew.
func (t *table) changed() {
	at := t.index()
	t.rows = ui.Rows(t.listed(), ui.ParseFilter(t.filter), t.by, t.back, true, t.c.opt.now())
	if t.of != t.c.snap {
		t.of, t.indexed = t.c.snap, nil
	}
	if t.want != 0 && t.byID()[t.want] != nil {
		t.job, t.want, t.free = t.want, 0, false
	}
	if t.index() < 0 { // what was chosen is gone: what took its place is
		t.job = 0
		t.land(max(at, 0), 1)
	}
}

// listed is the jobs to choose from. With a filter those are searched too that ended longer ago than the daemon lists by
// itself, as far as they are known.
func (t *table) listed() []*pasar.JobView {
	jobs := t.c.snap.Jobs
	if t.filter == "" {
		return jobs
	}
	by, jobs := t.byID(), slices.Clone(jobs)
	for _, v := range slices.Backward(t.c.base.market.time.ended()) {
		if by[v.ID] == nil {
			jobs = append(jobs, v)
		}
	}
	return jobs
}

// byID is the jobs by id.
func (t *table) byID() map[pasar.JobID]*pasar.JobView {
	if t.indexed == nil || t.of != t.c.snap {
		t.of = t.c.snap
		t.indexed = make(map[pasar.JobID]*pasar.JobView, len(t.c.snap.Jobs))
		for _, v := range t.c.snap.Jobs {
			t.indexed[v.ID] = v
		}
	}
	return t.indexed
}

func (t *table) chosen() pasar.JobID { return t.job }

// view is the chosen job; nil if there is none.
func (t *table) view() *pasar.JobView {
	if v := t.byID()[t.job]; v != nil {
		return v
	}
	return t.c.base.market.time.past[t.job]
}

func (t *table) index() int {
	for i, r := range t.rows {
		if r.View != nil && r.View.ID == t.job {
			return i
		}
	}
	return -1
}

// land chooses the job at a row, or else the nearest one in a direction, or else in the other.
func (t *table) land(row, step int) {
	t.free = false
	for _, by := range []int{step, -step} {
		for i := min(max(row, 0), len(t.rows)-1); i >= 0 && i < len(t.rows); i += by {
			if v := t.rows[i].View; v != nil {
				t.job = v.ID
				return
			}
		}
	}
}

func (t *table) move(by int) {
	at := t.index()
	step := 1
	if by < 0 {
		step = -1
	}
	t.land(at+by, step)
	if by == step && t.index() == at { // a heading is in the way of the last step
		t.land(at, -step)
		t.land(at, step)
	}
}

// choose chooses a job; one that the filter leaves out is had by leaving the filter out.
func (t *table) choose(id pasar.JobID) {
	t.job, t.free = id, false
	if t.index() < 0 && t.byID()[id] != nil {
		t.setFilter("")
		t.job = id
	}
}

func (t *table) scroll(by int) {
	t.top = min(max(t.top+by, 0), max(0, len(t.rows)-t.height))
	t.free = true
}

func (t *table) setFilter(text string) {
	t.filter = text
	t.changed()
}

func (t *table) sortNext() {
	sorts := ui.Sorts()
	for i, s := range sorts {
		if s == t.by {
			t.sort(sorts[(i+1)%len(sorts)])
			return
		}
	}
	t.sort(sorts[0])
}

// sort sorts by a column; by the one that it is sorted by already, the other way round.
func (t *table) sort(by ui.Sort) {
	if t.by == by {
		t.back = !t.back
	} else {
		t.by, t.back = by, false
	}
	t.free = false
	t.changed()
}

func (t *table) reverse() { t.back = !t.back; t.changed() }

// ask has the person type a filter.
func (t *table) ask() {
	t.before = t.filter
	t.c.base.market.time.fetch(time.Time{}) // so that all are searched
	t.field = newField(t.c.theme, t.filter)
	t.field.SetChangedFunc(t.setFilter)
	t.asking = true
}

// typed takes a key while the filter is typed.
func (t *table) typed(ev *tcell.EventKey) bool {
	if !t.asking {
		return false
	}
	switch ev.Key() {
	case tcell.KeyEnter, tcell.KeyTab, tcell.KeyDown:
		t.asking = false
	case tcell.KeyEsc:
		t.asking = false
		t.setFilter(t.before)
	default:
		t.field.InputHandler()(ev, func(tview.Primitive) {})
	}
	return true
}

func (t *table) pasted(text string) {
	if t.asking {
		t.field.PasteHandler()(strings.Join(strings.Fields(text), " "), func(tview.Primitive) {})
	}
}

func (m *market) typed(ev *tcell.EventKey) bool { return m.jobs.typed(ev) }

func (m *market) pasted(text string) { m.jobs.pasted(text) }

// newField is a field to type in that stands in a page.
func newField(t theme, text string) *tview.InputField {
	f := tview.NewInputField().SetText(text).SetFieldStyle(t.field())
	f.Focus(func(tview.Primitive) {})
	return f
}

// A column of the table.
type column struct {
	cell  int // of ui.JobCells
	width int
	right bool
	sort  ui.Sort
	head  string
}

// columns are those that there is room for. Their widths don't depend on what is in them, so that nothing jumps about.
func (t *table) columns(width int) []column {
	id := 4
	if n := len(t.c.snap.Jobs); n > 0 {
		for _, v := range t.c.snap.Jobs {
			id = max(id, len(v.ID.String()))
		}
	}
	name := min(max(width/5, 8), 32)
	cols := []column{{ui.CellID, id, true, ui.SortID, "ID"}}
	if width >= 100 {
		cols = append(cols, column{ui.CellState, 9, false, ui.SortState, "STATE"})
	}
	cols = append(cols, column{ui.CellName, name, false, ui.SortName, "NAME"}, column{ui.CellBid, 5, true, ui.SortBid, "BID"})
	if width >= 60 {
		cols = append(cols, column{ui.CellClaim, min(max(width/9, 7), 16), false, "", "CLAIM"})
	}
	cols = append(cols, column{ui.CellTime, 8, true, ui.SortTime, "TIME"})
	if width >= 110 && t.measured() {
		cols = append(cols, column{cellProgress, 10, false, "", "PROGRESS"})
	}
	return append(cols, column{ui.CellAbout, 0, false, "", "ABOUT"})
}

// cellProgress is a column of the console's own: how far a job got, as a bar.
const cellProgress = -1

// measured reports whether any job that runs says how far it got.
func (t *table) measured() bool {
	return slices.ContainsFunc(t.c.snap.Jobs, func(v *pasar.JobView) bool { return v.State.Active() && part(v) >= 0 })
}

// part is how far a job got, from 0 to 1; -1: it doesn't say.
func part(v *pasar.JobView) float64 {
	if p := v.Progress; p != nil && p.Step != nil && p.Total != nil && *p.Total > 0 {
		return *p.Step / *p.Total
	}
	return -1
}

func (t *table) draw(p *painter, a area, now time.Time) {
	if a.h < 2 {
		return
	}
	t.title(p, a.rows(0, 1))
	cols := t.columns(a.w - 3)
	t.heads(p, a.rows(1, 1), cols)
	body := a.rows(2, a.h)
	t.height = body.h
	if len(t.rows) == 0 {
		t.empty(p, body)
		return
	}
	t.follow(body.h)
	for y := range min(body.h, len(t.rows)-t.top) {
		r := t.rows[t.top+y]
		if r.View == nil {
			p.line(body.cols(1, body.w-1), y, ui.Line{{Text: r.Heading, Role: ui.Faint, Bold: true}})
			continue
		}
		t.row(p, body.rows(y, 1), cols, r.View, now)
	}
	if n := len(t.rows); n > body.h { // where in the list this is
		bar := max(1, body.h*body.h/n)
		at := (body.h - bar) * t.top / max(1, n-body.h)
		mark := "▐"
		if p.ascii {
			mark = "|"
		}
		for y := range bar {
			p.text(body.cols(body.w-1, 1), at+y, ui.Faint, mark)
		}
	}
}

// follow scrolls so that what is chosen is seen, and the heading of its group with it.
func (t *table) follow(height int) {
	if at := t.index(); !t.free && at >= 0 {
		first := at
		if at > 0 && t.rows[at-1].View == nil {
			first--
		}
		t.top = min(t.top, first)
		t.top = max(t.top, at-height+1)
	}
	t.top = min(max(t.top, 0), max(0, len(t.rows)-height))
}

func (t *table) title(p *painter, a area) {
	title := "Jobs"
	right := t.sorted(p)
	if t.filter != "" && !t.asking {
		n := 0
		for _, r := range t.rows {
			if r.View != nil {
				n++
			}
		}
		right = ui.Line{{Text: ui.Cut(ui.Shown(t.filter), max(8, a.w/3)), Role: ui.Warn, Bold: true}}
		if a.w >= 70 {
			right = append(append(ui.Line{{Text: fmt.Sprintf("%d match ", n), Role: ui.Faint}}, right...), ui.Span{Text: "  Esc shows all", Role: ui.Faint})
		}
	}
	p.rule(a, 0, title, right)
	if t.filter != "" {
		p.on(area{a.x + a.w/2, a.y, a.w / 2, 1}, func() { t.setFilter("") })
	}
	if t.asking {
		const label = " filter: "
		p.line(a.cols(7, a.w), 0, ui.Line{{Text: label, Role: ui.Accent}})
		x := a.x + 7 + len(label)
		t.field.SetRect(x, a.y, max(1, a.x+a.w-x-1), 1)
		t.field.Draw(p.screen)
	}
}

// sorted says by what the jobs are sorted, if that isn't the queue's own order.
func (t *table) sorted(p *painter) ui.Line {
	if t.by == ui.SortQueue && !t.back {
		return nil
	}
	return ui.Line{{Text: "by " + string(t.by) + " " + t.arrow(p.ascii), Role: ui.Faint}}
}

func (t *table) arrow(ascii bool) string {
	up := t.back == (t.by == ui.SortBid || t.by == ui.SortTime) // the others go up by themselves
	switch {
	case up && ascii:
		return "^"
	case up:
		return "↑"
	case ascii:
		return "v"
	}
	return "↓"
}

func (t *table) heads(p *painter, a area, cols []column) {
	x := 3
	for _, c := range cols {
		w := c.width
		if w == 0 {
			w = a.w - x
		}
		text, role := c.head, ui.Faint
		if c.sort == t.by && c.sort != "" {
			role = ui.Accent
			text += t.arrow(p.ascii)
		}
		cell := a.cols(x, w)
		if c.right {
			p.right(cell, 0, ui.Line{{Text: text, Role: role}})
		} else {
			p.text(cell, 0, role, text)
		}
		if c.sort != "" {
			p.on(cell, func() { t.sort(c.sort) })
		}
		x += w + 2
	}
}

func (t *table) row(p *painter, a area, cols []column, v *pasar.JobView, now time.Time) {
	cells := ui.JobCells(v, now)
	hue := t.c.palette.Hue(v)
	chosen := v.ID == t.job
	if chosen {
		p.chosen(a.cols(0, a.w-1), 0, nil)
	}
	draw := func(cell area, right bool, l ui.Line) {
		w := min(l.Width(), cell.w)
		if right {
			cell = cell.cols(cell.w-w, w)
		}
		if chosen {
			st := p.theme.chosen()
			p.styled(cell, 0, l, &st)
			return
		}
		p.line(cell, 0, l)
	}
	draw(a.cols(1, 1), false, ui.Line{{Text: ui.StateMark(v.State, p.ascii), Role: ui.StateRole(v.State)}})
	x := 3
	for _, c := range cols {
		w := c.width
		if w == 0 {
			w = a.w - x - 1
		}
		var s ui.Span
		if c.cell >= 0 {
			s.Text = ui.Shown(cells[c.cell].Text)
		}
		switch c.cell {
		case cellProgress:
			if done := part(v); done >= 0 && !v.State.Finished() {
				s = ui.Span{Text: ui.Meter(done, w, p.ascii), Role: ui.Good}
			}
		case ui.CellName:
			s.Hue = hue
		case ui.CellState:
			s.Role = ui.StateRole(v.State)
		case ui.CellAbout:
			if v.State.Finished() && v.State != pasar.Failed {
				s.Role = ui.Faint
			}
		}
		draw(a.cols(x, w), c.right, ui.Line{s})
		x += w + 2
	}
	p.on(a, func() {
		if t.job == v.ID {
			t.c.act(ui.ActOpen)
			return
		}
		t.choose(v.ID)
	})
}

// empty says why there are no jobs, and what to do about it.
func (t *table) empty(p *painter, a area) {
	a = a.cols(3, a.w)
	switch {
	case t.filter != "" && len(t.c.snap.Jobs) > 0:
		p.text(a, 1, ui.Faint, "No job matches the filter. Esc shows all.")
	case t.c.snap.At.IsZero():
		p.text(a, 1, ui.Faint, "Nothing is known yet.")
	default:
		p.text(a, 1, ui.Plain, "No jobs yet.")
		hint := ui.Line{{Text: "Press "}, {Text: "s", Role: ui.Accent, Bold: true}, {Text: " to submit one, or run: "}, {Text: "pasar submit -- python train.py", Role: ui.Accent}}
		if t.c.opt.ReadOnly {
			hint = ui.Line{{Text: "They are submitted with: "}, {Text: "pasar submit -- python train.py", Role: ui.Accent}}
		}
		p.line(a, 2, hint)
	}
}
