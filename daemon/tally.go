package daemon

import (
	"cmp"
	"slices"

	"pasar"
)

// A tally is what is counted of all that was ever done, and never counted down. It is a part of the fold: the same facts
// make the same tally. Only the loop touches it.
type tally struct {
	Ended       []endedFor     `json:"ended"` // by reason, in their order, so that the same tally has the same bytes
	LostPreempt pasar.Duration `json:"lost_preempt,omitempty"`
	LostFailed  pasar.Duration `json:"lost_failed,omitempty"`
}

// endedFor is how many attempts ended for a reason.
type endedFor struct {
	Reason pasar.Code `json:"reason"`
	N      int64      `json:"n"`
}

func (t tally) clone() tally {
	t.Ended = slices.Clone(t.Ended)
	return t
}

// add counts an attempt that has ended, and what its job lost if that is over. A job that was restarted was counted
// before, with the attempts that it had then.
func (t *tally) add(reason pasar.Code, j *job) {
	i, ok := slices.BinarySearchFunc(t.Ended, reason, func(e endedFor, r pasar.Code) int { return cmp.Compare(e.Reason, r) })
	if !ok {
		t.Ended = slices.Insert(t.Ended, i, endedFor{Reason: reason})
	}
	t.Ended[i].N++
	t.close(j)
}

// close counts what a job lost if it has ended for good.
func (t *tally) close(j *job) {
	if j.Phase != phaseFinished {
		return
	}
	all, before := lostOf(j.Attempts), lostOf(j.Attempts[:min(j.Earlier, len(j.Attempts))])
	if !all.known {
		return
	}
	if !before.known { // and so not counted
		before = lostTime{}
	}
	t.LostPreempt += max(0, all.preemptions-before.preemptions)
	t.LostFailed += max(0, all.failures-before.failures)
}

// counts is the tally as it is told. Ids are given out one after the other, so the next one says how many there were.
func (p *published) counts() pasar.CountsView {
	v := pasar.CountsView{Submitted: int64(p.next) - 1, Attempts: map[pasar.Code]int64{}, LostPreempt: p.tally.LostPreempt, LostFailed: p.tally.LostFailed}
	for _, e := range p.tally.Ended {
		v.Attempts[e.Reason] = e.N
	}
	return v
}
