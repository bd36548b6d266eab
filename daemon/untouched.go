package daemon

import (
	"time"

	"pasar"
)

// An attempt that ran for less than untouchedRan is not said to have left its GPU alone, nor is one that was
// first looked at later than untouchedFrom after its start: between two looks, or before the first, it may have
// used it.
const (
	untouchedRan  = 5 * time.Second
	untouchedFrom = 30 * time.Second
)

// untouched reports whether an attempt that has ended held whole GPUs, real ones, and was never seen on them.
func (d *Daemon) untouched(key pasar.AttemptKey, a *pasar.AttemptRecord, ran pasar.Duration) bool {
	if d.lookout == nil || a.Grant.Claim.Kind != pasar.Whole || time.Duration(ran) < untouchedRan ||
		!realGPUs(d.pub.Load().machines[a.Grant.Machine], &a.Grant) {
		return false
	}
	p := d.lookout.peak(key)
	return p.gpu != nil && *p.gpu == 0 && !p.touched && p.from.Sub(a.LaunchedAt) <= untouchedFrom
}

// touches reports whether a process of an attempt is on one of its GPUs.
func (s *sight) touches(key pasar.AttemptKey, grant *pasar.Grant) bool {
	for _, ref := range grant.GPUs {
		if g := s.gpu(ref.UUID); g != nil {
			if _, there := g.use[key]; there {
				return true
			}
		}
	}
	return false
}
