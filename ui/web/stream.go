package web

import (
	"context"
	"net/http"
	"time"

	"pasar/answer"
	"pasar/ipc"
)

// streamRoutes answer with what may be long, and is passed on as it comes.
var streamRoutes = []route{
	{"GET /api/jobs", users, (*Server).list},
	{"GET /api/jobs/{id}/logs", users, (*Server).logs},
	{"GET /api/stream", users, (*Server).stream},
}

// list answers with the bytes of `pasar ls --json`.
func (s *Server) list(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	if err := only(q, listKeys...); err != nil {
		return err
	}
	req, err := listRequest(q, s.Now())
	if err != nil {
		return err
	}
	// Of ten thousand jobs it is twenty megabytes: passed on as they come, they cost those of one piece.
	out := &paced{w: w, rc: http.NewResponseController(w)}
	jobs := answer.NewJobs(out)
	w.Header().Set("Content-Type", "application/json")
	err = s.with(r, func(ctx context.Context, c *ipc.Client) error { return c.List(ctx, req, jobs.Lines) })
	if err == nil {
		err = jobs.End()
	}
	return out.broken(err)
}

// paced writes an answer piece by piece: each has its time, so that a slow reader isn't one that takes nothing.
type paced struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	begun bool
}

func (p *paced) Write(b []byte) (int, error) {
	p.begun = true
	_ = p.rc.SetWriteDeadline(time.Now().Add(sendTime))
	return p.w.Write(b)
}

// broken is err as of this answer: what can still be told, or not.
func (p *paced) broken(err error) error {
	if err != nil && p.begun {
		return &begunError{err}
	}
	return err
}

// logs answers with an attempt's output as it was written, and with follow goes on until the attempt ends. It is
// given out as bytes, never as a page: a browser is told to save it and not to guess what it might be.
func (s *Server) logs(w http.ResponseWriter, r *http.Request) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	if err := only(q, "attempt", "follow", "last", "since"); err != nil {
		return err
	}
	req := ipc.LogsRequest{Job: id}
	if req.Attempt, err = count(q, "attempt"); err != nil {
		return err
	}
	if req.Follow, err = flag(q, "follow"); err != nil {
		return err
	}
	if req.Since, err = moment(q, "since", s.Now()); err != nil {
		return err
	}
	last, err := count(q, "last")
	if err != nil {
		return err
	}
	req.Offset = -int64(last)
	out := &paced{w: w, rc: http.NewResponseController(w)}
	err = s.with(r, func(ctx context.Context, c *ipc.Client) error {
		_, err := c.Logs(ctx, req, ipc.LogsReader{
			Head: func(ipc.LogsHead) error {
				out.begun = true
				w.Header().Set("Content-Type", "application/octet-stream")
				w.Header().Set("Content-Disposition", "attachment; filename=\"job-"+id.String()+".log\"")
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
