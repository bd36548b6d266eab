package sched

import "time"

const (
	// atLeast is how long a job without an estimate is taken to run on, if it has run for less: so that
	// nothing hangs on an end that is always one minute away.
	atLeast = 10 * time.Minute
	// soon is how long a job that was asked to stop, or has ended and holds its GPUs still, is taken to
	// need. It is shorter than most graces, so that next to nothing is let in before the job that waits.
	soon = 10 * time.Second
	// slack is by how much a job may outlive its end and still be taken to end at any moment: of two that end
	// together one ends first, and starting and ending take time that no estimate has. What was promised upon
	// an end must not be undone just before it comes.
	slack = 2 * time.Second
)

// left is how long a running job is projected to hold its claim from now on, and whether that is a
// guess: it has no estimate, or is past it, so it is taken to need as long again as it has run. It is
// past it once it has outlived it by slack.
func (r *Running) left(now time.Time) (left time.Duration, guess bool) {
	reported := never
	if !r.Ends.IsZero() {
		reported = aboutTo(r.Ends.Sub(now))
	}
	switch {
	case r.Leaving, r.Stopping && !r.Patient:
		if reported > 0 {
			return min(reported, soon), false
		}
		return soon, false
	case reported > 0:
		return reported, r.Guess
	case r.Ends.IsZero() && r.Estimate > 0 && !r.Patient:
		if d := aboutTo(r.Started.Add(r.Estimate).Sub(now)); d > 0 {
			return d, false
		}
	}
	return max(now.Sub(r.Started), atLeast), true
}

const never time.Duration = -1

// aboutTo is how long until a projected end, which is still to come for a while after it has passed; never if
// it isn't.
func aboutTo(left time.Duration) time.Duration {
	switch {
	case left > 0:
		return left
	case left > -slack:
		return left + slack
	}
	return never
}
