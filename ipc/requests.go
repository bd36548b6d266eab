package ipc

import (
	"context"
	"crypto/rand"
)

// NewRequest is a random id for a mutating request. A repeat with the same id gets the first answer,
// also after the daemon was restarted.
func NewRequest() string { return rand.Text() }

// Submit queues a job.
func (c *Client) Submit(ctx context.Context, r SubmitRequest) (SubmitAnswer, error) {
	return call[SubmitAnswer](ctx, c, VerbSubmit, r)
}

// List streams jobs: each gets whole lines of JSON, one pasar.JobView a line.
func (c *Client) List(ctx context.Context, r ListRequest, each func(lines []byte) error) error {
	return c.Call(ctx, VerbList, r, nil, each)
}

// Show is one job as JSON of a pasar.JobView.
func (c *Client) Show(ctx context.Context, r ShowRequest) ([]byte, error) {
	a, err := call[ViewAnswer](ctx, c, VerbShow, r)
	return a.JSON, err
}

// Status is the JSON of a pasar.StatusView.
func (c *Client) Status(ctx context.Context) ([]byte, error) {
	a, err := call[ViewAnswer](ctx, c, VerbStatus, Empty{})
	return a.JSON, err
}

// Wait calls each with a pasar.JobView as JSON for every job that has ended.
func (c *Client) Wait(ctx context.Context, r WaitRequest, each func(view []byte) error) error {
	return c.Call(ctx, VerbWait, r, nil, each)
}

// Cancel stops jobs and doesn't requeue them.
func (c *Client) Cancel(ctx context.Context, r JobsRequest) (JobsAnswer, error) {
	return call[JobsAnswer](ctx, c, VerbCancel, r)
}

// Hold keeps waiting jobs from starting.
func (c *Client) Hold(ctx context.Context, r JobsRequest) (JobsAnswer, error) {
	return call[JobsAnswer](ctx, c, VerbHold, r)
}

// Release ends a hold.
func (c *Client) Release(ctx context.Context, r JobsRequest) (JobsAnswer, error) {
	return call[JobsAnswer](ctx, c, VerbRelease, r)
}

// Bid changes a job's bid.
func (c *Client) Bid(ctx context.Context, r BidRequest) (JobOutcome, error) {
	return call[JobOutcome](ctx, c, VerbBid, r)
}

// Restart requeues a finished job.
func (c *Client) Restart(ctx context.Context, r RestartRequest) (SubmitAnswer, error) {
	return call[SubmitAnswer](ctx, c, VerbRestart, r)
}

// Facts streams facts: each gets whole lines of JSON, one record a line.
func (c *Client) Facts(ctx context.Context, r FactsRequest, each func(lines []byte) error) error {
	return c.Call(ctx, VerbFacts, r, nil, each)
}

// Attach asks where a job's supervisor listens.
func (c *Client) Attach(ctx context.Context, r AttachRequest) (AttachAnswer, error) {
	return call[AttachAnswer](ctx, c, VerbAttach, r)
}

// Reload has the daemon read its configuration again.
func (c *Client) Reload(ctx context.Context) (ReloadAnswer, error) {
	return call[ReloadAnswer](ctx, c, VerbReload, Empty{})
}

// Shutdown ends the daemon; jobs go on.
func (c *Client) Shutdown(ctx context.Context) error {
	return c.Call(ctx, VerbShutdown, Empty{}, nil, nil)
}

func call[A any](ctx context.Context, c *Client, v Verb, body any) (A, error) {
	var a A
	err := c.Call(ctx, v, body, &a, nil)
	return a, err
}

// PlanSubmit is the JSON of a pasar.PlanView: what would happen if a job were submitted.
func (c *Client) PlanSubmit(ctx context.Context, r SubmitRequest) ([]byte, error) {
	a, err := call[ViewAnswer](ctx, c, VerbPlanSubmit, r)
	return a.JSON, err
}

// PlanBid is the JSON of a pasar.PlanView: what would happen if a job's bid were changed.
func (c *Client) PlanBid(ctx context.Context, r BidRequest) ([]byte, error) {
	a, err := call[ViewAnswer](ctx, c, VerbPlanBid, r)
	return a.JSON, err
}

