package daemon

import (
	"time"

	"pasar"
	"pasar/autopsy"
)

// withSequel completes a fact as the loop takes it: what follows for a job from the end of its attempt is
// decided then, of the state as it is, and journaled with it.
func (d *Daemon) withSequel(f pasar.Fact, now time.Time) pasar.Fact {
	switch f := f.(type) {
	case pasar.Ended:
		if j := d.state.underWay(f.Job, f.Attempt); j != nil {
			f.Verdict = cancelledInstead(j, &f.Exit, f.Verdict)
			e := endOf(j, &f.Exit, f.Verdict, now)
			if f.Verdict.Reason == pasar.CodeGPUOOM || f.Verdict.Reason == pasar.CodeOOM {
				e.mem, e.limit, _ = raised(j, f.PeakGPU, d.settings.Load().Margin, d.state.input("").Machines)
			}
			f.Sequel = sequel(e)
		}
		return f
	case pasar.Lost:
		if j := d.state.underWay(f.Job, f.Attempt); j != nil {
			f.Sequel = sequel(endOf(j, nil, f.Verdict, now))
		}
		return f
	}
	return f
}

// underWay is a job whose current attempt is this one and has not ended, or nil.
func (s *state) underWay(id pasar.JobID, attempt int) *job {
	j := s.jobs[id]
	if j == nil || !j.underWay() || j.current().Attempt != attempt {
		return nil
	}
	return j
}

func endOf(j *job, exit *pasar.ExitRecord, v pasar.Verdict, now time.Time) attemptEnd {
	a := j.current()
	return attemptEnd{spec: &j.Spec, retried: j.Retried, asked: a.Stop, exit: exit, verdict: v, xids: a.Xids, now: now}
}

// cancelledInstead is the verdict of an attempt that was on its way out to come back later when somebody
// cancelled the job: it doesn't come back, so cancelled is what it is.
func cancelledInstead(j *job, exit *pasar.ExitRecord, v pasar.Verdict) pasar.Verdict {
	a := j.current()
	if a.Stop == nil || a.Stop.Why != pasar.StopCancel || v.Reason != pasar.CodePreempted && v.Reason != pasar.CodePaused {
		return v
	}
	return autopsy.Attribute(autopsy.Evidence{Exit: &exit.Exit, Stop: a.Stop, StopStep: exit.StopStep, Grace: j.Spec.Grace})
}
