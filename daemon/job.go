package daemon

import (
	"slices"
	"time"

	"pasar"
)

// A phase is where a job is in its life; every fact switches on it.
type phase string

const (
	phaseWaiting   phase = "waiting"
	phaseLaunching phase = "launching" // launch journaled; the process is not known to exist
	phaseRunning   phase = "running"
	phaseStopping  phase = "stopping" // a stop is journaled
	phaseLeaving   phase = "leaving"  // nothing of it runs and the claim is free; the record isn't complete
	phasePaused    phase = "paused"   // neither in the queue nor finished; it has no attempt under way
	phaseFinished  phase = "finished"
)

// A job is everything the daemon knows of one. A job that has been put into the state is never
// changed: apply replaces it by a changed copy, so that readers need no lock. Slices in it are shared
// by the copies, so they are replaced and never written to, except Attempts.
type job struct {
	ID        pasar.JobID           `json:"id"`
	Spec      pasar.Spec            `json:"spec"`
	Phase     phase                 `json:"phase"`
	End       pasar.State           `json:"end,omitempty"` // finished: completed, failed or cancelled
	QueueTime time.Time             `json:"queue_time"`
	Created   time.Time             `json:"created"`
	Finished  time.Time             `json:"finished,omitzero"`
	Git       *pasar.Git            `json:"git,omitempty"`
	Attempts  []pasar.AttemptRecord `json:"attempts,omitempty"`
	Verdict   *pasar.Verdict        `json:"verdict,omitempty"` // of the job's end, or of its pause; the attempts have their own

	Unmet     []pasar.Dependency `json:"unmet,omitempty"`     // those of Spec.After whose jobs haven't ended
	NotBefore time.Time          `json:"not_before,omitzero"` // waiting: the gap before a retry
	Retried   int                `json:"retried,omitempty"`   // retries used
	Earlier   int                `json:"earlier,omitempty"`   // attempts from before the last restart: neither their time nor their ends count for this run
	Waits     time.Time          `json:"waits,omitzero"`      // when it last began to wait; zero: with QueueTime
	Promised  bool               `json:"promised,omitempty"`  // jobs were stopped for it, and it hasn't started since
	GoesOn    bool               `json:"goes_on,omitempty"`   // it goes on from a pause or from a checkpoint that it left when it was stopped: with its resume command, if it has one

	Happened  []pasar.Happening `json:"happened,omitempty"`  // what nothing else here tells
	Forgotten int               `json:"forgotten,omitempty"` // so many more, which were dropped

	like fingerprint // of Spec, as filed
}

func (j *job) clone() *job {
	c := *j
	c.Attempts = slices.Clone(j.Attempts)
	return &c
}

// state is the phase as clients see it.
func (j *job) state() pasar.State {
	switch j.Phase {
	case phaseWaiting:
		return pasar.Queued
	case phaseLaunching:
		return pasar.Starting
	case phaseRunning:
		return pasar.Running
	case phaseStopping, phaseLeaving:
		return pasar.Stopping // never running: its claim may be another's already
	case phasePaused:
		return pasar.Paused
	}
	return j.End
}

// holds reports whether the job's current attempt holds its claim.
func (j *job) holds() bool {
	return j.Phase == phaseLaunching || j.Phase == phaseRunning || j.Phase == phaseStopping
}

// underWay reports whether the current attempt has not ended.
func (j *job) underWay() bool { return j.holds() || j.Phase == phaseLeaving }

// current is the latest attempt, or nil.
func (j *job) current() *pasar.AttemptRecord {
	if len(j.Attempts) == 0 {
		return nil
	}
	return &j.Attempts[len(j.Attempts)-1]
}

// leads reports whether the job is alone or the first of its group, whose key is then its own.
func (j *job) leads() bool { return j.Spec.Group == 0 || j.Spec.Group == j.ID }

// lately reports whether an attempt of the job is under way or has ended since a time; of no time any job is.
func (j *job) lately(since time.Time) bool {
	a := j.current()
	return since.IsZero() || a != nil && (a.EndedAt.IsZero() || !a.EndedAt.Before(since))
}

// checkpoint is the path that the job last said it can go on from; empty if it never did.
func (j *job) checkpoint() string {
	for i := len(j.Attempts) - 1; i >= 0; i-- {
		a := &j.Attempts[i]
		if a.Exit != nil && markerHolds(a.Exit) {
			return a.Exit.Marker.Checkpoint
		}
		if a.Checkpoint != nil && a.Checkpoint.Path != "" {
			return a.Checkpoint.Path
		}
	}
	return ""
}

// argv is what the next attempt runs.
func (j *job) argv() []pasar.Arg {
	if j.GoesOn && len(j.Spec.ResumeCommand) > 0 {
		return j.Spec.ResumeCommand
	}
	return j.Spec.Argv
}

// named is the job in words: "job 41 (prep)".
func (j *job) named() string {
	s := "job " + j.ID.String()
	if j.Spec.Name != "" {
		s += " (" + pasar.Clean(j.Spec.Name) + ")"
	}
	return s
}

// left is what is left of what the job says of its time, after the attempts of this run that are over; 0: not known.
func (j *job) left() time.Duration { return j.leftOf(j.Spec.Time) }

func (j *job) leftOf(estimate pasar.Duration) time.Duration {
	if estimate <= 0 {
		return 0
	}
	return time.Duration(max(0, estimate-ranInAll(j)))
}
