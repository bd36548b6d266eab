package ui

import (
	"strings"
	"time"
)

// A Mood is how the market is, in one word: the stall-keeper wears it on its face.
type Mood string

// Moods, the one that matters most first.
const (
	MoodConfused  Mood = "confused"  // nothing is known
	MoodOOM       Mood = "oom"       // a job has just run out of memory
	MoodFailed    Mood = "failed"    // a job has just failed
	MoodHot       Mood = "hot"       // a GPU is
	MoodSweat     Mood = "sweat"     // memory is short, or something went wrong
	MoodHmm       Mood = "hmm"       // a person should look
	MoodPreempted Mood = "preempted" // a job had to make way
	MoodDone      Mood = "done"      // a job has just completed
	MoodStart     Mood = "start"     // a job is on its way
	MoodThinking  Mood = "thinking"  // it will go on by itself in a moment
	MoodWaiting   Mood = "waiting"   // for a person, or for something else
	MoodBusy      Mood = "busy"
	MoodHappy     Mood = "happy" // all is done
	MoodIdle      Mood = "idle"
)

// Moods lists every mood, the one that matters most first.
var Moods = []Mood{MoodConfused, MoodOOM, MoodFailed, MoodHot, MoodSweat, MoodHmm, MoodPreempted, MoodDone, MoodStart, MoodThinking, MoodWaiting, MoodBusy, MoodHappy, MoodIdle}

// How long a mood stays after what brought it about.
const (
	afterFailure  = time.Minute
	afterIncident = 5 * time.Minute // also of a job that was lost
	afterShove    = 30 * time.Second
	afterSuccess  = 10 * time.Second
	afterStart    = 5 * time.Second
	afterWork     = 10 * time.Minute
)

// From where host memory is short.
const (
	shortPressure  = 0.10 // PSI some avg10, as a part of 1
	shortAvailable = 0.05 // of RAM
)

// Role is how a mood looks.
func (m Mood) Role() Role {
	switch m {
	case MoodOOM, MoodFailed, MoodHot, MoodConfused:
		return Bad
	case MoodSweat, MoodHmm, MoodWaiting, MoodPreempted:
		return Warn
	case MoodBusy, MoodStart, MoodDone, MoodHappy:
		return Good
	case MoodThinking:
		return Calm
	case MoodIdle:
		return Faint
	}
	return Plain
}

// MoodOf is the mood of the market, why in a clause, and when it will change by time alone; zero: it won't.
func MoodOf(s *Snapshot, now time.Time) (m Mood, why string, until time.Time) {
	if s == nil || s.Lost == "" && s.Status == nil && s.GPUs == nil && s.Jobs == nil {
		return MoodConfused, "nothing is known yet", time.Time{}
	}
	if s.Lost != "" {
		return MoodConfused, Shown(s.Lost), time.Time{}
	}
	r := moods{now: now}
	r.jobs(s)
	r.machines(s)
	if st := s.Status; st != nil {
		if st.Problem != nil {
			r.stays(MoodHmm, Shown(*st.Problem))
		}
		for _, in := range st.Incidents {
			r.passes(MoodSweat, in.At, afterIncident, Shown(strings.TrimSuffix(in.What+": "+in.Detail, ": ")))
		}
	}
	r.stays(MoodIdle, "nothing runs, nothing waits")
	for _, m := range Moods {
		if c, ok := r.causes[m]; ok {
			return m, c.why, c.until
		}
	}
	return MoodIdle, "", time.Time{}
}
