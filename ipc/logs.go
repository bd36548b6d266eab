package ipc

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"pasar"
)

// LogsRequest asks for an attempt's raw output. The first chunk is JSON of a LogsHead. Of a request that
// is Marked the others begin with a byte that says what they are: LogsBytes, output that goes on where
// what came before it ended; or LogsIsMark, JSON of a LogsMark about what follows. Of one that isn't, all
// are bytes, and gaps in the middle aren't told.
type LogsRequest struct {
	Job     pasar.JobID `msgpack:"job"`
	Attempt int         `msgpack:"attempt"` // 0: the latest
	Offset  int64       `msgpack:"offset"`  // start here; negative: so many bytes before the end
	Follow  bool        `msgpack:"follow"`  // until the attempt ends; wait for it if it hasn't started
	Marked  bool        `msgpack:"marked"`
	Since   time.Time   `msgpack:"since"` // not before the first line that came then or later; zero: from the first
	Next    bool        `msgpack:"next"`  // with Follow: that the job ends without the attempt is no error, but an answer for attempt 0
}

// What a chunk of a Marked stream of output is, by its first byte.
const (
	LogsBytes  = 0
	LogsIsMark = 1
)

// LogsHead is the first chunk of a stream of output, as JSON: where it really starts.
type LogsHead struct {
	Attempt int   `json:"attempt"`
	Offset  int64 `json:"offset"`
	First   int64 `json:"first"`  // the lowest offset that the request can have: above 0 with Since
	Marked  bool  `json:"marked"` // as was asked; an older daemon doesn't know it
	NoPTY   bool  `json:"no_pty"` // the job has no terminal: it has two streams
	Cols    int   `json:"cols"`   // size that its terminal began with; 0: an older daemon doesn't say
	Rows    int   `json:"rows"`
}

// A LogsMark says that the bytes which follow are from Offset on, came at At (or within a second of it), and
// are of a stream, until there is another mark. Gap bytes before Offset are not to be had.
type LogsMark struct {
	Offset int64      `json:"offset"`
	Gap    int64      `json:"gap"`
	At     *time.Time `json:"at"`     // null: not known
	Stream int        `json:"stream"` // 1 standard output, 2 standard error; 0: a terminal's, or not known
}

// LogsAnswer ends a stream of output. A client that lost its daemon asks again from Offset.
type LogsAnswer struct {
	Attempt int   `msgpack:"attempt"`
	Offset  int64 `msgpack:"offset"` // where the stream ended
	Ended   bool  `msgpack:"ended"`  // the attempt has ended: nothing will follow
	Over    bool  `msgpack:"over"`   // and it was the job's last
}

// A LogsReader takes a stream of output. Each func may end it with an error.
type LogsReader struct {
	Head  func(LogsHead) error
	Mark  func(LogsMark) error
	Bytes func([]byte) error
}

// Logs streams raw output, with marks if the daemon can.
func (c *Client) Logs(ctx context.Context, r LogsRequest, to LogsReader) (LogsAnswer, error) {
	var a LogsAnswer
	var head *LogsHead
	r.Marked = true
	err := c.Call(ctx, VerbLogs, r, &a, func(b []byte) error {
		switch {
		case head == nil:
			head = new(LogsHead)
			if err := json.Unmarshal(b, head); err != nil {
				return fmt.Errorf("read output of job %d: %w", r.Job, err)
			}
			return to.Head(*head)
		case !head.Marked:
			return to.Bytes(b)
		case len(b) > 0 && b[0] == LogsBytes:
			return to.Bytes(b[1:])
		case len(b) > 0 && b[0] == LogsIsMark:
			var m LogsMark
			if err := json.Unmarshal(b[1:], &m); err != nil {
				return fmt.Errorf("read output of job %d: %w", r.Job, err)
			}
			return to.Mark(m)
		}
		return nil // from a newer daemon
	})
	return a, err
}
