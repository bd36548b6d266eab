package web

import (
	"context"
	"net/http"

	"pasar/ipc"
)

// diff answers with how a job's code differed from its commit when it was submitted, as plain text.
func (s *Server) diff(w http.ResponseWriter, r *http.Request) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	if err := only(r.URL.Query(), "code"); err != nil {
		return err
	}
	out := &paced{w: w, rc: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	err = s.with(r, func(ctx context.Context, c *ipc.Client) error {
		return c.Diff(ctx, ipc.DiffRequest{Job: id}, func(b []byte) error {
			_, err := out.Write(b)
			return err
		})
	})
	return out.broken(err)
}
