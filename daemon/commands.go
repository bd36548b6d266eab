package daemon

import (
	"fmt"
	"os"
	"time"

	"pasar"
	"pasar/autopsy"
	"pasar/ipc"
	"pasar/sched"
)

func unknownJob(id pasar.JobID) *ipc.Error {
	return &ipc.Error{Code: ipc.CodeUnknownJob, Message: fmt.Sprintf("there is no job %d", id), Hint: "`pasar ls --all` lists every job"}
}

func wrongState(j *job, what string) *ipc.Error {
	return &ipc.Error{Code: ipc.CodeWrongState, Message: fmt.Sprintf("job %d is %s: it can't be %s", j.ID, j.state(), what)}
}

// prepare completes and checks a spec as it came from a client.
func (d *Daemon) prepare(spec *pasar.Spec) error {
	set := d.settings.Load()
	spec.Submitter, spec.UID = d.User, d.UID
	if err := d.auto(spec); err != nil {
		return err
	}
	if spec.Claim.Kind == pasar.Slice {
		spec.Claim.Limit = set.Margin.Limit(spec.Claim.Mem)
	} else {
		spec.Claim.Limit = 0
	}
	if err := spec.Validate(); err != nil {
		return &ipc.Error{Code: ipc.CodeBadRequest, Message: err.Error()}
	}
	if set.RequireTime && spec.Time == 0 {
		return &ipc.Error{Code: ipc.CodeBadRequest, Message: "a job needs an estimate here", Hint: "add --time 2h, or as long as it may take"}
	}
	fi, err := os.Stat(string(spec.Cwd))
	if err != nil || !fi.IsDir() {
		return &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("working directory %s: not a directory one can enter", pasar.Clean(string(spec.Cwd)))}
	}
	return nil
}

// submit is the command that queues one job, or finds the one with its key.
func (d *Daemon) submit(r ipc.SubmitRequest) *command {
	return &command{verb: ipc.VerbSubmit, request: r.Request, check: func(s *state, _ time.Time) (change, error) {
		if key := r.Spec.Key; key != "" {
			id, ok := s.keys[key]
			if !ok {
				var err error
				if id, ok, err = d.History.JobByKey(key); err != nil {
					return change{}, fmt.Errorf("look up key: %w", err)
				}
			}
			if ok {
				return change{jobs: []pasar.JobID{id}, existing: true}, nil
			}
		}
		if err := sched.Fits(r.Spec.Claim, s.input("").Machines); err != nil {
			return change{}, impossible(err)
		}
		id := s.next
		return change{
			facts: []pasar.Fact{pasar.Submitted{Job: id, Spec: r.Spec}},
			jobs:  []pasar.JobID{id},
			specs: []SpecRow{{Job: id, Surroundings: r.Surroundings}},
		}, nil
	}}
}

// cancel is the command that stops jobs, or takes them out of the queue. Jobs that can't be cancelled
// are passed over; the answer tells of each.
func (d *Daemon) cancel(r ipc.JobsRequest) *command {
	return &command{verb: ipc.VerbCancel, request: r.Request, check: func(s *state, _ time.Time) (change, error) {
		ch := change{jobs: r.Jobs}
		for _, id := range r.Jobs {
			j := s.jobs[id]
			switch {
			case j == nil || j.Phase == phaseFinished || j.Phase == phaseLeaving:
			case j.Phase == phaseWaiting:
				v := autopsy.Attribute(autopsy.Evidence{Stop: &pasar.Stop{Why: pasar.StopCancel, By: r.By}, Argv0: string(j.Spec.Argv[0])})
				ch.facts = append(ch.facts, pasar.CancelledWaiting{Job: id, By: r.By, Verdict: v})
			default:
				a := j.current()
				stop := pasar.Stop{ID: d.Random(), Why: pasar.StopCancel, By: r.By, Grace: j.Spec.Grace, Now: r.Now}
				if a.Stop != nil && a.Stop.Why == pasar.StopCancel {
					if a.Stop.Now || !r.Now {
						continue // it is being stopped at least as hard as asked
					}
					stop.ID = a.Stop.ID
				}
				ch.facts = append(ch.facts, pasar.StopAsked{Job: id, Attempt: a.Attempt, Stop: stop})
			}
		}
		return ch, nil
	}}
}

