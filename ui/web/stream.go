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
	var chunks [][]byte
	if err := s.with(r, func(ctx context.Context, c *ipc.Client) error {
		return c.List(ctx, req, func(lines []byte) error {
			chunks = append(chunks, lines)
			return nil
		})
	}); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, answer.List(chunks))
	return nil
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
	rc := http.NewResponseController(w)
	begun := false
	begin := func() {
		if !begun {
			begun = true
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Header().Set("Content-Disposition", "attachment; filename=\"job-"+id.String()+".log\"")
			w.WriteHeader(http.StatusOK)
			_ = rc.Flush() // who follows learns at once that it was let in
		}
	}
	err = s.with(r, func(ctx context.Context, c *ipc.Client) error {
		_, err := c.Logs(ctx, req, ipc.LogsReader{
			Head: func(ipc.LogsHead) error { begin(); return nil },
			Mark: func(ipc.LogsMark) error { return nil },
			Bytes: func(b []byte) error {
				_ = rc.SetWriteDeadline(time.Now().Add(sendTime))
				if _, err := w.Write(b); err != nil {
					return err
				}
				return rc.Flush()
			},
		})
		return err
	})
	if err != nil && begun {
		return &begunError{err}
	}
	return err
}
