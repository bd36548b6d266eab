package daemon

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"pasar"
	"pasar/ipc"
)

const (
	pastKept   = 24 * time.Hour      // how far back a history of GPUs goes
	longerKept = 30 * 24 * time.Hour // and one that others keep
	pastSlack  = time.Minute         // who asks for a day counts it from a little earlier

	fewSteps   = 2      // that a Prometheus lacks of a GPU are no news: it looks now and then, and is started again like others
	mostPoints = 24_576 // over all GPUs, so that the view fits into a frame
)

// serveGPUHistory answers with how GPUs were used.
func (d *Daemon) serveGPUHistory(ctx context.Context, c *ipc.Call) error {
	var r ipc.GPUHistoryRequest
	if err := c.Bind(&r); err != nil {
		return err
	}
	v, err := d.gpuHistory(ctx, r)
	if err != nil {
		return err
	}
	return answerView(c, v)
}

// gpuHistory is what was kept of a span of time, with what the inventory knows of the GPUs. Nothing of the future is
// told, which there is where the clock went back. Of longer ago than a day it is what somebody else kept, if anybody
// can be asked; else a note says what is missing. Of a time of which nothing is known it is empty, and ends where it begins.
func (d *Daemon) gpuHistory(ctx context.Context, r ipc.GPUHistoryRequest) (v pasar.GPUHistoryView, err error) {
	if d.Past == nil {
		return v, &ipc.Error{Code: ipc.CodeUnsupported, Message: "this pasard keeps no history of GPUs"}
	}
	now := d.Clock.Now()
	if r.Points == 0 {
		r.Points = ipc.DefaultGPUPoints
	}
	if r.Until.IsZero() {
		r.Until = now
	}
	if r.Since.IsZero() {
		r.Since = r.Until.Add(-pastKept)
	}
	switch {
	case r.Points < 1 || r.Points > ipc.MaxGPUPoints:
		return v, &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("%d points: it is 1 to %d", r.Points, ipc.MaxGPUPoints)}
	case !r.Since.Before(r.Until):
		return v, &ipc.Error{Code: ipc.CodeBadRequest, Message: "a history needs a time that it begins at, before the one that it ends at"}
	}
	r.Until = earlier(r.Until, now)
	r.Since = earlier(r.Since, r.Until)
	var note string
	first := now.Add(-pastKept)
	if r.Since.Before(first.Add(-pastSlack)) {
		v, note = d.longerHistory(ctx, r, now)
		if ctx.Err() != nil {
			return v, context.Cause(ctx)
		}
	}
	if v.Schema == 0 {
		if r.Since.Before(first) {
			r.Since = earlier(first, r.Until)
		}
		v = d.Past.View(r.Since, r.Until, r.Points)
	}
	v.From = earlier(v.From, v.Until) // where no point begins in a short time, the next one would be after it
	v.Note = pasar.Known(note)
	d.nameGPUs(v.GPUs)
	return v, nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// longerHistory is the history that somebody else kept, or an empty view and why there is none.
func (d *Daemon) longerHistory(ctx context.Context, r ipc.GPUHistoryRequest, now time.Time) (v pasar.GPUHistoryView, note string) {
	url := d.settings.Load().PrometheusURL
	if d.Longer == nil || url == "" {
		return v, "pasar itself keeps a day; `prometheus_url` in the configuration names a Prometheus that has more"
	}
	if first := now.Add(-longerKept); r.Since.Before(first) {
		r.Since = first
	}
	if !r.Since.Before(r.Until) {
		return v, "nothing of longer ago than " + pasar.Duration(longerKept).String() + " is told"
	}
	var uuids []string
	for _, g := range d.pub.Load().machines[pasar.LocalMachine].GPUs {
		if g.UUID != "" && !g.Virtual {
			uuids = append(uuids, g.UUID)
		}
	}
	if len(uuids) == 0 { // there is nothing to ask for
		return v, ""
	}
	v, err := d.Longer.View(ctx, url, uuids, r.Since, r.Until, r.Points)
	if err == nil {
		if d.said.Swap(nil) != nil {
			d.Log.Info("Prometheus can be asked again", "url", url)
		}
		return d.completed(v, now.Add(-pastKept))
	}
	said := err.Error()
	if last := d.said.Swap(&said); ctx.Err() == nil && (last == nil || *last != said) { // once, however often it is asked
		d.Log.Warn("Prometheus can't be asked how GPUs were used; what pasar kept is told instead", "error", err)
	}
	return pasar.GPUHistoryView{}, "this is of the last day, which pasar itself keeps: Prometheus can't be asked (" + pasar.Clean(said) + ")"
}

