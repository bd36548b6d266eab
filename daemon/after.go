package daemon

import (
	"slices"

	"pasar"
	"pasar/autopsy"
)

// unmet are the dependencies whose jobs haven't ended: unfinished jobs are always in memory.
func (s *state) unmet(after []pasar.Dependency) []pasar.Dependency {
	var open []pasar.Dependency
	for _, d := range after {
		if j := s.jobs[d.Job]; j != nil && j.Phase != phaseFinished {
			open = append(open, d)
		}
	}
	return open
}

// expect keeps the index of who waits for whose end while a waiting job is replaced, comes or goes.
func (s *state) expect(old, j *job) {
	if old != nil && j != nil && slices.Equal(old.Unmet, j.Unmet) {
		return
	}
	if old != nil {
		for _, d := range old.Unmet {
			who := slices.DeleteFunc(s.after[d.Job], func(id pasar.JobID) bool { return id == old.ID })
			if s.after[d.Job] = who; len(who) == 0 {
				delete(s.after, d.Job)
			}
		}
	}
	if j != nil {
		for _, d := range j.Unmet {
			if !slices.Contains(s.after[d.Job], j.ID) { // ok and any of the same job
				s.after[d.Job] = append(s.after[d.Job], j.ID)
			}
		}
	}
}

// A stranded job waits for an end that has come otherwise than it must.
type stranded struct {
	job pasar.JobID
	by  unmetEnd
}

// An unmetEnd is the end of a job that doesn't meet a dependency on it.
type unmetEnd struct {
	of *job
	on pasar.Condition
}

func (u unmetEnd) String() string {
	was := string(u.of.End)
	if u.of.End == pasar.Cancelled {
		was = "was cancelled"
	}
	want := "completed"
	if u.on == pasar.AfterFail {
		want = "failed"
	}
	return u.of.named() + " " + was + ", and this one was to start only if that " + want
}

// cancelled is the end of a job that waits for it in vain.
func (u unmetEnd) cancelled(id pasar.JobID) pasar.CancelledWaiting {
	return pasar.CancelledWaiting{Job: id, Verdict: autopsy.Attribute(autopsy.Evidence{Unmet: u.String()})}
}

// meet drops from what jobs wait for what the end of another has met. What it can't meet any more stays, and
// the loop cancels those jobs.
func (s *state) meet(done *job) {
	for _, w := range slices.Clone(s.after[done.ID]) {
		s.change(w, func(j *job) bool {
			was := len(j.Unmet)
			j.Unmet = slices.DeleteFunc(slices.Clone(j.Unmet), func(d pasar.Dependency) bool { return d.Job == done.ID && d.Met(done.End) })
			for _, d := range j.Unmet {
				if d.Job == done.ID {
					s.stranded = append(s.stranded, stranded{w, unmetEnd{done, d.On}})
					break
				}
			}
			return len(j.Unmet) < was
		})
	}
}

// takeStranded is what ends the jobs that were stranded since the last call.
func (s *state) takeStranded() []pasar.Fact {
	var facts []pasar.Fact
	for _, st := range s.stranded {
		if j := s.jobs[st.job]; j != nil && j.Phase == phaseWaiting {
			facts = append(facts, st.by.cancelled(st.job))
		}
	}
	s.stranded = nil
	return facts
}
