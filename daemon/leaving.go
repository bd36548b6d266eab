package daemon

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pasar"
	"pasar/sched"
)

// A leaver is an attempt that has exited and whose GPUs count as busy until a reading taken after its exit
// shows its processes and its memory gone: SIGKILL returns long before tens of GiB do. It is never changed
// once published.
//
// Leavers are of one daemon's life, as readings are. The next one makes them anew from the attempts that
// ended shortly before. Of those that it misses nothing is given out twice either: what is left of them is
// memory that no claim explains, which counts as strangers' and isn't free by the device.
type leaver struct {
	key     pasar.AttemptKey
	grant   pasar.Grant
	exited  time.Time
	mono    pasar.Duration // when it exited, by the boot clock
	after   int64          // number of the last reading before
	had     map[string]had // by GPU
	stopFor pasar.JobID    // preempted for that job; 0: it wasn't
	leaked  bool           // it has had its time: what is left counts as a stranger's
	untold  bool           // it has had its time, but nobody can say whether its memory is free: it keeps its GPUs
}

// had is what an attempt had of a GPU when it was last seen.
type had struct {
	mem  pasar.Bytes
	used pasar.Bytes // of the whole GPU then; -1: not known
}

// running is the leaver as the scheduler sees it. Its host memory is free: nothing of it runs.
func (l *leaver) running() sched.Running {
	r := sched.Running{ID: l.key.Job, Grant: l.grant, Started: l.exited, Leaving: true}
	r.Grant.Claim.RAM = 0
	return r
}

// readAfter reports whether a sight is of a reading that was begun after the exit. One that was under way
// then is no proof; the second to come after the exit is, whatever the clocks say.
func (l *leaver) readAfter(s *sight) bool {
	return s != nil && (s.seq > l.after+1 || s.seq > l.after && s.reading.At.After(l.exited))
}

// gone reports whether a sight shows that the leaver's memory is free everywhere. A GPU that doesn't answer
// can't show it.
func (v *seeing) gone(l *leaver) bool {
	s := v.sight
	if !l.readAfter(s) || !s.good.Equal(s.at) {
		return false
	}
	for _, ref := range l.grant.GPUs {
		i := slices.IndexFunc(v.inv.GPUs, func(g pasar.GPU) bool { return g.UUID == ref.UUID })
		if i < 0 || v.inv.GPUs[i].Virtual {
			continue
		}
		if left, known := v.left(l, &v.inv.GPUs[i]); !known || left != 0 {
			return false
		}
	}
	return true
}

// untold reports whether a sight can't say what is left of a leaver: one of its GPUs doesn't answer, or none can be
// looked at just now.
func (v *seeing) untold(l *leaver) bool {
	s := v.sight
	return !s.good.Equal(s.at) || slices.ContainsFunc(l.grant.GPUs, func(ref pasar.GPURef) bool {
		g := s.gpu(ref.UUID)
		return g != nil && g.Status != pasar.GPUOK
	})
}

// told reports whether a sight says at last what is left of a leaver, or is too old to wait for that.
func (v *seeing) told(l *leaver) bool {
	return l.untold && v.sight != nil && (!v.sight.fresh(v.now) || !v.untold(l))
}

// freed reports whether a sight shows that a leaver has nothing left on one of its GPUs.
func (v *seeing) freed(l *leaver, ref pasar.GPURef) bool {
	i := slices.IndexFunc(v.inv.GPUs, func(g pasar.GPU) bool { return g.UUID == ref.UUID })
	if i < 0 || !v.sight.good.Equal(v.sight.at) {
		return false
	}
	left, known := v.left(l, &v.inv.GPUs[i])
	return known && left == 0
}

// left is what is left of a leaver on a GPU; -1 when processes are left of which the driver says nothing
// more. It is false when the GPU can't be looked at.
func (v *seeing) left(l *leaver, g *pasar.GPU) (pasar.Bytes, bool) {
	s := v.sight.gpu(g.UUID)
	if s == nil {
		return 0, true // it isn't there, so nothing is left on it
	}
	if s.Status != pasar.GPUOK {
		return 0, false
	}
	if used, there := s.use[l.key]; there {
		if used == 0 {
			return -1, true
		}
		return used, true
	}
	h := l.had[g.UUID]
	if h.mem == 0 || s.Used == nil || g.Unified {
		return 0, true
	}
	// Memory without a process: free once the GPU's use has fallen by what it had, or once everything
	// there is explained by others.
	rest := *s.Used - s.strange
	for key, used := range s.use {
		if key != l.key {
			rest -= used
		}
	}
	if h.used >= 0 {
		rest = min(rest, *s.Used-(h.used-h.mem))
	}
	if rest <= max(v.set.IdleMem, h.mem/20) {
		return 0, true
	}
	return min(rest, h.mem), true
}

