package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/target"
)

// A ReportReader calls each with what an attempt reported, as its events file has it: in order, without times, and of
// a long file only the end. It stops when each returns false. target.ErrRemoved: the file was let go.
type ReportReader func(ctx context.Context, key pasar.AttemptKey, each func(pasar.Event) bool) error

const (
	// reportPatience is how long a reader of an events file waits, its turn included.
	reportPatience = 5 * time.Second
	// reportReaders is how many such files are read at a time.
	reportReaders = 4
)

// serveMetrics answers with the progress that an attempt reported.
func (d *Daemon) serveMetrics(ctx context.Context, c *ipc.Call) error {
	var r ipc.MetricsRequest
	if err := c.Bind(&r); err != nil {
		return err
	}
	v, err := d.metrics(ctx, r)
	if err != nil {
		return err
	}
	return answerView(c, v)
}

func (d *Daemon) metrics(ctx context.Context, r ipc.MetricsRequest) (*pasar.MetricsView, error) {
	j, err := d.find(r.Job)
	if err != nil {
		return nil, err
	}
	a, err := attemptForMetrics(j, r.Attempt)
	if err != nil {
		return nil, err
	}
	v := &pasar.MetricsView{Schema: pasar.Schema, ID: j.ID, Attempt: a.Attempt, Points: []pasar.MetricsPoint{}}
	running := j.underWay() && a.Attempt == j.current().Attempt
	if running {
		if v.Points = d.reported(j.ID, a.Attempt); len(v.Points) > 0 {
			return v, nil
		}
	}
	s, _, err := d.readReports(ctx, pasar.AttemptKey{Job: j.ID, Attempt: a.Attempt}, nil)
	switch {
	case errors.Is(err, target.ErrRemoved) && running: // it has hardly begun
		return v, nil
	case errors.Is(err, target.ErrRemoved):
		return nil, removed(j, a.Attempt)
	case err != nil:
		return nil, err
	}
	v.Points = s.points()
	return v, nil
}

// attemptForMetrics is the attempt that a request is about; 0 is the latest.
func attemptForMetrics(j *job, attempt int) (*pasar.AttemptRecord, error) {
	if len(j.Attempts) == 0 {
		return nil, &ipc.Error{Code: ipc.CodeWrongState, Message: fmt.Sprintf("job %d has reported nothing: it is %s and never started", j.ID, j.state())}
	}
	if attempt == 0 {
		return j.current(), nil
	}
	for i := range j.Attempts {
		if j.Attempts[i].Attempt == attempt {
			return &j.Attempts[i], nil
		}
	}
	return nil, &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("job %d has no attempt %d; it had %d", j.ID, attempt, len(j.Attempts))}
}

// reported is what the daemon was told of a running attempt's progress.
func (d *Daemon) reported(id pasar.JobID, attempt int) []pasar.MetricsPoint {
	v, ok := d.latest.Load(id)
	if !ok || v.(*progress).attempt != attempt {
		return []pasar.MetricsPoint{}
	}
	p := v.(*progress)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.series.points()
}

// readReports makes a series of an attempt's events file: of all of it, or of what comes before the first point that
// says the same as until, if that was found.
func (d *Daemon) readReports(ctx context.Context, key pasar.AttemptKey, until *pasar.MetricsPoint) (s series, found bool, err error) {
	if d.Reports == nil {
		return s, false, nil
	}
	type read struct {
		series
		found bool
	}
	done := make(chan read, 1) // a reader that is late touches nothing of ours
	err = d.reports.do(ctx, func(ctx context.Context) error {
		var r read
		err := d.Reports(ctx, key, func(e pasar.Event) bool {
			if e.Kind != pasar.EventProgress {
				return true
			}
			p := pointOf(&e)
			if until != nil && samePoint(&p, until) {
				r.found = true
				return false
			}
			r.add(p)
			return true
		})
		done <- r
		return err
	})
	if err != nil {
		return s, false, fmt.Errorf("read what attempt %s reported: %w", key, err)
	}
	r := <-done
	return r.series, r.found, nil
}
