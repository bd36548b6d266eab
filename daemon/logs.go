package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/target"
)

// serveLogs streams an attempt's raw output.
func (d *Daemon) serveLogs(ctx context.Context, c *ipc.Call) error {
	var r ipc.LogsRequest
	if err := c.Bind(&r); err != nil {
		return err
	}
	j, a, err := d.attemptForLogs(ctx, &r)
	if err != nil {
		return err
	}
	if a == nil {
		return c.Answer(ipc.LogsAnswer{Ended: true, Over: true})
	}
	h := target.Handle{Key: pasar.AttemptKey{Job: j.ID, Attempt: a.Attempt}, Nonce: a.Nonce}
	s := &logStream{c: c, r: &r, h: h, head: ipc.LogsHead{Attempt: a.Attempt, Marked: r.Marked, NoPTY: j.Spec.NoPTY,
		Cols: cmp.Or(j.Spec.Cols, pasar.UsualCols), Rows: cmp.Or(j.Spec.Rows, pasar.UsualRows)}}
	end, err := d.streamLogs(ctx, s)
	if errors.Is(err, target.ErrRemoved) {
		if j, err = d.find(r.Job); err == nil && (!j.underWay() || j.current().Attempt != a.Attempt) {
			return removed(j, a.Attempt)
		}
	}
	if err != nil {
		return err
	}
	if err := s.begin(int64(end)); err != nil {
		return err
	}
	if r.Follow { // the output is complete; the end may not be journaled yet
		if err := d.awaitEnd(ctx, j.ID, a.Attempt); err != nil {
			return err
		}
	}
	ended, over := true, false
	if j, err = d.find(r.Job); err == nil {
		latest := j.current().Attempt == a.Attempt
		ended, over = !latest || !j.underWay(), latest && (j.Phase == phaseFinished || j.Phase == phasePaused)
	}
	return c.Answer(ipc.LogsAnswer{Attempt: a.Attempt, Offset: int64(end), Ended: ended, Over: over})
}

// removed is why there is no output of an attempt that is over.
func removed(j *job, attempt int) error {
	for _, a := range j.Attempts {
		if a.Attempt == attempt && a.StartedAt.IsZero() {
			return &ipc.Error{Code: ipc.CodeWrongState, Message: fmt.Sprintf("attempt %d of job %d has no output: it never ran", attempt, j.ID)}
		}
	}
	return &ipc.Error{Code: ipc.CodeWrongState, Message: fmt.Sprintf("the output of attempt %d of job %d was removed", attempt, j.ID),
		Hint: "log_retention_days and log_retention_size say how long output is kept"}
}

