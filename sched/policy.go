package sched

// A Policy says how jobs are let in before others. The daemon knows only the first; the others are there to
// compare it with, on traces.
type Policy string

// Policies.
const (
	PolicyPasar Policy = ""     // short jobs that have waited long go first, and backfill by response ratio; see candidates
	PolicyEASY  Policy = "easy" // strictly by age, with one reservation and backfill in the same order
	PolicyFIFO  Policy = "fifo" // strictly by age: the first job that doesn't fit holds up all others
)
