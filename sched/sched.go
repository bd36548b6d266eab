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
	Active   []Running // jobs that hold their claims: starting, running, stopping, and leaving
	Policy   Policy    // how jobs are let in before others
}

// A Machine is one place with its GPUs and host memory.
type Machine struct {
	pasar.Inventory
	Reachable bool
	Blocked   string         // why nothing may start here just now: drained, say; empty is fine
	External  pasar.External // what whole claims that say nothing make of strangers; empty: share
	Seen      []GPUSeen      // what the last look saw, in any order; a GPU that isn't in it goes by the ledger alone
	Prefer    []string       // UUIDs of GPUs in the order in which they are given out, before the others
	Settles   time.Duration  // how long a slice that starts on a GPU in Seen has it to itself to take its memory; 0: no wait
}

// GPUSeen is what the last look at a GPU saw.
type GPUSeen struct {
	UUID      string
	Unhealthy string       // why it takes nothing; empty: it is well
	Exclusive bool         // takes whole claims only
	Free      *pasar.Bytes // by the device; nil: it doesn't say
	Idle      bool         // no compute process on it, and next to no memory in use: free also for who avoids strangers
	Use       []Use        // measured use of jobs on it
	Strangers pasar.Bytes  // memory of processes that pasar did not start, and what ended jobs left for good
	Who       string       // those processes in words: "python (anna)"
	Settle    time.Time    // no further slice before; zero: now. SettleFor says whose memory grows until then
	SettleFor pasar.JobID
}

// Use is what one job was seen to use of one GPU.
type Use struct {
	ID  pasar.JobID
	Mem pasar.Bytes
}

// A Job is a waiting job.
type Job struct {
	ID        pasar.JobID
	Bid       pasar.Bid
	QueueTime time.Time
	Claim     pasar.Claim
	Estimate  time.Duration // what is left of it to run; 0: unknown
	Held      bool
	Machine   string // only there; empty is anywhere

	Preempt   bool               // may stop running jobs with a lower bid
	Promised  bool               // jobs were stopped for it and it hasn't started since: it goes first
	NotBefore time.Time          // for --begin, or the gap before a retry; zero: now
	Retry     bool               // NotBefore is the gap before a retry
	After     []pasar.Dependency // those that aren't met yet
	Group     pasar.JobID        // 0: none
	GroupMax  int                // jobs of the group at once; 0: no bound
}

// A Running job holds its claim on a machine.
type Running struct {
	ID       pasar.JobID
	Bid      pasar.Bid
	Grant    pasar.Grant
	Started  time.Time
	Estimate time.Duration // what was left of it to run at Started; 0: unknown
	Ends     time.Time     // by its own progress; zero: reckoned from Started and Estimate
	Guess    bool          // Ends is one
	Group    pasar.JobID

	Stopping    bool        // asked to stop; it ends within its grace
	StopFor     pasar.JobID // preempted for that job, to which its room is promised
	Leaving     bool        // it has ended, but its GPUs aren't free yet
	Preemptible bool
	SafeSince   time.Time // work since then would be lost: its last checkpoint, or its start
	Patient     bool      // asked to pause, and runs on until it does
}

// A Plan is what Decide decided.
type Plan struct {
	Starts       []Start
	Stops        []Stop
	Reservations []Reservation
	Reasons      Reasons   // one for every waiting job that does not start
	WakeAt       time.Time // decide again then, even if nothing happens; zero: never
}

// A Start is a decision to start a job now.
type Start struct {
	ID    pasar.JobID
	Grant pasar.Grant // At is not set
}

// A Stop is a decision to preempt a job.
type Stop struct {
	ID  pasar.JobID
	For pasar.JobID
}

// A Reservation is the start promised to a blocked job.
type Reservation struct {
	ID      pasar.JobID
	Machine string
	GPUs    []pasar.GPURef
	At      time.Time
}
