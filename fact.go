package pasar

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// A Fact is something that happened, as the daemon journals it. State is a fold over facts and
// nothing else, so a fact carries every value that applying it needs.
type Fact interface{ Kind() FactKind }

// A FactKind names a type of fact. Kinds are on disk for good: never renamed, never reused.
type FactKind string

// A Record is a fact with its place in the journal and its time by two clocks.
type Record struct {
	Seq  int64     // from 1, without gaps
	At   time.Time // wall clock
	Mono Duration  // CLOCK_BOOTTIME, so that durations hold over clock jumps and suspends
	Boot string    // boot id that Mono belongs to
	Fact Fact
}

// DaemonStarted opens each life of the daemon.
type DaemonStarted struct {
	Pid     int    `json:"pid"`
	Version string `json:"version"`
}

// Submitted is a new job. Its surroundings are stored beside the journal, not in it.
type Submitted struct {
	Job  JobID `json:"job"`
	Spec Spec  `json:"spec"`
}

// BidChanged is a new bid for a job.
type BidChanged struct {
	Job JobID  `json:"job"`
	Bid Bid    `json:"bid"`
	By  string `json:"by,omitempty"`

	Preempt bool `json:"preempt,omitempty"` // it may now stop running jobs to start
}

// Edited is what was asked for of a waiting job, changed: all of it.
type Edited struct {
	Job  JobID  `json:"job"`
	Spec Spec   `json:"spec"`
	By   string `json:"by,omitempty"`
}

// ResumeAsked puts a paused job back into the queue, at its old place.
type ResumeAsked struct {
	Job JobID  `json:"job"`
	By  string `json:"by,omitempty"`
}

// Drained keeps anything from starting on a machine, or on one GPU of it.
type Drained struct {
	Machine string `json:"machine"`
	GPU     string `json:"gpu,omitempty"` // UUID; empty: the whole machine
	Health  Health `json:"health"`
	By      string `json:"by,omitempty"`
}

// Undrained ends a drain, a person's or one for a fault.
type Undrained struct {
	Machine string `json:"machine"`
	GPU     string `json:"gpu,omitempty"`
	By      string `json:"by,omitempty"` // empty: the daemon saw that it is mended
}

// XidSeen is an Xid of a GPU on which jobs ran, or that changes what may run there.
type XidSeen struct {
	Machine string  `json:"machine"`
	Xid     Xid     `json:"xid"`
	Jobs    []JobID `json:"jobs,omitempty"` // tenants of that GPU then
}

// A Sequel is what follows for a job from the end of an attempt.
type Sequel struct {
	State     State     `json:"state"`               // queued again, or paused; empty: the end is for good
	NotBefore time.Time `json:"not_before,omitzero"` // queued: not started before
	Retry     bool      `json:"retry,omitempty"`     // queued: it counts against --retries
	Mem       Bytes     `json:"mem,omitempty"`       // queued: its slice is raised to this
	Limit     Bytes     `json:"limit,omitempty"`     // of the raised slice
}

// Held takes a waiting job out of the running until Released.
type Held struct {
	Job JobID  `json:"job"`
	By  string `json:"by,omitempty"`
}

// Released ends a hold.
type Released struct {
	Job JobID  `json:"job"`
	By  string `json:"by,omitempty"`
}

// CancelledWaiting ends a job that had no attempt under way.
type CancelledWaiting struct {
	Job     JobID   `json:"job"`
	By      string  `json:"by,omitempty"`
	Verdict Verdict `json:"verdict"`
}

// StopAsked is the decision to stop the current attempt.
type StopAsked struct {
	Job     JobID `json:"job"`
	Attempt int   `json:"attempt"`
	Stop    Stop  `json:"stop"`
}

// Launched is the decision to start an attempt: journaled before the target is asked.
type Launched struct {
	Job     JobID  `json:"job"`
	Attempt int    `json:"attempt"`
	Nonce   string `json:"nonce"`
	Grant   Grant  `json:"grant"`
}

// Started means that the attempt's process exists.
type Started struct {
	Job     JobID     `json:"job"`
	Attempt int       `json:"attempt"`
	Pid     int       `json:"pid"`
	At      time.Time `json:"at"`
}

