package pasar

import (
	"fmt"
	"time"
)

// CertificateFile is the name of the file, in a job's directory, that has the whole evidence of an attempt's end and
// the verdict.
func CertificateFile(attempt int) string { return fmt.Sprintf("attempt-%d.verdict.json", attempt) }

// Names of the files in an attempt's directory, which has one format everywhere: here, on a fleet
// machine, under Slurm.
const (
	SpecFile   = "spec"         // AttemptSpec as JSON, 0600
	ClaimFile  = "claim"        // Holding as JSON; the supervisor holds a flock on it for life
	OutputFile = "output.log"   // raw bytes, addressed by absolute offset for ever; later segments have their first offset appended: output.log.33554432
	IndexFile  = "index"        // lines about the output: times, sizes, streams, gaps; package attemptdir has its format
	EventsFile = "events.jsonl" // what the job reports; its path is PASAR_EVENTS
	ExitFile   = "exit.json"    // ExitRecord; written by temporary, sync, rename, directory sync
	SupLogFile = "supervisor.log"
	UsageFile  = "usage.json" // what it used over its life; the daemon's, written from time to time

	PauseFile  = "pause"            // appears when the job is asked to save and end; its path is PASAR_PAUSE_FILE
	MarkerFile = "checkpoint.ready" // a Marker, written by the job by rename before it exits ExitPaused; its path is PASAR_CHECKPOINT_READY
)

// ExitPaused is how a job exits that saved because it was asked to (EX_TEMPFAIL of sysexits.h).
const ExitPaused = 75

// An AttemptSpec is all that a supervisor needs to run one attempt.
type AttemptSpec struct {
	Key          AttemptKey   `json:"key"`
	Nonce        string       `json:"nonce"` // random; names the attempt's processes
	Argv         []Arg        `json:"argv"`
	Cwd          Arg          `json:"cwd"`
	Surroundings Surroundings `json:"surroundings"` // Env is final: nothing is added after this
	Cols         int          `json:"cols"`
	Rows         int          `json:"rows"`
	Grace        Duration     `json:"grace"`
	LogMax       Bytes        `json:"log_max,omitempty"` // 0: no bound
	NoPTY        bool         `json:"no_pty,omitempty"`  // pipes instead of a terminal, standard input from /dev/null
	RAM          Bytes        `json:"ram,omitempty"`     // host memory the job may use where a cgroup can hold it to that; 0: no bound
}

// A Place is where a supervisor and its job live, which decides what holds them together.
type Place string

// Places, best first.
const (
	PlaceUnit    Place = "systemd" // a transient service of its own, with a cgroup delegated to it
	PlaceCgroup  Place = "cgroup"  // a cgroup of its own below one delegated to the daemon
	PlaceSession Place = "session" // neither: sessions, process groups, the nonce
)

// A Holding is what a supervisor writes into its claim file before it forks. A claim without one
// has launched nothing.
type Holding struct {
	Key       AttemptKey `json:"key"`
	Nonce     string     `json:"nonce"`
	Boot      string     `json:"boot"`       // boot id of the machine
	Pid       int        `json:"pid"`        // of the supervisor
	StartTime uint64     `json:"start_time"` // of that process, in clock ticks since boot (proc(5), stat field 22)
	Socket    string     `json:"socket"`
	MinProto  int        `json:"min_proto"`
	MaxProto  int        `json:"max_proto"`
	Place     Place      `json:"place,omitempty"`
	Cgroup    string     `json:"cgroup,omitempty"` // directory of the attempt's own cgroup, with sup and job in it; empty: none
}

// An Exit is how a main process ended: by a code or by a signal.
type Exit struct {
	Code   int  `json:"code"`
	Signal int  `json:"signal,omitempty"` // 0: it exited by itself, with Code
	Core   bool `json:"core,omitempty"`
}

// Shell is the status a shell would report: the code, or 128 + signal.
func (e Exit) Shell() int {
	if e.Signal != 0 {
		return 128 + e.Signal
	}
	return e.Code
}

