package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"pasar"
	"pasar/ipc"
)

// serveList streams jobs as JSON lines: running, waiting in the order they are considered, paused, finished
// from the newest on.
func (d *Daemon) serveList(ctx context.Context, c *ipc.Call) error {
	var r ipc.ListRequest
	if err := errors.Join(c.Bind(&r), checkList(&r)); err != nil {
		return err
	}
	end, err := c.Turn(ctx)
	if err != nil {
		return err
	}
	defer end()
	w := &lineWriter{call: c}
	p := d.pub.Load()
	outlook := sync.OnceValue(func() *forecast { return d.forecastOf(ctx, p) })
	var waiting []int // places in p.waiting of those that come next
	sendWaiting := func() error {
		if len(waiting) == 0 {
			return nil
		}
		if err := w.flush(); err != nil {
			return err
		}
		f := outlook()
		err := inBlocks(ctx, len(waiting), c.Chunk, func(dst []byte, k int) ([]byte, error) {
			i := waiting[k]
			v := d.view(p.waiting[i], p.reasonAt(i), f)
			dst, err := v.AppendJSON(dst)
			return append(dst, '\n'), err
		})
		waiting = waiting[:0]
		return err
	}
	_, err = d.selectJobs(ctx, &r, p, func(j *job, place int) error {
		if place >= 0 {
			waiting = append(waiting, place)
			return nil
		}
		if err := sendWaiting(); err != nil {
			return err
		}
		var f *forecast
		if j.Phase == phaseWaiting {
			f = outlook()
		}
		v := d.view(j, p.reasonFor(j), f)
		return w.view(&v)
	})
	if err != nil {
		return err
	}
	if err := sendWaiting(); err != nil {
		return err
	}
	return w.flush()
}

// checkList says what is wrong with a request for jobs.
func checkList(r *ipc.ListRequest) error {
	if !r.Until.IsZero() && !r.Since.Before(r.Until) {
		return &ipc.Error{Code: ipc.CodeBadRequest, Message: "no job is of a time that ends before it begins", Hint: "since comes before until"}
	}
	return nil
}

// selectJobs calls emit with the jobs of p that a request is for, in the order of a listing: its limit of them. The
// place of one that waits is that in p.waiting; it is -1 for others, and for those that the request names. More is how
// many unfinished ones match beyond the limit.
func (d *Daemon) selectJobs(ctx context.Context, r *ipc.ListRequest, p *published, emit func(j *job, place int) error) (more int, err error) {
	if r.Last {
		j, err := d.lastSubmitted(p, r)
		if err != nil || j == nil {
			return 0, err
		}
		return 0, emit(j, -1)
	}
	n := 0
	wanted := func(j *job) bool {
		return r.Matches(j.state(), j.Spec, machineOf(j), j.Created, j.Finished) && j.lately(r.Lately)
	}
	full := func() bool { return r.Limit > 0 && n >= r.Limit }
	counted := func(j *job, place int) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n++
		return emit(j, place)
	}
	if len(r.Jobs) > 0 {
		for _, id := range r.Jobs {
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			j, err := d.find(id)
			switch {
			case err != nil:
				return 0, err
			case !wanted(j):
				continue
			case full():
				if !j.state().Finished() {
					more++
				}
				continue
			}
			if err := counted(j, -1); err != nil {
				return 0, err
			}
		}
		return more, nil
	}
	for _, list := range [][]*job{p.active, p.waiting, p.paused} {
		for i, j := range list {
			if !wanted(j) {
				continue
			}
			if full() {
				more++
				continue
			}
			place := -1
			if j.Phase == phaseWaiting {
				place = i
			}
			if err := counted(j, place); err != nil {
				return 0, err
			}
		}
	}
	return more, d.listFinished(ctx, r, p, func(j *job) error { return counted(j, -1) }, full)
}

// pageSize is how many finished jobs are read from the history at a time.
const pageSize = 256

