package answer

import (
	"fmt"

	"pasar"
	"pasar/ipc"
)

// An OutcomeView is what became of one job of a change, as JSON.
type OutcomeView struct {
	ID       pasar.JobID  `json:"id"`
	State    *pasar.State `json:"state"`
	Sentence *string      `json:"sentence"`
	Error    *ErrorView   `json:"error"`
}

// An OutcomesView is what became of the jobs of a change.
type OutcomesView struct {
	Schema int           `json:"schema"`
	Jobs   []OutcomeView `json:"jobs"`
}

// Outcomes is what became of jobs. One job alone that was refused is an error instead.
func Outcomes(jobs []ipc.JobOutcome) (*OutcomesView, *ipc.Error) {
	if len(jobs) == 1 && jobs[0].Error != nil {
		return nil, jobs[0].Error
	}
	v := &OutcomesView{pasar.Schema, []OutcomeView{}}
	for _, o := range jobs {
		out := OutcomeView{ID: o.Job, State: pasar.Known(o.State), Sentence: pasar.Known(o.Sentence)}
		if o.Error != nil {
			out.Error = ViewError(o.Error)
		}
		v.Jobs = append(v.Jobs, out)
	}
	return v, nil
}

// Advised is what became of jobs, with a hint where the daemon refused a change for a job's state and gave none.
// change names it as the command line does.
func Advised(change string, jobs []ipc.JobOutcome) []ipc.JobOutcome {
	for i := range jobs {
		o := &jobs[i]
		if o.Error == nil || !o.State.Finished() {
			continue
		}
		switch change {
		case "cancel":
			o.Error = Advise(o.Error, fmt.Sprintf("`pasar show %d` says how it ended", o.Job))
		case "hold":
			o.Error = Advise(o.Error, fmt.Sprintf("`pasar restart %d --hold` queues it again, held", o.Job))
		}
	}
	return jobs
}

// AdvisedBid is the refusal of a bid, with a hint where the daemon has none.
func AdvisedBid(r ipc.BidRequest, e *ipc.Error) *ipc.Error {
	hint := fmt.Sprintf("`pasar restart %d` queues it again", r.Job)
	if !r.Promote {
		hint = fmt.Sprintf("`pasar restart %d --bid %d` queues it again with that bid", r.Job, r.Bid)
	}
	return Advise(e, hint)
}

// Advise is a refusal for a job's state with a hint, where the daemon gave none.
func Advise(e *ipc.Error, hint string) *ipc.Error {
	if e.Code != ipc.CodeWrongState || e.Hint != "" {
		return e
	}
	with := *e
	with.Hint = hint
	return &with
}