// A StopWhy says who or what asked an attempt to stop.
type StopWhy string

// Why an attempt is asked to stop.
const (
	StopCancel  StopWhy = "cancel"
	StopPreempt StopWhy = "preempt"
	StopPause   StopWhy = "pause"
	StopLimit   StopWhy = "time_limit"

	StopWatchdog StopWhy = "oom" // memory was running out, and it was the one over its limit, or the one to go
)

// A Stop asks an attempt to end. Repeating one with the same ID resumes the sequence and never
// sends a second SIGTERM; a later one with Now set cuts the grace short.
type Stop struct {
	ID    string   `json:"id"`
	Why   StopWhy  `json:"why"`
	By    string   `json:"by,omitempty"`
	Grace Duration `json:"grace"`         // between SIGTERM, or its place in the sequence, and SIGKILL
	Now   bool     `json:"now,omitempty"` // skip the grace: SIGKILL at once

	PauseFile bool     `json:"pause_file,omitempty"` // the pause file appears first
	NoTerm    bool     `json:"no_term,omitempty"`    // SIGTERM is left out; the grace counts from where it would have been
	Wait      Duration `json:"wait,omitempty"`       // from the pause file to SIGTERM: 0 is at once; Forever: no signal until another stop
	For       JobID    `json:"for,omitempty"`        // preempt: the job that is to have the room
	Detail    string   `json:"detail,omitempty"`     // oom: what was seen, with sizes
}

// Forever is a Wait that nothing ends but the job itself or another stop.
const Forever Duration = -1

// A StopStep is how far a stop sequence got.
type StopStep string

// The steps of a stop.
const (
	StepNone StopStep = ""
	StepFile StopStep = "file" // the pause file is there
	StepTerm StopStep = "term" // SIGTERM was sent
	StepKill StopStep = "kill" // SIGKILL was sent
)

// An ExitRecord is the supervisor's last word on an attempt: what happened, never why.
type ExitRecord struct {
	Schema      int        `json:"schema"`
	Key         AttemptKey `json:"key"`
	Nonce       string     `json:"nonce"`
	LaunchError string     `json:"launch_error,omitempty"` // it never ran; then Errno says which system error
	LaunchStep  string     `json:"launch_step,omitempty"`  // chdir, exec, pty, fork, …
	Errno       int        `json:"errno,omitempty"`
	Exit        Exit       `json:"exit"`
	Pid         int        `json:"pid,omitempty"`
	StartedAt   time.Time  `json:"started_at"`
	ExitedAt    time.Time  `json:"exited_at"` // main process reaped and nothing of the job left
	EndedAt     time.Time  `json:"ended_at"`
	RunTime     Duration   `json:"run_time"`        // by the boot-time clock, from fork to ExitedAt
	Output      int64      `json:"output"`          // final offset: bytes the job wrote
	Lines       int64      `json:"lines,omitempty"` // line ends in that; 0 with output: none, or nobody counted
	Dropped     int64      `json:"dropped,omitempty"`
	TailForced  bool       `json:"tail_forced,omitempty"` // something held the terminal past the drain
	Leftovers   int        `json:"leftovers,omitempty"`   // processes that outlived the main one and were stopped
	Stop        *Stop      `json:"stop,omitempty"`
	StopStep    StopStep   `json:"stop_step,omitempty"`
	PeakHost    Bytes      `json:"peak_host,omitempty"` // largest resident set of one process (ru_maxrss)
	UserTime    Duration   `json:"user_time,omitempty"`
	SystemTime  Duration   `json:"system_time,omitempty"`
	Checkpoint  *Event     `json:"checkpoint,omitempty"` // the last one reported
	Progress    *Event     `json:"progress,omitempty"`   // the last one reported
	BadEvents   int        `json:"bad_events,omitempty"`
	Tail        []string   `json:"tail,omitempty"`      // last lines as rendered text, at most TailLines
	Marker      *Marker    `json:"marker,omitempty"`    // what the marker said, if there is one or ought to be
	Screen      []string   `json:"screen,omitempty"`    // the last screen, row by row, if the job drew on one rather than print lines
	Typed       *Typing    `json:"typed,omitempty"`     // the last key to interrupt it that an attached terminal sent
	Asked       bool       `json:"asked,omitempty"`     // while it ran its supervisor was asked to end, by SIGTERM, as services are
	OOMKills    *int64     `json:"oom_kills,omitempty"` // processes of the whole machine that the kernel killed for want of memory while it ran; nil: its cgroup counts, or nobody
	Place       Place      `json:"place,omitempty"`
	Cgroup      *CgroupUse `json:"cgroup,omitempty"` // nil without a cgroup of its own
}

