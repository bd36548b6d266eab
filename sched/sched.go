// Package sched settles what starts, what stops and what waits, as a pure function of its input:
// no clock, no randomness, no I/O, and no map order in a decision.
//
// The same Decide serves the daemon, every projection and the simulator.
package sched

import (
	"time"

	"pasar"
)

// Input is everything a decision may depend on.
type Input struct {
	Machines []Machine
	Waiting  []Job     // in any order; Decide orders them
	Active   []Running // jobs that hold their claims: starting, running, stopping
}

// A Machine is one place with its GPUs and host memory.
type Machine struct {
	pasar.Inventory
	Reachable bool
	Blocked   string // why nothing may start here just now; empty is fine
}

// A Job is a waiting job.
type Job struct {
	ID        pasar.JobID
	Bid       pasar.Bid
	QueueTime time.Time
	Claim     pasar.Claim
	Estimate  time.Duration // 0: unknown
	Held      bool
	Machine   string // only there; empty is anywhere
}

// A Running job holds its claim on a machine.
type Running struct {
	ID       pasar.JobID
	Bid      pasar.Bid
	Grant    pasar.Grant
	Started  time.Time
	Estimate time.Duration
	Stopping bool
}

// A Plan is what Decide decided.
type Plan struct {
	Starts  []Start
	Reasons Reasons   // one for every waiting job that does not start
	WakeAt  time.Time // decide again then, even if nothing happens; zero: never
}

// A Start is a decision to start a job now.
type Start struct {
	ID    pasar.JobID
	Grant pasar.Grant // At is not set
}
