package daemon

import (
	"cmp"
	"time"

	"pasar"
	"pasar/sched"
)

// limitGrace is the checkpoint grace of a job that names none.
const limitGrace = pasar.Duration(time.Minute)

// maxSleep is the longest wait for a time to come: a timer takes no notice when the clock is set or when
// the machine sleeps, so the clocks are looked at again.
const maxSleep = time.Minute

// limitIn is how long a running job may run on; false when nothing bounds it, or when it is being stopped
// for good. A job that takes its time to pause has its limit still.
func (d *Daemon) limitIn(j *job, now time.Time, mono pasar.Duration) (time.Duration, bool) {
	if j.Spec.TimeLimit == 0 || j.Phase != phaseRunning && j.Phase != phaseStopping {
		return 0, false
	}
	a := j.current()
	if a.StartedAt.IsZero() || a.Stop != nil && a.Stop.Why != pasar.StopPause {
		return 0, false
	}
	ran := pasar.Duration(now.Sub(a.StartedAt))
	if a.StartBoot == d.Boot && a.StartMono > 0 { // this clock is never set
		ran = mono - a.StartMono
	}
	return time.Duration(j.Spec.TimeLimit - ran), true
}

// overLimit asks the jobs to stop that have reached their time limit.
func (d *Daemon) overLimit(now time.Time, mono pasar.Duration) []pasar.Fact {
	var facts []pasar.Fact
	for _, j := range d.state.active {
		if left, ok := d.limitIn(j, now, mono); ok && left <= 0 {
			facts = append(facts, pasar.StopAsked{Job: j.ID, Attempt: j.current().Attempt, Stop: pasar.Stop{
				ID: d.Random(), Why: pasar.StopLimit, Grace: cmp.Or(j.Spec.CheckpointGrace, limitGrace),
				PauseFile: j.Spec.CanPause(), NoTerm: j.Spec.NoSigterm,
			}})
		}
	}
	return facts
}

// nextWake is how long the loop may wait for something to happen; 0: as long as it takes.
func (d *Daemon) nextWake(at, now time.Time, mono pasar.Duration) time.Duration {
	next, any := maxSleep, false
	sooner := func(in time.Duration) { next, any = min(next, max(in, time.Millisecond)), true }
	if !at.IsZero() {
		sooner(at.Sub(now))
	}
	for _, j := range d.state.active {
		if left, ok := d.limitIn(j, now, mono); ok {
			sooner(left)
		}
	}
	if !any {
		return 0
	}
	return next
}

// preemption asks a running job to make room for another. One that was asked to pause and takes its time
// is still to be paused: it just can't take its time any more.
func (d *Daemon) preemption(st sched.Stop) []pasar.Fact {
	j := d.state.jobs[st.ID]
	if j == nil || !j.holds() {
		return nil
	}
	stop := pasar.Stop{ID: d.Random(), Why: pasar.StopPreempt, Grace: j.Spec.Grace,
		PauseFile: j.Spec.CanPause(), NoTerm: j.Spec.NoSigterm, For: st.For}
	a := j.current()
	if a.Stop != nil {
		if !patient(a.Stop) {
			return nil // it is on its way out
		}
		stop.Why, stop.By = a.Stop.Why, a.Stop.By
	}
	return []pasar.Fact{pasar.StopAsked{Job: j.ID, Attempt: a.Attempt, Stop: stop}}
}