func (d *Daemon) listFinished(ctx context.Context, r *ipc.ListRequest, p *published, emit func(*job) error, full func() bool) error {
	if len(r.States) > 0 && !slices.ContainsFunc(r.States, pasar.State.Finished) {
		return nil
	}
	searching := r.All || len(r.States) > 0 || r.Tag != "" || r.By != "" || r.Machine != "" || r.Submitter != "" || !r.Since.IsZero() || !r.Until.IsZero() || r.Group != 0
	if !searching {
		for _, j := range p.recent {
			if full() {
				return nil
			}
			if !j.lately(r.Lately) {
				continue
			}
			if err := emit(j); err != nil {
				return err
			}
		}
		return nil
	}
	open := map[pasar.JobID]bool{}
	for _, j := range slices.Concat(p.active, p.waiting, p.paused) {
		open[j.ID] = true
	}
	q := HistoryQuery{Limit: pageSize, States: finishedStates(r.States), Tag: r.Tag, By: r.By, Submitter: r.Submitter, Machine: r.Machine, Since: r.Since, Until: r.Until}
	if r.Group != 0 { // ids follow each other
		q.FromJob, q.ToJob = r.Group, r.Group+pasar.MaxPoints-1
	}
	for !full() && ctx.Err() == nil {
		rows, err := d.History.FinishedJobs(q)
		if err != nil {
			return fmt.Errorf("read history: %w", err)
		}
		for _, row := range rows {
			if full() {
				return nil
			}
			j, err := decodeJob(row.Body)
			if err != nil {
				return fmt.Errorf("job %d in the history: %w", row.Job, err)
			}
			if r.Group != 0 && j.Spec.Group != r.Group || open[row.Job] || !j.lately(r.Lately) { // it has ended since
				continue
			}
			if err := emit(j); err != nil {
				return err
			}
		}
		if len(rows) < pageSize {
			return nil
		}
		last := rows[len(rows)-1]
		q.BeforeTime, q.BeforeJob = last.Finished, last.Job
	}
	return ctx.Err()
}

func finishedStates(states []pasar.State) []pasar.State {
	var out []pasar.State
	for _, s := range states {
		if s.Finished() {
			out = append(out, s)
		}
	}
	return out
}

// lastSubmitted is the job with the highest id, or nil when there is none.
func (d *Daemon) lastSubmitted(p *published, r *ipc.ListRequest) (*job, error) {
	var last *job
	for _, list := range [][]*job{p.active, p.waiting, p.paused, p.recent} {
		for _, j := range list {
			if (last == nil || j.ID > last.ID) && r.Matches(j.state(), j.Spec, machineOf(j), j.Created, j.Finished) {
				last = j
			}
		}
	}
	if last != nil {
		return last, nil
	}
	rows, err := d.History.FinishedJobs(HistoryQuery{Limit: 1, By: r.By, Submitter: r.Submitter, Tag: r.Tag})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return decodeJob(rows[0].Body)
}

func machineOf(j *job) string {
	if a := j.current(); a != nil {
		return a.Grant.Machine
	}
	return ""
}

// lineWriter gathers JSON lines into chunks of whole lines.
type lineWriter struct {
	call    *ipc.Call
	buf     bytes.Buffer
	scratch []byte
}

func (w *lineWriter) view(v *pasar.JobView) error {
	b, err := v.AppendJSON(w.scratch[:0])
	if err != nil {
		return fmt.Errorf("encode job %d: %w", v.ID, err)
	}
	w.scratch = b
	return w.line(b)
}

func (w *lineWriter) line(b []byte) error {
	if w.buf.Len() > 0 && w.buf.Len()+len(b) >= ipc.MaxChunk {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.buf.Write(b)
	w.buf.WriteByte('\n')
	return nil
}

func (w *lineWriter) flush() error {
	if w.buf.Len() == 0 {
		return nil
	}
	err := w.call.Chunk(w.buf.Bytes())
	w.buf.Reset()
	return err
}