// completed is what a Prometheus knows, with what pasar itself kept where that has nothing, and a note that says so; or an
// empty view and why that is told instead. What pasar kept begins at first.
func (d *Daemon) completed(v pasar.GPUHistoryView, first time.Time) (_ pasar.GPUHistoryView, note string) {
	const nothing = "Prometheus has nothing of this time"
	switch {
	case len(v.GPUs) > 0:
	case v.Until.After(first):
		return pasar.GPUHistoryView{}, "this is of the last day, which pasar itself keeps: " + nothing
	default:
		return v, nothing
	}
	step := time.Duration(v.Step)
	if step <= 0 {
		return v, ""
	}
	steps := func(from, to time.Time) int { return int((to.Sub(from) + step - 1) / step) }
	from := v.From
	if from.Before(first) {
		from = from.Add(time.Duration(steps(from, first)) * step)
	}
	n := steps(from, v.Until)
	if time.Duration(n)*step > pastKept { // the last one ends later than now
		from, n = from.Add(step), n-1
	}
	if n < 1 {
		return v, ""
	}
	own := d.Past.View(from, from.Add(time.Duration(n)*step), n) // of the same steps
	total := 0
	for i := range v.GPUs {
		total += len(v.GPUs[i].Points)
	}
	for _, kept := range own.GPUs {
		i := slices.IndexFunc(v.GPUs, func(g pasar.GPUSeriesView) bool { return g.UUID == kept.UUID })
		most := fewSteps
		if i < 0 {
			if i, most = len(v.GPUs), 0; total+len(kept.Points) > mostPoints {
				continue
			}
			v.GPUs = append(v.GPUs, pasar.GPUSeriesView{UUID: kept.UUID})
		}
		before := len(v.GPUs[i].Points)
		v.GPUs[i].Points = bridged(v.GPUs[i].Points, kept.Points)
		added := len(v.GPUs[i].Points) - before
		if total += added; added > most {
			note = "where Prometheus has nothing of the last day, this is what pasar itself kept"
		}
	}
	return v, note
}

// bridged are points in order, and those of others whose times they lack.
func bridged(points, others []pasar.GPUSampleView) []pasar.GPUSampleView {
	at := func(p pasar.GPUSampleView, t time.Time) int { return p.At.Compare(t) }
	for _, p := range others {
		if i, there := slices.BinarySearchFunc(points, p.At, at); !there {
			points = slices.Insert(points, i, p)
		}
	}
	return points
}

// nameGPUs says what GPUs are, of those that are there now, and orders them: as the inventory does, then the rest.
func (d *Daemon) nameGPUs(gpus []pasar.GPUSeriesView) {
	known := d.pub.Load().machines[pasar.LocalMachine].GPUs
	place := map[string]int{}
	for i := range known {
		place[known[i].UUID] = i
	}
	for i := range gpus {
		g := &gpus[i]
		if k, ok := place[g.UUID]; ok {
			index := known[k].Index
			g.Index, g.Name, g.Mem = &index, cleaned(known[k].Name), pasar.Known(known[k].Total)
		}
	}
	slices.SortStableFunc(gpus, func(a, b pasar.GPUSeriesView) int {
		at := func(uuid string) int {
			if k, ok := place[uuid]; ok {
				return k
			}
			return len(known)
		}
		return cmp.Compare(at(a.UUID), at(b.UUID))
	})
}
