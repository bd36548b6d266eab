package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pasar"
	"pasar/ipc"
)

// maxPlans bounds what one request approves or rejects.
const maxPlans = 1000

// serveApprovals tells what awaits approval: nothing yet, since no target here costs money.
func (d *Daemon) serveApprovals(_ context.Context, c *ipc.Call) error {
	return answerView(c, pasar.ApprovalsView{Schema: pasar.Schema, Mode: "amount", Requests: []pasar.ApprovalView{}})
}

func (d *Daemon) serveApprove(ctx context.Context, c *ipc.Call) error {
	var r ipc.ApproveRequest
	if err := errors.Join(c.Bind(&r), checkRequestID(r.Request)); err != nil {
		return err
	}
	return d.decidePlans(ctx, c, &command{verb: ipc.VerbApprove, request: r.Request, asked: ipc.Asked(r)}, r.Plans)
}

func (d *Daemon) serveReject(ctx context.Context, c *ipc.Call) error {
	var r ipc.RejectRequest
	if err := errors.Join(c.Bind(&r), checkRequestID(r.Request)); err != nil {
		return err
	}
	return d.decidePlans(ctx, c, &command{verb: ipc.VerbReject, request: r.Request, asked: ipc.Asked(r)}, r.Plans)
}

// decidePlans answers for each plan that its job doesn't await approval.
func (d *Daemon) decidePlans(ctx context.Context, c *ipc.Call, cmd *command, plans []ipc.PlanRef) error {
	switch {
	case len(plans) == 0:
		return &ipc.Error{Code: ipc.CodeBadRequest, Message: "no plan named"}
	case len(plans) > maxPlans:
		return &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("%d plans named; at most %d at once", len(plans), maxPlans)}
	}
	ids := make([]pasar.JobID, len(plans))
	for i, p := range plans {
		ids[i] = p.Job
	}
	cmd.check = func(*state, time.Time) (change, error) { return change{}, nil }
	return d.change(ctx, c, ids, cmd, func(j *job, _ bool) (string, *ipc.Error) {
		return "", &ipc.Error{Code: ipc.CodeWrongState, Message: fmt.Sprintf("job #%d doesn't await approval", j.ID)}
	})
}