// Exited means that the main process was reaped and nothing that it started is left: the claim is free.
type Exited struct {
	Job     JobID `json:"job"`
	Attempt int   `json:"attempt"`
	Exit    Exit  `json:"exit"`
}

// Ended is the end of an attempt, with its whole record on disk. Only now are waiters answered.
type Ended struct {
	Job      JobID      `json:"job"`
	Attempt  int        `json:"attempt"`
	Exit     ExitRecord `json:"exit"`
	Verdict  Verdict    `json:"verdict"`
	Sequel   Sequel     `json:"sequel,omitzero"`
	PeakGPU  *Bytes     `json:"peak_gpu,omitempty"`  // largest seen use of GPU memory, of all of its GPUs together; nil: nobody looked
	PeakHost *Bytes     `json:"peak_host,omitempty"` // largest seen use of host memory, of all of its processes together; nil: nobody looked

	Certified bool `json:"certified,omitempty"` // its certificate was kept
}

// Lost is the end of an attempt whose end nobody saw.
type Lost struct {
	Job      JobID   `json:"job"`
	Attempt  int     `json:"attempt"`
	Verdict  Verdict `json:"verdict"`
	Sequel   Sequel  `json:"sequel,omitzero"`
	PeakGPU  *Bytes  `json:"peak_gpu,omitempty"`
	PeakHost *Bytes  `json:"peak_host,omitempty"`

	Certified bool `json:"certified,omitempty"`
}

// Restarted requeues a finished job under the same id with a new queue time. The job has left
// memory, so the fact brings all of it back.
type Restarted struct {
	Job      JobID           `json:"job"`
	Spec     Spec            `json:"spec"`
	By       string          `json:"by,omitempty"`
	Was      State           `json:"was"` // how it had ended
	Attempts []AttemptRecord `json:"attempts"`
	Git      *Git            `json:"git,omitempty"`
	Created  time.Time       `json:"created"`
	Happened []Happening     `json:"happened,omitempty"`

	Forgotten int `json:"forgotten,omitempty"` // what had happened and was dropped
}

// MaxNotes is how many notes of an attempt are kept in its record.
const MaxNotes = 20

// Reported is an event that a record needs: a checkpoint, a resume, a note. Progress is not a fact.
type Reported struct {
	Job     JobID `json:"job"`
	Attempt int   `json:"attempt"`
	Event   Event `json:"event"`
}

// GitRead is what git said of the working directory, read after the submit was answered.
type GitRead struct {
	Job  JobID `json:"job"`
	More int   `json:"more,omitempty"` // so many jobs after it, of its array or sweep, have the same
	Git  Git   `json:"git"`
}

// Answered remembers what a mutating request was answered, so that a repeat gets the same.
type Answered struct {
	Request string  `json:"request"`
	Verb    string  `json:"verb"`
	Asked   string  `json:"asked,omitempty"` // what it asked, as a hash; empty: by a version that didn't keep it
	Jobs    []JobID `json:"jobs,omitempty"`
	Count   int     `json:"count,omitempty"` // submit: so many jobs from the first of Jobs on; 0: Jobs has all
	// Existing: a submit whose key was known; it made no job.
	Existing bool `json:"existing,omitempty"`
}

// MachineSeen is what a machine has to give, whenever that changes.
type MachineSeen struct {
	Inventory Inventory `json:"inventory"`
}

// Incident is something about the machine that people should see.
type Incident struct {
	Machine string `json:"machine"`
	What    string `json:"what"`
	Detail  string `json:"detail"`
}

// Git is the state of the code at submit.
type Git struct {
	Commit string `json:"commit"`
	Dirty  bool   `json:"dirty"`
}

