package ipc

import (
	"slices"
	"time"

	"pasar"
)

// A Verb names a request.
type Verb string

// Verbs. They are on the wire: never renamed, never reused.
const (
	VerbSubmit   Verb = "submit"
	VerbList     Verb = "list"
	VerbShow     Verb = "show"
	VerbLogs     Verb = "logs"
	VerbWait     Verb = "wait"
	VerbCancel   Verb = "cancel"
	VerbBid      Verb = "bid"
	VerbRestart  Verb = "restart"
	VerbHold     Verb = "hold"
	VerbRelease  Verb = "release"
	VerbStatus   Verb = "status"
	VerbFacts    Verb = "facts"
	VerbAttach   Verb = "attach"
	VerbReload   Verb = "reload"
	VerbShutdown Verb = "shutdown"

	VerbPlanSubmit Verb = "plan_submit"
	VerbPlanBid    Verb = "plan_bid"
	VerbEdit       Verb = "edit"
	VerbPause      Verb = "pause"
	VerbResume     Verb = "resume"
	VerbDrain      Verb = "drain"
	VerbUndrain    Verb = "undrain"
	VerbGPUs       Verb = "gpus"
	VerbStats      Verb = "stats"
	VerbGPUHistory Verb = "gpu_history"

	VerbApprovals Verb = "approvals"
	VerbApprove   Verb = "approve"
	VerbReject    Verb = "reject"
	VerbMetrics   Verb = "metrics"
	VerbEvents    Verb = "events"
	VerbUsage     Verb = "usage"
	VerbDiff      Verb = "diff"

	VerbToken   Verb = "token"
	VerbWeb     Verb = "web"
	VerbChanges Verb = "changes"
)

// A Request describes one verb: the table below is the only list of what a client can ask.
type Request struct {
	Verb     Verb
	Mutating bool   // carries a request id; a repeat gets the first answer
	Stream   bool   // answers with chunks before the answer
	Who      string // who may make it: "owner" is the user the daemon runs as
	Does     string
}

// Requests is every request there is.
var Requests = []Request{
	{VerbSubmit, true, false, "owner", "queue a job, or find the one with the same key"},
	{VerbList, false, true, "owner", "jobs as JSON, one object a line"},
	{VerbShow, false, false, "owner", "one job as JSON"},
	{VerbLogs, false, true, "owner", "an attempt's output from an offset, raw"},
	{VerbWait, false, true, "owner", "one job view a line as each of the jobs ends"},
	{VerbCancel, true, false, "owner", "stop jobs and don't requeue them"},
	{VerbBid, true, false, "owner", "change a job's bid"},
	{VerbRestart, true, false, "owner", "requeue a finished job under its id"},
	{VerbHold, true, false, "owner", "keep waiting jobs from starting"},
	{VerbRelease, true, false, "owner", "end a hold"},
	{VerbStatus, false, false, "owner", "the pool and the queue in a few numbers, as JSON"},
	{VerbFacts, false, true, "owner", "facts as JSON, one object a line"},
	{VerbAttach, false, false, "owner", "where an attempt's supervisor listens"},
	{VerbReload, false, false, "owner", "read the configuration again"},
	{VerbShutdown, false, false, "owner", "end the daemon; jobs go on"},
	{VerbPlanSubmit, false, false, "owner", "what would happen if a job were submitted, as JSON"},
	{VerbPlanBid, false, false, "owner", "what would happen if a job's bid were changed, as JSON"},
	{VerbEdit, true, false, "owner", "change what a waiting job asks for"},
	{VerbPause, true, false, "owner", "ask running jobs to save and leave until they are resumed"},
	{VerbResume, true, false, "owner", "put paused jobs back into the queue"},
	{VerbDrain, true, false, "owner", "let nothing more start on a machine or a GPU"},
	{VerbUndrain, true, false, "owner", "end a drain"},
	{VerbGPUs, false, false, "owner", "every GPU with its memory, use and processes, as JSON"},
	{VerbGPUHistory, false, false, "owner", "how GPUs were used, as JSON"},
	{VerbStats, false, false, "owner", "what became of jobs over a span of time, as JSON"},
	{VerbApprovals, false, false, "owner", "what awaits a person's approval, as JSON"},
	{VerbApprove, true, false, "owner", "approve plans at what they cost at most; only a person may, never an agent"},
	{VerbReject, true, false, "owner", "reject what awaits approval"},
	{VerbMetrics, false, false, "owner", "what an attempt reported of its progress, as JSON"},
	{VerbEvents, false, false, "owner", "what befell a job and what it reported, as JSON"},
	{VerbUsage, false, false, "owner", "what an attempt used over its life, as JSON"},
	{VerbDiff, false, true, "owner", "how a job's code differed from its commit at submit, as git writes it"},
	{VerbToken, false, false, "owner", "the token that HTTP asks of others, or a fresh one"},
	{VerbWeb, false, false, "owner", "an address that signs in the browser which opens it first, or where HTTP is served"},
	{VerbChanges, false, true, "owner", "the jobs that match and the status, then what changes of them, as JSON"},
}

