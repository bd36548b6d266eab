package pasar

import "time"

// A PlanView says what would happen if a job were submitted, or its bid changed: the answer of
// `submit --dry-run` and `bid --dry-run`. Nothing has changed by asking.
type PlanView struct {
	Schema  int            `json:"schema"`
	Claim   ClaimView      `json:"claim"` // as understood, with its limit
	Jobs    []PlannedJob   `json:"jobs"`  // what was asked about, in order of id; a new job has the id it would get
	Delayed []DelayedJob   `json:"delayed"`
	Stopped []PreemptedJob `json:"stopped"` // what would be preempted now
	Limit   bool           `json:"limit"`   // the queue is too long to look to its end: later starts aren't known
}

// A PlannedJob is when and where a job would run, by the estimates.
type PlannedJob struct {
	ID       JobID        `json:"id"`
	Now      bool         `json:"now"` // it would start at once
	Start    *time.Time   `json:"start"`
	Finish   *time.Time   `json:"finish"`
	Before   *time.Time   `json:"before"` // the start projected without the change; null: it is new, or not known
	Machine  *string      `json:"machine"`
	GPUs     []GPURef     `json:"gpus"`
	Waiting  *WaitingView `json:"waiting"` // why it wouldn't start at once
	Sentence string       `json:"sentence"`
}

// A DelayedJob is a waiting job that would start later than without the change.
type DelayedJob struct {
	ID    JobID      `json:"id"`
	Name  string     `json:"name"`
	From  time.Time  `json:"from"`
	To    *time.Time `json:"to"` // null: not known
	Delay *Duration  `json:"delay"`
}

// A PreemptedJob is a running job that would be asked to stop, and what it would lose.
type PreemptedJob struct {
	ID       JobID     `json:"id"`
	Name     string    `json:"name"`
	Bid      Bid       `json:"bid"`
	RunTime  *Duration `json:"run_time"`
	Loses    *Duration `json:"loses"` // work since its last checkpoint, or all of it; null: it never reports events, so not known
	Pausable bool      `json:"pausable"`
}
