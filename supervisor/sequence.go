package supervisor

import (
	"time"

	"pasar"
)

// A sequence is when the signals of the stops that came are due. What several stops ask for is done at the
// earliest time that any of them says, so that a stop can only bring a job's end nearer: one that waits for
// ever brings nothing. SIGTERM is sent once. Zero times never come.
type sequence struct {
	wake time.Time // SIGCONT without SIGTERM: who only watches the pause file must be able to see it
	term time.Time // SIGTERM, and SIGCONT
	kill time.Time // SIGKILL
	sent bool      // SIGTERM was sent
}

// take takes a stop into account that comes now.
func (q *sequence) take(s pasar.Stop, now time.Time) {
	if s.Now {
		q.kill = sooner(q.kill, now)
		return
	}
	if s.Wait < 0 { // pasar.Forever
		return
	}
	at := now.Add(time.Duration(s.Wait))
	q.kill = sooner(q.kill, at.Add(max(0, time.Duration(s.Grace))))
	switch {
	case q.sent:
	case s.NoTerm:
		q.wake = sooner(q.wake, at)
	default:
		q.term = sooner(q.term, at)
	}
}

// begun reports whether a signal was sent or is due some time.
func (q *sequence) begun() bool { return q.sent || !q.kill.IsZero() }

// due reports whether a time has come.
func due(t, now time.Time) bool { return !t.IsZero() && !now.Before(t) }

// sooner is the earlier of two times, where zero is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// next is how long it is until something is due; 0 is never. What is due now must have been done.
func (q *sequence) next(now time.Time) time.Duration {
	t := sooner(sooner(q.wake, q.term), q.kill)
	if t.IsZero() {
		return 0
	}
	return max(1, t.Sub(now))
}
