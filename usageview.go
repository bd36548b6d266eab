package pasar

import "time"

// An AttemptUsageView is what an attempt used over its life: the answer of the request `usage`.
type AttemptUsageView struct {
	Schema  int          `json:"schema"`
	ID      JobID        `json:"job"`
	Attempt int          `json:"attempt"`
	Step    Duration     `json:"step"`   // from one point to the next; at least 10 s
	Points  []UsagePoint `json:"points"` // in order, without gaps, from its start on; at most MaxUsagePoints; empty: nobody looked
}

// MaxUsagePoints is how many points an AttemptUsageView has at most.
const MaxUsagePoints = 360

// A UsagePoint is what an attempt used in the time of one step. What isn't known is null.
type UsagePoint struct {
	At   time.Time `json:"at"`   // when the step begins
	GPU  *Bytes    `json:"gpu"`  // memory of all its GPUs together: the most
	Host *Bytes    `json:"host"` // host memory: the most
	Use  *float64  `json:"use"`  // how busy its GPUs were, by whomever, as a part of 1: the mean
}
