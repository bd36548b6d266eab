package daemon

import (
	"slices"
	"time"

	"pasar"
)

// apply folds one record into the state. It is total and pure: no clock, no I/O, no error. A fact
// about a job that isn't there, or about an attempt that is no longer the current one, changes
// nothing but what history keeps.
func (s *state) apply(r pasar.Record) {
	s.seq, s.at = r.Seq, r.At
	switch f := r.Fact.(type) {
	case pasar.Submitted:
		s.next = max(s.next, f.Job+1)
		s.put(&job{ID: f.Job, Spec: f.Spec, Phase: phaseWaiting, QueueTime: r.At, Created: r.At, Unmet: s.unmet(f.Spec.After)})
	case pasar.Restarted:
		if s.jobs[f.Job] == nil {
			s.finished[f.Was]-- // put does it for one that is in memory
		}
		j := &job{ID: f.Job, Spec: f.Spec, Phase: phaseWaiting, QueueTime: r.At, Created: f.Created,
			Git: f.Git, Attempts: f.Attempts, Earlier: len(f.Attempts), Unmet: s.unmet(f.Spec.After), Happened: f.Happened, Forgotten: f.Forgotten}
		j.happens(pasar.Happening{At: r.At, Kind: pasar.JobRestarted, By: f.By})
		s.put(j)
	case pasar.BidChanged:
		s.change(f.Job, func(j *job) bool {
			j.Spec.Bid = f.Bid
			j.Spec.Preempt = j.Spec.Preempt || f.Preempt
			j.happens(pasar.Happening{At: r.At, Kind: pasar.JobBidChanged, By: f.By, Bid: f.Bid, Preempt: f.Preempt})
			return j.Phase != phaseFinished
		})
	case pasar.Edited:
		s.change(f.Job, func(j *job) bool {
			if !slices.Equal(f.Spec.After, j.Spec.After) { // else what was met stays so
				j.Unmet = s.unmet(f.Spec.After)
			}
			j.Spec = f.Spec
			j.happens(pasar.Happening{At: r.At, Kind: pasar.JobEdited, By: f.By})
			return j.Phase != phaseFinished
		})
	case pasar.ResumeAsked:
		s.change(f.Job, func(j *job) bool {
			if j.Phase != phasePaused {
				return false
			}
			j.Phase, j.Verdict, j.GoesOn = phaseWaiting, nil, true
			j.happens(pasar.Happening{At: r.At, Kind: pasar.JobResumeAsked, By: f.By})
			return true
		})
	case pasar.Held:
		s.change(f.Job, func(j *job) bool {
			j.Spec.Hold = true
			j.happens(pasar.Happening{At: r.At, Kind: pasar.JobHeld, By: f.By})
			return j.Phase == phaseWaiting
		})
	case pasar.Released:
		s.change(f.Job, func(j *job) bool {
			j.Spec.Hold = false
			j.happens(pasar.Happening{At: r.At, Kind: pasar.JobReleased, By: f.By})
			return j.Phase == phaseWaiting
		})
	case pasar.GitRead:
		for _, id := range span(f.Job, f.More+1) {
			s.change(id, func(j *job) bool { j.Git = &f.Git; return j.Phase != phaseFinished })
		}
	case pasar.CancelledWaiting:
		s.change(f.Job, func(j *job) bool {
			if j.Phase != phaseWaiting && j.Phase != phasePaused {
				return false
			}
			j.happens(pasar.Happening{At: r.At, Kind: pasar.JobCancelled, By: f.By})
			j.finish(r, pasar.Cancelled, f.Verdict)
			s.tally.close(j)
			return true
		})
		s.metBy(f.Job)
	case pasar.Launched:
		s.change(f.Job, func(j *job) bool {
			if j.Phase != phaseWaiting {
				return false
			}
			j.Phase, j.NotBefore = phaseLaunching, time.Time{}
			j.Spec.Preempt, j.Promised = false, false // the asking is used up
			j.Attempts = append(j.Attempts, pasar.AttemptRecord{Attempt: f.Attempt, Nonce: f.Nonce, Grant: f.Grant, LaunchedAt: r.At, LaunchBoot: r.Boot})
			return true
		})
	case pasar.Started:
		s.changeCurrent(f.Job, f.Attempt, func(j *job, a *pasar.AttemptRecord) bool {
			if a.Pid == 0 { // an adopted attempt is seen to run again and again
				// The fact may come late, so the start by the boot clock is reckoned back.
				a.Pid, a.StartedAt, a.StartBoot = f.Pid, f.At, r.Boot
				a.StartMono = r.Mono - max(0, pasar.Duration(r.At.Sub(f.At)))
			}
			if j.Phase == phaseLaunching {
				j.Phase = phaseRunning
			}
			return true
		})
	case pasar.StopAsked:
		s.changeCurrent(f.Job, f.Attempt, func(j *job, a *pasar.AttemptRecord) bool {
			if !j.holds() {
				return false
			}
			if a.Stop == nil || a.Stop.ID != f.Stop.ID || a.Stop.Now != f.Stop.Now { // not the same again
				j.happens(pasar.Happening{At: r.At, Attempt: f.Attempt, Kind: pasar.JobStopAsked, By: f.Stop.By, Stop: &f.Stop})
			}
			a.Stop = &f.Stop
			j.Phase = phaseStopping
			return true
		})
		s.change(f.Stop.For, func(j *job) bool {
			j.Promised = true
			return j.Phase == phaseWaiting
		})
	case pasar.Exited:
		s.changeCurrent(f.Job, f.Attempt, func(j *job, a *pasar.AttemptRecord) bool {
			j.Phase = phaseLeaving
			a.Exited = &f.Exit
			return true
		})
	case pasar.Reported:
		s.changeCurrent(f.Job, f.Attempt, func(j *job, a *pasar.AttemptRecord) bool {
			switch f.Event.Kind {
			case pasar.EventCheckpoint:
				a.Checkpoint, a.CheckpointRan = &f.Event, eventRan(&r, a, f.Event.At)
			case pasar.EventResumed:
				a.Resumed, a.ResumedRan = &f.Event, eventRan(&r, a, f.Event.At)
			case pasar.EventNote:
				notes := append(slices.Clone(a.Notes), f.Event) // the old list may be shared
				a.Notes = notes[max(0, len(notes)-pasar.MaxNotes):]
				return true
			}
			j.happens(pasar.Happening{At: f.Event.At, Attempt: f.Attempt, Kind: pasar.JobEventKind(f.Event.Kind), Event: &f.Event})
			return true
		})
	case pasar.Ended:
		s.changeCurrent(f.Job, f.Attempt, func(j *job, a *pasar.AttemptRecord) bool {
			a.Exit, a.EndedAt, a.RunTime = &f.Exit, f.Exit.EndedAt, f.Exit.RunTime
			if last := f.Exit.Checkpoint; last != nil && (a.Checkpoint == nil || !a.Checkpoint.At.Equal(last.At)) {
				a.Checkpoint, a.CheckpointRan = last, 0
			}
			if a.EndedAt.IsZero() {
				a.EndedAt = r.At
			}
			j.GoesOn = j.GoesOn || markerHolds(&f.Exit)
			a.Certified = f.Certified
			j.over(r, ending{endState(f.Verdict.Reason), f.Verdict, f.Sequel, f.PeakGPU, f.PeakHost})
			s.tally.add(f.Verdict.Reason, j)
			return true
		})
		s.metBy(f.Job)
	case pasar.Lost:
		s.changeCurrent(f.Job, f.Attempt, func(j *job, a *pasar.AttemptRecord) bool {
			a.EndedAt, a.RunTime, a.Certified = r.At, lostRan(&r, a), f.Certified
			j.over(r, ending{endState(f.Verdict.Reason), f.Verdict, f.Sequel, f.PeakGPU, f.PeakHost})
			s.tally.add(f.Verdict.Reason, j)
			return true
		})
		s.metBy(f.Job)
	case pasar.Drained:
		s.drains = s.drains.drained(f)
	case pasar.Undrained:
		s.drains = s.drains.undrained(f)
	case pasar.XidSeen:
		for _, id := range f.Jobs {
			s.change(id, func(j *job) bool {
				a := j.current()
				if a == nil || !j.underWay() {
					return false
				}
				xids := append(slices.Clone(a.Xids), f.Xid) // the old list may be shared
				a.Xids = xids[max(0, len(xids)-pasar.MaxXids):]
				return true
			})
		}
	case pasar.Answered:
		s.remember(f)
	case pasar.MachineSeen:
		s.machines[f.Inventory.Machine] = f.Inventory
	case pasar.Incident:
		s.incident = append(s.incident, incident{r.At, f.What, f.Detail})
		if n := len(s.incident) - keepIncidents; n > 0 {
			s.incident = append([]incident(nil), s.incident[n:]...)
		}
	case pasar.DaemonStarted:
	}
}