// An AttemptRecord is the history of one attempt.
type AttemptRecord struct {
	Attempt    int         `json:"attempt"`
	Nonce      string      `json:"nonce"`
	Grant      Grant       `json:"grant"`
	LaunchedAt time.Time   `json:"launched_at"`
	LaunchBoot string      `json:"launch_boot,omitempty"` // boot id of then: another boot's attempts are over
	StartedAt  time.Time   `json:"started_at,omitzero"`
	EndedAt    time.Time   `json:"ended_at,omitzero"`
	StartMono  Duration    `json:"start_mono,omitempty"` // CLOCK_BOOTTIME at the start, of boot StartBoot
	StartBoot  string      `json:"start_boot,omitempty"`
	RunTime    Duration    `json:"run_time,omitempty"`
	Pid        int         `json:"pid,omitempty"`
	Stop       *Stop       `json:"stop,omitempty"`
	Exited     *Exit       `json:"exited,omitempty"` // known before the record is
	Exit       *ExitRecord `json:"exit,omitempty"`
	Verdict    *Verdict    `json:"verdict,omitempty"`
	Checkpoint *Event      `json:"checkpoint,omitempty"`
	Resumed    *Event      `json:"resumed,omitempty"`
	Notes      []Event     `json:"notes,omitempty"` // the last MaxNotes
	PeakGPU    *Bytes      `json:"peak_gpu,omitempty"`
	PeakHost   *Bytes      `json:"peak_host,omitempty"` // as it was seen; Exit has what the kernel counted
	Xids       []Xid       `json:"xids,omitempty"`      // of its GPUs while it ran, the last MaxXids

	Certified bool `json:"certified,omitempty"` // the whole evidence of its end was kept in a file

	Waited        Duration `json:"waited,omitempty"`         // in the queue, before it
	CheckpointRan Duration `json:"checkpoint_ran,omitempty"` // how long it had run by the boot clock at Checkpoint, and at Resumed; 0: not known
	ResumedRan    Duration `json:"resumed_ran,omitempty"`
	Sequel        Sequel   `json:"sequel,omitzero"`
}

// MaxXids is how many Xids of an attempt are kept in its record.
const MaxXids = 20

// Kinds of fact.
const (
	KindDaemonStarted    FactKind = "daemon_started"
	KindSubmitted        FactKind = "submitted"
	KindBidChanged       FactKind = "bid_changed"
	KindHeld             FactKind = "held"
	KindReleased         FactKind = "released"
	KindCancelledWaiting FactKind = "cancelled_waiting"
	KindStopAsked        FactKind = "stop_asked"
	KindLaunched         FactKind = "launched"
	KindStarted          FactKind = "started"
	KindExited           FactKind = "exited"
	KindEnded            FactKind = "ended"
	KindLost             FactKind = "lost"
	KindRestarted        FactKind = "restarted"
	KindReported         FactKind = "reported"
	KindGitRead          FactKind = "git_read"
	KindAnswered         FactKind = "answered"
	KindMachineSeen      FactKind = "machine_seen"
	KindIncident         FactKind = "incident"
	KindEdited           FactKind = "edited"
	KindResumeAsked      FactKind = "resume_asked"
	KindDrained          FactKind = "drained"
	KindUndrained        FactKind = "undrained"
	KindXidSeen          FactKind = "xid_seen"
)

// Kind implements Fact.
func (DaemonStarted) Kind() FactKind    { return KindDaemonStarted }
func (Submitted) Kind() FactKind        { return KindSubmitted }
func (BidChanged) Kind() FactKind       { return KindBidChanged }
func (Held) Kind() FactKind             { return KindHeld }
func (Released) Kind() FactKind         { return KindReleased }
func (CancelledWaiting) Kind() FactKind { return KindCancelledWaiting }
func (StopAsked) Kind() FactKind        { return KindStopAsked }
func (Launched) Kind() FactKind         { return KindLaunched }
func (Started) Kind() FactKind          { return KindStarted }
func (Exited) Kind() FactKind           { return KindExited }
func (Ended) Kind() FactKind            { return KindEnded }
func (Lost) Kind() FactKind             { return KindLost }
func (Restarted) Kind() FactKind        { return KindRestarted }
func (Reported) Kind() FactKind         { return KindReported }
func (GitRead) Kind() FactKind          { return KindGitRead }
func (Answered) Kind() FactKind         { return KindAnswered }
func (MachineSeen) Kind() FactKind      { return KindMachineSeen }
func (Incident) Kind() FactKind         { return KindIncident }
func (Edited) Kind() FactKind           { return KindEdited }
func (ResumeAsked) Kind() FactKind      { return KindResumeAsked }
func (Drained) Kind() FactKind          { return KindDrained }
func (Undrained) Kind() FactKind        { return KindUndrained }
func (XidSeen) Kind() FactKind          { return KindXidSeen }

