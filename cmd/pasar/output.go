package main

import (
	"context"
	"encoding/json"
	"fmt"

	"pasar"
	"pasar/ipc"
)

// An outputStream reads an attempt's output from an offset on, over as many daemons as it takes, without
// losing or repeating a byte.
type outputStream struct {
	job     pasar.JobID
	attempt int   // 0: the latest, until the daemon has said which that is
	offset  int64 // where to go on; negative: so many bytes before the end
	follow  bool

	started bool  // offset is the daemon's
	start   int64 // where it began
	ended   bool  // the attempt has ended
}

// read calls each with the bytes in order.
func (o *outputStream) read(ctx context.Context, a *app, each func([]byte) error) error {
	err := a.stream(ctx, func(d *ipc.Client, alive func()) error {
		req := ipc.LogsRequest{Job: o.job, Attempt: o.attempt, Offset: o.offset, Follow: o.follow}
		ans, err := d.Logs(ctx, req, func(head []byte) error {
			alive()
			return o.begin(a, head)
		}, func(b []byte) error {
			alive()
			o.offset += int64(len(b))
			return each(b)
		})
		if err != nil {
			return err
		}
		o.ended = ans.Ended
		if o.started && ans.Offset > o.offset {
			a.gap(o.job, o.offset, ans.Offset)
			o.offset = ans.Offset
		}
		return nil
	})
	if isNoDaemon(err) && !o.started && !o.follow {
		if done, ferr := o.readFile(a, each); done {
			return ferr
		}
	}
	return err
}

func (o *outputStream) begin(a *app, head []byte) error {
	var h ipc.LogsHead
	if err := json.Unmarshal(head, &h); err != nil {
		return fmt.Errorf("read output of job %d: %w", o.job, err)
	}
	if o.started && h.Offset > o.offset {
		a.gap(o.job, o.offset, h.Offset)
	}
	if !o.started {
		o.start = h.Offset
	}
	o.attempt, o.offset, o.started = h.Attempt, h.Offset, true
	return nil
}

// gap tells of output that is not to be had.
func (a *app) gap(job pasar.JobID, from, to int64) {
	_ = a.stdout.Flush()
	a.note(fmt.Sprintf("%s of job #%d's output, from byte %d on, are not to be had", pasar.Bytes(to-from), job, from))
}
