package local

import "time"

// Bounds of how many supervisors are kept warm, and for how long.
const (
	most     = 2                      // kept warm at a time
	quickly  = 100 * time.Millisecond // between two launches: the second may come before its supervisor is ready
	lull     = 5 * time.Second        // without a launch: one is enough again
	restTime = 20 * time.Millisecond  // the processors are left to an attempt just launched
)

// A stock is the supervisors kept warm, the oldest first.
type stock struct {
	warm    []*warm
	coming  int       // being started
	last    time.Time // when one was taken
	quick   bool      // launches come quickly
	resting bool      // the next isn't started yet
}

// short reports whether one more is to be started. In trouble one is enough.
func (s *stock) short(trouble bool) bool {
	want := 1
	if s.quick && !trouble {
		want = most
	}
	return len(s.warm)+s.coming < want && !s.resting
}

// took notes that the oldest was taken. The next rests, unless it will be wanted before long.
func (s *stock) took(now time.Time) {
	s.warm = append(s.warm[:0:0], s.warm[1:]...)
	s.quick = now.Sub(s.last) < quickly
	s.last = now
	s.resting = !s.quick
}

// remove takes one out.
func (s *stock) remove(i int) *warm {
	w := s.warm[i]
	s.warm = append(s.warm[:i:i], s.warm[i+1:]...)
	return w
}

// due delivers when the rest ends, or when one too many has been idle for long enough; else never.
func (s *stock) due() <-chan time.Time {
	switch {
	case s.resting:
		return time.After(restTime)
	case len(s.warm) == most:
		return time.After(lull)
	}
	return nil
}