// decoders has one entry per kind; a test holds that none is missing.
var decoders = map[FactKind]func([]byte) (Fact, error){
	KindDaemonStarted:    decode[DaemonStarted],
	KindSubmitted:        decode[Submitted],
	KindBidChanged:       decode[BidChanged],
	KindHeld:             decode[Held],
	KindReleased:         decode[Released],
	KindCancelledWaiting: decode[CancelledWaiting],
	KindStopAsked:        decode[StopAsked],
	KindLaunched:         decode[Launched],
	KindStarted:          decode[Started],
	KindExited:           decode[Exited],
	KindEnded:            decode[Ended],
	KindLost:             decode[Lost],
	KindRestarted:        decode[Restarted],
	KindReported:         decode[Reported],
	KindGitRead:          decode[GitRead],
	KindAnswered:         decode[Answered],
	KindMachineSeen:      decode[MachineSeen],
	KindIncident:         decode[Incident],
	KindXidSeen:          decode[XidSeen],
	KindUndrained:        decode[Undrained],
	KindDrained:          decode[Drained],
	KindResumeAsked:      decode[ResumeAsked],
	KindEdited:           decode[Edited],
}

func decode[F Fact](b []byte) (Fact, error) {
	var f F
	err := json.Unmarshal(b, &f)
	return f, err
}

// recordHead is what every encoded record has. The fact's own keys stand in "fact".
type recordHead struct {
	Seq  int64           `json:"seq"`
	Kind FactKind        `json:"kind"`
	At   time.Time       `json:"at"`
	Mono Duration        `json:"mono"`
	Boot string          `json:"boot"`
	Fact json.RawMessage `json:"fact"`
}

// MarshalJSON encodes a record as one object with seq, kind, at, mono, boot and fact.
func (r Record) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil) }

// AppendJSON appends what json.Marshal makes of a record. It is written out because the facts of thousands
// of jobs may be journaled at one go, and each would be read through twice more.
func (r Record) AppendJSON(dst []byte) ([]byte, error) {
	body, err := json.Marshal(r.Fact)
	if err != nil {
		return nil, fmt.Errorf("encode fact %s: %w", r.Fact.Kind(), err)
	}
	boot, err := json.Marshal(r.Boot)
	if err != nil {
		return nil, fmt.Errorf("encode boot id: %w", err)
	}
	if y := r.At.UTC().Year(); y < 0 || y > 9999 { // as time's own
		return nil, fmt.Errorf("encode fact %s: year %d is outside 0..9999", r.Fact.Kind(), y)
	}
	dst = slices.Grow(dst, len(body)+160)
	dst = strconv.AppendInt(append(dst, `{"seq":`...), r.Seq, 10)
	dst = append(append(dst, `,"kind":"`...), r.Fact.Kind()...)
	dst = r.At.UTC().AppendFormat(append(dst, `","at":"`...), time.RFC3339Nano)
	dst = strconv.AppendFloat(append(dst, `","mono":`...), r.Mono.Seconds(), 'f', -1, 64)
	dst = append(append(dst, `,"boot":`...), boot...)
	dst = append(append(dst, `,"fact":`...), body...)
	return append(dst, '}'), nil
}

// UnmarshalJSON decodes a record. An unknown kind is an error: a daemon that doesn't understand a
// fact must not pretend to know the state.
func (r *Record) UnmarshalJSON(b []byte) error {
	var h recordHead
	if err := json.Unmarshal(b, &h); err != nil {
		return fmt.Errorf("decode record: %w", err)
	}
	dec, ok := decoders[h.Kind]
	if !ok {
		return fmt.Errorf("decode record %d: unknown kind of fact %q", h.Seq, Clean(string(h.Kind)))
	}
	f, err := dec(h.Fact)
	if err != nil {
		return fmt.Errorf("decode record %d (%s): %w", h.Seq, h.Kind, err)
	}
	*r = Record{h.Seq, h.At, h.Mono, h.Boot, f}
	return nil
}
