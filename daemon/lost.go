package daemon

import (
	"time"

	"pasar"
)

// lostTime is what interruptions cost a job, as its attempts' records tell it.
type lostTime struct {
	preemptions pasar.Duration // stopped for another job, or by force when asked to pause
	failures    pasar.Duration // failed or lost
	known       bool           // it reported events, without which nobody knows what it had saved
	interrupted bool           // some attempt of it was
	attempts    []lostAttempt  // one for each
}

// A lostAttempt is one attempt's part; nil is none, or not known.
type lostAttempt struct {
	wasted  *pasar.Duration
	restart *pasar.Duration
}

// An interruption is what cut an attempt off from what it had not saved.
type interruption string

const (
	notInterrupted interruption = ""
	byPreemption   interruption = "preemption"
	byFailure      interruption = "failure"
)

// lostOf reckons what interruptions cost. Per interrupted attempt that is the work since its last checkpoint
// (all of it, if it made none), and what the next attempt took from its start until it said that it had resumed.
func lostOf(attempts []pasar.AttemptRecord) lostTime {
	l := lostTime{attempts: make([]lostAttempt, len(attempts))}
	for i := range attempts {
		l.known = l.known || reported(&attempts[i])
	}
	before := notInterrupted // the end of the attempt before
	for i := range attempts {
		a := &attempts[i]
		var cost pasar.Duration
		if before != notInterrupted && a.Resumed != nil && !a.StartedAt.IsZero() {
			cost = sinceStart(a, a.Resumed, a.ResumedRan)
			if l.known {
				l.attempts[i].restart = &cost
			}
			l.charge(before, cost)
		}
		if before = interrupted(a); before != notInterrupted {
			l.interrupted = true
			wasted := unsaved(a)
			if l.known {
				l.attempts[i].wasted = &wasted
			}
			l.charge(before, wasted)
		}
	}
	return l
}

func (l *lostTime) charge(why interruption, d pasar.Duration) {
	if why == byPreemption {
		l.preemptions += d
	} else {
		l.failures += d
	}
}

// reported says whether an attempt ever reported an event.
func reported(a *pasar.AttemptRecord) bool {
	return a.Checkpoint != nil || a.Resumed != nil || len(a.Notes) > 0 ||
		a.Exit != nil && (a.Exit.Progress != nil || a.Exit.Checkpoint != nil || markerHolds(a.Exit))
}

// interrupted says whether, and by what, an attempt that is over was cut off. One that saved and left because
// it was asked to pause was not.
func interrupted(a *pasar.AttemptRecord) interruption {
	if a.EndedAt.IsZero() || a.Verdict == nil {
		return notInterrupted
	}
	switch a.Verdict.Reason {
	case pasar.CodeCompleted, pasar.CodeCancelled, pasar.CodeDependency:
		return notInterrupted
	case pasar.CodePreempted:
		return byPreemption
	}
	if a.Sequel.State == pasar.Paused || a.Verdict.Reason == pasar.CodePaused {
		if a.Exit != nil && markerHolds(a.Exit) {
			return notInterrupted
		}
		return byPreemption
	}
	return byFailure
}

// unsaved is the work of an attempt that is over since its last checkpoint.
func unsaved(a *pasar.AttemptRecord) pasar.Duration {
	if a.Exit != nil && markerHolds(a.Exit) {
		return 0
	}
	ran := attemptRan(a)
	if a.Checkpoint == nil {
		return ran
	}
	return min(ran, max(0, ran-sinceStart(a, a.Checkpoint, a.CheckpointRan)))
}

// sinceStart is how far into its attempt an event was. By the boot clock, as the daemon stamped it when it
// journaled the event; by the wall for one that only the exit record has.
func sinceStart(a *pasar.AttemptRecord, e *pasar.Event, ran pasar.Duration) pasar.Duration {
	switch {
	case ran > 0:
		return ran
	case a.Exit != nil && !a.Exit.ExitedAt.IsZero(): // counted back from the end, whose run time is by the boot clock
		return max(0, a.RunTime-pasar.Duration(a.Exit.ExitedAt.Sub(e.At)))
	}
	return max(0, pasar.Duration(e.At.Sub(a.StartedAt)))
}

// attemptRan is how long an attempt that is over ran; at most, if its end was not seen.
func attemptRan(a *pasar.AttemptRecord) pasar.Duration {
	if a.RunTime > 0 || a.Exit != nil || a.StartedAt.IsZero() || a.EndedAt.IsZero() {
		return a.RunTime
	}
	return max(0, pasar.Duration(a.EndedAt.Sub(a.StartedAt)))
}

// ranInAll is how long a job ran in the attempts of this run that are over.
func ranInAll(j *job) pasar.Duration {
	var ran pasar.Duration
	for i := min(j.Earlier, len(j.Attempts)); i < len(j.Attempts); i++ {
		if !j.Attempts[i].EndedAt.IsZero() {
			ran += attemptRan(&j.Attempts[i])
		}
	}
	return ran
}

// view is the JSON form.
func (l *lostTime) view(wait pasar.Duration) pasar.LostView {
	v := pasar.LostView{Known: l.known, QueueWait: wait}
	if l.known {
		v.Preemptions, v.Failures = &l.preemptions, &l.failures
	}
	return v
}

// eventRan is how far into the current attempt an event was, by the boot clock. The fact may come late, after
// a restart of the daemon say, so the time is reckoned back from it. 0: not known.
func eventRan(r *pasar.Record, a *pasar.AttemptRecord, at time.Time) pasar.Duration {
	if a.StartMono == 0 || a.StartBoot != r.Boot {
		return 0
	}
	return max(1, r.Mono-max(0, pasar.Duration(r.At.Sub(at)))-a.StartMono)
}

// lostRan is how long an attempt ran whose end nobody saw: until that was noticed, or at most until this boot
// of the machine began.
func lostRan(r *pasar.Record, a *pasar.AttemptRecord) pasar.Duration {
	switch {
	case a.StartedAt.IsZero():
		return 0
	case a.StartBoot == r.Boot && a.StartMono > 0:
		return max(0, r.Mono-a.StartMono)
	}
	return max(0, pasar.Duration(r.At.Sub(a.StartedAt))-r.Mono)
}
