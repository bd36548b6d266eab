package web

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"pasar/answer"
	"pasar/attemptdir"
	"pasar/ipc"
)

// maxTail bounds the last lines that may be asked for; without a number there are all.
const maxTail = 100_000

// A logsQuery is what is asked of an attempt's output.
type logsQuery struct {
	answer.Output
	most   int
	tail   bool // only the last most lines
	follow bool
	raw    bool
	last   int  // with raw: only so many bytes
	one    bool // of this attempt alone
	resume bool // from where a stream of events broke off, at from
	from   place
}

// A place in a job's output.
type place struct {
	attempt int
	offset  int64
}

func (s *Server) logsQuery(r *http.Request) (q logsQuery, err error) {
	if q.Job, err = jobID(r); err != nil {
		return q, err
	}
	v := r.URL.Query()
	if err := only(v, "attempt", "lines", "since", "stdout", "stderr", "raw", "last", "follow", "last_event_id", "code"); err != nil {
		return q, err
	}
	for key, to := range map[string]*int{"attempt": &q.Attempt, "lines": &q.most, "last": &q.last} {
		if *to, err = count(v, key); err != nil {
			return q, err
		}
	}
	var stdout, stderr bool
	for key, to := range map[string]*bool{"stdout": &stdout, "stderr": &stderr, "raw": &q.raw, "follow": &q.follow} {
		if *to, err = flag(v, key); err != nil {
			return q, err
		}
	}
	if q.Since, err = moment(v, "since", s.Now()); err != nil {
		return q, err
	}
	q.tail, q.Follow, q.one = v.Has("lines"), q.follow, q.Attempt > 0
	switch {
	case stdout && stderr:
		return q, refuse(ipc.CodeBadRequest, "without either both are shown, in the order in which they came", "stdout and stderr exclude each other")
	case stdout:
		q.Only = attemptdir.Stdout
	case stderr:
		q.Only = attemptdir.Stderr
	}
	switch {
	case q.raw && (q.tail || stdout || stderr):
		return q, refuse(ipc.CodeBadRequest, "last=BYTES is for raw", "bytes as they were written have no lines and no streams")
	case !q.raw && v.Has("last"):
		return q, refuse(ipc.CodeBadRequest, "lines=N are the last lines", "last is in bytes, and for raw")
	case !q.raw && v.Has("code"):
		return q, refuse(ipc.CodeBadRequest, "", "a code is for what is saved as a file, and for raw")
	case q.most > maxTail:
		return q, refuse(ipc.CodeBadRequest, "without lines there are all", "lines: at most %d", maxTail)
	}
	// A browser sends the header when it connects again; a script that does so can't, and says it in the address.
	return q, q.lastEvent(cmp.Or(r.Header.Get("Last-Event-ID"), v.Get("last_event_id")))
}

// lastEvent takes up the id of the event after which a stream is to go on.
func (q *logsQuery) lastEvent(id string) error {
	if id == "" || !q.follow || q.raw {
		return nil
	}
	a, off, _ := strings.Cut(id, ":")
	attempt, err := strconv.ParseInt(a, 10, 31)
	offset, oerr := strconv.ParseInt(off, 10, 64)
	if err != nil || oerr != nil || attempt < 1 || offset < 0 || q.one && q.Attempt != int(attempt) {
		return refuse(ipc.CodeBadRequest, "", "Last-Event-ID: %s isn't one of these events", quoted(id))
	}
	q.resume, q.from = true, place{int(attempt), offset}
	return nil
}

// logs answers with an attempt's output: the bytes of `pasar logs --json`, with follow a stream of events, with raw what the
// job wrote.
func (s *Server) logs(w http.ResponseWriter, r *http.Request) error {
	q, err := s.logsQuery(r)
	if err != nil {
		return err
	}
	switch {
	case q.raw:
		return s.rawLogs(w, r, q)
	case q.follow:
		return s.followLogs(w, r, q)
	}
	return s.lineLogs(w, r, q)
}

// rawLogs answers with the bytes as they were written, and with follow goes on until the attempt ends. They are given
// out as bytes, never as a page: a browser is told to save them and not to guess what they might be.
func (s *Server) rawLogs(w http.ResponseWriter, r *http.Request, q logsQuery) error {
	out := &paced{w: w, rc: http.NewResponseController(w)}
	req := q.Request()
	req.Offset = -int64(q.last)
	err := s.with(r, func(ctx context.Context, c *ipc.Client) error {
		_, err := c.Logs(ctx, req, ipc.LogsReader{
			Head: func(ipc.LogsHead) error {
				out.begun = true
				w.Header().Set("Content-Type", "application/octet-stream")
				w.Header().Set("Content-Disposition", "attachment; filename=\"job-"+q.Job.String()+".log\"")
				return out.rc.Flush() // who follows learns at once that it was let in
			},
			Mark: func(ipc.LogsMark) error { return nil },
			Bytes: func(b []byte) error {
				if _, err := out.Write(b); err != nil {
					return err
				}
				return out.rc.Flush()
			},
		})
		return err
	})
	return out.broken(err)
}

// lineLogs answers with lines of JSON.
func (s *Server) lineLogs(w http.ResponseWriter, r *http.Request, q logsQuery) error {
	out := &paced{w: w, rc: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "application/x-ndjson")
	var some bytes.Buffer // of lines that one piece has made certain
	lines := func(o *answer.Output) *answer.LogLines {
		return answer.NewLogLines(o.Job, o.Attempt, nil, func(line []byte, _ int64) error {
			some.Write(line)
			return nil
		})
	}
	put := func(err error) error {
		if err == nil && some.Len() > 0 {
			_, err = some.WriteTo(out)
		}
		return err
	}
	err := s.with(r, func(ctx context.Context, c *ipc.Client) error {
		o := &q.Output
		if q.tail {
			_, last, err := o.Tail(q.most, newText, reading(ctx, c.Logs))
			if err != nil {
				return err
			}
			l := lines(o)
			if err := put(l.Text(last)); err != nil {
				return err
			}
			return put(l.Finish())
		}
		var l *answer.LogLines // which attempt it is has to be told first
		if err := reading(ctx, c.Logs)(o, func(p answer.Piece) error {
			if l == nil {
				l = lines(o)
			}
			return put(l.Piece(p))
		}); err != nil || l == nil {
			return err
		}
		return put(l.Finish())
	})
	return out.broken(err)
}

func newText() answer.Renderer { return answer.NewText(answer.RawStamp) }

// A logsCall is ipc.Client's Logs.
type logsCall func(context.Context, ipc.LogsRequest, ipc.LogsReader) (ipc.LogsAnswer, error)

// unread is for who wants to know how an output ends, and not what it is.
var unread = ipc.LogsReader{Head: func(ipc.LogsHead) error { return nil }, Mark: func(ipc.LogsMark) error { return nil }, Bytes: func([]byte) error { return nil }}

// reading reads an output from where it is.
func reading(ctx context.Context, logs logsCall) func(*answer.Output, func(answer.Piece) error) error {
	return func(o *answer.Output, each func(answer.Piece) error) error {
		a, err := logs(ctx, o.Request(), o.Reader(each))
		if err == nil {
			o.Finish(a)
		}
		return err
	}
}

// eventID names the place from which on the lines come that follow.
func eventID(attempt int, offset int64) string { return fmt.Sprintf("%d:%d", attempt, offset) }
