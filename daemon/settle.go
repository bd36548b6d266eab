package daemon

import (
	"time"

	"pasar"
	"pasar/sched"
)

// growth is how the memory of a slice has grown on one GPU since it was launched.
type growth struct {
	base pasar.Bytes // from which it counts as grown again; -1: none was seen yet
	at   time.Time   // when it last grew
	done bool        // it has settled: later growth makes nobody wait
}

const (
	// flatWithin is what a slice's memory may grow by and still be flat.
	flatWithin = 64 * pasar.MiB
	// settleUnseen is how many settle times a new slice may take until its first memory is seen: a program
	// that is still importing its libraries is flat, and about to size itself by what is free.
	settleUnseen = 3
	// settleAtMost is how many settle times a slice may go on growing and make others wait.
	settleAtMost = 12
)

// settle says until when no other slice may start on a GPU, and for whom: the last one to settle.
func (v *seeing) settle(g *pasar.GPU, seen *sched.GPUSeen) {
	for i := range v.tenants {
		t := &v.tenants[i]
		if t.leaving || t.grant.Claim.Kind != pasar.Slice || !v.on(t, g) {
			continue
		}
		var grown *growth
		if v.sight != nil {
			if gr, ok := v.sight.growth[place{t.key, g.UUID}]; ok {
				grown = &gr
			}
		}
		until := settled(t, grown, v.set.Settle)
		if until.After(v.now) && until.After(seen.Settle) {
			seen.Settle, seen.SettleFor = until, t.key.Job
		}
	}
}

// settled is when a slice will have settled if nothing more is seen of it.
func settled(t *tenant, g *growth, settle time.Duration) time.Time {
	last := t.since.Add(settleAtMost * settle)
	until := t.since.Add(settleUnseen * settle)
	if g != nil {
		switch {
		case g.done:
			return time.Time{}
		case g.base >= 0:
			until = g.at.Add(settle)
		}
	}
	if until.After(last) {
		return last
	}
	return until
}

// grow follows the memory of the slices among the tenants from one sight to the next.
func (s *sight) grow(old *sight, tenants []tenant, settle time.Duration) {
	s.growth = map[place]growth{}
	for i := range tenants {
		t := &tenants[i]
		if t.leaving || t.grant.Claim.Kind != pasar.Slice {
			continue
		}
		for _, ref := range t.grant.GPUs {
			at := place{t.key, ref.UUID}
			g := growth{base: -1, at: t.since}
			if old != nil {
				if was, ok := old.growth[at]; ok {
					g = was
				}
			}
			if seen := s.gpu(ref.UUID); seen != nil && s.good.Equal(s.at) {
				if used, there := seen.use[t.key]; there && (g.base < 0 || used > g.base+flatWithin) {
					g.base, g.at = used, s.at
				}
				g.done = g.done || g.base >= max(t.grant.Claim.Limit, t.grant.Claim.Mem)
			}
			g.done = g.done || !settled(t, &g, settle).After(s.at)
			s.growth[at] = g
		}
	}
}
