package daemon

import (
	"context"
	"encoding/json"
	"fmt"

	"pasar"
	"pasar/ipc"
)

// reached reports whether a job is where a client waits for it to be: at its end, or under way. A requeue is
// no end. A pause is one, unless it is to be waited through: nobody knows when that ends.
func reached(j *job, r *ipc.WaitRequest) bool {
	switch j.Phase {
	case phaseFinished:
		return true
	case phasePaused:
		return !r.ThroughPauses
	case phaseRunning, phaseStopping, phaseLeaving:
		return r.Started
	}
	return false
}

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
			if !reached(j, &r) {
				still = append(still, id)
				continue
			}
			b, err := json.Marshal(d.view(j, nil, nil))
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