// Edit changes what a waiting job asks for.
func (c *Client) Edit(ctx context.Context, r EditRequest) (SubmitAnswer, error) {
	return call[SubmitAnswer](ctx, c, VerbEdit, r)
}

// Pause asks running jobs to save and leave.
func (c *Client) Pause(ctx context.Context, r JobsRequest) (JobsAnswer, error) {
	return call[JobsAnswer](ctx, c, VerbPause, r)
}

// Resume puts paused jobs back into the queue.
func (c *Client) Resume(ctx context.Context, r JobsRequest) (JobsAnswer, error) {
	return call[JobsAnswer](ctx, c, VerbResume, r)
}

// Drain lets nothing more start on a machine or a GPU; the answer is the JSON of a pasar.GPUsView.
func (c *Client) Drain(ctx context.Context, r DrainRequest) ([]byte, error) {
	a, err := call[ViewAnswer](ctx, c, VerbDrain, r)
	return a.JSON, err
}

// Undrain ends a drain; the answer is the JSON of a pasar.GPUsView.
func (c *Client) Undrain(ctx context.Context, r DrainRequest) ([]byte, error) {
	a, err := call[ViewAnswer](ctx, c, VerbUndrain, r)
	return a.JSON, err
}

// GPUs is the JSON of a pasar.GPUsView.
func (c *Client) GPUs(ctx context.Context) ([]byte, error) {
	a, err := call[ViewAnswer](ctx, c, VerbGPUs, Empty{})
	return a.JSON, err
}

// GPUHistory is the JSON of a pasar.GPUHistoryView.
func (c *Client) GPUHistory(ctx context.Context, r GPUHistoryRequest) ([]byte, error) {
	a, err := call[ViewAnswer](ctx, c, VerbGPUHistory, r)
	return a.JSON, err
}

// Stats is the JSON of a pasar.StatsView.
func (c *Client) Stats(ctx context.Context, r StatsRequest) ([]byte, error) {
	a, err := call[ViewAnswer](ctx, c, VerbStats, r)
	return a.JSON, err
}

// Approvals is the JSON of a pasar.ApprovalsView: what awaits a person's approval.
func (c *Client) Approvals(ctx context.Context) ([]byte, error) {
	a, err := call[ViewAnswer](ctx, c, VerbApprovals, Empty{})
	return a.JSON, err
}

// Approve approves plans, for a person who typed what they cost at most.
func (c *Client) Approve(ctx context.Context, r ApproveRequest) (JobsAnswer, error) {
	return call[JobsAnswer](ctx, c, VerbApprove, r)
}

// Reject rejects plans.
func (c *Client) Reject(ctx context.Context, r RejectRequest) (JobsAnswer, error) {
	return call[JobsAnswer](ctx, c, VerbReject, r)
}

// Metrics is the JSON of a pasar.MetricsView: what an attempt reported of its progress.
func (c *Client) Metrics(ctx context.Context, r MetricsRequest) ([]byte, error) {
	a, err := call[ViewAnswer](ctx, c, VerbMetrics, r)
	return a.JSON, err
}

// Events is the JSON of a pasar.JobEventsView: what befell a job and what it reported.
func (c *Client) Events(ctx context.Context, r EventsRequest) ([]byte, error) {
	a, err := call[ViewAnswer](ctx, c, VerbEvents, r)
	return a.JSON, err
}

// Usage is the JSON of a pasar.AttemptUsageView: what an attempt used over its life.
func (c *Client) Usage(ctx context.Context, r UsageRequest) ([]byte, error) {
	a, err := call[ViewAnswer](ctx, c, VerbUsage, r)
	return a.JSON, err
}

// Token is the token that HTTP asks of others than the user's own processes; fresh makes another.
func (c *Client) Token(ctx context.Context, fresh bool) (string, error) {
	a, err := call[TokenAnswer](ctx, c, VerbToken, TokenRequest{Fresh: fresh})
	return a.Token, err
}

// Web is an address that signs in the browser which opens it first, or where HTTP is served.
func (c *Client) Web(ctx context.Context, r WebRequest) (WebAnswer, error) {
	return call[WebAnswer](ctx, c, VerbWeb, r)
}
