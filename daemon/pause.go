package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pasar"
	"pasar/ipc"
)

// pause is the command that asks jobs to save and leave. Jobs that can't be asked are passed over; the answer
// tells of each.
func (d *Daemon) pause(r ipc.JobsRequest) *command {
	return &command{verb: ipc.VerbPause, request: r.Request, asked: ipc.Asked(r), names: r.Jobs, check: func(s *state, _ time.Time) (change, error) {
		if r.KillAfter != nil && *r.KillAfter < 0 {
			return change{}, &ipc.Error{Code: ipc.CodeBadRequest, Message: "--kill-after can't be negative"}
		}
		var ch change // its jobs are those that are asked, by this request or an earlier one
		for _, id := range r.Jobs {
			j := s.jobs[id]
			if j == nil || cantPause(j) != nil {
				continue
			}
			ch.jobs = append(ch.jobs, id)
			if !j.holds() {
				continue // paused already
			}
			stop := pasar.Stop{ID: d.Random(), Why: pasar.StopPause, By: r.By, Grace: j.Spec.Grace,
				PauseFile: true, NoTerm: j.Spec.NoSigterm, Wait: pasar.Forever}
			if r.KillAfter != nil {
				stop.Wait = *r.KillAfter
			}
			a := j.current()
			if a.Stop != nil && (r.KillAfter == nil || !patient(a.Stop)) {
				continue // it is asked at least as hard
			}
			ch.facts = append(ch.facts, pasar.StopAsked{Job: id, Attempt: a.Attempt, Stop: stop})
		}
		return ch, nil
	}}
}

// cantPause says why a job can't be asked to pause; nil if it can, was, or is paused.
func cantPause(j *job) *ipc.Error {
	refuse := func(hint, format string, args ...any) *ipc.Error {
		return &ipc.Error{Code: ipc.CodeWrongState, Message: fmt.Sprintf("job %d ", j.ID) + fmt.Sprintf(format, args...), Hint: hint}
	}
	switch j.Phase {
	case phasePaused:
		return nil
	case phaseWaiting:
		return refuse("`pasar hold` keeps it from starting", "is queued: there is nothing to pause")
	case phaseFinished:
		return wrongState(j, "paused")
	case phaseLeaving:
		return refuse("", "has just ended")
	}
	if !j.Spec.CanPause() {
		return refuse("submit programs that watch for it with --pausable or --resume-command; `pasar guide jobs` says how",
			"doesn't say that it can pause")
	}
	stop := j.current().Stop
	if stop == nil || stop.Why == pasar.StopPause {
		return nil
	}
	switch stop.Why {
	case pasar.StopPreempt:
		if stop.For != 0 {
			return refuse("it is queued again by itself; `pasar hold` keeps it from starting then", "is being stopped to make room for job %d", stop.For)
		}
		return refuse("it is queued again by itself; `pasar hold` keeps it from starting then", "is being stopped to make room for another")
	case pasar.StopLimit:
		return refuse("it is paused if it saves", "has reached its time limit and is being stopped")
	}
	return refuse("", "is being stopped")
}

// resume is the command that puts paused jobs back into the queue.
func (d *Daemon) resume(r ipc.JobsRequest) *command {
	return &command{verb: ipc.VerbResume, looks: true, request: r.Request, asked: ipc.Asked(r), names: r.Jobs, check: func(s *state, _ time.Time) (change, error) {
		var ch change // its jobs are those that were changed
		for _, id := range r.Jobs {
			if j := s.jobs[id]; j != nil && j.Phase == phasePaused {
				ch.jobs = append(ch.jobs, id)
				ch.facts = append(ch.facts, pasar.ResumeAsked{Job: id, By: r.By})
			}
		}
		return ch, nil
	}}
}

func (d *Daemon) servePause(ctx context.Context, c *ipc.Call) error {
	var r ipc.JobsRequest
	if err := errors.Join(c.Bind(&r), checkRequestID(r.Request)); err != nil {
		return err
	}
	return d.change(ctx, c, r.Jobs, d.pause(r), func(j *job, asked bool) (string, *ipc.Error) {
		switch {
		case j.Phase == phasePaused:
			return "paused", nil
		case asked && !j.underWay(): // it ended otherwise by now
			return "was asked to pause, and is " + string(j.state()), nil
		case !asked:
			if no := cantPause(j); no != nil {
				return "", no
			}
			return "", wrongState(j, "paused")
		}
		switch s := j.current().Stop; {
		case s != nil && s.Wait > 0:
			return fmt.Sprintf("is asked to pause; if it hasn't within %s it is stopped", s.Wait), nil
		case s != nil && !patient(s):
			return "is being stopped, to be paused", nil
		}
		return "is asked to pause; it runs on until it has saved", nil
	})
}

func (d *Daemon) serveResume(ctx context.Context, c *ipc.Call) error {
	var r ipc.JobsRequest
	if err := errors.Join(c.Bind(&r), checkRequestID(r.Request)); err != nil {
		return err
	}
	p := d.pub.Load
	return d.change(ctx, c, r.Jobs, d.resume(r), func(j *job, changed bool) (string, *ipc.Error) {
		switch {
		case changed && j.Phase == phaseWaiting:
			return "queued again; " + p().reasonFor(j).Sentence(), nil
		case changed: // it may run by now
			return "resumed", nil
		case j.Phase == phaseStopping && j.current().Stop.Why == pasar.StopPause:
			return "", &ipc.Error{Code: ipc.CodeWrongState, Message: fmt.Sprintf("job %d was asked to pause and hasn't yet: it can't be resumed before", j.ID)}
		}
		return "", &ipc.Error{Code: ipc.CodeWrongState, Message: fmt.Sprintf("job %d is %s: it isn't paused", j.ID, j.state())}
	})
}