// attemptForLogs is the attempt that a request is about. To be followed it is waited for, until it runs or
// is over; nil if the job ended without it and that is no error.
func (d *Daemon) attemptForLogs(ctx context.Context, r *ipc.LogsRequest) (*job, *pasar.AttemptRecord, error) {
	for {
		next := d.changed.next() // before the look, so that no change falls between
		j, err := d.find(r.Job)
		if err != nil {
			return nil, nil, err
		}
		a := j.current()
		if r.Attempt != 0 {
			a = nil
			for i := range j.Attempts {
				if j.Attempts[i].Attempt == r.Attempt {
					a = &j.Attempts[i]
				}
			}
		}
		launching := a != nil && j.Phase == phaseLaunching && a.Attempt == j.current().Attempt
		switch {
		case a != nil && !(r.Follow && launching):
			return j, a, nil
		case j.Phase == phaseFinished && r.Follow && r.Next:
			return j, nil, nil
		case (!r.Follow || j.Phase == phaseFinished) && len(j.Attempts) == 0:
			return nil, nil, &ipc.Error{Code: ipc.CodeWrongState, Message: fmt.Sprintf("job %d has no output: it is %s and never started", j.ID, j.state())}
		case !r.Follow || j.Phase == phaseFinished || r.Attempt > len(j.Attempts)+1:
			return nil, nil, &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("job %d has no attempt %d; it had %d", j.ID, r.Attempt, len(j.Attempts))}
		}
		select {
		case <-next:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

// A logStream is one stream of output to a client.
type logStream struct {
	c    *ipc.Call
	r    *ipc.LogsRequest
	h    target.Handle
	head ipc.LogsHead

	begun bool
	last  ipc.LogsMark // the last that was sent
	buf   []byte
}

// streamLogs sends what the target has, from where the request says.
func (d *Daemon) streamLogs(ctx context.Context, s *logStream) (target.Cursor, error) {
	from := target.Cursor(s.r.Offset)
	if t, ok := d.Target.(target.Dated); ok && !s.r.Since.IsZero() {
		first, err := t.Since(ctx, s.h, s.r.Since)
		if err != nil {
			return 0, err
		}
		s.head.First = int64(first)
		if from >= 0 {
			from = max(from, first)
		}
	}
	return d.Target.Logs(ctx, s.h, from, s.r.Follow, func(ch target.Chunk) error {
		if skip := s.head.First - ch.Offset; skip > 0 { // the end was less far away than that
			if skip >= int64(len(ch.Data)) {
				return nil
			}
			ch.Offset, ch.Data, ch.Gap = s.head.First, ch.Data[skip:], 0
		} else {
			ch.Gap = min(ch.Gap, ch.Offset-s.head.First)
		}
		return s.chunk(ch)
	})
}

// begin sends the head, unless it was sent.
func (s *logStream) begin(offset int64) error {
	if s.begun {
		return nil
	}
	s.begun = true
	s.head.Offset = offset
	s.last.Offset = offset
	b, err := json.Marshal(s.head)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	return s.c.Chunk(b)
}

func (s *logStream) chunk(ch target.Chunk) error {
	if err := s.begin(ch.Offset - ch.Gap); err != nil {
		return err
	}
	if !s.r.Marked {
		return s.bytes(ch.Data)
	}
	if err := s.mark(ch); err != nil {
		return err
	}
	return s.bytes(ch.Data)
}

// mark sends a mark if what comes is different from what came.
func (s *logStream) mark(ch target.Chunk) error {
	m := ipc.LogsMark{Offset: ch.Offset, Gap: ch.Gap, Stream: ch.Stream}
	if !ch.At.IsZero() {
		at := ch.At.UTC().Truncate(time.Millisecond)
		m.At = &at
	}
	same := m.At == s.last.At || m.At != nil && s.last.At != nil && m.At.Equal(*s.last.At)
	if m.Gap == 0 && m.Stream == s.last.Stream && same {
		return nil
	}
	s.last = m
	b, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	return s.c.Chunk(append([]byte{ipc.LogsIsMark}, b...))
}

func (s *logStream) bytes(data []byte) error {
	for len(data) > 0 {
		n := min(len(data), ipc.MaxChunk-1)
		piece := data[:n]
		if s.r.Marked {
			s.buf = append(append(s.buf[:0], ipc.LogsBytes), piece...)
			piece = s.buf
		}
		if err := s.c.Chunk(piece); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// awaitEnd waits until an attempt is over in the published state.
func (d *Daemon) awaitEnd(ctx context.Context, id pasar.JobID, attempt int) error {
	for {
		next := d.changed.next()
		j := d.lookup(id)
		if j == nil || !j.underWay() || j.current().Attempt != attempt {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// troubleAgain is for how long trouble with one attempt's log isn't reported anew: on a disk that is nearly
// full it may come and go each second.
const troubleAgain = time.Minute

// logTrouble reports that an attempt's output can't be kept, or is kept again.
func (d *Daemon) logTrouble(ctx context.Context, t *tender, j *job, why string) {
	now := d.Clock.Now()
	if why == t.trouble || why != "" && !t.troubleSaid.IsZero() && now.Sub(t.troubleSaid) < troubleAgain {
		return
	}
	t.trouble = why
	detail := fmt.Sprintf("the output of job %d is kept again", t.job)
	if why != "" {
		t.troubleSaid = now
		detail = fmt.Sprintf("the output of job %d can't be kept (%s); the job goes on without it", t.job, why)
	}
	d.report(ctx, pasar.Incident{Machine: j.current().Grant.Machine, What: "log", Detail: detail})
}
