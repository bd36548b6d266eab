package main

import (
	"context"
	"fmt"
	"time"

	"pasar"
	"pasar/answer"
	"pasar/attemptdir"
	"pasar/ipc"
)

// An outputStream reads an attempt's output from an offset on, over as many daemons as it takes, without
// losing or repeating a byte.
type outputStream struct {
	job     pasar.JobID
	attempt int       // 0: the latest, until the daemon has said which that is
	offset  int64     // where to go on; negative: so many bytes before the end
	since   time.Time // not before what came then
	follow  bool
	next    bool // that the job is over without the attempt is no error: attempt is 0 then
	only    int  // the stream that is wanted; Unknown: whatever comes

	started bool  // offset is the daemon's
	start   int64 // where it began
	first   int64 // the lowest offset that could be had
	ended   bool  // the attempt has ended
	over    bool  // and it was the job's last, or there was none
	vague   bool  // it was said that streams aren't known everywhere
}

// read calls each with the pieces in order.
func (o *outputStream) read(ctx context.Context, a *app, each func(answer.Piece) error) error {
	err := a.stream(ctx, func(d *ipc.Client, alive func()) error {
		req := ipc.LogsRequest{Job: o.job, Attempt: o.attempt, Offset: o.offset, Follow: o.follow, Next: o.next}
		if !o.started {
			req.Since = o.since
		}
		var p answer.Piece
		ans, err := d.Logs(ctx, req, ipc.LogsReader{
			Head: func(h ipc.LogsHead) error {
				alive()
				return o.begin(a, h)
			},
			Mark: func(m ipc.LogsMark) error {
				p.At, p.Stream = time.Time{}, m.Stream
				if m.At != nil {
					p.At = *m.At
				}
				o.skip(a, m.Offset)
				return nil
			},
			Bytes: func(b []byte) error {
				alive()
				p.Data = b
				return o.take(a, p, each)
			},
		})
		if err != nil {
			return err
		}
		o.ended, o.over = ans.Ended, ans.Over
		if o.started {
			o.skip(a, ans.Offset)
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

func (o *outputStream) begin(a *app, h ipc.LogsHead) error {
	if err := o.check(h.NoPTY); err != nil {
		return err
	}
	if o.started {
		o.skip(a, h.Offset)
	} else {
		o.start, o.first = h.Offset, h.First
	}
	o.attempt, o.offset, o.started = h.Attempt, h.Offset, true
	return nil
}

// check reports whether the stream that is wanted can be told from the other.
func (o *outputStream) check(noPTY bool) error {
	if o.only == attemptdir.Unknown || noPTY {
		return nil
	}
	return problemf(ipc.CodeWrongState, "job %d ran in a terminal, where output and errors are one stream", o.job).
		hint("`pasar submit --no-pty` gives a job a pipe for each")
}

// take hands on a piece, unless it is of the stream that isn't wanted.
func (o *outputStream) take(a *app, p answer.Piece, each func(answer.Piece) error) error {
	o.offset += int64(len(p.Data))
	if o.only != attemptdir.Unknown && p.Stream != o.only {
		if p.Stream != attemptdir.Unknown {
			return nil
		}
		if !o.vague {
			o.vague = true
			_ = a.stdout.Flush()
			a.note(fmt.Sprintf("of some of job #%d's output it isn't known any more which stream it was: it is shown", o.job))
		}
	}
	return each(p)
}

// missing is how much there is from one offset to another: in words, and exactly.
func missing(from, to int64) string {
	if to-from < 1024 {
		return pasar.Bytes(to - from).String()
	}
	return fmt.Sprintf("%s (%d bytes)", pasar.Bytes(to-from), to-from)
}

// skip goes on at an offset and tells of what is not to be had before it.
func (o *outputStream) skip(a *app, to int64) {
	if to <= o.offset {
		return
	}
	_ = a.stdout.Flush()
	a.note(fmt.Sprintf("%s of job #%d's output, from byte %d on, are not to be had", missing(o.offset, to), o.job, o.offset))
	o.offset = to
}
