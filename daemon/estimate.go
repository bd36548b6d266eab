package daemon

import (
	"time"

	"pasar"
	"pasar/sched"
)

// follow keeps what is reckoned from a job's changes: what it is like, how long it waited, and what it needed
// once it has ended. put calls it before it files the job.
func (s *state) follow(old, j *job) {
	j.like = fingerprintOf(&j.Spec)
	waited := old != nil && old.Phase == phaseWaiting
	switch {
	case j.Phase == phaseWaiting && !waited:
		j.Waits = s.at
	case j.Phase == phaseLaunching && waited:
		j.current().Waited = max(0, pasar.Duration(s.at.Sub(old.waitsSince())))
	case j.Phase == phaseFinished && (old == nil || old.Phase != phaseFinished):
		s.past.add(s.seq, j, s.virtual(j))
		s.stale[j.like] = true
	}
}

// virtual reports whether a job had a GPU that stands for host memory.
func (s *state) virtual(j *job) bool {
	a := j.current()
	if a == nil || len(a.Grant.GPUs) == 0 {
		return false
	}
	for _, g := range s.machines[a.Grant.Machine].GPUs {
		if g.UUID == a.Grant.GPUs[0].UUID {
			return g.Virtual
		}
	}
	return false
}

// waitsSince is when the job last began to wait.
func (j *job) waitsSince() time.Time {
	if j.Waits.IsZero() {
		return j.QueueTime
	}
	return j.Waits
}

// queueWait is how long an ended job waited in the queue, before every attempt.
func queueWait(j *job) pasar.Duration {
	var w pasar.Duration
	for i := range j.Attempts {
		w += j.Attempts[i].Waited
	}
	if a := j.current(); j.Phase == phaseFinished && (a == nil || a.LaunchedAt.Before(j.waitsSince())) { // cancelled while it waited
		w += max(0, pasar.Duration(j.Finished.Sub(j.waitsSince())))
	}
	return w
}

// estimate is how long a job takes in all, by what was said or else by its past; 0: not known.
func (s *state) estimate(j *job) pasar.Duration {
	if j.Spec.Time > 0 {
		return j.Spec.Time
	}
	return s.past.usual(j.like).ran
}

// left is what is left of a job's estimate after the attempts of this run that are over; 0: not known, or
// it is past it.
func (s *state) left(j *job) time.Duration { return j.leftOf(s.estimate(j)) }

// reestimate makes the estimates of waiting jobs anew whose past has grown.
func (s *state) reestimate() {
	if len(s.stale) == 0 {
		return
	}
	for i, j := range s.waiters {
		if j.Spec.Time == 0 && s.stale[j.like] {
			s.queue[i].Estimate = s.left(j)
		}
	}
	clear(s.stale)
}

// input is what the scheduler may know, from the state and from what is seen of the machines and of running
// jobs. The queue is lent, as by state.input. Called on the loop.
func (d *Daemon) input(s *state, blocked string) sched.Input {
	s.reestimate()
	in := s.input(blocked)
	for i := range in.Active {
		r := &in.Active[i]
		if j := s.jobs[r.ID]; j != nil && !r.Stopping {
			r.Ends, _ = paceEnd(j.current(), d.progressOf(r.ID))
		}
	}
	d.addSeen(&in, s, d.Clock.Now())
	return in
}
