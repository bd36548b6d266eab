package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"pasar"
	"pasar/answer"
	"pasar/ipc"
)

// changeRoutes change something.
var changeRoutes = []route{
	{"POST /api/jobs", users, (*Server).submit},
	{"PATCH /api/jobs/{id}", users, (*Server).edit},
	{"POST /api/jobs/{id}/cancel", users, jobsVerb("cancel", (*ipc.Client).Cancel)},
	{"POST /api/jobs/{id}/hold", users, jobsVerb("hold", (*ipc.Client).Hold)},
	{"POST /api/jobs/{id}/release", users, jobsVerb("release", (*ipc.Client).Release)},
	{"POST /api/jobs/{id}/pause", users, jobsVerb("pause", (*ipc.Client).Pause)},
	{"POST /api/jobs/{id}/resume", users, jobsVerb("resume", (*ipc.Client).Resume)},
	{"POST /api/jobs/{id}/promote", users, (*Server).promote},
	{"POST /api/jobs/{id}/restart", users, (*Server).restart},
	{"POST /api/jobs/{id}/pull", users, (*Server).pull},
	{"POST /api/jobs/{id}/approve", person, (*Server).approve},
	{"POST /api/jobs/{id}/reject", person, (*Server).reject},
}

// jobsVerb is a change that takes jobs.
func jobsVerb(name string, verb func(*ipc.Client, context.Context, ipc.JobsRequest) (ipc.JobsAnswer, error)) func(*Server, http.ResponseWriter, *http.Request) error {
	return func(s *Server, w http.ResponseWriter, r *http.Request) error {
		id, err := jobID(r)
		if err != nil {
			return err
		}
		var in struct {
			Now       bool   `json:"now"`        // cancel: skip the grace
			KillAfter *span  `json:"kill_after"` // pause: stop it if it hasn't left by then
			By        string `json:"by"`
			Request   string `json:"request"`
		}
		if err := body(r, &in); err != nil {
			return err
		}
		if in.Now && name != "cancel" || in.KillAfter != nil && name != "pause" {
			return refuse(ipc.CodeBadRequest, "now is for cancel, kill_after for pause", "%s takes no such key", name)
		}
		req := ipc.JobsRequest{Request: requestID(in.Request), Jobs: []pasar.JobID{id}, Now: in.Now, KillAfter: (*pasar.Duration)(in.KillAfter), By: in.By}
		var a ipc.JobsAnswer
		if err := s.with(r, func(ctx context.Context, c *ipc.Client) (err error) {
			a, err = verb(c, ctx, req)
			return err
		}); err != nil {
			return err
		}
		switch name {
		case "cancel":
			answer.AdviseCancel(a.Jobs)
		case "hold":
			answer.AdviseHold(a.Jobs)
		}
		return outcomes(w, a.Jobs)
	}
}

// outcomes answers what became of jobs. The only one that was refused is an error.
func outcomes(w http.ResponseWriter, jobs []ipc.JobOutcome) error {
	v, refused := answer.Outcomes(jobs)
	if refused != nil {
		return refused
	}
	return writeValue(w, v)
}

func writeValue(w http.ResponseWriter, v any) error {
	b, err := answer.Encode(v)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, b)
	return nil
}

// editWords are the body of a change to a job: its bid, or what a waiting one asks for.
type editWords struct {
	changeWords
	Bid     *pasar.Bid `json:"bid"`
	Preempt bool       `json:"preempt"`
	Tags    *[]string  `json:"tags"`
	DryRun  bool       `json:"dry_run"` // of a bid
	Request string     `json:"request"`
}

// says reports whether there is anything to change but the bid.
func (e *editWords) says() bool {
	return e.claims() || e.Tags != nil || e.changeWords != changeWords{By: e.By}
}

func (s *Server) edit(w http.ResponseWriter, r *http.Request) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	var in editWords
	if err := body(r, &in); err != nil {
		return err
	}
	switch {
	case in.Bid != nil && in.says():
		return refuse(ipc.CodeBadRequest, "send two requests", "a bid and other changes are not made at once")
	case in.Bid != nil:
		return s.bid(w, r, ipc.BidRequest{Request: requestID(in.Request), Job: id, Bid: *in.Bid, Preempt: in.Preempt, By: in.By}, in.DryRun)
	case in.Preempt || in.DryRun:
		return refuse(ipc.CodeBadRequest, "", "preempt and dry_run go with a bid")
	case !in.says():
		return refuse(ipc.CodeBadRequest, `send {"bid": 1500}, or what a waiting job is to ask for`, "nothing to change was sent")
	}
	req := ipc.EditRequest{Request: requestID(in.Request), Job: id, By: in.By, Time: (*pasar.Duration)(in.Time), Grace: (*pasar.Duration)(in.Grace),
		Name: in.Name, Note: in.Note, Tags: in.Tags, Asked: ipc.Asked(id, in)} // a claim depends on what the job has
	if req.More, err = in.change(s.Now()); err != nil {
		return err
	}
	var a ipc.SubmitAnswer
	if err := s.with(r, func(ctx context.Context, c *ipc.Client) (err error) {
		if req.Claim, err = newClaim(ctx, c, id, &in.changeWords); err == nil {
			a, err = c.Edit(ctx, req)
		}
		return inKeys(err)
	}); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, answer.Line(a.View))
	return nil
}

