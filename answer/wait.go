package answer

import "pasar"

// A TimedOutView says that jobs had not ended when whoever waited for them gave up.
type TimedOutView struct {
	Schema int           `json:"schema"`
	Timed  bool          `json:"timed_out"` // true
	Left   []pasar.JobID `json:"left"`      // that are still waited for
}

// TimedOut is the answer to a wait that took too long: one line.
func TimedOut(left []pasar.JobID) ([]byte, error) {
	return Encode(TimedOutView{pasar.Schema, true, left})
}