// hold and release are the commands that keep waiting jobs from starting, and let them go.
func (d *Daemon) hold(r ipc.JobsRequest, held bool) *command {
	verb := ipc.VerbRelease
	if held {
		verb = ipc.VerbHold
	}
	return &command{verb: verb, request: r.Request, check: func(s *state, _ time.Time) (change, error) {
		var ch change // its jobs are those that were changed
		for _, id := range r.Jobs {
			j := s.jobs[id]
			if j == nil || j.Phase != phaseWaiting || j.Spec.Hold == held {
				continue
			}
			ch.jobs = append(ch.jobs, id)
			if held {
				ch.facts = append(ch.facts, pasar.Held{Job: id, By: r.By})
			} else {
				ch.facts = append(ch.facts, pasar.Released{Job: id, By: r.By})
			}
		}
		return ch, nil
	}}
}

// bid is the command that changes one job's bid.
func (d *Daemon) bid(r ipc.BidRequest) *command {
	return &command{verb: ipc.VerbBid, request: r.Request, check: func(s *state, _ time.Time) (change, error) {
		if r.Bid < pasar.MinBid || r.Bid > pasar.MaxBid {
			return change{}, &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("bid %d is outside %d..%d", r.Bid, pasar.MinBid, pasar.MaxBid)}
		}
		j := s.jobs[r.Job]
		if j == nil {
			return change{}, unknownJob(r.Job) // the handler has seen to finished ones
		}
		if j.Phase == phaseFinished {
			return change{}, wrongState(j, "given another bid")
		}
		ch := change{jobs: []pasar.JobID{r.Job}}
		if j.Spec.Bid != r.Bid {
			ch.facts = []pasar.Fact{pasar.BidChanged{Job: r.Job, Bid: r.Bid, By: r.By}}
		}
		return ch, nil
	}}
}

// restarted is the spec of a finished job with what a restart changes.
func (d *Daemon) restarted(r *ipc.RestartRequest, old *job) (pasar.Spec, error) {
	spec := old.Spec
	set(&spec.Bid, r.Bid)
	set(&spec.Claim, r.Claim)
	set(&spec.Time, r.Time)
	set(&spec.Grace, r.Grace)
	set(&spec.Name, r.Name)
	set(&spec.Note, r.Note)
	spec.Hold = r.Hold
	return spec, d.prepare(&spec)
}

// restart is the command that requeues a finished job with a prepared spec; old is the job as the
// history has it, for one that has left memory.
func (d *Daemon) restart(r ipc.RestartRequest, old *job, spec pasar.Spec) *command {
	return &command{verb: ipc.VerbRestart, request: r.Request, check: func(s *state, _ time.Time) (change, error) {
		j := s.jobs[r.Job]
		if j == nil {
			j = old
		}
		if j.Phase != phaseFinished {
			return change{}, wrongState(j, "restarted before it has ended")
		}
		if err := sched.Fits(spec.Claim, s.input("").Machines); err != nil {
			return change{}, impossible(err)
		}
		return change{
			facts: []pasar.Fact{pasar.Restarted{Job: j.ID, Spec: spec, By: r.By, Was: j.End,
				Attempts: j.Attempts, Git: j.Git, Created: j.Created}},
			jobs:       []pasar.JobID{j.ID},
			unfinished: []pasar.JobID{j.ID},
		}, nil
	}}
}

func set[T any](dst *T, v *T) {
	if v != nil {
		*dst = *v
	}
}

func impossible(err error) *ipc.Error {
	e := &ipc.Error{Code: ipc.CodeImpossible, Message: err.Error()}
	if h, ok := err.(interface{ Hint() string }); ok {
		e.Hint = h.Hint()
	}
	return e
}
