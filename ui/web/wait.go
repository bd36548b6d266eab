package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"pasar"
	"pasar/answer"
	"pasar/ipc"
)

// maxWait bounds how long one request waits for a job, and is how long it does when nothing is said.
const maxWait = 10 * time.Minute

// errWaited is why a wait ends that took too long.
var errWaited = errors.New("waited long enough")

// wait answers as `wait --json` once a job has ended: at once, if it had. With 202 it hadn't, when the time was up.
func (s *Server) wait(w http.ResponseWriter, r *http.Request) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	if err := only(q, "timeout", "for", "through_pauses"); err != nil {
		return err
	}
	timeout := maxWait
	if word := q.Get("timeout"); word != "" {
		d, err := pasar.ParseDuration(word)
		if err != nil {
			return refuse(ipc.CodeBadRequest, "write 90s, 5m", "timeout: bad time %s", quoted(word))
		}
		if timeout = time.Duration(d); timeout < time.Second || timeout > maxWait {
			return refuse(ipc.CodeOverLimit, "when it is up, ask again", "timeout: it is 1s to %s", pasar.Duration(maxWait))
		}
	}
	req := ipc.WaitRequest{Jobs: []pasar.JobID{id}}
	switch word := q.Get("for"); word {
	case "", "ended":
	case "started":
		req.Started = true
	default:
		return refuse(ipc.CodeBadRequest, "", "for: it is ended or started, not %s", quoted(word))
	}
	if req.ThroughPauses, err = flag(q, "through_pauses"); err != nil {
		return err
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(timeout + sendTime)) // the usual one is of what is answered at once
	ctx, cancel := context.WithTimeoutCause(r.Context(), timeout, errWaited)
	defer cancel()
	var view []byte
	err = s.with(r.WithContext(ctx), func(ctx context.Context, c *ipc.Client) error {
		return c.Wait(ctx, req, func(b []byte) error {
			view = bytes.Clone(b)
			return nil
		})
	})
	switch {
	case view != nil:
		writeJSON(w, http.StatusOK, answer.Line(view))
		return nil
	case err != nil && errors.Is(context.Cause(ctx), errWaited):
		line, err := answer.TimedOut(req.Jobs)
		if err != nil {
			return err
		}
		writeJSON(w, http.StatusAccepted, line)
		return nil
	}
	return err
}
