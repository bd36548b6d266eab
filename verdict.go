package pasar

// A Code is one of the reasons why an attempt ended.
type Code string

// Codes that pasar itself knows. Those read from a log belong to the autopsy's rules.
const (
	CodeCompleted   Code = "completed"
	CodeCancelled   Code = "cancelled"
	CodePreempted   Code = "preempted"
	CodeOOM         Code = "oom"
	CodeTimeLimit   Code = "time_limit"
	CodeLost        Code = "lost"
	CodeLaunchError Code = "launch_error"
	CodeBadCommand  Code = "bad_command"
	CodeInterrupted Code = "interrupted"
	CodeSignal      Code = "signal"
	CodeExit        Code = "exit"
	CodeKernelOOM   Code = "kernel_oom"
	CodeHostOOM     Code = "host_oom"
	CodeGPUOOM      Code = "gpu_oom"
	CodeShmFull     Code = "shm_full"
	CodePaused      Code = "paused"     // it was asked to pause, and did; not an end for good
	CodeDependency  Code = "dependency" // what it was to come after didn't end as it must
	CodeGPUXid      Code = "gpu_xid"
	CodeFileMissing Code = "file_missing"
	CodeEnvError    Code = "env_error"
	CodeAuth        Code = "auth"
)

// Codes is every reason that a verdict may have, also those that only a log can tell of.
var Codes = []Code{
	CodeCompleted, CodeCancelled, CodePreempted, CodePaused, CodeDependency, CodeTimeLimit, CodeLost, CodeLaunchError,
	CodeOOM, CodeKernelOOM, CodeHostOOM, CodeGPUOOM, CodeShmFull,
	CodeGPUXid, "device_assert", "cuda_error", "gpu_setup", "comm_error",
	"disk_full", "io_error", "sys_limit", "port_in_use", "permission", CodeFileMissing, CodeEnvError, CodeBadCommand, "bad_checkpoint", CodeAuth, "network",
	"diverged", "exception", CodeInterrupted, CodeSignal, CodeExit,
}

// RetriedByDefault reports whether a failure for this reason may pass by itself, so that --retries
// without --retry-on counts for it.
func (c Code) RetriedByDefault() bool {
	switch c {
	case CodeBadCommand, CodeLaunchError, CodeFileMissing, CodeEnvError, CodeAuth, // they stay as they are
		CodeCompleted, CodeCancelled, CodePreempted, CodePaused, CodeDependency: // no failures
		return false
	}
	return true
}

// ForMemory reports whether the code means that some memory ran out (exit code 2 of `pasar wait`).
func (c Code) ForMemory() bool {
	switch c {
	case CodeOOM, CodeGPUOOM, CodeKernelOOM, CodeHostOOM, CodeShmFull:
		return true
	}
	return false
}

// Confidence says how sure a verdict is.
type Confidence string

// Degrees of confidence.
const (
	Certain Confidence = "certain"
	Likely  Confidence = "likely"
	Guess   Confidence = "guess"
)

// Blame says whose fault an end was.
type Blame string

// Who can be to blame.
const (
	BlameJob         Blame = "job"
	BlameMachine     Blame = "machine"
	BlameEnvironment Blame = "environment"
	BlamePasar       Blame = "pasar"
	BlameUser        Blame = "user"
	BlameProvider    Blame = "provider"
)

// A Line is a line of output on which a verdict rests. Number counts from 1 in the rendered log;
// 0 when it isn't known.
type Line struct {
	Number int    `json:"line"`
	Text   string `json:"text"`
}

// A Verdict says why an attempt ended.
type Verdict struct {
	Reason     Code       `json:"reason"`
	Summary    string     `json:"summary"` // one line a person can act on
	Evidence   []Line     `json:"evidence"`
	Hint       string     `json:"hint"`
	Confidence Confidence `json:"confidence"`
	Retryable  *bool      `json:"retryable"` // whether the same command may succeed next time; null when it isn't known
	Blame      Blame      `json:"blame"`
}
