package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"pasar"
	"pasar/answer"
	"pasar/ipc"
)

// streamRoutes answer with what may be long, and is passed on as it comes.
var streamRoutes = []route{
	{"GET /api/jobs", users, (*Server).list},
	{"GET /api/jobs/{id}/logs", savers, (*Server).logs},
	{"GET /api/stream", users, (*Server).stream},
	{"GET /api/jobs/{id}/diff", savers, (*Server).diff},
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
	err = s.with(r, func(ctx context.Context, c *ipc.Client) error {
		if req.Group != 0 && len(req.Jobs) == 0 {
			if req.Jobs, err = members(ctx, c, req.Group); err != nil {
				return err
			}
		}
		return c.List(ctx, req, jobs.Lines)
	})
	if err == nil {
		err = jobs.End()
	}
	return out.broken(err)
}

// members are the jobs of a group, in the order of its points, as `pasar ls group:7` names them.
func members(ctx context.Context, c *ipc.Client, group pasar.JobID) (ids []pasar.JobID, err error) {
	err = c.List(ctx, ipc.ListRequest{Group: group, All: true}, func(lines []byte) error {
		for line := range bytes.Lines(lines) {
			var v struct {
				ID pasar.JobID `json:"id"`
			}
			if err := json.Unmarshal(line, &v); err != nil {
				return fmt.Errorf("read list of jobs: %w", err)
			}
			ids = append(ids, v.ID)
		}
		return nil
	})
	if err == nil && len(ids) == 0 {
		err = refuse(ipc.CodeUnknownJob, "", "no job is in group %d", group)
	}
	slices.Sort(ids)
	return ids, err
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