// CgroupUse is what the attempt's cgroup counted from its making, just before the fork, to its end. What
// the kernel or its configuration doesn't count is -1.
type CgroupUse struct {
	MemoryMax  Bytes `json:"memory_max"`  // the smallest limit on it or on a cgroup above; -1: none, or not known
	MemoryPeak Bytes `json:"memory_peak"` // largest use, page cache included
	SwapPeak   Bytes `json:"swap_peak"`
	MaxEvents  int64 `json:"max_events"`     // how often the limit was hit
	OOM        int64 `json:"oom"`            // how often nothing could be reclaimed
	OOMKill    int64 `json:"oom_kill"`       // processes that the kernel killed for it
	PidsMax    int64 `json:"pids_max"`       // forks refused for a limit on processes
	Oomd       int64 `json:"oomd,omitempty"` // processes that systemd-oomd killed, by its word; 0: none, or it doesn't say
	OwnLimit   bool  `json:"own_limit"`      // the limit is the attempt's own, not that of a cgroup above
}

// A Typing is a key that was typed at an attached terminal.
type Typing struct {
	Key Key       `json:"key"`
	At  time.Time `json:"at"`
	By  string    `json:"by"` // whose terminal it was
}

// A Key is one of those that a terminal makes a signal of, unless the program has it otherwise.
type Key string

// Keys that interrupt.
const (
	KeyInterrupt Key = "ctrl-c"
	KeyQuit      Key = `ctrl-\`
)

// A Marker is what a job left to say that it saved and went because it was asked to, as the supervisor
// found it when the job had ended.
type Marker struct {
	Checkpoint string `json:"checkpoint"`        // the path it names; empty: none
	Missing    string `json:"missing,omitempty"` // what is wrong, in words: no marker, damaged, no such file; empty: it holds
}

// TailLines and TailBytes bound the rendered output kept in an exit record.
const (
	TailLines = 40
	TailBytes = 64 << 10
)

// An EventKind is what a job reports.
type EventKind string

// The kinds of event.
const (
	EventCheckpoint EventKind = "checkpoint"
	EventResumed    EventKind = "resumed"
	EventProgress   EventKind = "progress"
	EventNote       EventKind = "note"
)

// An Event is one line a job reported, stamped with the time it was read.
type Event struct {
	Kind       EventKind          `json:"event"`
	At         time.Time          `json:"at"`
	Step       *float64           `json:"step,omitempty"`
	TotalSteps *float64           `json:"total_steps,omitempty"`
	Path       string             `json:"path,omitempty"`
	Text       string             `json:"text,omitempty"`
	Metrics    map[string]float64 `json:"metrics,omitempty"`
}

// A Grant is what an attempt was given.
type Grant struct {
	Machine string    `json:"machine"`
	GPUs    []GPURef  `json:"gpus,omitempty"`
	Claim   Claim     `json:"claim"`
	At      time.Time `json:"at"`
}

// A GPURef names one GPU of a machine.
type GPURef struct {
	Index  int    `json:"index"`
	UUID   string `json:"uuid"`
	Parent string `json:"parent"` // a MIG instance: UUID of the GPU that it is a part of; else empty
}
