package target

import (
	"strings"

	"pasar"
)

// Placed is a target that can say where its supervisors live.
type Placed interface {
	// Standing is as of the latest look, and never waits for long.
	Standing() Standing
}

// A Standing is where a machine's supervisors are put now, and what stands in the way of better places.
type Standing struct {
	Place   pasar.Place // empty while nobody has looked
	Cgroup  string      // the directory below which each supervisor gets a cgroup of its own; empty where systemd makes them, or nobody
	Memory  bool        // a job's host memory can be held to what it claims
	Lacks   []Lack      // one for each place better than Place, the best first
	Warning *Lack       // what threatens jobs here, for who submits one; nil: nothing
	Refusal *Lack       // why no job may be submitted; nil: it may
}

// A Lack is something missing: what, in a clause, and what a person can do about it, if anything.
type Lack struct {
	Place pasar.Place // the place that can't be had for it; empty for a warning or refusal
	Why   string
	Fix   string
}

// Note is in one sentence why the place isn't the best one; empty if it is.
func (s *Standing) Note() string {
	why := make([]string, len(s.Lacks))
	for i, l := range s.Lacks {
		why[i] = l.Why
	}
	return strings.Join(why, "; ")
}

// Fix is what a person can do to have a better place; empty if it is the best or nothing can be done.
func (s *Standing) Fix() string {
	for _, l := range s.Lacks {
		if l.Fix != "" {
			return l.Fix
		}
	}
	return ""
}
