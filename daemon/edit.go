package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/sched"
)

// edit is the command that changes what a waiting or paused job asks for.
func (d *Daemon) edit(r ipc.EditRequest) *command {
	return &command{verb: ipc.VerbEdit, request: r.Request, asked: cmp.Or(r.Asked, ipc.Asked(r)), names: []pasar.JobID{r.Job}, check: func(s *state, _ time.Time) (change, error) {
		j := s.jobs[r.Job]
		if j == nil {
			return change{}, unknownJob(r.Job) // the handler has seen to finished ones
		}
		if j.Phase != phaseWaiting && j.Phase != phasePaused {
			return change{}, wrongEdit(j)
		}
		if r.More.MaxConcurrent != nil && j.Spec.Group == 0 {
			return change{}, &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("job %d is not part of an array or sweep: --max-concurrent bounds those", j.ID)}
		}
		if r.Name != nil && *r.Name == "" {
			return change{}, &ipc.Error{Code: ipc.CodeBadRequest, Message: "--name has at least one byte"}
		}
		spec := edited(j.Spec, &r)
		if err := d.finishSpec(&spec); err != nil {
			return change{}, err
		}
		if err := sched.Fits(spec.Claim, d.settings.Load().Margin, s.input("").Machines); err != nil {
			return change{}, impossible(err)
		}
		if r.More.After != nil {
			never, err := d.checkAfter(s, spec.After, j.ID)
			if err == nil && never != nil {
				err = neverAfter(never)
			}
			if err != nil {
				return change{}, err
			}
		}
		ch := change{jobs: []pasar.JobID{j.ID}}
		if !reflect.DeepEqual(spec, j.Spec) {
			ch.facts = append(ch.facts, pasar.Edited{Job: j.ID, Spec: spec, By: r.By})
		}
		if n := r.More.MaxConcurrent; n != nil {
			ch.facts = append(ch.facts, s.boundGroup(j, *n, r.By)...)
		}
		return ch, nil
	}}
}

func edited(spec pasar.Spec, r *ipc.EditRequest) pasar.Spec {
	set(&spec.Claim, r.Claim)
	set(&spec.Time, r.Time)
	set(&spec.Grace, r.Grace)
	set(&spec.Name, r.Name)
	set(&spec.Note, r.Note)
	set(&spec.Tags, r.Tags)
	changed(&spec, &r.More)
	return spec
}

// boundGroup gives the other unfinished jobs of a job's group the same bound: it is the group's.
func (s *state) boundGroup(of *job, most int, by string) []pasar.Fact {
	var facts []pasar.Fact
	for _, j := range slices.Concat(s.waiters, s.active, s.paused) {
		if j.ID != of.ID && j.Spec.Group == of.Spec.Group && j.Spec.MaxConcurrent != most {
			spec := j.Spec
			spec.MaxConcurrent = most
			facts = append(facts, pasar.Edited{Job: j.ID, Spec: spec, By: by})
		}
	}
	return facts
}

func wrongEdit(j *job) *ipc.Error {
	e := wrongState(j, "edited")
	if j.Phase == phaseFinished {
		e.Hint = "`pasar restart` takes the same flags"
	} else {
		e.Hint = "what it asks for is settled once it starts; `pasar bid` still works"
	}
	return e
}

func (d *Daemon) serveEdit(ctx context.Context, c *ipc.Call) error {
	var r ipc.EditRequest
	if err := errors.Join(c.Bind(&r), checkRequestID(r.Request), ipc.CheckAsked(r.Asked)); err != nil {
		return err
	}
	j, err := d.find(r.Job)
	if err != nil {
		return err
	}
	cmd := d.edit(r)
	if j.Phase == phaseFinished {
		cmd.refusedWith(wrongEdit(j))
	}
	o, err := d.do(ctx, cmd)
	if err != nil {
		return err
	}
	return d.answerSubmit(ctx, c, o)
}
