package sched

import (
	"iter"

	"pasar"
)

// Reasons says for each waiting job that does not start why, in the order considered. Most jobs wait
// for one of a few causes, so a cause is kept once and each job has only a few numbers of its own: a
// plan for ten thousand jobs is a quarter of a megabyte without a pointer in it.
//
// A Reasons is never changed; its zero value has none.
type Reasons struct {
	list   []waiting
	causes []pasar.Reason
	bids   []pasar.Bid
}

// waiting is one job's entry.
type waiting struct {
	id    pasar.JobID
	cause int32 // in causes
	ahead int32
	bid   int32 // in bids, from 1; 0 is none
}

// Len is how many jobs wait.
func (r Reasons) Len() int { return len(r.list) }

// ID is the i-th job in the order considered.
func (r Reasons) ID(i int) pasar.JobID { return r.list[i].id }

// At is why the i-th job waits. Since is left to whoever knows the job; it is its queue time.
func (r Reasons) At(i int) pasar.Reason {
	w := &r.list[i]
	reason := r.causes[w.cause]
	reason.Ahead = int(w.ahead)
	if w.bid > 0 {
		reason.BidNeeded = &r.bids[w.bid-1]
	}
	return reason
}

// All goes through all of them.
func (r Reasons) All() iter.Seq2[pasar.JobID, pasar.Reason] {
	return func(yield func(pasar.JobID, pasar.Reason) bool) {
		for i := range r.list {
			if !yield(r.list[i].id, r.At(i)) {
				return
			}
		}
	}
}

// Find is why a job waits; false when it is not among them.
func (r Reasons) Find(id pasar.JobID) (pasar.Reason, bool) {
	for i := range r.list {
		if r.list[i].id == id {
			return r.At(i), true
		}
	}
	return pasar.Reason{}, false
}

// cause adds a cause and returns its number. Equal causes may be added twice.
func (r *Reasons) cause(reason pasar.Reason) int32 {
	r.causes = append(r.causes, reason)
	return int32(len(r.causes) - 1)
}

// bid adds a bid that a job needs and returns its number. Jobs next to each other mostly need the same.
func (r *Reasons) bid(b pasar.Bid) int32 {
	if n := len(r.bids); n > 0 && r.bids[n-1] == b {
		return int32(n)
	}
	r.bids = append(r.bids, b)
	return int32(len(r.bids))
}
