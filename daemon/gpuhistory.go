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

// pastKept is how far back a history of GPUs goes.
const pastKept = 24 * time.Hour

// serveGPUHistory answers with how GPUs were used.
func (d *Daemon) serveGPUHistory(_ context.Context, c *ipc.Call) error {
	var r ipc.GPUHistoryRequest
	if err := c.Bind(&r); err != nil {
		return err
	}
	v, err := d.gpuHistory(r)
	if err != nil {
		return err
	}
	return answerView(c, v)
}

// gpuHistory is what was kept of a span of time, with what the inventory knows of the GPUs. Nothing of the future is
// told, which there is where the clock went back.
func (d *Daemon) gpuHistory(r ipc.GPUHistoryRequest) (v pasar.GPUHistoryView, err error) {
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
	if r.Until.After(now) {
		r.Until = now
	}
	if first := now.Add(-pastKept); r.Since.Before(first) {
		r.Since = first
	}
	v = d.Past.View(r.Since, r.Until, r.Points)
	d.nameGPUs(v.GPUs)
	return v, nil
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
