package daemon

import (
	"context"
	"sync"
	"time"

	"pasar"
)

// progress is what a running attempt reported of it. It lives in memory only.
type progress struct {
	attempt int

	mu     sync.Mutex // guards the rest
	first  pasar.Event
	last   pasar.Event
	number int // of last; 0: its target doesn't number reports
	series series
}

// add takes a report with its number. What a watch that is begun again tells again is passed over: by the number,
// which unlike the time is sure to grow.
func (p *progress) add(e pasar.Event, number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if number > 0 && number <= p.number || number == 0 && !e.At.After(p.last.At) {
		return
	}
	p.last, p.number = e, number
	at := e.At.UTC()
	point := pointOf(&e)
	point.At = &at
	p.series.add(point)
}

// event takes a report of the job's: checkpoints and resumes are facts, progress stays in memory.
func (d *Daemon) event(ctx context.Context, t *tender, e pasar.Event, number int) {
	switch e.Kind {
	case pasar.EventCheckpoint, pasar.EventResumed, pasar.EventNote:
		if d.known(t, e) {
			return
		}
		d.report(ctx, pasar.Reported{Job: t.job, Attempt: t.attempt, Event: e})
	case pasar.EventProgress:
		if t.progress != nil {
			t.progress.add(e, number)
			return
		}
		p := &progress{attempt: t.attempt, first: e}
		if t.late {
			p.series = d.recalled(ctx, t, &e)
		}
		p.add(e, number)
		t.progress = p
		d.latest.Store(t.job, p)
	}
}

// recalled is what an attempt that an earlier daemon looked after reported before the first report that this one is
// told of: only the latest are told again. Its file has the others, without their times.
func (d *Daemon) recalled(ctx context.Context, t *tender, first *pasar.Event) series {
	p := pointOf(first)
	s, found, err := d.readReports(ctx, t.handle.Key, &p)
	if err != nil {
		d.Log.Info("what was reported before is not known", "job", t.job, "attempt", t.attempt, "error", err)
	}
	if !found { // all that was read is later
		return series{}
	}
	return s
}

// known reports whether an event is in the state already: a watch that is begun again tells what was
// reported before again, in order.
func (d *Daemon) known(t *tender, e pasar.Event) bool {
	j := d.lookup(t.job)
	if j == nil || j.current() == nil || j.current().Attempt != t.attempt {
		return false
	}
	a := j.current()
	last := a.Checkpoint
	switch e.Kind {
	case pasar.EventResumed:
		last = a.Resumed
	case pasar.EventNote:
		if last = nil; len(a.Notes) > 0 {
			last = &a.Notes[len(a.Notes)-1]
		}
	}
	return last != nil && !e.At.After(last.At)
}

func (d *Daemon) progressOf(id pasar.JobID) *pasar.ProgressView {
	v, ok := d.latest.Load(id)
	if !ok {
		return nil
	}
	p := v.(*progress)
	p.mu.Lock()
	defer p.mu.Unlock()
	pv := progressView(&p.last)
	if span := p.last.At.Sub(p.first.At).Seconds(); span > 0 && p.first.Step != nil && p.last.Step != nil {
		rate := (*p.last.Step - *p.first.Step) / span
		pv.Rate = &rate
	}
	return pv
}

func progressView(e *pasar.Event) *pasar.ProgressView {
	return &pasar.ProgressView{Step: e.Step, Total: e.TotalSteps, At: e.At.UTC(), Metrics: e.Metrics}
}

// paceEnd is when a running attempt ends by its own pace: from the step it resumed at, the time that each step
// took times the steps left, from the latest report on. False when it has not reported enough to tell.
func paceEnd(a *pasar.AttemptRecord, p *pasar.ProgressView) (time.Time, bool) {
	if p == nil || p.Step == nil || p.Total == nil || a.StartedAt.IsZero() {
		return time.Time{}, false
	}
	from := 0.0
	if a.Resumed != nil && a.Resumed.Step != nil {
		from = *a.Resumed.Step
	}
	done, left := *p.Step-from, *p.Total-*p.Step
	elapsed := p.At.Sub(a.StartedAt)
	if done <= 0 || left < 0 || elapsed <= 0 {
		return time.Time{}, false
	}
	need := float64(elapsed) * left / done
	if need > float64(maxPace) {
		return time.Time{}, false
	}
	return p.At.Add(time.Duration(need)), true
}

// maxPace is how far away an end by pace may be: one that is further says nothing.
const maxPace = 100 * 365 * 24 * time.Hour
