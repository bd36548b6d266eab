// Package target is the narrow interface behind every place where jobs run: this machine, a machine
// over SSH, a cluster, a rented GPU.
//
// Unknown is an error, never a state: when a target can't say, it returns an error and is asked
// again. Only Absent (surely not there) or an observed end permits another attempt, so nothing
// runs twice. No policy lives in a target.
package target

import (
	"context"
	"errors"
	"time"

	"pasar"
)

// Target is a place where attempts run. Its methods may be called from several goroutines.
type Target interface {
	// Inventory says what there is to give. With an error it may still name the machine, and then has what
	// can be given without what could not be seen.
	Inventory(ctx context.Context) (pasar.Inventory, error)

	// Launch starts an attempt and returns once it is accepted: from then on it runs, or its end can
	// be observed, whatever happens to the caller. It is idempotent by Attempt.Spec.Key: called
	// again, also after a crash in the middle, it finds what the first call began. The caller
	// journals the attempt before. An error that IsNever says surely nothing was or will be
	// started; after any other error the attempt may exist, and Launch is to be called again.
	Launch(ctx context.Context, a Attempt) (Handle, error)

	// Find returns every attempt of ours that the target knows, ended ones too.
	Find(ctx context.Context) ([]Observation, error)

	// Observe says where an attempt is now.
	Observe(ctx context.Context, h Handle) (Observation, error)

	// Logs calls f with the attempt's output from a cursor on, in order; with follow it goes on
	// until the attempt has ended. It returns where it stopped. Output that was let go as a whole is
	// ErrRemoved.
	Logs(ctx context.Context, h Handle, from Cursor, follow bool, f func(Chunk) error) (Cursor, error)

	// Signal asks an attempt to stop. Repeating a stop with the same ID is harmless.
	Signal(ctx context.Context, h Handle, s pasar.Stop) error
}

// Watcher is a target that can say at once when something changes, instead of being asked.
type Watcher interface {
	// Watch calls f with the present observation and with each later one, until the attempt has
	// ended (nil), f fails, ctx is done, or the target can't tell any more (an error: watch again).
	Watch(ctx context.Context, h Handle, f func(Observation) error) error
}

// Acknowledger is a target that keeps something of an ended attempt until its end is journaled.
type Acknowledger interface {
	Acknowledge(ctx context.Context, h Handle) error
}

// Retainer is a target that keeps the output of attempts that are over, and may be told to let go.
type Retainer interface {
	// Retain removes attempts that ended more than age before now (0: none for its age), and the oldest
	// until what is left takes at most size (0: no bound). Only attempts of jobs for which over is true
	// are touched; over may be asked several times.
	Retain(ctx context.Context, age time.Duration, size pasar.Bytes, now time.Time, over func(pasar.JobID) bool) (Retained, error)
}

// Retained is what was let go.
type Retained struct {
	Attempts int
	Freed    pasar.Bytes
}

// Dated is a target that can say where in an attempt's output a time is.
type Dated interface {
	// Since is the cursor of the first line that came at a time or later; the end of the output if none
	// did. It may be up to a second too early.
	Since(ctx context.Context, h Handle, t time.Time) (Cursor, error)
}

// Attacher is a target whose attempts can be attached to from this machine.
type Attacher interface {
	// AttachSocket is the path of the Unix socket where the attempt's supervisor listens.
	AttachSocket(ctx context.Context, h Handle) (string, error)
}

// An Attempt is what a target is asked to launch. Its directory is the target's business, and so
// are the variables that only the target knows: it completes the environment.
type Attempt struct {
	Spec       pasar.AttemptSpec // Surroundings.Env is the submitter's
	Grant      pasar.Grant
	GPUTotal   pasar.Bytes // memory of the granted GPU, for PASAR_GPU_FRACTION; slices only
	Resuming   bool        // an earlier attempt ran
	Checkpoint string      // the checkpoint to go on from; empty if none is known

	Params  []pasar.Param // of its sweep
	Index   *int          // of its array; nil: none
	ByIndex bool          // CUDA_VISIBLE_DEVICES has indices instead of UUIDs

	SaveGrace pasar.Duration // what its time limit leaves it to save in; 0: it has no time limit
}

// A Handle names an attempt at its target. It follows from the key and the nonce, so that it is known before Launch
// returns.
type Handle struct {
	Key   pasar.AttemptKey
	Nonce string
}

// A Status is where an attempt is.
type Status string

// Statuses of an attempt.
const (
	Absent  Status = "absent"  // surely not there and never was: it may be launched
	Claimed Status = "claimed" // accepted, not running yet
	Running Status = "running"
	Exited  Status = "exited" // the claim is free; the record is not complete yet
	Ended   Status = "ended"  // Record is set
	Gone    Status = "gone"   // it ran, or may have, and ended unseen: lost
)

// An Observation is what a target knows of one attempt.
type Observation struct {
	Handle    Handle
	Status    Status
	Pid       int
	StartedAt time.Time
	Exit      *pasar.Exit       // from Exited on
	Record    *pasar.ExitRecord // when Ended
	Event     *pasar.Event      // a report of the job's; the rest is as before
	EventNum  int               // of Event, from 1 in the order of reports; a new watch may tell the latest ones again
	Detail    string            // for people: why it is gone
	Tail      []string          // Gone: last lines of output as rendered text

	UnitResult string // Gone: what the service manager says became of its unit, such as oom-kill; empty: it has none, or nobody knows

	LogTrouble string // Running: why its output can't be kept just now; empty: it is kept
}

// A Cursor is a place in an attempt's output: a byte offset. To ask for output, a negative one is so many
// bytes before the present end.
type Cursor int64

// A Chunk is output at an offset, all of one stream.
type Chunk struct {
	Offset int64
	Data   []byte
	Gap    int64     // how many bytes before it are not to be had
	At     time.Time // when it came, or up to a second before; zero if that isn't known
	Stream int       // of a job without a terminal: 1 standard output, 2 standard error; 0: a terminal's, or not known
}

// ErrRemoved says that all output of an attempt was let go.
var ErrRemoved = errors.New("its output was removed")

// neverError marks an error after which surely nothing was started.
type neverError struct{ err error }

func (e *neverError) Error() string { return e.err.Error() }
func (e *neverError) Unwrap() error { return e.err }

// Never marks err: surely nothing was or will be started by the call that returned it.
func Never(err error) error { return &neverError{err} }

// IsNever reports whether err was marked by Never.
func IsNever(err error) bool {
	var n *neverError
	return errors.As(err, &n)
}
