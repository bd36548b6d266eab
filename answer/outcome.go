package answer

import (
	"fmt"

	"pasar"
	"pasar/ipc"
)

// An OutcomeView is what became of one of the jobs that a request named.
type OutcomeView struct {
	ID       pasar.JobID  `json:"id"`
	State    *pasar.State `json:"state"`
	Sentence *string      `json:"sentence"`
	Error    *ErrorView   `json:"error"`
}

// An OutcomesView is what became of all of them, in the order in which they were named.
type OutcomesView struct {
	Schema int           `json:"schema"`
	Jobs   []OutcomeView `json:"jobs"`
}

// Outcomes is what became of jobs. When there was one alone and it was refused, the answer is that error and there
// is no view.
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

// advise adds a hint to a refusal for a job's state, where the daemon has none.
func advise(e *ipc.Error, hint string) *ipc.Error {
	if e.Code != ipc.CodeWrongState || e.Hint != "" {
		return e
	}
	with := *e
	with.Hint = hint
	return &with
}

// AdviseCancel says where to look for how those ended that were over before they could be cancelled.
func AdviseCancel(jobs []ipc.JobOutcome) {
	adviseFinished(jobs, func(id pasar.JobID) string { return fmt.Sprintf("`pasar show %d` says how it ended", id) })
}

// AdviseHold says how those are held that were over already.
func AdviseHold(jobs []ipc.JobOutcome) {
	adviseFinished(jobs, func(id pasar.JobID) string {
		return fmt.Sprintf("`pasar restart %d --hold` queues it again, held", id)
	})
}

func adviseFinished(jobs []ipc.JobOutcome, hint func(pasar.JobID) string) {
	for i := range jobs {
		if o := &jobs[i]; o.Error != nil && o.State.Finished() {
			o.Error = advise(o.Error, hint(o.Job))
		}
	}
}

// AdviseBid says how a job gets the bid after all for which a request about it was refused.
func AdviseBid(e *ipc.Error, req ipc.BidRequest) *ipc.Error {
	if req.Promote {
		return advise(e, fmt.Sprintf("`pasar restart %d` queues it again", req.Job))
	}
	return advise(e, fmt.Sprintf("`pasar restart %d --bid %d` queues it again with that bid", req.Job, req.Bid))
}

// AdviseEdit says how a job is changed after all when it was refused because it had started.
func AdviseEdit(e *ipc.Error, job pasar.JobID) *ipc.Error {
	return advise(e, fmt.Sprintf("`pasar restart %d` takes the same flags, once it has ended", job))
}
