package daemon

import (
	"context"
	"encoding/json"
	"fmt"

	"pasar"
	"pasar/ipc"
	"pasar/target"
)

// serveWait sends a view for each of the jobs as it ends (or starts, if that is asked).
func (d *Daemon) serveWait(ctx context.Context, c *ipc.Call) error {
	var r ipc.WaitRequest
	if err := c.Bind(&r); err != nil {
		return err
	}
	if len(r.Jobs) == 0 {
		return &ipc.Error{Code: ipc.CodeBadRequest, Message: "no job named"}
	}
	open := append([]pasar.JobID(nil), r.Jobs...)
	for _, id := range open {
		if _, err := d.find(id); err != nil {
			return err
		}
	}
	for {
		next := d.changed.next() // before the look, so that no change falls between
		var still []pasar.JobID
		for _, id := range open {
			// A job that is in memory and unfinished needs no look at the disk.
			j := d.lookup(id)
			if j == nil {
				var err error
				if j, err = d.find(id); err != nil {
					return err
				}
			}
			if !(j.Phase == phaseFinished || r.Started && (j.Phase == phaseRunning || j.Phase == phaseStopping || j.Phase == phaseLeaving)) {
				still = append(still, id)
				continue
			}
			b, err := json.Marshal(d.view(j, nil))
			if err != nil {
				return fmt.Errorf("encode job: %w", err)
			}
			if err := c.Chunk(b); err != nil {
				return err
			}
			if r.Any {
				return nil
			}
		}
		if open = still; len(open) == 0 {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// serveLogs streams an attempt's raw output.
func (d *Daemon) serveLogs(ctx context.Context, c *ipc.Call) error {
	var r ipc.LogsRequest
	if err := c.Bind(&r); err != nil {
		return err
	}
	j, err := d.find(r.Job)
	if err != nil {
		return err
	}
	for r.Attempt == 0 && len(j.Attempts) == 0 {
		if !r.Follow || j.Phase == phaseFinished {
			return &ipc.Error{Code: ipc.CodeWrongState, Message: fmt.Sprintf("job %d has no output: it is %s and never started", j.ID, j.state())}
		}
		next := d.changed.next()
		if j, err = d.find(r.Job); err != nil {
			return err
		}
		if len(j.Attempts) == 0 && j.Phase != phaseFinished {
			select {
			case <-next:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if j, err = d.find(r.Job); err != nil {
				return err
			}
		}
	}
	a := j.current()
	if r.Attempt != 0 {
		a = nil
		for i := range j.Attempts {
			if j.Attempts[i].Attempt == r.Attempt {
				a = &j.Attempts[i]
			}
		}
		if a == nil {
			return &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("job %d has no attempt %d; it had %d", j.ID, r.Attempt, len(j.Attempts))}
		}
	}
	h := target.Handle{Key: pasar.AttemptKey{Job: j.ID, Attempt: a.Attempt}, Nonce: a.Nonce}
	first := true
	head := func(offset int64) error {
		first = false
		b, err := json.Marshal(ipc.LogsHead{Attempt: a.Attempt, Offset: offset})
		if err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		return c.Chunk(b)
	}
	end, err := d.Target.Logs(ctx, h, target.Cursor(r.Offset), r.Follow, func(ch target.Chunk) error {
		if first {
			if err := head(ch.Offset - ch.Gap); err != nil { // what is missing there is told by the offsets
				return err
			}
		}
		for data := ch.Data; len(data) > 0; {
			n := min(len(data), ipc.MaxChunk)
			if err := c.Chunk(data[:n]); err != nil {
				return err
			}
			data = data[n:]
		}
		return nil
	})
	if err != nil {
		return err
	}
	if first {
		if err := head(int64(end)); err != nil {
			return err
		}
	}
	if r.Follow { // the output is complete; the end may not be journaled yet
		if err := d.awaitEnd(ctx, j.ID, a.Attempt); err != nil {
			return err
		}
	}
	ended := true
	if j, err = d.find(r.Job); err == nil && j.underWay() && j.current().Attempt == a.Attempt {
		ended = false
	}
	return c.Answer(ipc.LogsAnswer{Attempt: a.Attempt, Offset: int64(end), Ended: ended})
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

// factsPage sends some facts after one, and returns the last that it sent.
func (d *Daemon) factsPage(ctx context.Context, c *ipc.Call, w *lineWriter, after int64) (int64, error) {
	const page = 256
	end, err := c.Turn(ctx)
	if err != nil {
		return after, err
	}
	defer end()
	lines, last, err := d.Journal.RawFacts(ctx, after, page)
	if err != nil {
		return after, fmt.Errorf("read facts: %w", err)
	}
	if len(lines) == 0 {
		return after, nil
	}
	for _, l := range lines {
		if err := w.line(withSchema(l)); err != nil {
			return after, err
		}
	}
	return last, w.flush()
}

// withSchema is an encoded record as clients see it, with the schema that every answer has.
func withSchema(record []byte) []byte {
	return append(fmt.Appendf(nil, `{"schema":%d,`, pasar.Schema), record[1:]...)
}

// serveFacts streams facts as JSON lines.
func (d *Daemon) serveFacts(ctx context.Context, c *ipc.Call) error {
	var r ipc.FactsRequest
	if err := c.Bind(&r); err != nil {
		return err
	}
	after := r.Since
	if after < 0 {
		after = d.pub.Load().seq
	}
	w := &lineWriter{call: c}
	for {
		next := d.changed.next()
		for {
			last, err := d.factsPage(ctx, c, w, after)
			if err != nil {
				return err
			}
			if last == after {
				break
			}
			after = last
		}
		if !r.Follow {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