// SubmitRequest queues one job. The daemon sets Spec.Submitter, Spec.UID and Claim.Limit itself.
type SubmitRequest struct {
	Request      string             `msgpack:"request"` // random, made by the client; at most 64 bytes
	Spec         pasar.Spec         `msgpack:"spec"`
	Surroundings pasar.Surroundings `msgpack:"surroundings"`

	// Points make an array or sweep: one job for each, with its values filled into the name, the command and
	// the resume command. Empty: one job.
	Points []pasar.Point `msgpack:"points"`

	Afar *Afar `msgpack:"afar"` // the client is on another machine; nil: it is here, and has said all of the above

	Asked string `msgpack:"asked"` // what a repeat is known by, where the rest depends on when it is made; at most 64 bytes. Empty: the rest
}

// Afar says what the daemon is to fill in, since the client's own surroundings mean nothing on its machine: jobs get the
// daemon's environment, umask and limits, with what Surroundings.Env adds, and a Cwd that is relative, or empty, is below
// its home directory.
type Afar struct {
	NoEnv bool `msgpack:"no_env"` // of its environment only what --no-env leaves
	Bid   bool `msgpack:"bid"`    // the bid is its configuration's; that of the spec isn't used
	Grace bool `msgpack:"grace"`  // the grace, too
}

// SubmitAnswer says what became of a submit.
type SubmitAnswer struct {
	Job      pasar.JobID `msgpack:"job"`
	Existing bool        `msgpack:"existing"` // the key was known: nothing was changed
	State    pasar.State `msgpack:"state"`
	Sentence string      `msgpack:"sentence"` // "starts now", or why it waits
	View     []byte      `msgpack:"view"`     // the job as JSON
	Warning  string      `msgpack:"warning"`  // what threatens jobs on this machine; empty: nothing
	Hint     string      `msgpack:"hint"`     // what to do about that

	Jobs   []pasar.JobID `msgpack:"jobs"`   // of an array or sweep, in the order of its points; Job is the first
	Advice string        `msgpack:"advice"` // what history says, where the claim is far from it; empty: nothing
}

// ListRequest asks for jobs. With no filter: the unfinished ones and the last 20 finished.
// Chunks are JSON objects (pasar.JobView), each ending in a newline; a chunk ends at one.
// Order: running first, then waiting in the order they will be considered, then finished, newest
// first.
type ListRequest struct {
	Jobs      []pasar.JobID `msgpack:"jobs"` // only of these, in this order; unknown ones are an error
	All       bool          `msgpack:"all"`  // every finished job too
	States    []pasar.State `msgpack:"states"`
	Tag       string        `msgpack:"tag"`
	By        string        `msgpack:"by"` // submitter or --by
	Machine   string        `msgpack:"machine"`
	Since     time.Time     `msgpack:"since"` // created or finished then or later
	Until     time.Time     `msgpack:"until"` // created or finished before that; with Since, which is earlier, between the two
	Limit     int           `msgpack:"limit"` // at most so many; 0 is no limit
	Submitter string        `msgpack:"submitter"`
	Group     pasar.JobID   `msgpack:"group"` // only the jobs of this array or sweep
	Last      bool          `msgpack:"last"`  // only the job submitted last (by Submitter, if given)

	Lately time.Time `msgpack:"lately"` // only jobs of which an attempt is under way, or has ended since
}

// Matches reports whether a job passes the request's filters.
func (r *ListRequest) Matches(state pasar.State, spec pasar.Spec, machine string, created, finished time.Time) bool {
	switch {
	case len(r.States) > 0 && !slices.Contains(r.States, state),
		r.Tag != "" && !slices.Contains(spec.Tags, r.Tag),
		r.Group != 0 && spec.Group != r.Group,
		r.By != "" && spec.By != r.By && spec.Submitter != r.By,
		r.Submitter != "" && spec.Submitter != r.Submitter,
		r.Machine != "" && machine != r.Machine,
		!r.within(created) && !r.within(finished):
		return false
	}
	return true
}

// within reports whether something happened in the time that is asked for; a zero time is of what hasn't.
func (r *ListRequest) within(at time.Time) bool {
	if at.IsZero() {
		return false
	}
	return !at.Before(r.Since) && (r.Until.IsZero() || at.Before(r.Until))
}

// ShowRequest asks for one job.
type ShowRequest struct {
	Job pasar.JobID `msgpack:"job"`
}

// ViewAnswer holds one JSON value: a pasar.JobView, StatusView, GPUsView, PlanView,
// StatsView, ApprovalsView, MetricsView, JobEventsView, AttemptUsageView or GPUHistoryView.
type ViewAnswer struct {
	JSON []byte `msgpack:"json"`
}

