package daemon

import (
	"slices"

	"pasar"
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

// meet drops from what jobs wait for what the end of another has met. What it can't meet any more stays:
// the loop cancels those jobs.
func (s *state) meet(id pasar.JobID, end pasar.State) {
	for _, w := range slices.Clone(s.after[id]) {
		s.change(w, func(j *job) bool {
			was := len(j.Unmet)
			j.Unmet = slices.DeleteFunc(slices.Clone(j.Unmet), func(d pasar.Dependency) bool { return d.Job == id && d.Met(end) })
			return len(j.Unmet) < was
		})
	}
}
