package pasar

// A Code is one of the reasons why an attempt ended.
type Code string

// Reasons: what pasar did or knows itself.
const (
	CodeCompleted   Code = "completed"
	CodeCancelled   Code = "cancelled"
	CodePreempted   Code = "preempted"
	CodePaused      Code = "paused"     // it was asked to pause, and did; not an end for good
	CodeDependency  Code = "dependency" // what it was to come after didn't end as it must
	CodeTimeLimit   Code = "time_limit" // pasar's, or that of another that ran it
	CodeLost        Code = "lost"
	CodeLaunchError Code = "launch_error"
	CodeOOM         Code = "oom" // pasar's memory watchdog killed it
)

// Reasons: memory ran out.
const (
	CodeKernelOOM Code = "kernel_oom" // the kernel, or a host memory killer, killed a process of it
	CodeHostOOM   Code = "host_oom"   // an allocation of host memory failed
	CodeGPUOOM    Code = "gpu_oom"
	CodeShmFull   Code = "shm_full" // /dev/shm
)

// Reasons: GPUs, and processes that work together.
const (
	CodeGPUXid       Code = "gpu_xid"
	CodeDeviceAssert Code = "device_assert" // an assertion inside a kernel
	CodeCUDAError    Code = "cuda_error"    // a kernel or library call failed
	CodeGPUSetup     Code = "gpu_setup"     // the GPU can't be used as it is set up
	CodeCommError    Code = "comm_error"
)

// Reasons: the system and the environment.
const (
	CodeDiskFull      Code = "disk_full"
	CodeIOError       Code = "io_error"
	CodeSysLimit      Code = "sys_limit" // files, processes, watches, locked memory
	CodePortInUse     Code = "port_in_use"
	CodePermission    Code = "permission"
	CodeFileMissing   Code = "file_missing"
	CodeEnvError      Code = "env_error" // packages, shared libraries, compilers
	CodeBadCommand    Code = "bad_command"
	CodeBadCheckpoint Code = "bad_checkpoint"
	CodeAuth          Code = "auth"
	CodeNetwork       Code = "network"
)

// Reasons: the program itself.
const (
	CodeDiverged    Code = "diverged"
	CodeException   Code = "exception"
	CodeInterrupted Code = "interrupted" // SIGINT, SIGTERM or SIGHUP from outside pasar
	CodeSignal      Code = "signal"      // any other, that nothing explains
	CodeExit        Code = "exit"        // not 0, and no clue
)

// Codes is every reason that a verdict may have.
var Codes = []Code{
	CodeCompleted, CodeCancelled, CodePreempted, CodePaused, CodeDependency, CodeTimeLimit, CodeLost, CodeLaunchError,
	CodeOOM, CodeKernelOOM, CodeHostOOM, CodeGPUOOM, CodeShmFull,
	CodeGPUXid, CodeDeviceAssert, CodeCUDAError, CodeGPUSetup, CodeCommError,
	CodeDiskFull, CodeIOError, CodeSysLimit, CodePortInUse, CodePermission, CodeFileMissing, CodeEnvError, CodeBadCommand, CodeBadCheckpoint, CodeAuth, CodeNetwork,
	CodeDiverged, CodeException, CodeInterrupted, CodeSignal, CodeExit,
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

// Failure reports whether an attempt that ended so failed. One that completed did not, nor one that somebody or
// pasar stopped as it was asked to, to go on later or not at all.
func (c Code) Failure() bool {
	switch c {
	case CodeCompleted, CodeCancelled, CodePreempted, CodePaused, CodeDependency:
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

// A Line is a line of output on which a verdict rests, or what else it does, such as what the kernel counted.
// Number counts from 1 in the rendered log; 0 when it isn't known, or is no line of the log.
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

	Untrusted VerdictMark `json:"untrusted"` // keys beside it that may have words of the job's output: data, never instructions
}

// A VerdictMark names in JSON what of a verdict may be in a job's words. It is the same in each.
type VerdictMark struct{}

// MarshalJSON gives the list of keys.
func (VerdictMark) MarshalJSON() ([]byte, error) { return []byte(`["summary","evidence","hint"]`), nil }

// UnmarshalJSON takes anything: what is untrusted doesn't depend on who says so.
func (*VerdictMark) UnmarshalJSON([]byte) error { return nil }

// An AttemptMark does the same for an attempt, whose verdict has a mark of its own.
type AttemptMark struct{}

// MarshalJSON gives the list of keys.
func (AttemptMark) MarshalJSON() ([]byte, error) { return []byte(`["notes","tail"]`), nil }

// UnmarshalJSON takes anything.
func (*AttemptMark) UnmarshalJSON([]byte) error { return nil }
