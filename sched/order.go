package sched

import (
	"cmp"
	"slices"

	"pasar"
)

// Compare orders waiting jobs: bid high to low, then queue time, then id. It is a total order, since
// no two jobs have one id. A queue kept in it needs no sorting.
func Compare(a, b Job) int { return compare(&a, &b) }

func compare(a, b *Job) int {
	if a.Bid != b.Bid {
		return cmp.Compare(b.Bid, a.Bid)
	}
	return cmp.Or(a.QueueTime.Compare(b.QueueTime), cmp.Compare(a.ID, b.ID))
}

// inOrder is the jobs in order. A queue that is kept in order is used as it is, since sorting is the
// only part of a pass that isn't linear; any other is copied, since it belongs to the caller.
func inOrder(jobs []Job) []Job {
	for i := 1; i < len(jobs); i++ {
		if compare(&jobs[i-1], &jobs[i]) > 0 {
			jobs = slices.Clone(jobs)
			slices.SortFunc(jobs, Compare)
			break
		}
	}
	return jobs
}

// toPrecede is the smallest bid with which a job would come before another that is now before it;
// false when there is none.
func toPrecede(job, other *Job) (pasar.Bid, bool) {
	raised := *job
	if raised.Bid = other.Bid; compare(&raised, other) > 0 {
		raised.Bid++
	}
	return raised.Bid, raised.Bid <= pasar.MaxBid
}
