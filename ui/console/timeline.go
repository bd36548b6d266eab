package console

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/ui"
)

// A timeline is the market over time: what ran, what runs and what is projected.
type timeline struct {
	c     *console
	span  int           // of ui.Zooms, counted from the usual one
	moved time.Duration // from where now stands when nobody moves anything

	past     map[pasar.JobID]*pasar.JobView // jobs that have ended, fetched as somebody looks there, or seen to end
	sorted   []*pasar.JobView               // past by id; nil: it has changed since
	pastFrom time.Time                      // since when they were fetched; zero: never
	retry    time.Time                      // they can't be had, and are asked for again then
	fetching bool
	all      bool        // all were fetched
	wants    []time.Time // since when they are wanted too, once that is done
}

// usualZoom is the place in ui.Zooms that is seen at first; nowAt is where now stands then, as a part of the width.
const (
	usualZoom = 2
	nowAt     = 0.3
	pastMost  = 5000 // jobs of before that are fetched at most
	retryPast = 10 * time.Second
)

// window is what time is seen.
func (t *timeline) window(now time.Time) (from, to time.Time) {
	span := ui.Zooms()[usualZoom+t.span]
	from = now.Add(t.moved - time.Duration(nowAt*float64(span)))
	return from, from.Add(span)
}

func (t *timeline) zoom(by int) {
	zooms := ui.Zooms()
	n := min(max(usualZoom+t.span+by, 0), len(zooms)-1)
	old := zooms[usualZoom+t.span]
	t.span = n - usualZoom
	if t.moved != 0 { // the middle stays
		t.moved += time.Duration((0.5 - nowAt) * float64(old-zooms[n]))
	}
	t.look()
}

func (t *timeline) shift(by int) {
	t.moved += time.Duration(by) * ui.Zooms()[usualZoom+t.span] / 4
	const far = 365 * 24 * time.Hour
	t.moved = min(max(t.moved, -far), far)
	t.look()
}

func (t *timeline) reset() { t.moved = 0 }

// look fetches jobs of before, where the window shows times that none were fetched of.
func (t *timeline) look() {
	from, to := t.window(t.c.opt.now())
	if t.all || !t.pastFrom.IsZero() && !from.Before(t.pastFrom) {
		return
	}
	t.fetch(from.Add(from.Sub(to))) // and as much again before it
}

// fetch fetches jobs that ended since a time; zero: all that there are room for.
func (t *timeline) fetch(since time.Time) {
	if t.all {
		return
	}
	if t.fetching {
		t.wants = append(t.wants, since)
		return
	}
	t.fetching = true
	var jobs []*pasar.JobView
	t.c.do(func(ctx context.Context, d *ipc.Client) error {
		return d.List(ctx, ipc.ListRequest{All: true, Since: since, Limit: pastMost}, func(lines []byte) error {
			for line := range bytes.Lines(lines) {
				var v *pasar.JobView
				if err := decode(line, &v); err != nil {
					return err
				}
				jobs = append(jobs, v)
			}
			return nil
		})
	}, func(err error) {
		t.fetching = false
		if err != nil {
			t.retry = t.c.opt.now().Add(retryPast)
			t.c.say(ui.Bad, "earlier jobs can't be had: "+problem(err))
			return
		}
		if t.pastFrom.IsZero() || since.Before(t.pastFrom) {
			t.pastFrom = since
		}
		t.all = since.IsZero()
		for _, v := range jobs {
			t.remember(v)
		}
		t.c.base.market.jobs.changed()
		if len(t.wants) > 0 {
			next := slices.MinFunc(t.wants, time.Time.Compare)
			t.wants = nil
			t.fetch(next)
		}
	})
}

// ended is the jobs of before, by id.
func (t *timeline) ended() []*pasar.JobView {
	if t.sorted == nil {
		t.sorted = slices.SortedFunc(maps.Values(t.past), func(a, b *pasar.JobView) int { return cmp.Compare(a.ID, b.ID) })
	}
	return t.sorted
}

// keep remembers jobs of a snapshot that is replaced: the next one has only the last that ended.
func (t *timeline) keep(s *ui.Snapshot) {
	for _, v := range s.Jobs {
		t.remember(v)
	}
}

func (t *timeline) remember(v *pasar.JobView) {
	if !v.State.Finished() {
		return // it isn't what it was for long
	}
	if t.past == nil {
		t.past = map[pasar.JobID]*pasar.JobView{}
	}
	if was := t.past[v.ID]; was != v && (was != nil || len(t.past) < 2*pastMost) {
		t.past[v.ID], t.sorted = v, nil
	}
}

// label is how many columns stand before the lanes.
const laneLabel = 8

// draw draws the axis and lanes, and returns how many rows that took.
func (t *timeline) draw(p *painter, a area, now time.Time, chosen pasar.JobID) int {
	if t.pastFrom.IsZero() && !t.all && t.c.snap.Lost == "" && !t.fetching && !now.Before(t.retry) {
		t.look()
	}
	from, to := t.window(now)
	width := a.w - laneLabel - 1
	if width < 10 || a.h < 3 {
		return 0
	}
	lanes, hidden := ui.Lanes(t.c.snap, t.ended(), from, to, now, a.h-2)
	span := pasar.Duration(to.Sub(from)).String()
	var right ui.Line
	if hidden > 0 {
		right = ui.Line{{Text: fmt.Sprintf("%d more not shown  ", hidden), Role: ui.Faint}}
	}
	if t.moved != 0 {
		right = append(right, ui.Span{Text: from.Format("Mon 2 Jan") + "  ", Role: ui.Faint}, ui.Span{Text: "0", Role: ui.Accent, Bold: true}, ui.Span{Text: " now  ", Role: ui.Faint})
	}
	right = append(right, ui.Span{Text: "-", Role: ui.Accent, Bold: true}, ui.Span{Text: " " + span + " ", Role: ui.Faint}, ui.Span{Text: "+", Role: ui.Accent, Bold: true})
	p.rule(a, 0, "Market", right)
	for _, k := range []struct {
		at  int // columns before the right edge
		act ui.Act
	}{{3, ui.ActZoomIn}, {6 + len(span), ui.ActZoomOut}} {
		p.on(area{a.x + a.w - k.at - 1, a.y, 3, 1}, func() { t.c.act(k.act) })
	}
	p.line(a.cols(laneLabel, width), 1, ui.Axis(from, to, now, width))
	if len(lanes) == 0 {
		lanes = []ui.Lane{{}}
	}
	for i, l := range lanes {
		y := i + 2
		for k := range l.Bars {
			l.Bars[k].Hue = t.hue(l.Bars[k].Job)
		}
		p.text(a.cols(1, laneLabel-1), y, ui.Accent, l.Label)
		line, at := l.Render(from, to, now, width, chosen, p.ascii)
		p.line(a.cols(laneLabel, width), y, line)
		for k := 0; k < len(at); {
			n := k + 1
			for n < len(at) && at[n] == at[k] {
				n++
			}
			if id := at[k]; id != 0 {
				p.on(area{a.x + laneLabel + k, a.y + y, n - k, 1}, func() { t.c.pick(id) })
			}
			k = n
		}
	}
	return 2 + len(lanes)
}

// hue is the colour that a job has in the console.
func (t *timeline) hue(id pasar.JobID) int {
	v := t.c.base.market.jobs.byID()[id]
	if v == nil {
		v = t.past[id]
	}
	return t.c.palette.Hue(v)
}
