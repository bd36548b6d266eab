package sched

import (
	"slices"
	"time"

	"pasar"
)

// Waiting jobs that lack the same in the same places have one shape, and share one list of holders: ten
// thousand waiting jobs mostly have a handful of shapes.
type shapes struct {
	list []shape
	ids  []int32 // of each cause
}

type shape struct {
	why pasar.WaitWhy
	gpu bool // of jobs that want one
	key int32
}

// noShape is the shape of a reason without holders, or with its own.
const noShape = int32(-1)

// of is the number of a shape.
func (s *shapes) of(why pasar.WaitWhy, kind kind, key int32) int32 {
	sh := shape{why, kind != noGPU, key}
	for i := len(s.list) - 1; i >= 0; i-- {
		if s.list[i] == sh {
			return int32(i)
		}
	}
	s.list = append(s.list, sh)
	return int32(len(s.list) - 1)
}

// cause adds a cause, unless one of the last few is the same.
func (x *explainer) cause(r pasar.Reason, shape int32) int32 {
	for i := range x.recent {
		n := &x.recent[i]
		if n.ok && n.shape == shape && same(&x.reasons.causes[n.cause], &r) {
			return n.cause
		}
	}
	x.reasons.causes = append(x.reasons.causes, r)
	x.shapes.ids = append(x.shapes.ids, shape)
	no := int32(len(x.reasons.causes) - 1)
	x.recent[int(no)%len(x.recent)] = number{no, shape, true}
	return no
}

// same reports whether two causes are the same.
func same(a, b *pasar.Reason) bool {
	return a.Why == b.Why && a.Free == b.Free && a.Behind == b.Behind && a.Detail == b.Detail && sameTime(a.Reserved, b.Reserved) &&
		sameTime(a.Start, b.Start) && sameTime(a.Until, b.Until) && slices.Equal(a.Holders, b.Holders)
}

func sameTime(a, b *time.Time) bool { return a == b || a != nil && b != nil && a.Equal(*b) }

// nameHolders gives each cause the jobs that have what it lacks, at the end of the pass: those that
// were running and those that just started.
func (x *explainer) nameHolders() {
	lists := make([][]pasar.JobID, len(x.shapes.list))
	for i := range x.shapes.list {
		lists[i] = x.holders(&x.shapes.list[i], nil)
	}
	for i, id := range x.shapes.ids {
		if id != noShape {
			x.reasons.causes[i].Holders = lists[id]
		}
	}
}

// holders is the jobs that have what jobs of a shape lack; for one with a reservation those that have what is
// reserved for it.
func (x *explainer) holders(sh *shape, r *reservation) (ids []pasar.JobID) {
	for k := range x.acts {
		a := &x.acts[k]
		if a.promise || a.m == nil || !x.holds(sh, a) || r != nil && a.m != r.m {
			continue
		}
		if r == nil || len(r.gpus) == 0 || len(a.gpus) == 0 || slices.ContainsFunc(a.gpus, func(k int) bool { return slices.Contains(r.gpus, k) }) {
			ids = append(ids, a.ID)
		}
	}
	slices.Sort(ids)
	if len(ids) == 0 && r != nil {
		return x.holders(sh, nil)
	}
	return slices.Compact(ids)
}

// holds reports whether a job has some of what jobs of a shape lack.
func (x *explainer) holds(sh *shape, a *act) bool {
	key := &x.keys[sh.key]
	i := slices.Index(x.machines, a.m)
	if !x.may(key, i) {
		return false
	}
	if sh.why == pasar.WaitCores {
		return a.core
	}
	if sh.why != pasar.WaitRAM {
		for _, k := range a.gpus {
			if key.ok == nil || key.ok[i][k] {
				return true
			}
		}
	}
	if sh.why == pasar.WaitRAM {
		return a.host > 0
	}
	// A slice of a GPU that shares host memory is also waiting for those who have that.
	if sh.why != pasar.WaitMemory || a.host == 0 {
		return false
	}
	for k := range a.m.gpus {
		if a.m.gpus[k].shared && (key.ok == nil || key.ok[i][k]) {
			return true
		}
	}
	return false
}