// newClaim is a job's claim, changed as the words say; nil if they say nothing of it.
func newClaim(ctx context.Context, c *ipc.Client, id pasar.JobID, w *changeWords) (*pasar.Claim, error) {
	if !w.claims() {
		return nil, nil
	}
	b, err := c.Show(ctx, ipc.ShowRequest{Job: id})
	if err != nil {
		return nil, err
	}
	var v pasar.JobView
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, fmt.Errorf("read job %d: %w", id, err)
	}
	claim, err := w.claim(v.Claim.Asked())
	return &claim, err
}

// bid changes a bid, or says what that would do.
func (s *Server) bid(w http.ResponseWriter, r *http.Request, req ipc.BidRequest, dry bool) error {
	if dry {
		return s.view(w, r, func(ctx context.Context, c *ipc.Client) ([]byte, error) { return c.PlanBid(ctx, req) })
	}
	var o ipc.JobOutcome
	err := s.with(r, func(ctx context.Context, c *ipc.Client) (err error) {
		o, err = c.Bid(ctx, req)
		return err
	})
	var e *ipc.Error
	if errors.As(err, &e) {
		return answer.AdviseBid(e, req)
	}
	if err != nil {
		return err
	}
	return outcomes(w, []ipc.JobOutcome{o})
}

func (s *Server) promote(w http.ResponseWriter, r *http.Request) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	var in struct {
		Bid     *pasar.Bid `json:"bid"`
		Preempt bool       `json:"preempt"`
		DryRun  bool       `json:"dry_run"`
		By      string     `json:"by"`
		Request string     `json:"request"`
	}
	if err := body(r, &in); err != nil {
		return err
	}
	req := ipc.BidRequest{Request: requestID(in.Request), Job: id, Preempt: in.Preempt, By: in.By, Promote: in.Bid == nil}
	put(&req.Bid, in.Bid)
	return s.bid(w, r, req, in.DryRun)
}

func (s *Server) restart(w http.ResponseWriter, r *http.Request) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	var in struct {
		changeWords
		Bid     *pasar.Bid `json:"bid"`
		Preempt bool       `json:"preempt"`
		Hold    bool       `json:"hold"`
		Request string     `json:"request"`
	}
	if err := body(r, &in); err != nil {
		return err
	}
	req := ipc.RestartRequest{Request: requestID(in.Request), Job: id, By: in.By, Bid: in.Bid, Time: (*pasar.Duration)(in.Time), Grace: (*pasar.Duration)(in.Grace),
		Name: in.Name, Note: in.Note, Hold: in.Hold, Preempt: in.Preempt, Asked: ipc.Asked(id, in)}
	if req.More, err = in.change(s.Now()); err != nil {
		return err
	}
	var a ipc.SubmitAnswer
	if err := s.with(r, func(ctx context.Context, c *ipc.Client) (err error) {
		if req.Claim, err = newClaim(ctx, c, id, &in.changeWords); err == nil {
			a, err = c.Restart(ctx, req)
		}
		return inKeys(err)
	}); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, answer.Line(a.View))
	return nil
}

// pull is refused of every job that there is: there is nothing elsewhere to bring here yet.
func (s *Server) pull(_ http.ResponseWriter, r *http.Request) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	if err := s.with(r, func(ctx context.Context, c *ipc.Client) error {
		_, err := c.Show(ctx, ipc.ShowRequest{Job: id})
		return err
	}); err != nil {
		return err
	}
	return refuse(ipc.CodeUnsupported, "results are where the job wrote them; `pasar guide cloud` says what there is", "nothing can be pulled: this pasar runs jobs on this machine alone")
}

func (s *Server) approve(w http.ResponseWriter, r *http.Request) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	var in struct {
		Plan    string       `json:"plan"`
		AtMost  *pasar.Money `json:"at_most"` // what the person typed
		By      string       `json:"by"`
		Request string       `json:"request"`
	}
	if err := body(r, &in); err != nil {
		return err
	}
	if in.Plan == "" || in.AtMost == nil {
		return refuse(ipc.CodeBadRequest, "the plan and the amount are in /api/cloud", "approving takes the plan and the amount that it costs at most")
	}
	req := ipc.ApproveRequest{Request: requestID(in.Request), Plans: []ipc.PlanRef{{Job: id, Plan: in.Plan}}, AtMost: *in.AtMost, By: in.By}
	return s.decide(w, r, func(ctx context.Context, c *ipc.Client) (ipc.JobsAnswer, error) { return c.Approve(ctx, req) })
}

func (s *Server) reject(w http.ResponseWriter, r *http.Request) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	var in struct {
		Plan    string `json:"plan"`
		Why     string `json:"why"`
		By      string `json:"by"`
		Request string `json:"request"`
	}
	if err := body(r, &in); err != nil {
		return err
	}
	req := ipc.RejectRequest{Request: requestID(in.Request), Plans: []ipc.PlanRef{{Job: id, Plan: in.Plan}}, Why: in.Why, By: in.By}
	return s.decide(w, r, func(ctx context.Context, c *ipc.Client) (ipc.JobsAnswer, error) { return c.Reject(ctx, req) })
}

func (s *Server) decide(w http.ResponseWriter, r *http.Request, f func(context.Context, *ipc.Client) (ipc.JobsAnswer, error)) error {
	var a ipc.JobsAnswer
	if err := s.with(r, func(ctx context.Context, c *ipc.Client) (err error) {
		a, err = f(ctx, c)
		return err
	}); err != nil {
		return err
	}
	return outcomes(w, a.Jobs)
}
