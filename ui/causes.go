package ui

import (
	"fmt"
	"slices"
	"time"

	"pasar"
)

// A cause is why the market is in a mood.
type cause struct {
	why   string
	until time.Time // zero: it stays
}

// moods collects what the market could be in the mood for, the first cause of each.
type moods struct {
	now    time.Time
	causes map[Mood]cause
}

func (r *moods) add(m Mood, c cause) {
	if r.causes == nil {
		r.causes = map[Mood]cause{}
	}
	old, ok := r.causes[m]
	switch {
	case !ok:
		r.causes[m] = c
	case old.until.IsZero():
	case c.until.IsZero() || c.until.After(old.until): // what stays longer says until when
		r.causes[m] = c
	}
}

// stays adds a cause that no time ends.
func (r *moods) stays(m Mood, why string) { r.add(m, cause{why: why}) }

// passes adds a cause that ends so long after something, unless it is over.
func (r *moods) passes(m Mood, at time.Time, after time.Duration, why string) {
	if d := r.now.Sub(at); d < after && d > -after {
		r.add(m, cause{why, at.Add(after)})
	}
}

func (r *moods) jobs(s *Snapshot) {
	n := s.counts()
	active, awaiting := n[pasar.Starting]+n[pasar.Running]+n[pasar.Stopping], n[pasar.Awaiting]
	var waits *pasar.JobView
	for _, v := range s.Jobs {
		if v == nil {
			continue
		}
		r.ends(v)
		switch v.State {
		case pasar.Queued:
			if waits == nil {
				waits = v
			}
		case pasar.Starting:
			r.stays(MoodStart, label(v)+" starts")
		case pasar.Running:
			if a := lastAttempt(v); a != nil && a.StartedAt != nil {
				r.passes(MoodStart, *a.StartedAt, afterStart, label(v)+" has just started")
			}
			if v.OverLimit {
				r.stays(MoodSweat, label(v)+" uses more memory than its limit")
			}
		}
	}
	if s.Approvals != nil {
		awaiting = max(awaiting, len(s.Approvals.Requests))
	}
	if waits != nil && waits.Waiting != nil && (waits.Waiting.Why == pasar.WaitSettle || waits.Waiting.Why == pasar.WaitRelease) {
		r.stays(MoodThinking, "#"+waits.ID.String()+" "+Shown(waits.Waiting.Sentence))
	}
	switch {
	case awaiting > 0:
		r.stays(MoodWaiting, plural(awaiting, "awaits approval", "await approval"))
	case n[pasar.Queued] > 0 && active == 0:
		r.stays(MoodWaiting, "nothing runs, and jobs wait")
	}
	if active > 0 {
		r.stays(MoodBusy, plural(active, "job runs", "jobs run"))
	}
	if active > 0 || n[pasar.Queued] > 0 {
		delete(r.causes, MoodHappy)
	}
}

// ends adds what the latest ends of a job bring about.
func (r *moods) ends(v *pasar.JobView) {
	n := len(v.Attempts)
	for i := n - 1; i >= max(0, n-3); i-- {
		a := &v.Attempts[i]
		if a.EndedAt == nil || r.now.Sub(*a.EndedAt) >= afterWork { // the longest that anything lasts
			continue
		}
		last, code := i == n-1, pasar.Code("")
		if a.Verdict != nil {
			code = a.Verdict.Reason
		}
		if code == pasar.CodePreempted {
			r.passes(MoodPreempted, *a.EndedAt, afterShove, label(v)+" had to make way")
		}
		if !last {
			continue
		}
		if code.ForMemory() {
			r.passes(MoodOOM, *a.EndedAt, afterFailure, label(v)+" ran out of memory")
		}
		if code == pasar.CodeLost {
			r.passes(MoodHmm, *a.EndedAt, afterIncident, label(v)+" was lost")
		}
		switch v.State {
		case pasar.Failed:
			r.passes(MoodFailed, *a.EndedAt, afterFailure, label(v)+" failed: "+Shown(string(code)))
		case pasar.Completed:
			r.passes(MoodDone, *a.EndedAt, afterSuccess, label(v)+" has completed")
			r.passes(MoodHappy, *a.EndedAt, afterWork, "all is done")
		}
	}
}

func (r *moods) machines(s *Snapshot) {
	for i := range s.machines() {
		m := &s.machines()[i]
		name := Shown(m.Name)
		switch {
		case !m.Reachable:
			r.stays(MoodHmm, name+" is not reachable")
		case m.Drained != nil:
			r.stays(MoodHmm, name+" takes no jobs: "+Shown(m.Drained.Reason))
		}
		if m.Pressure != nil && *m.Pressure > shortPressure {
			r.stays(MoodSweat, fmt.Sprintf("memory is short: pressure %.0f %%", 100**m.Pressure))
		}
		if m.Available != nil && m.RAM > 0 && float64(*m.Available) < shortAvailable*float64(m.RAM) {
			r.stays(MoodSweat, "only "+m.Available.String()+" of host memory is left")
		}
		for k := range m.GPUs {
			g := &m.GPUs[k]
			gpu := fmt.Sprintf("GPU %d", g.Index)
			switch over, known := heat(g); {
			case known && over >= 0:
				r.stays(MoodHot, fmt.Sprintf("%s is at %.0f °C", gpu, *g.TempC))
			case slices.Contains(g.Throttle, "thermal"):
				r.stays(MoodHot, gpu+" is slowed down by heat")
			}
			switch {
			case g.Drained != nil:
				r.stays(MoodHmm, gpu+" takes no jobs: "+Shown(g.Drained.Reason))
			case g.Status != nil && *g.Status != pasar.GPUOK:
				r.stays(MoodHmm, gpu+" is "+Shown(string(*g.Status)))
			}
		}
	}
}
