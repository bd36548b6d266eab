package pasar

import "time"

// An ApprovalsView is what awaits a person's approval, since it costs money: the answer of the request `approvals`.
type ApprovalsView struct {
	Schema   int            `json:"schema"`
	Mode     string         `json:"mode"`     // how approving is done: "amount", typing what it costs at most; or "ssh-key", signing the plan
	Requests []ApprovalView `json:"requests"` // the one to be decided first, first
}

// An ApprovalKind is what an approval is about.
type ApprovalKind string

// Kinds of approval.
const (
	ApproveStart ApprovalKind = "start" // a paid attempt of a job that is awaiting
	ApproveMore  ApprovalKind = "more"  // more time for a running attempt, which won't finish in what it has
)

// An ApprovalView is one thing to approve: the plan that would be carried out, and what it costs.
type ApprovalView struct {
	ID        JobID         `json:"id"`
	Name      string        `json:"name"`
	Kind      ApprovalKind  `json:"kind"`
	Plan      string        `json:"plan"` // hash of all of it: what is approved is this plan and no other
	Submitter string        `json:"submitter"`
	By        *string       `json:"by"`
	Command   string        `json:"command"` // as a shell would need it, cleaned
	Code      CodeView      `json:"code"`
	Target    string        `json:"target"`
	GPU       string        `json:"gpu"`      // "1 × H100", as the provider names it
	Time      *Duration     `json:"time"`     // that it is expected to take, or of the time asked for
	Estimate  Money         `json:"estimate"` // what that costs
	AtMost    Money         `json:"at_most"`  // what approving it can cost: there the attempt is paused
	Budget    BudgetView    `json:"budget"`
	Since     time.Time     `json:"since"`
	Expires   *time.Time    `json:"expires"` // then a job that awaits is cancelled
	Warning   *string       `json:"warning"` // what to look at before approving it; null: nothing
	Progress  *ProgressView `json:"progress"`
}

// A CodeView is the code that would run.
type CodeView struct {
	Hash   *string `json:"hash"`   // of the bundle that travels
	Commit *string `json:"commit"` // null: not from a git repository
	Dirty  bool    `json:"dirty"`  // with changes that aren't committed
	Diff   *string `json:"diff"`   // what they are in one line: "3 files, +120 −4"
}

// A BudgetView is what is left to spend at a target; null is no such budget.
type BudgetView struct {
	Daily   *Money `json:"daily"`
	Monthly *Money `json:"monthly"`
}

// A MetricsView is what an attempt reported of its progress: the answer of the request `metrics`. A long series is
// thinned out evenly; its last point is always the latest report.
type MetricsView struct {
	Schema  int            `json:"schema"`
	ID      JobID          `json:"id"`
	Attempt int            `json:"attempt"`
	Points  []MetricsPoint `json:"points"` // oldest first, at most MaxMetrics
}

// MaxMetrics is how many points a MetricsView has at most.
const MaxMetrics = 512

// A MetricsPoint is one report.
type MetricsPoint struct {
	At      *time.Time         `json:"at"` // null: not known any more
	Step    *float64           `json:"step"`
	Total   *float64           `json:"total"`
	Metrics map[string]float64 `json:"metrics"`
}
