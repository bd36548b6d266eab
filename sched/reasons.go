package sched

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"pasar"
)

// Reasons says for each waiting job that does not start why, in the order considered. Most jobs wait
// for one of a few causes, so a cause is kept once and each job has only a few numbers of its own: a
// plan for ten thousand jobs is a quarter of a megabyte without a pointer in it.
//
// A Reasons is never changed; its zero value has none.
type Reasons struct {
	list   []waitingJob
	causes []pasar.Reason // without what is a job's own
	bids   []pasar.Bid
	owns   []own
}

// A waitingJob is one job's entry.
type waitingJob struct {
	id    pasar.JobID
	need  pasar.Bytes
	cause int32 // in causes
	ahead int32
	bid   int32 // in bids, from 1; 0 is none
	own   int32 // in owns, from 1; 0 is none
}

// An own is what hardly two jobs have in common.
type own struct {
	holders []pasar.JobID
	detail  string
	until   time.Time
}

// Len is how many jobs wait.
func (r Reasons) Len() int { return len(r.list) }

// ID is the i-th job in the order considered.
func (r Reasons) ID(i int) pasar.JobID { return r.list[i].id }

// At is why the i-th job waits. Since is left to whoever knows the job; it is its queue time.
func (r Reasons) At(i int) pasar.Reason {
	w := &r.list[i]
	reason := r.causes[w.cause]
	reason.Need, reason.Ahead = w.need, int(w.ahead)
	if w.bid > 0 {
		reason.BidNeeded = &r.bids[w.bid-1]
	}
	if w.own > 0 {
		if o := &r.owns[w.own-1]; o.holders != nil {
			reason.Holders, reason.Detail = o.holders, o.detail
		} else {
			reason.Until = &o.until
		}
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

// bid adds a bid that a job needs and returns its number. Jobs next to each other mostly need the same.
func (r *Reasons) bid(b pasar.Bid) int32 {
	if n := len(r.bids); n > 0 && r.bids[n-1] == b {
		return int32(n)
	}
	r.bids = append(r.bids, b)
	return int32(len(r.bids))
}

// ownUntil adds when a job is due and returns its number. Jobs next to each other are often due together.
func (r *Reasons) ownUntil(t time.Time) int32 {
	if n := len(r.owns); n > 0 && r.owns[n-1].holders == nil && r.owns[n-1].until.Equal(t) {
		return int32(n)
	}
	r.owns = append(r.owns, own{until: t})
	return int32(len(r.owns))
}

// ownHolders adds the jobs that a job comes after and returns their number. Those of an array mostly come
// after the same.
func (r *Reasons) ownHolders(after []pasar.Dependency) int32 {
	if n := len(r.owns); n > 0 && r.owns[n-1].detail == "" && slices.EqualFunc(r.owns[n-1].holders, after, func(id pasar.JobID, d pasar.Dependency) bool {
		return id == d.Job && d.Met(pasar.Completed) && !d.Met(pasar.Failed)
	}) {
		return int32(n)
	}
	o := own{holders: make([]pasar.JobID, len(after))}
	plain := true
	for i := range after {
		o.holders[i] = after[i].Job
		plain = plain && after[i].Met(pasar.Completed) && !after[i].Met(pasar.Failed)
	}
	slices.Sort(o.holders)
	if !plain {
		o.detail = howTheyEnd(after)
	}
	r.owns = append(r.owns, o)
	return int32(len(r.owns))
}

// howTheyEnd says which ends a job waits for: "#40 to complete, #41 to end, #42 to fail".
func howTheyEnd(after []pasar.Dependency) string {
	const show = 3
	var b strings.Builder
	for i := range after {
		if i == show && len(after) > show+1 {
			fmt.Fprintf(&b, " and %d more", len(after)-show)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("#" + after[i].Job.String())
		switch after[i].On {
		case pasar.AfterAny:
			b.WriteString(" to end")
		case pasar.AfterFail:
			b.WriteString(" to fail")
		default:
			b.WriteString(" to complete")
		}
	}
	return b.String()
}