// WaitRequest waits until jobs have ended. One chunk (a pasar.JobView as JSON) comes for each that
// has, at once for those that had already. The answer (empty) comes when all have, or one with Any.
type WaitRequest struct {
	Jobs    []pasar.JobID `msgpack:"jobs"`
	Any     bool          `msgpack:"any"`
	Started bool          `msgpack:"started"` // until it runs (or has ended) instead

	ThroughPauses bool `msgpack:"through_pauses"` // a pause isn't an end
}

// JobsRequest is a change to some jobs: cancel, hold, release, pause, resume.
type JobsRequest struct {
	Request string        `msgpack:"request"`
	Jobs    []pasar.JobID `msgpack:"jobs"`
	Now     bool          `msgpack:"now"` // cancel: skip the grace
	By      string        `msgpack:"by"`

	KillAfter *pasar.Duration `msgpack:"kill_after"` // pause: stop it like any other if it hasn't saved and left by then; nil: never
}

// JobsAnswer says what became of each job, in the order asked.
type JobsAnswer struct {
	Jobs []JobOutcome `msgpack:"jobs"`
}

// A JobOutcome is one job's part of a change to several.
type JobOutcome struct {
	Job      pasar.JobID `msgpack:"job" json:"id"`
	State    pasar.State `msgpack:"state" json:"state"`
	Sentence string      `msgpack:"sentence" json:"sentence"` // "cancelled", "was already completed", …
	Error    *Error      `msgpack:"error" json:"error"`       // this job's refusal
}

// BidRequest changes one job's bid.
type BidRequest struct {
	Request string      `msgpack:"request"`
	Job     pasar.JobID `msgpack:"job"`
	Bid     pasar.Bid   `msgpack:"bid"` // not used with Promote
	By      string      `msgpack:"by"`

	Preempt bool `msgpack:"preempt"` // a waiting job may stop running ones with a lower bid, once
	Promote bool `msgpack:"promote"` // one more than the best bid of those that wait
}

// RestartRequest requeues a finished job. Fields that are nil stay as they were.
type RestartRequest struct {
	Request string          `msgpack:"request"`
	Job     pasar.JobID     `msgpack:"job"`
	By      string          `msgpack:"by"`
	Bid     *pasar.Bid      `msgpack:"bid"`
	Claim   *pasar.Claim    `msgpack:"claim"`
	Time    *pasar.Duration `msgpack:"time"`
	Grace   *pasar.Duration `msgpack:"grace"`
	Name    *string         `msgpack:"name"`
	Note    *string         `msgpack:"note"`
	Hold    bool            `msgpack:"hold"`

	Preempt bool   `msgpack:"preempt"` // must be asked for again
	More    Change `msgpack:"more"`
	Asked   string `msgpack:"asked"` // as of SubmitRequest
}

// EditRequest changes what a waiting or paused job asks for. Fields that are nil stay as they were.
type EditRequest struct {
	Request string          `msgpack:"request"`
	Job     pasar.JobID     `msgpack:"job"`
	By      string          `msgpack:"by"`
	Claim   *pasar.Claim    `msgpack:"claim"`
	Time    *pasar.Duration `msgpack:"time"`
	Grace   *pasar.Duration `msgpack:"grace"`
	Name    *string         `msgpack:"name"`
	Note    *string         `msgpack:"note"`
	Tags    *[]string       `msgpack:"tags"`
	More    Change          `msgpack:"more"`
	Asked   string          `msgpack:"asked"` // as of SubmitRequest
}

// A Change is what restart and edit may both change. Fields that are nil stay as they were.
type Change struct {
	TimeLimit       *pasar.Duration     `msgpack:"time_limit"`
	NonPreemptible  *bool               `msgpack:"non_preemptible"`
	Pausable        *bool               `msgpack:"pausable"`
	ResumeCommand   *[]pasar.Arg        `msgpack:"resume_command"`
	CheckpointGrace *pasar.Duration     `msgpack:"checkpoint_grace"`
	NoSigterm       *bool               `msgpack:"no_sigterm"`
	Retries         *int                `msgpack:"retries"`
	RetryOn         *[]pasar.Code       `msgpack:"retry_on"`
	After           *[]pasar.Dependency `msgpack:"after"`
	Begin           *time.Time          `msgpack:"begin"`
	MaxConcurrent   *int                `msgpack:"max_concurrent"` // of the whole group
	Visible         *string             `msgpack:"visible"`
}

// DrainRequest lets nothing more start on a machine or a GPU, or ends that.
type DrainRequest struct {
	Request string `msgpack:"request"`
	Machine string `msgpack:"machine"` // empty: local
	GPU     string `msgpack:"gpu"`     // index, UUID or the beginning of one; empty: the whole machine
	Why     string `msgpack:"why"`
	By      string `msgpack:"by"`
}

