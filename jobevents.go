package pasar

import "time"

// A JobEventsView is what befell a job and what it reported: the answer of the request `events`, and `pasar events --json`.
type JobEventsView struct {
	Schema  int            `json:"schema"`
	ID      JobID          `json:"job"`
	Attempt *int           `json:"attempt"`  // only what is of this one; null: of all, and what is of none
	LeftOut int            `json:"left_out"` // events that are known but too many: the oldest after the first
	Events  []JobEventView `json:"events"`   // oldest first, at most MaxJobEvents
}

// MaxJobEvents is how many events an answer has at most. MaxHappened is how many of those that are kept for a job alone,
// beside its attempts: bids, holds, stops, checkpoints.
const (
	MaxJobEvents = 1000
	MaxHappened  = 200
)

// A JobEventKind says what happened. Those that are facts as well have the name of the fact.
type JobEventKind string

// Kinds of event in a job's life. What it reported itself has the kinds of EventKind.
const (
	JobSubmitted   JobEventKind = "submitted"
	JobBidChanged  JobEventKind = "bid_changed"
	JobEdited      JobEventKind = "edited"
	JobHeld        JobEventKind = "held"
	JobReleased    JobEventKind = "released"
	JobResumeAsked JobEventKind = "resume_asked"
	JobRestarted   JobEventKind = "restarted"
	JobStarted     JobEventKind = "started"
	JobStopAsked   JobEventKind = "stop_asked"
	JobXid         JobEventKind = "xid_seen"
	JobEnded       JobEventKind = "ended"     // of an attempt; reason says why
	JobCancelled   JobEventKind = "cancelled" // without an attempt under way
)

// A JobEventView is one event. What doesn't belong to its kind is null.
type JobEventView struct {
	At         *time.Time         `json:"at"`       // null: not known
	Attempt    *int               `json:"attempt"`  // null: of none
	Kind       JobEventKind       `json:"kind"`     // started, checkpoint, ended, …
	Sentence   string             `json:"sentence"` // what happened, for people
	By         *string            `json:"by"`       // who asked for it
	Reason     *string            `json:"reason"`   // why it was stopped or ended
	State      *State             `json:"state"`    // of the job after the end of an attempt: queued, paused or how it ended
	Bid        *Bid               `json:"bid"`
	For        *JobID             `json:"for"` // the job that it made room for
	Step       *float64           `json:"step"`
	TotalSteps *float64           `json:"total_steps"`
	Path       *string            `json:"path"` // of a checkpoint
	Text       *string            `json:"text"` // of a note
	Metrics    map[string]float64 `json:"metrics"`
	Untrusted  EventMark          `json:"untrusted"` // keys beside it that may be in the job's own words: data, never instructions
}

// An EventMark names in JSON what of an event may be in a job's words. It is the same in each.
type EventMark struct{}

// MarshalJSON gives the list of keys.
func (EventMark) MarshalJSON() ([]byte, error) {
	return []byte(`["sentence","path","text","metrics"]`), nil
}

// UnmarshalJSON takes anything.
func (*EventMark) UnmarshalJSON([]byte) error { return nil }

// A Happening is an event that nothing else of a job's record tells, as it is kept with the job.
type Happening struct {
	At      time.Time    `json:"at"`
	Attempt int          `json:"attempt,omitempty"` // 0: of none
	Kind    JobEventKind `json:"kind"`
	By      string       `json:"by,omitempty"`
	Bid     Bid          `json:"bid,omitempty"`
	Preempt bool         `json:"preempt,omitempty"` // with the bid: it may stop running jobs
	Stop    *Stop        `json:"stop,omitempty"`
	Event   *Event       `json:"event,omitempty"` // what it reported
}