// memory is what an attempt has of a GPU by a sight: what its processes have, and what no process explains
// if it is the only one that may have that.
func (v *seeing) memory(key pasar.AttemptKey, g *pasar.GPU) had {
	s := v.sight.gpu(g.UUID)
	if s == nil || !v.sight.fresh(v.now) {
		return had{used: -1}
	}
	h := had{mem: s.use[key], used: -1}
	if s.Used == nil {
		return h
	}
	h.used = *s.Used
	alone, explained := true, s.strange
	for i := range v.tenants {
		if t := &v.tenants[i]; t.key != key && v.on(t, g) {
			alone = false
		}
	}
	for _, used := range s.use {
		explained += used
	}
	if rest := h.used - explained; alone && h.mem > 0 && rest > v.set.IdleMem {
		h.mem += rest
	}
	return h
}

// leave keeps the GPUs of an attempt that has just exited busy. The loop calls it for every fact.
func (d *Daemon) leave(f pasar.Fact, now time.Time, mono pasar.Duration) {
	if d.Meter == nil {
		return
	}
	var key pasar.AttemptKey
	exited := false
	switch f := f.(type) {
	case pasar.Exited:
		key, exited = pasar.AttemptKey{Job: f.Job, Attempt: f.Attempt}, true
	case pasar.Ended:
		key = pasar.AttemptKey{Job: f.Job, Attempt: f.Attempt}
		if f.Exit.LaunchError != "" {
			return
		}
	case pasar.Lost:
		key = pasar.AttemptKey{Job: f.Job, Attempt: f.Attempt}
	default:
		return
	}
	j := d.state.jobs[key.Job]
	if j == nil || slices.ContainsFunc(d.leaving, func(l *leaver) bool { return l.key == key }) {
		return
	}
	for i := range j.Attempts {
		a := &j.Attempts[i]
		if a.Attempt != key.Attempt || a.LaunchBoot != d.Boot || !exited && a.Exited != nil || !realGPUs(d.state.machines[a.Grant.Machine], &a.Grant) {
			continue
		}
		l := &leaver{key: key, grant: a.Grant, exited: now, mono: mono, had: map[string]had{}}
		if s := d.sight(); s != nil {
			l.after = s.seq
		}
		if a.Stop != nil {
			l.stopFor = a.Stop.For
		}
		inv := d.state.machines[a.Grant.Machine]
		v := d.seeing(inv, d.state.active, d.leaving, now)
		for _, ref := range a.Grant.GPUs {
			for k := range inv.GPUs {
				if inv.GPUs[k].UUID == ref.UUID {
					l.had[ref.UUID] = v.memory(key, &inv.GPUs[k])
				}
			}
		}
		d.leaving = append(d.leaving, l)
	}
}

// leaveAgain makes leavers of the attempts that ended shortly before this daemon began. What they had is
// not known any more, so it is taken to be what was recorded of them, or all that they might have.
func (d *Daemon) leaveAgain(now time.Time, mono pasar.Duration) {
	if d.Meter == nil {
		return
	}
	timeout := d.settings.Load().ReleaseTimeout
	for _, j := range d.state.jobs {
		a := j.current()
		if a == nil || j.holds() || a.LaunchBoot != d.Boot || a.Pid == 0 || !realGPUs(d.state.machines[a.Grant.Machine], &a.Grant) {
			continue
		}
		ago := max(0, now.Sub(a.EndedAt))
		if j.Phase == phaseLeaving {
			ago = 0
		}
		if ago > timeout {
			continue
		}
		l := &leaver{key: pasar.AttemptKey{Job: j.ID, Attempt: a.Attempt}, grant: a.Grant, exited: now.Add(-ago), mono: mono - pasar.Duration(ago), had: map[string]had{}}
		for _, ref := range a.Grant.GPUs {
			for _, g := range d.state.machines[a.Grant.Machine].GPUs {
				if g.UUID != ref.UUID {
					continue
				}
				h := had{mem: share(&a.Grant.Claim, g.Total), used: -1}
				if j.Phase != phaseLeaving && j.current().PeakGPU == nil {
					h.mem = 0
				} else if peak := j.current().PeakGPU; peak != nil {
					h.mem = min(h.mem, *peak)
				}
				l.had[ref.UUID] = h
			}
		}
		d.leaving = append(d.leaving, l)
	}
	slices.SortFunc(d.leaving, func(a, b *leaver) int { return a.exited.Compare(b.exited) })
}

