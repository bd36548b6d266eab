package answer

import (
	"fmt"
	"time"

	"pasar"
	"pasar/attemptdir"
	"pasar/ipc"
)

// An Output is somebody's way through an attempt's output: from an offset on, over as many requests as it takes, without
// losing or repeating a byte.
type Output struct {
	Job     pasar.JobID
	Attempt int       // 0: the latest, until the daemon has said which that is
	Offset  int64     // where to go on; negative: so many bytes before the end
	Since   time.Time // not before what came then
	Follow  bool
	Next    bool // that the job is over without the attempt is no error: Attempt is 0 then
	Only    int  // the stream that is wanted; attemptdir.Unknown: whatever comes

	Started bool  // Offset is the daemon's
	Start   int64 // where it began
	First   int64 // the lowest offset that could be had
	Ended   bool  // the attempt has ended
	Over    bool  // and it was the job's last, or there was none

	Told  func(text string)    // of what isn't known any more; may be nil
	Gap   func(from, to int64) // of what is not to be had; may be nil
	vague bool                 // it was said that streams aren't known everywhere
}

// Request asks for what comes next.
func (o *Output) Request() ipc.LogsRequest {
	r := ipc.LogsRequest{Job: o.Job, Attempt: o.Attempt, Offset: o.Offset, Follow: o.Follow, Next: o.Next}
	if !o.Started {
		r.Since = o.Since
	}
	return r
}

// Reader takes the answer to Request, up to its end, for Finish; each gets the pieces in order.
func (o *Output) Reader(each func(Piece) error) ipc.LogsReader {
	var p Piece
	return ipc.LogsReader{
		Head: o.begin,
		Mark: func(m ipc.LogsMark) error {
			p.At, p.Stream = time.Time{}, m.Stream
			if m.At != nil {
				p.At = *m.At
			}
			o.Skip(m.Offset)
			return nil
		},
		Bytes: func(b []byte) error {
			p.Data = b
			return o.Take(p, each)
		},
	}
}

// Finish takes up how the answer ended.
func (o *Output) Finish(a ipc.LogsAnswer) {
	o.Ended, o.Over = a.Ended, a.Over
	if o.Started {
		o.Skip(a.Offset)
	}
}

func (o *Output) begin(h ipc.LogsHead) error {
	if err := o.Check(h.NoPTY); err != nil {
		return err
	}
	if o.Started {
		o.Skip(h.Offset)
	} else {
		o.Start, o.First = h.Offset, h.First
	}
	o.Attempt, o.Offset, o.Started = h.Attempt, h.Offset, true
	return nil
}

// Check reports whether the stream that is wanted can be told from the other.
func (o *Output) Check(noPTY bool) error {
	if o.Only == attemptdir.Unknown || noPTY {
		return nil
	}
	return &ipc.Error{Code: ipc.CodeWrongState, Message: fmt.Sprintf("job %d ran in a terminal, where output and errors are one stream", o.Job),
		Hint: "`pasar submit --no-pty` gives a job a pipe for each"}
}

// Take hands on a piece, unless it is of the stream that isn't wanted.
func (o *Output) Take(p Piece, each func(Piece) error) error {
	p.Offset = o.Offset
	o.Offset += int64(len(p.Data))
	if o.Only != attemptdir.Unknown && p.Stream != o.Only {
		if p.Stream != attemptdir.Unknown {
			return nil
		}
		if !o.vague && o.Told != nil {
			o.vague = true
			o.Told(fmt.Sprintf("of some of job #%d's output it isn't known any more which stream it was: it is shown", o.Job))
		}
	}
	return each(p)
}

// Skip goes on at an offset and tells of what is not to be had before it.
func (o *Output) Skip(to int64) {
	if to <= o.Offset {
		return
	}
	if o.Gap != nil {
		o.Gap(o.Offset, to)
	}
	o.Offset = to
}
