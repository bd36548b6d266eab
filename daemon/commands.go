package daemon

import (
	"fmt"
	"time"

	"pasar"
	"pasar/autopsy"
	"pasar/ipc"
)

func unknownJob(id pasar.JobID) *ipc.Error {
	return &ipc.Error{Code: ipc.CodeUnknownJob, Message: fmt.Sprintf("there is no job %d", id), Hint: "`pasar ls --all` lists every job"}
}

func wrongState(j *job, what string) *ipc.Error {
	return &ipc.Error{Code: ipc.CodeWrongState, Message: fmt.Sprintf("job %d is %s: it can't be %s", j.ID, j.state(), what)}
}

// cancel is the command that stops jobs, or takes them out of the queue. Jobs that can't be cancelled
// are passed over; the answer tells of each.
func (d *Daemon) cancel(r ipc.JobsRequest) *command {
	return &command{verb: ipc.VerbCancel, request: r.Request, asked: ipc.Asked(r), names: r.Jobs, check: func(s *state, _ time.Time) (change, error) {
		ch := change{jobs: r.Jobs}
		for _, id := range r.Jobs {
			j := s.jobs[id]
			switch {
			case j == nil || j.Phase == phaseFinished || j.Phase == phaseLeaving:
			case j.Phase == phaseWaiting || j.Phase == phasePaused:
				v := autopsy.Attribute(autopsy.Evidence{Stop: &pasar.Stop{Why: pasar.StopCancel, By: r.By},
					Argv0: string(j.Spec.Argv[0]), Paused: j.Phase == phasePaused})
				ch.facts = append(ch.facts, pasar.CancelledWaiting{Job: id, By: r.By, Verdict: v})
			default:
				a := j.current()
				stop := pasar.Stop{ID: d.Random(), Why: pasar.StopCancel, By: r.By, Grace: j.Spec.Grace, Now: r.Now}
				if a.Stop != nil {
					if a.Stop.Why == pasar.StopCancel {
						if a.Stop.Now || !r.Now {
							continue // it is being stopped at least as hard as asked
						}
						stop.ID = a.Stop.ID
					}
					stop.For = a.Stop.For // whose room it is to be stays so
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
	return &command{verb: verb, looks: !held, request: r.Request, asked: ipc.Asked(r), names: r.Jobs, check: func(s *state, _ time.Time) (change, error) {
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

func impossible(err error) *ipc.Error {
	e := &ipc.Error{Code: ipc.CodeImpossible, Message: err.Error()}
	if h, ok := err.(interface{ Hint() string }); ok {
		e.Hint = h.Hint()
	}
	return e
}