// StatsRequest asks what became of jobs.
type StatsRequest struct {
	Since time.Time `msgpack:"since"` // jobs that ended since; zero: all
	By    string    `msgpack:"by"`    // day, tag, submitter, machine or reason; empty: day
}

// How many points a history of GPUs may have.
const (
	DefaultGPUPoints = 720
	MaxGPUPoints     = 8640 // all that is kept: 24 h at 10 s
)

// GPUHistoryRequest asks how GPUs were used. Of more than the last 24 h a Prometheus is asked, if one is configured; else it
// isn't known, and isn't an error.
type GPUHistoryRequest struct {
	Since  time.Time `msgpack:"since"`  // zero: 24 h before Until
	Until  time.Time `msgpack:"until"`  // zero: now
	Points int       `msgpack:"points"` // of each GPU at most so many, 1 to 8640; fewer of more than two GPUs. 0: 720
}

// FactsRequest asks for facts after a sequence number; Since -1 is "from now on".
type FactsRequest struct {
	Since  int64 `msgpack:"since"`
	Follow bool  `msgpack:"follow"`
}

// AttachRequest asks where the supervisor of a job's current or latest attempt listens.
type AttachRequest struct {
	Job pasar.JobID `msgpack:"job"`
}

// AttachAnswer is where to attach. Socket is empty when nothing runs; State then says why.
type AttachAnswer struct {
	Attempt int         `msgpack:"attempt"`
	Socket  string      `msgpack:"socket"`
	State   pasar.State `msgpack:"state"`
}

// ReloadAnswer says which settings changed, and which need a restart to take effect.
type ReloadAnswer struct {
	Changed []string `msgpack:"changed"`
	Restart []string `msgpack:"restart"`
}

// ApproveRequest approves plans, all of them or none. Only a person may make it: a console or a web page in front of one.
type ApproveRequest struct {
	Request string      `msgpack:"request"`
	Plans   []PlanRef   `msgpack:"plans"`
	AtMost  pasar.Money `msgpack:"at_most"` // what the person typed: the sum of what the plans cost at most
	By      string      `msgpack:"by"`
}

// A PlanRef names the plan of a job's that is meant: if it has changed since, it isn't approved.
type PlanRef struct {
	Job  pasar.JobID `msgpack:"job"`
	Plan string      `msgpack:"plan"`
}

// RejectRequest rejects plans. A job that awaited approval is cancelled; one that asked for more time goes on with what it has.
type RejectRequest struct {
	Request string    `msgpack:"request"`
	Plans   []PlanRef `msgpack:"plans"`
	Why     string    `msgpack:"why"`
	By      string    `msgpack:"by"`
}

// MetricsRequest asks for the progress that an attempt reported.
type MetricsRequest struct {
	Job     pasar.JobID `msgpack:"job"`
	Attempt int         `msgpack:"attempt"` // 0: the latest
}

// EventsRequest asks what befell a job.
type EventsRequest struct {
	Job     pasar.JobID `msgpack:"job"`
	Attempt int         `msgpack:"attempt"` // only what is of this one; 0: all
}

// UsageRequest asks what an attempt used over its life.
type UsageRequest struct {
	Job     pasar.JobID `msgpack:"job"`
	Attempt int         `msgpack:"attempt"` // 0: the latest
	Points  int         `msgpack:"points"`  // at most so many; 0: pasar.MaxUsagePoints, which is the most
}

// TokenRequest asks for the token of the daemon's HTTP side.
type TokenRequest struct {
	Fresh bool `msgpack:"fresh"` // another one: the old one, and every browser signed in, is out
}

// TokenAnswer is the token.
type TokenAnswer struct {
	Token string `msgpack:"token"`
}

// WebRequest asks for an address to open in a browser.
type WebRequest struct {
	Where bool `msgpack:"where"` // only where that is: the address signs nobody in
}

// WebAnswer is that address. One that signs in works once, for ten minutes.
type WebAnswer struct {
	URL       string       `msgpack:"url"`
	Addresses []WebAddress `msgpack:"addresses"` // each that is listened on, that of URL first
}

// A WebAddress is one that HTTP is served on, if nothing is in the way.
type WebAddress struct {
	Address string `msgpack:"address"` // host:port
	Why     string `msgpack:"why"`     // why it isn't served; empty: it is
}

// ChangesRequest asks for jobs, and then for what changes of them until the client cancels. The stream is
// of JSON objects (pasar.ChangesView), each ending in a newline and without another inside; chunks end
// anywhere.
type ChangesRequest struct {
	List ListRequest `msgpack:"list"` // which jobs; those named in Jobs are followed also past their end
}

// Empty is the body of requests and answers that say nothing more.
type Empty struct{}
