package sched

import "time"

const (
	// atLeast is how long a job without an estimate is taken to run on, if it has run for less: so that
	// nothing hangs on an end that is always one minute away.
	atLeast = 10 * time.Minute
	// soon is how long a job that was asked to stop, or has ended and holds its GPUs still, is taken to
	// need. It is shorter than most graces, so that next to nothing is let in before the job that waits.
	soon = 10 * time.Second
)

// left is how long a running job is projected to hold its claim from now on, and whether that is a
// guess: it has no estimate, or is past it, so it is taken to need as long again as it has run. At the very
// moment of its projected end a job is about to end, not past it: of two that end together one ends first.
func (r *Running) left(now time.Time) (left time.Duration, guess bool) {
	reported := time.Duration(-1)
	if !r.Ends.IsZero() {
		reported = r.Ends.Sub(now)
	}
	switch {
	case r.Leaving, r.Stopping && !r.Patient:
		if reported >= 0 {
			return min(reported, soon), false
		}
		return soon, false
	case reported >= 0:
		return reported, false
	case r.Ends.IsZero() && r.Estimate > 0 && !r.Patient:
		if d := r.Started.Add(r.Estimate).Sub(now); d >= 0 {
			return d, false
		}
	}
	return max(now.Sub(r.Started), atLeast), true
}
