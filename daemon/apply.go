package daemon

import (
	"slices"

	"pasar"
)

// apply folds one record into the state. It is total and pure: no clock, no I/O, no error. A fact
// about a job that isn't there, or about an attempt that is no longer the current one, changes
// nothing but what history keeps.
func (s *state) apply(r pasar.Record) {
	s.seq = r.Seq
	switch f := r.Fact.(type) {
	case pasar.Submitted:
		s.next = max(s.next, f.Job+1)
		s.put(&job{ID: f.Job, Spec: f.Spec, Phase: phaseWaiting, QueueTime: r.At, Created: r.At})
	case pasar.Restarted:
		if s.jobs[f.Job] == nil {
			s.finished[f.Was]-- // put does it for one that is in memory
		}
		s.put(&job{ID: f.Job, Spec: f.Spec, Phase: phaseWaiting, QueueTime: r.At, Created: f.Created,
			Git: f.Git, Attempts: f.Attempts})
	case pasar.BidChanged:
		s.change(f.Job, func(j *job) bool { j.Spec.Bid = f.Bid; return j.Phase != phaseFinished })
	case pasar.Held:
		s.change(f.Job, func(j *job) bool { j.Spec.Hold = true; return j.Phase == phaseWaiting })
	case pasar.Released:
		s.change(f.Job, func(j *job) bool { j.Spec.Hold = false; return j.Phase == phaseWaiting })
	case pasar.GitRead:
		s.change(f.Job, func(j *job) bool { j.Git = &f.Git; return j.Phase != phaseFinished })
	case pasar.CancelledWaiting:
		s.change(f.Job, func(j *job) bool {
			if j.Phase != phaseWaiting {
				return false
			}
			j.finish(r, pasar.Cancelled, f.Verdict)
			return true
		})
	case pasar.Launched:
		s.change(f.Job, func(j *job) bool {
			if j.Phase != phaseWaiting {
				return false
			}
			j.Phase = phaseLaunching
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
			a.Stop = &f.Stop
			j.Phase = phaseStopping
			return true
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
				a.Checkpoint = &f.Event
			case pasar.EventResumed:
				a.Resumed = &f.Event
			case pasar.EventNote:
				notes := append(slices.Clone(a.Notes), f.Event) // the old list may be shared
				a.Notes = notes[max(0, len(notes)-pasar.MaxNotes):]
			}
			return true
		})
	case pasar.Ended:
		s.changeCurrent(f.Job, f.Attempt, func(j *job, a *pasar.AttemptRecord) bool {
			a.Exit, a.EndedAt, a.RunTime = &f.Exit, f.Exit.EndedAt, f.Exit.RunTime
			if f.Exit.Checkpoint != nil {
				a.Checkpoint = f.Exit.Checkpoint
			}
			if a.EndedAt.IsZero() {
				a.EndedAt = r.At
			}
			a.Verdict = &f.Verdict
			j.finish(r, endState(f.Verdict.Reason), f.Verdict)
			return true
		})
	case pasar.Lost:
		s.changeCurrent(f.Job, f.Attempt, func(j *job, a *pasar.AttemptRecord) bool {
			a.EndedAt, a.Verdict = r.At, &f.Verdict
			j.finish(r, pasar.Failed, f.Verdict)
			return true
		})
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
	j.Phase, j.End, j.Finished, j.Verdict = phaseFinished, end, r.At, &v
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
