package console

import (
	"context"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/ui"
)

// A jobPane is one job: what there is to say of it, and its screen. It stands beside the market, or fills a page.
type jobPane struct {
	c        *console
	id       pasar.JobID
	view     *pasar.JobView // nil: not known yet
	known    time.Time      // since when view is what is known
	missing  string         // why it can't be shown
	live     *live          // its screen; nil: none is wanted
	at       area           // as drawn
	scroller                // of the text
	asking   bool

	metrics   *pasar.MetricsView
	metricsAt time.Time
	attempt   int // that metrics are of
	born      time.Time
}

// Delays of what costs something, so that going through a list of jobs doesn't.
const (
	liveAfter    = 300 * time.Millisecond
	metricsEvery = 3 * time.Second
)

func newJobPane(c *console, id pasar.JobID) *jobPane {
	return &jobPane{c: c, id: id, born: c.opt.now()}
}

func (j *jobPane) close() {
	if j.live != nil {
		j.live.stop()
		j.live = nil
	}
}

// changed takes up what is known of the job. One that a list of jobs doesn't have is asked for.
func (j *jobPane) changed() {
	if j.id == 0 {
		return
	}
	for _, v := range j.c.snap.Jobs {
		if v.ID == j.id {
			j.take(v)
			return
		}
	}
	if j.asking || j.c.snap.Lost != "" || j.view != nil && j.view.State.Finished() {
		return
	}
	j.asking = true
	var v *pasar.JobView
	j.c.do(func(ctx context.Context, d *ipc.Client) error {
		b, err := d.Show(ctx, ipc.ShowRequest{Job: j.id})
		if err != nil {
			return err
		}
		return decode(b, &v)
	}, func(err error) {
		j.asking = false
		if err != nil {
			j.missing = problem(err)
			return
		}
		j.take(v)
	})
}

func (j *jobPane) take(v *pasar.JobView) {
	if v != j.view {
		j.known = j.c.opt.now()
	}
	j.view, j.missing = v, ""
	if n := len(v.Attempts); n > 0 && v.Attempts[n-1].Attempt != j.attempt {
		j.attempt, j.metrics, j.metricsAt = v.Attempts[n-1].Attempt, nil, time.Time{}
		j.close() // it is another attempt's
	}
	j.measure()
}

// measure asks for the progress that was reported, now and then.
func (j *jobPane) measure() {
	now := j.c.opt.now()
	v := j.view
	if v.Progress == nil || j.c.snap.Lost != "" || !j.metricsAt.IsZero() && (v.State.Finished() || now.Sub(j.metricsAt) < metricsEvery) {
		return
	}
	j.metricsAt = now
	attempt := j.attempt
	var m *pasar.MetricsView
	j.c.do(func(ctx context.Context, d *ipc.Client) error {
		b, err := d.Metrics(ctx, ipc.MetricsRequest{Job: j.id, Attempt: attempt})
		if err != nil {
			return err
		}
		return decode(b, &m)
	}, func(err error) {
		if err == nil && j.attempt == attempt { // an error: an older daemon doesn't know them
			j.metrics = m
		}
	})
}

// wants starts to look at the job's screen once the pane has been there for a moment.
func (j *jobPane) wants() {
	v := j.view
	if j.live != nil || v == nil || len(v.Attempts) == 0 || v.State == pasar.Queued && !ranAny(v) || j.c.snap.Lost != "" {
		return
	}
	if age := j.c.opt.now().Sub(j.born); age < liveAfter {
		return
	}
	j.live = newLive(j.c, v)
}

func ranAny(v *pasar.JobView) bool {
	for i := range v.Attempts {
		if v.Attempts[i].StartedAt != nil {
			return true
		}
	}
	return false
}

// From so many columns on the screen stands beside the text.
const abreast = 170

func (j *jobPane) draw(p *painter, a area) {
	j.at = a
	switch {
	case j.view == nil && j.missing != "":
		p.text(a.cols(1, a.w), 1, ui.Bad, j.missing)
		return
	case j.view == nil:
		p.text(a.cols(1, a.w), 1, ui.Faint, "…")
		return
	}
	j.wants()
	now := j.c.opt.now()
	text, screen := a, area{}
	if j.live != nil && a.w >= abreast {
		text, screen = a.cols(0, a.w*9/20), a.cols(a.w*9/20+1, a.w)
	}
	lines := j.text(text.w-2, now)
	if j.live != nil && a.w < abreast { // the screen stands below what the text needs, and has half of the room, or all that it needs
		n := min(len(lines), max(a.h/2, a.h-j.live.height()-1))
		text, screen = a.rows(0, n), a.rows(n, a.h)
	}
	j.words(p, text.cols(1, text.w-1), lines)
	if j.live != nil {
		j.live.draw(p, screen)
	}
}

// text is everything that there is to say of the job.
func (j *jobPane) text(width int, now time.Time) []ui.Line {
	v := j.view
	if v.State == pasar.Queued { // see timeless
		waits := *v
		waits.Lost.QueueWait += pasar.Duration(max(0, now.Sub(j.known)))
		v = &waits
	}
	return ui.JobText(v, j.metrics, now, width, j.c.opt.ASCII)
}

func (j *jobPane) words(p *painter, a area, lines []ui.Line) {
	j.fit(len(lines), a.h)
	for y := range min(a.h, len(lines)-j.top) {
		p.line(a, y, lines[j.top+y])
	}
	if len(lines) > a.h && a.h > 1 {
		more := "more: arrows"
		if j.top > 0 {
			more = "more above"
		}
		if j.below() {
			p.right(a, a.h-1, ui.Line{{Text: " " + more + " ", Role: ui.Accent}})
		}
	}
}

// title is the first row: which job it is, and its state.
func (j *jobPane) title(p *painter, a area, more ...ui.Span) {
	title, right := "#"+j.id.String(), ui.Line{}
	if v := j.view; v != nil {
		title = ui.Shown(ui.Name(v))
		right = ui.Line{{Text: ui.StateMark(v.State, p.ascii) + " " + string(v.State), Role: ui.StateRole(v.State)}}
	}
	p.rule(a, 0, ui.Cut(title, max(10, a.w-30)), append(right, more...))
}

// A jobPage is a jobPane that fills the screen.
type jobPage struct {
	*jobPane
}

func newJobPage(c *console, id pasar.JobID) *jobPage {
	p := &jobPage{newJobPane(c, id)}
	p.born = time.Time{} // it was opened to be looked at
	p.changed()
	return p
}

func (j *jobPage) place() ui.Place { return ui.InJob }

func (j *jobPage) draw(p *painter, a area) {
	j.title(p, a, ui.Span{Text: "   Esc back", Role: ui.Faint})
	p.on(a.rows(0, 1), func() { j.c.act(ui.ActBack) })
	j.jobPane.draw(p, a.rows(1, a.h))
}

func (j *jobPage) act(act ui.Act) bool {
	if j.scroller.act(act) {
		return true
	}
	switch act {
	case ui.ActNext:
		j.step(1)
	case ui.ActPrev:
		j.step(-1)
	case ui.ActBack:
		j.c.base.back()
	default:
		return false
	}
	return true
}

// step goes to the job before or after it in the market.
func (j *jobPage) step(by int) {
	t := &j.c.base.market.jobs
	if t.byID()[j.id] != nil {
		t.choose(j.id)
		t.move(by)
	}
	if id := t.chosen(); id != 0 && id != j.id {
		j.close()
		j.jobPane = newJobPage(j.c, id).jobPane
	}
}
