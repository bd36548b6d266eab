package ui

import (
	"time"

	"pasar"
)

// A Snapshot is what a client knows of the market at one time. Parts that aren't known are nil.
type Snapshot struct {
	At        time.Time        // when it was asked for
	Jobs      []*pasar.JobView // as the daemon orders them: running, waiting in the order they will be considered, finished, newest first
	Status    *pasar.StatusView
	GPUs      *pasar.GPUsView
	Approvals *pasar.ApprovalsView
	Partial   bool   // Jobs are only some of them, and Status counts them; the first that waits is there
	Lost      string // why there is no connection just now, in a clause; empty: there is one
}

// machines are those that are known, as fresh as can be.
func (s *Snapshot) machines() []pasar.MachineView {
	switch {
	case s == nil:
	case s.GPUs != nil:
		return s.GPUs.Machines
	case s.Status != nil:
		return s.Status.Machines
	}
	return nil
}
