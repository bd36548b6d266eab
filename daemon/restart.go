package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/sched"
)

// restarted is the spec of a finished job with what a restart changes.
func (d *Daemon) restarted(r *ipc.RestartRequest, old *job) (pasar.Spec, error) {
	spec := old.Spec
	set(&spec.Bid, r.Bid)
	set(&spec.Claim, r.Claim)
	set(&spec.Time, r.Time)
	set(&spec.Grace, r.Grace)
	set(&spec.Name, r.Name)
	set(&spec.Note, r.Note)
	changed(&spec, &r.More)
	spec.Hold, spec.Preempt = r.Hold, r.Preempt
	return spec, d.prepare(&spec)
}

// restart is the command that requeues a finished job with a prepared spec; old is the job as the
// history has it, for one that has left memory. Of the jobs that it comes after it waits for those that
// haven't ended: whoever restarts it has seen how the others did.
func (d *Daemon) restart(r ipc.RestartRequest, old *job, spec pasar.Spec) *command {
	return &command{verb: ipc.VerbRestart, looks: true, request: r.Request, asked: cmp.Or(r.Asked, ipc.Asked(r)), names: []pasar.JobID{r.Job}, check: func(s *state, _ time.Time) (change, error) {
		j := s.jobs[r.Job]
		if j == nil {
			j = old
		}
		if j.Phase != phaseFinished {
			return change{}, wrongState(j, "restarted before it has ended")
		}
		if err := sched.Fits(spec.Claim, d.settings.Load().Margin, s.input("").Machines); err != nil {
			return change{}, impossible(err)
		}
		never, err := d.checkAfter(s, spec.After, j.ID)
		if err != nil {
			return change{}, err
		}
		if never != nil && r.More.After != nil {
			return change{}, neverAfter(never)
		}
		return change{
			facts: []pasar.Fact{pasar.Restarted{Job: j.ID, Spec: spec, By: r.By, Was: j.End,
				Attempts: j.Attempts, Git: j.Git, Created: j.Created, Happened: j.Happened, Forgotten: j.Forgotten}},
			jobs:       []pasar.JobID{j.ID},
			unfinished: []pasar.JobID{j.ID},
		}, nil
	}}
}

// neverAfter refuses a change that would have a job wait for ever.
func neverAfter(u *unmetEnd) error {
	return &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("it would never start: %s", u), Hint: "restart that job first, or leave it out of --after"}
}

func (d *Daemon) serveRestart(ctx context.Context, c *ipc.Call) error {
	var r ipc.RestartRequest
	if err := errors.Join(c.Bind(&r), checkRequestID(r.Request), ipc.CheckAsked(r.Asked)); err != nil {
		return err
	}
	old, err := d.find(r.Job)
	if err != nil {
		return err
	}
	spec, wrong := d.restarted(&r, old)
	if err := d.admit(); err != nil {
		wrong = err
	}
	if old.Phase != phaseFinished { // the check says so again, of the state as it is then
		wrong = wrongState(old, "restarted before it has ended")
	}
	cmd := d.restart(r, old, spec)
	if wrong != nil {
		cmd.refusedWith(wrong)
	}
	o, err := d.do(ctx, cmd)
	if err != nil {
		return err
	}
	return d.answerSubmit(ctx, c, o)
}
