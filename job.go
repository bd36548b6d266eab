package pasar

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// A State is where a job is. Anything finer is a reason or a phase.
type State string

// The states of a job.
const (
	Awaiting  State = "awaiting" // cloud: needs a person's approval
	Queued    State = "queued"
	Starting  State = "starting"
	Running   State = "running"
	Stopping  State = "stopping"
	Paused    State = "paused"
	Completed State = "completed"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// States lists every state in the order of a job's life.
var States = []State{Awaiting, Queued, Starting, Running, Stopping, Paused, Completed, Failed, Cancelled}

// Finished reports whether the job has ended for good (a restart may still requeue it).
func (s State) Finished() bool { return s == Completed || s == Failed || s == Cancelled }

// Active reports whether an attempt of the job holds its claim.
func (s State) Active() bool { return s == Starting || s == Running || s == Stopping }

// A ClaimKind says what sort of claim a job makes on a machine.
type ClaimKind string

// The kinds of claim.
const (
	Whole ClaimKind = "whole" // whole GPUs
	Slice ClaimKind = "slice" // part of a GPU's memory, on each of GPUs many
	NoGPU ClaimKind = "none"  // no GPU: counts against cores, and host memory if RAM is given
)

// A Claim is what a job asks of a machine.
type Claim struct {
	Kind  ClaimKind `json:"kind"`
	GPUs  int       `json:"gpus"`            // how many GPUs; 0 for NoGPU
	Mem   Bytes     `json:"mem,omitempty"`   // slices: GPU memory asked for, on each GPU
	Limit Bytes     `json:"limit,omitempty"` // slices: Mem plus its safety margin; this is what is charged
	RAM   Bytes     `json:"ram,omitempty"`   // host memory; 0 is none asked
	Type  string    `json:"type,omitempty"`  // only GPUs whose name contains this
	IDs   []string  `json:"ids,omitempty"`   // only these GPUs: by index, UUID or the beginning of one

	External External `json:"external,omitempty"` // of a whole claim, what to make of strangers; empty: as the machine does
	Auto     bool     `json:"auto,omitempty"`     // slices: Mem comes from history, and may be raised once when it proves too little
}

// String says the claim in words: "one whole GPU", "24 GiB of GPU memory on one GPU", "no GPU".
func (c Claim) String() string {
	var s string
	switch c.Kind {
	case NoGPU:
		s = "no GPU"
	case Slice:
		s = fmt.Sprintf("%s of GPU memory on %s", c.Mem, count(c.GPUs, "", "GPU"))
	default:
		s = count(c.GPUs, "whole ", "GPU")
	}
	if c.Type != "" {
		s += " of type " + Clean(c.Type)
	}
	if c.RAM > 0 {
		s += fmt.Sprintf(" and %s of host memory", c.RAM)
	}
	return s
}

func count(n int, adjective, noun string) string {
	if n == 1 {
		return "one " + adjective + noun
	}
	return fmt.Sprintf("%d %s%ss", n, adjective, noun)
}

// A Margin is the safety margin that makes a slice's limit: the larger of a size and a fraction.
type Margin struct {
	Min  Bytes   // at least this; default 2 GiB
	Frac float64 // or this part of the slice; default 0.10
}

// Limit is mem plus the margin; it never wraps around.
func (m Margin) Limit(mem Bytes) Bytes {
	margin := max(m.Min, Bytes(min(float64(mem)*m.Frac, float64(math.MaxInt64/2))))
	if mem > math.MaxInt64-margin {
		return math.MaxInt64
	}
	return mem + margin
}

// A Spec is what was asked for at submit, and may be changed while the job waits.
type Spec struct {
	Name      string   `json:"name"`
	Argv      []Arg    `json:"argv"`
	Cwd       Arg      `json:"cwd"`
	Claim     Claim    `json:"claim"`
	Bid       Bid      `json:"bid"`
	Time      Duration `json:"time,omitempty"` // estimate; 0 is unknown. It never kills.
	Grace     Duration `json:"grace"`          // between the request to stop and SIGKILL
	Tags      []string `json:"tags,omitempty"`
	Note      string   `json:"note,omitempty"`
	By        string   `json:"by,omitempty"` // on whose behalf, as the submitter says
	Submitter string   `json:"submitter"`    // the peer's user name, else its uid
	UID       int      `json:"uid"`
	Key       string   `json:"key,omitempty"` // a second submit with the same key is the same job
	Hold      bool     `json:"hold,omitempty"`
	NoPTY     bool     `json:"no_pty,omitempty"` // pipes instead of a terminal, standard input from /dev/null
	Cols      int      `json:"cols,omitempty"`   // size of the terminal until somebody who types has another; 0: UsualCols
	Rows      int      `json:"rows,omitempty"`   // 0: UsualRows

	Machine string `json:"machine,omitempty"` // only there; empty: anywhere
	Visible string `json:"visible,omitempty"` // how CUDA_VISIBLE_DEVICES names GPUs: uuid or index; empty: as configured

	Preempt        bool         `json:"preempt,omitempty"`         // may stop running jobs with a lower bid to start; used up when it starts
	NonPreemptible bool         `json:"non_preemptible,omitempty"` // is never stopped for another job
	After          []Dependency `json:"after,omitempty"`
	Begin          time.Time    `json:"begin,omitzero"` // not before

	TimeLimit       Duration `json:"time_limit,omitempty"` // of each attempt, by the wall; 0: none
	Pausable        bool     `json:"pausable,omitempty"`   // it understands the pause contract
	ResumeCommand   []Arg    `json:"resume_command,omitempty"`
	CheckpointGrace Duration `json:"checkpoint_grace,omitempty"` // between the request to save at the time limit and SIGKILL; 0: 60 s
	NoSigterm       bool     `json:"no_sigterm,omitempty"`       // asked to stop with the pause file alone

	Retries int    `json:"retries,omitempty"`  // how often it is started again after a failure
	RetryOn []Code `json:"retry_on,omitempty"` // for these reasons; empty: for every one that may pass

	Group         JobID   `json:"group,omitempty"` // the first job of its array or sweep
	Index         *int    `json:"index,omitempty"` // within an array
	Params        []Param `json:"params,omitempty"`
	MaxConcurrent int     `json:"max_concurrent,omitempty"` // of its group at once; 0: no bound
}

// Sizes of a job's terminal, in characters.
const (
	UsualCols, UsualRows = 120, 40
	MinCols, MaxCols     = 2, 2000
	MinRows, MaxRows     = 1, 1000
)

// Limits of a spec's fields, so that one job can't fill the daemon's memory.
const (
	MaxName = 200      // bytes of a name, tag, key or --by
	MaxNote = 16 << 10 // bytes of a note
	MaxTags = 32
	MaxArgv = 512 << 10 // bytes of all arguments; every JSON form of them fits one frame

	MaxMem      = 1 << 50 // bytes of a claim's memory: 1 PiB, so that sums never wrap around
	MaxClaimIDs = 1024    // GPUs of a claim, by number or by name
	MaxEnv      = 2 << 20 // bytes of the environment, as the kernel's usual limit for it and argv
)

// Surroundings are what a process inherits besides its arguments, as recorded at submit. They are
// private: kept 0600 and never part of a fact or a view.
type Surroundings struct {
	Env    []Arg    `json:"env"`   // KEY=VALUE
	Umask  int      `json:"umask"` // -1: leave as it is
	Nice   int      `json:"nice"`
	Limits []Rlimit `json:"limits,omitempty"`
}

// An Rlimit is a resource limit by the kernel's number (RLIMIT_NOFILE is 7 on Linux). Only soft
// limits are carried over; the maximum is ^uint64(0), as the kernel writes "unlimited".
type Rlimit struct {
	Resource int    `json:"resource"`
	Soft     uint64 `json:"soft"`
}

// Validate says what is wrong with a spec, if anything, naming the flag that would mend it.
func (s *Spec) Validate() error {
	switch {
	case len(s.Argv) == 0 || s.Argv[0] == "":
		return fmt.Errorf("no command given")
	case s.Cwd == "" || s.Cwd[0] != '/':
		return fmt.Errorf("working directory %q is not an absolute path", Clean(string(s.Cwd)))
	case strings.IndexByte(string(s.Cwd), 0) >= 0:
		return fmt.Errorf("the working directory holds a NUL byte")
	case s.Bid < MinBid || s.Bid > MaxBid:
		return fmt.Errorf("--bid %d is outside %d..%d", s.Bid, MinBid, MaxBid)
	case s.Time < 0 || s.Grace < 0:
		return fmt.Errorf("a time can't be negative")
	case (s.Cols != 0 || s.Rows != 0) && (s.Cols < MinCols || s.Cols > MaxCols || s.Rows < MinRows || s.Rows > MaxRows):
		return fmt.Errorf("--size %dx%d is outside %dx%d to %dx%d", s.Cols, s.Rows, MinCols, MinRows, MaxCols, MaxRows)
	case s.NoPTY && s.Cols != 0:
		return fmt.Errorf("--size is the size of a terminal; it can't go with --no-pty")
	case len(s.Tags) > MaxTags:
		return fmt.Errorf("%d tags; at most %d", len(s.Tags), MaxTags)
	case len(s.Note) > MaxNote:
		return fmt.Errorf("--note is %d bytes; at most %d", len(s.Note), MaxNote)
	}
	size := 0
	for _, a := range s.Argv {
		if strings.IndexByte(string(a), 0) >= 0 {
			return fmt.Errorf("an argument holds a NUL byte")
		}
		size += len(a) + 1
	}
	if size > MaxArgv {
		return fmt.Errorf("the command is %s long; at most %s", Bytes(size), Bytes(MaxArgv))
	}
	for _, f := range [...]struct{ flag, v string }{
		{"--name", s.Name}, {"--by", s.By}, {"--key", s.Key}, {"--gpu-type", s.Claim.Type},
	} {
		if len(f.v) > MaxName {
			return fmt.Errorf("%s is %d bytes; at most %d", f.flag, len(f.v), MaxName)
		}
	}
	for _, t := range s.Tags {
		if t == "" || len(t) > MaxName {
			return fmt.Errorf("--tag must have 1 to %d bytes", MaxName)
		}
	}
	if err := s.validateOrder(); err != nil {
		return err
	}
	return s.Claim.validate()
}

func (c Claim) validate() error {
	switch {
	case c.Kind != Whole && c.Kind != Slice && c.Kind != NoGPU:
		return fmt.Errorf("unknown kind of claim %q", Clean(string(c.Kind)))
	case c.GPUs < 0 || c.Mem < 0 || c.RAM < 0:
		return fmt.Errorf("a claim can't be negative")
	case c.GPUs > MaxClaimIDs || len(c.IDs) > MaxClaimIDs:
		return fmt.Errorf("a claim of more than %d GPUs", MaxClaimIDs)
	case c.Mem > MaxMem || c.RAM > MaxMem:
		return fmt.Errorf("a claim of more than %s", Bytes(MaxMem))
	case c.Kind == NoGPU && c.Mem > 0:
		return fmt.Errorf("--mem is a slice of a GPU; it can't go with --gpus 0 (use --ram for host memory)")
	case c.Kind == NoGPU && c.GPUs > 0:
		return fmt.Errorf("a claim of kind %s has no GPUs", c.Kind)
	case c.Kind == Slice && c.Mem == 0:
		return fmt.Errorf("--mem 0 claims nothing; for no GPU say --gpus 0")
	case c.Kind == Whole && c.Mem > 0:
		return fmt.Errorf("a claim of kind %s has no slice of memory", c.Kind)
	case c.Kind != NoGPU && c.GPUs == 0:
		return fmt.Errorf("a claim of kind %s needs at least one GPU", c.Kind)
	}
	return nil
}