func endState(c pasar.Code) pasar.State {
	switch c {
	case pasar.CodeCompleted:
		return pasar.Completed
	case pasar.CodeCancelled:
		return pasar.Cancelled
	}
	return pasar.Failed
}

func (j *job) finish(r pasar.Record, end pasar.State, v pasar.Verdict) {
	j.Phase, j.End, j.Finished, j.Verdict, j.Unmet = phaseFinished, end, r.At, &v, nil
}

// An ending is how an attempt ended and what follows for its job.
type ending struct {
	end               pasar.State // of the job, if nothing follows
	verdict           pasar.Verdict
	sequel            pasar.Sequel
	peakGPU, peakHost *pasar.Bytes
}

// over ends the current attempt. The job keeps its queue time whatever follows.
func (j *job) over(r pasar.Record, e ending) {
	a := j.current()
	a.Verdict, a.Sequel, a.PeakGPU, a.PeakHost = &e.verdict, e.sequel, e.peakGPU, e.peakHost
	switch e.sequel.State {
	case pasar.Queued:
		j.Phase, j.NotBefore = phaseWaiting, e.sequel.NotBefore
		if e.sequel.Retry {
			j.Retried++
		}
		if e.sequel.Mem > 0 {
			j.Spec.Claim.Mem, j.Spec.Claim.Limit = e.sequel.Mem, e.sequel.Limit
		}
	case pasar.Paused:
		j.Phase, j.Verdict = phasePaused, &e.verdict
	default:
		j.finish(r, e.end, e.verdict)
	}
}

