package daemon

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pasar"
	"pasar/autopsy"
)

// A metXid is an Xid and who was on its GPU when it came.
type metXid struct {
	pasar.Xid
	at      time.Time // when it was read
	tenants []pasar.AttemptKey
	foreign bool // its process was seen, and is no job's
}

const (
	keepXids    = 10 * time.Minute // for attempts that end later, the journal has them
	maxMetXids  = 256
	xidPatience = 3 * time.Second        // how long a failed attempt's verdict waits for the driver's word
	xidLag      = 700 * time.Millisecond // how late that may be: the meter waits half a second for the kernel to name a process
)

// meetXids says whose processes the reading's Xids are of, and keeps them for verdicts: an attempt ends
// before the loop has put them down.
func (l *lookout) meetXids(old, s *sight, inv pasar.Inventory, active []*job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.xids = slices.DeleteFunc(l.xids, func(x metXid) bool { return s.at.Sub(x.at) > keepXids })
	for i := range s.reading.Xids {
		x := &s.reading.Xids[i]
		if x.At.IsZero() {
			x.At = s.at
		}
		m := metXid{at: s.at}
		for _, j := range active {
			if a := j.current(); a.Grant.Machine == inv.Machine && slices.ContainsFunc(a.Grant.GPUs, func(r pasar.GPURef) bool { return concerns(inv, x.UUID, r.UUID) }) {
				key := pasar.AttemptKey{Job: j.ID, Attempt: a.Attempt}
				m.tenants = append(m.tenants, key)
				if x.Job == nil && x.Pid != nil && a.Pid == *x.Pid {
					x.Job = &key
				}
			}
		}
		if x.Job == nil && x.Pid != nil {
			x.Job, m.foreign = processOf(*x.Pid, s, old)
		}
		if x.Job != nil && *x.Job == (pasar.AttemptKey{}) {
			x.Job = nil
		}
		m.Xid = *x
		l.xids = append(l.xids, m)
	}
	l.xids = l.xids[max(0, len(l.xids)-maxMetXids):]
}

// processOf is the attempt of a process that was on a GPU by one of the sights; foreign if it was nobody's.
func processOf(pid int, sights ...*sight) (key *pasar.AttemptKey, foreign bool) {
	for _, s := range sights {
		if s == nil {
			continue
		}
		for _, g := range s.gpus {
			for _, p := range g.Processes {
				if p.Pid != pid || pid == 0 {
					continue
				}
				if p.Job == (pasar.AttemptKey{}) {
					return nil, true
				}
				key := p.Job
				return &key, false
			}
		}
	}
	return nil, false
}

// blame is how surely an Xid is an attempt's: the kernel named a process of it; or named none that is known,
// and it was alone on the GPU, or wasn't. It is false when the Xid is another's.
func (m *metXid) blame(key pasar.AttemptKey) (pasar.Confidence, bool) {
	switch {
	case m.Job != nil:
		return pasar.Certain, *m.Job == key
	case m.foreign || !slices.Contains(m.tenants, key):
		return "", false
	case len(m.tenants) == 1:
		return pasar.Likely, true
	}
	return pasar.Guess, true
}

// gpuEvidence adds what was seen of an attempt's GPUs to the evidence of its end. Of one that failed it waits
// a moment for the next reading, since a fault is reported after it has killed.
func (d *Daemon) gpuEvidence(ctx context.Context, t *tender, j *job, e *autopsy.Evidence) {
	a := j.current()
	inv := d.pub.Load().machines[a.Grant.Machine]
	if d.lookout == nil || e.Exit == nil || *e.Exit == (pasar.Exit{}) || e.Stop != nil || !realGPUs(inv, &a.Grant) {
		return
	}
	ended := d.Clock.Now()
	d.lookout.awaitReading(ctx, t.handle.Key.String(), xidLag, xidPatience, t.done)
	var met []metXid
	if now := d.lookup(t.job); now != nil && now.current() != nil && now.current().Attempt == t.attempt {
		for _, x := range now.current().Xids { // put down by this daemon or the one before
			met = append(met, metXid{Xid: x, tenants: []pasar.AttemptKey{t.handle.Key, {}}})
		}
	}
	d.lookout.mu.Lock()
	for _, x := range d.lookout.xids {
		same := func(m metXid) bool { return m.UUID == x.UUID && m.Code == x.Code && m.At.Equal(x.At) }
		if i := slices.IndexFunc(met, same); i >= 0 {
			met[i] = x
		} else {
			met = append(met, x)
		}
	}
	d.lookout.mu.Unlock()
	slices.SortStableFunc(met, func(a, b metXid) int { return a.At.Compare(b.At) })
	for i := range met {
		x := &met[i]
		if sure, ours := x.blame(t.handle.Key); ours && !x.At.Before(a.LaunchedAt.Add(-time.Second)) {
			e.Xids = append(e.Xids, autopsy.BlamedXid{Xid: x.Xid, GPU: indexOf(inv, x.UUID), Blame: sure, Before: max(0, pasar.Duration(ended.Sub(x.At)))})
		}
	}
	s := d.sight()
	for _, ref := range a.Grant.GPUs {
		g := s.gpu(ref.UUID)
		if g == nil || !s.answers(d.Clock.Now()) {
			continue
		}
		switch g.Status {
		case pasar.GPULost:
			e.GPULost = append(e.GPULost, fmt.Sprintf("the driver had lost GPU %d when it ended%s", ref.Index, because(g.Detail)))
		case pasar.GPUUnresponsive:
			e.GPUSilent = append(e.GPUSilent, fmt.Sprintf("GPU %d didn't answer when it ended%s", ref.Index, because(g.Detail)))
		}
	}
}

// indexOf is the index of a GPU, or of the GPU that instances are on.
func indexOf(inv pasar.Inventory, uuid string) int {
	for _, g := range inv.GPUs {
		if concerns(inv, uuid, g.UUID) {
			return g.Index
		}
	}
	return 0
}