// realGPUs reports whether a grant has a GPU that is more than a name for host memory.
func realGPUs(inv pasar.Inventory, grant *pasar.Grant) bool {
	for _, g := range inv.GPUs {
		if !g.Virtual && slices.ContainsFunc(grant.GPUs, func(r pasar.GPURef) bool { return r.UUID == g.UUID }) {
			return true
		}
	}
	return false
}

// release lets those go whose memory is free, and says of those that have had their time that they leaked.
// It reports whether anything changed.
func (d *Daemon) release(now time.Time, mono pasar.Duration, record func(...pasar.Fact)) bool {
	if len(d.leaving) == 0 {
		return false
	}
	changed := false
	timeout := pasar.Duration(d.settings.Load().ReleaseTimeout)
	var stay []*leaver
	for _, l := range d.leaving {
		v := d.seeing(d.state.machines[l.grant.Machine], d.state.active, d.leaving, now)
		switch {
		case v.gone(l):
			changed = true
			continue
		case l.leaked || mono-l.mono < timeout:
		case !l.readAfter(v.sight) || !v.sight.fresh(now): // nobody can say; the ledger alone counts then
			changed = true
			continue
		case v.untold(l): // it keeps what isn't known to be free
			if !l.untold {
				untold := *l
				untold.untold, changed = true, true
				l = &untold
			}
			if slices.ContainsFunc(l.grant.GPUs, func(ref pasar.GPURef) bool { return v.freed(l, ref) }) {
				less := *l
				less.grant.GPUs = slices.DeleteFunc(slices.Clone(l.grant.GPUs), func(ref pasar.GPURef) bool { return v.freed(l, ref) })
				l, changed = &less, true
			}
		default:
			leaked := *l
			leaked.leaked, changed = true, true
			l = &leaked
			record(pasar.Incident{Machine: l.grant.Machine, What: "leaked", Detail: v.leak(l, time.Duration(timeout))})
		}
		stay = append(stay, l)
	}
	d.leaving = stay
	return changed
}

// releaseBy is when the next leaver has had its time; zero: nobody leaves.
func (d *Daemon) releaseBy(now time.Time, mono pasar.Duration) time.Time {
	var by time.Time
	for _, l := range d.leaving {
		at := now.Add(d.settings.Load().ReleaseTimeout - time.Duration(mono-l.mono))
		if !l.leaked && !l.untold && (by.IsZero() || at.Before(by)) {
			by = at
		}
	}
	return by
}

// leak says what is left of a leaver, and who has it.
func (v *seeing) leak(l *leaver, after time.Duration) string {
	var parts []string
	for _, ref := range l.grant.GPUs {
		for i := range v.inv.GPUs {
			g := &v.inv.GPUs[i]
			if g.UUID != ref.UUID {
				continue
			}
			left, known := v.left(l, g)
			if !known || left == 0 {
				continue
			}
			part := fmt.Sprintf("GPU %d", g.Index)
			if left > 0 {
				part = fmt.Sprintf("%s of %s", left, part)
			}
			var who []string
			if s := v.sight.gpu(g.UUID); s != nil {
				for _, p := range s.Processes {
					if p.Job == l.key {
						who = append(who, fmt.Sprintf("%s, pid %d", nameOf(p), p.Pid))
					}
				}
			}
			if len(who) == 0 {
				who = []string{"no process that can be seen"}
			}
			parts = append(parts, part+" ("+strings.Join(who[:min(len(who), 3)], "; ")+")")
		}
	}
	return fmt.Sprintf("job %d exited and after %s still has %s; it stays charged until it is free",
		l.key.Job, pasar.Duration(after), strings.Join(parts, " and "))
}

// earliest is the earlier of two times; zero is never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
