package sched

import "time"

// perKey is how many of the blocked jobs that may run in the same places get a reservation: the first
// ones in the order. With more of them fewer jobs are let in before others.
const perKey = 1

// merit says which of the jobs with equal bids is tried first among those that come after a
// reservation: the highest. Nothing that is promised hangs on it, since no such job may move a
// reservation, so it is free to serve everybody's wait. Equal merits are tried in the order of the queue.
//
// It is the response ratio, (waited + estimate) / estimate: short jobs go first, and long ones the more
// the longer they have waited. Jobs without an estimate are tried last.
func merit(waited, estimate time.Duration) float64 {
	if estimate == forever {
		return 0
	}
	return 1 + float64(max(waited, 0))/float64(estimate)
}