// markerHolds reports whether a job saved and left because it was asked to, as it says itself.
func markerHolds(e *pasar.ExitRecord) bool {
	return e.Exit.Signal == 0 && e.Exit.Code == pasar.ExitPaused && e.Marker != nil && e.Marker.Missing == ""
}

// metBy lets the jobs know that wait for the end of one, if it has ended for good.
func (s *state) metBy(id pasar.JobID) {
	if j := s.jobs[id]; j != nil && j.Phase == phaseFinished {
		s.meet(j)
	}
}

// change replaces a job by a copy that f has changed, unless f says no.
func (s *state) change(id pasar.JobID, f func(*job) bool) {
	old := s.jobs[id]
	if old == nil {
		return
	}
	j := old.clone()
	if f(j) {
		s.put(j)
	}
}

// changeCurrent is change for facts about an attempt, which count only while it is under way.
func (s *state) changeCurrent(id pasar.JobID, attempt int, f func(*job, *pasar.AttemptRecord) bool) {
	s.change(id, func(j *job) bool {
		a := j.current()
		return a != nil && a.Attempt == attempt && j.underWay() && f(j, a)
	})
}

func (s *state) remember(a pasar.Answered) {
	if _, ok := s.answers[a.Request]; ok {
		return
	}
	s.answers[a.Request] = a
	s.answered = append(s.answered, a.Request)
	if len(s.answered) >= 2*keepAnswers { // seldom, so that forgetting costs nothing per request
		for _, r := range s.answered[:keepAnswers] {
			delete(s.answers, r)
		}
		s.answered = slices.Clone(s.answered[keepAnswers:])
	}
}
