package daemon

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"pasar"
	"pasar/target"
)

// A watchdog decides which job is to go when memory runs out. What it remembers are times only, all from
// the sights that it is shown, so that what it does can be told from them alone.
type watchdog struct {
	low     map[string]time.Time           // by GPU: since when next to nothing is free
	pressed time.Time                      // since when the machine is under pressure; zero: it isn't
	rest    time.Time                      // nothing is killed for pressure before
	said    bool                           // of this pressure, that nobody is over a limit
	struck  map[pasar.AttemptKey]time.Time // those that were killed, and when
}

func newWatchdog() watchdog {
	return watchdog{low: map[string]time.Time{}, struck: map[pasar.AttemptKey]time.Time{}}
}

const (
	lowFree    = 0.02             // of a GPU's memory: less is next to nothing
	lowFor     = 10 * time.Second // until that counts
	restFor    = 30 * time.Second // after a kill for pressure, until the next
	strikeRest = 5 * time.Second  // how long what a killed job had may take to be free, before another goes
)

// A ward is a job that the watchdog may have to stop.
type ward struct {
	key      pasar.AttemptKey
	nonce    string
	bid      pasar.Bid
	launched time.Time
	grant    pasar.Grant
}

// A plight is what the watchdog is shown.
type plight struct {
	sight   *sight
	inv     pasar.Inventory
	set     *Settings
	wards   []ward
	starved map[string]time.Time // by GPU: when a job on it last ended for want of memory
}

// A strike is a decision to kill a job.
type strike struct {
	ward   ward
	detail string // why, with sizes
}

// A guarding is what the watchdog wants done.
type guarding struct {
	strikes  []strike
	incident string // empty: none
	urgent   bool   // memory is about to run out: look again soon
}

// look decides by one sight. Per sight at most one job goes for each GPU and one for the host.
func (w *watchdog) look(p *plight) guarding {
	var out guarding
	now := p.sight.at
	alive := map[pasar.AttemptKey]bool{}
	for _, j := range p.wards {
		alive[j.key] = true
	}
	for key := range w.struck {
		if !alive[key] {
			delete(w.struck, key)
		}
	}
	strike := func(j ward, detail string) {
		w.struck[j.key] = now
		out.strikes = append(out.strikes, strike{j, detail})
	}
	for i := range p.inv.GPUs {
		if g := &p.inv.GPUs[i]; !g.Virtual && !g.Unified {
			w.guardGPU(p, g, strike)
		}
	}
	w.guardHost(p, &out, strike)
	return out
}

// guardGPU sees to a GPU with memory of its own.
func (w *watchdog) guardGPU(p *plight, g *pasar.GPU, strike func(ward, string)) {
	now := p.sight.at
	s := p.sight.gpu(g.UUID)
	if s == nil || s.Status != pasar.GPUOK || s.Used == nil || !p.sight.good.Equal(now) {
		delete(w.low, g.UUID)
		return
	}
	total := g.Total
	if s.Total != nil {
		total = *s.Total
	}
	free := max(0, total-orZero(s.Reserved)-*s.Used)
	low := float64(free) < lowFree*float64(total)
	since, lasting := w.low[g.UUID]
	switch {
	case !low:
		delete(w.low, g.UUID)
	case !lasting:
		w.low[g.UUID], since = now, now
	}
	starved, failing := p.starved[g.UUID]
	failing = failing && now.Sub(starved) <= lowFor
	if !failing && !(low && now.Sub(since) >= lowFor) {
		return
	}
	j, over, ok := w.furthest(p, func(j *ward) pasar.Bytes { return j.overOn(g, s) })
	if !ok || w.resting(now) {
		return
	}
	delete(w.low, g.UUID)
	why := fmt.Sprintf("with %s of %s free", free, total)
	if failing {
		why = "while another job there ran out of memory"
	}
	strike(j, fmt.Sprintf("over its limit of %s by %s of GPU memory on GPU %d, %s", max(j.grant.Claim.Limit, j.grant.Claim.Mem), over, g.Index, why))
}

// guardHost sees to host memory, which GPUs may share.
func (w *watchdog) guardHost(p *plight, out *guarding, strike func(ward, string)) {
	now, h := p.sight.at, p.sight.reading.Host
	if h.Total == 0 {
		return
	}
	unified := slices.ContainsFunc(p.inv.GPUs, func(g pasar.GPU) bool { return g.Unified })
	least := floor(p.set, h.Total)
	over := func(j *ward) pasar.Bytes { return j.over(p.inv, p.sight) }
	if unified && h.Available < 2*least {
		// The kernel may see nothing of what CUDA takes there, and the host may hang before it kills anything.
		out.urgent = true
		if h.Available < least && !w.resting(now) {
			why := fmt.Sprintf("GPU and host share %s of memory, and %s were left", h.Total, h.Available)
			if j, by, ok := w.furthest(p, over); ok {
				strike(j, fmt.Sprintf("over its limit by %s of memory: %s", by, why))
			} else if j, ok := w.cheapest(p); ok {
				strike(j, "no job was over its limit, and it had the lowest bid: "+why)
			}
			return
		}
	}
	pressed := p.set.PressureSome > 0 && h.Pressure != nil && *h.Pressure > p.set.PressureSome || h.Available < least
	if !pressed {
		w.pressed, w.said = time.Time{}, false
		return
	}
	if w.pressed.IsZero() {
		w.pressed = now
	}
	if now.Sub(w.pressed) < p.set.PressureFor || now.Before(w.rest) || w.resting(now) {
		return
	}
	why := fmt.Sprintf("%s of %s were available", h.Available, h.Total)
	if h.Pressure != nil {
		why += fmt.Sprintf(", pressure %.0f %%", 100**h.Pressure)
	}
	j, by, ok := w.furthest(p, over)
	switch {
	case ok:
		w.rest = now.Add(restFor)
		strike(j, fmt.Sprintf("over its limit by %s of memory while the machine ran out of it: %s", by, why))
	case !w.said:
		w.said = true
		out.incident = fmt.Sprintf("the machine is short of memory and no job is over its limit: %s; nothing is stopped", why)
	}
}

// resting reports whether a job was killed so lately that what it had may not be free yet.
func (w *watchdog) resting(now time.Time) bool {
	for _, at := range w.struck {
		if now.Sub(at) < strikeRest {
			return true
		}
	}
	return false
}

// furthest is the job furthest over a limit; false if none is. Ties end on the lower bid, then on the
// younger job.
func (w *watchdog) furthest(p *plight, over func(*ward) pasar.Bytes) (ward, pasar.Bytes, bool) {
	var most ward
	var by pasar.Bytes
	for i := range p.wards {
		j := &p.wards[i]
		if n := over(j); n > 0 && (n > by || n == by && j.before(&most)) && !w.hit(j) {
			most, by = *j, n
		}
	}
	return most, by, by > 0
}

// cheapest is the job with the lowest bid of those that were seen to use memory, or of all.
func (w *watchdog) cheapest(p *plight) (ward, bool) {
	least := pasar.Bytes(float64(p.sight.reading.Host.Total) / 100)
	var best *ward
	for _, all := range []bool{false, true} {
		for i := range p.wards {
			j := &p.wards[i]
			used := p.sight.reading.Host.Use[j.key] + orZero(p.sight.use(j.key, &j.grant))
			if (all || used >= least) && (best == nil || j.before(best)) && !w.hit(j) {
				best = j
			}
		}
		if best != nil {
			return *best, true
		}
	}
	return ward{}, false
}

// hit reports whether a job was killed and is going.
func (w *watchdog) hit(j *ward) bool {
	_, ok := w.struck[j.key]
	return ok
}

// before reports whether one job goes before another that is as bad.
func (j *ward) before(o *ward) bool {
	return cmp.Or(cmp.Compare(j.bid, o.bid), o.launched.Compare(j.launched), cmp.Compare(o.key.Job, j.key.Job)) < 0
}

// overOn is by how much the job is over its limit on one GPU; 0 if it isn't.
func (j *ward) overOn(g *pasar.GPU, s *gpuSight) pasar.Bytes {
	t := tenant{key: j.key, grant: j.grant}
	if j.grant.Claim.Kind != pasar.Slice || s == nil || !t.on(g.UUID) {
		return 0
	}
	return max(0, s.use[j.key]-share(&j.grant.Claim, g.Total))
}

// over is by how much the job is over what it was given of host memory, with what shares that; 0 if it isn't.
// A job that asked for none has no limit there.
func (j *ward) over(inv pasar.Inventory, s *sight) pasar.Bytes {
	var most, slices pasar.Bytes
	virtual := false
	for i := range inv.GPUs {
		g := &inv.GPUs[i]
		t := tenant{grant: j.grant}
		if !t.on(g.UUID) {
			continue
		}
		switch {
		case g.Virtual:
			virtual = true
			slices += share(&j.grant.Claim, g.Total)
		case g.Unified:
			most = max(most, j.overOn(g, s.gpu(g.UUID)))
		}
	}
	host := s.reading.Host.Use[j.key]
	switch c := &j.grant.Claim; {
	case virtual && c.Kind == pasar.Slice:
		most = max(most, host-slices-c.RAM)
	case c.RAM > 0 && !virtual:
		most = max(most, host-c.RAM)
	}
	return max(0, most)
}

// overLimit reports whether a job uses more than it was given, on any of its GPUs or of host memory.
func (j *ward) overLimit(inv pasar.Inventory, s *sight) bool {
	for i := range inv.GPUs {
		if j.overOn(&inv.GPUs[i], s.gpu(inv.GPUs[i].UUID)) > 0 {
			return true
		}
	}
	return j.over(inv, s) > 0
}

// wards are the jobs of a machine that run.
func wards(active []*job, machine string) []ward {
	var ws []ward
	for _, j := range active {
		a := j.current()
		if !j.holds() || a.Grant.Machine != machine || a.Pid == 0 || j.Phase == phaseStopping && a.Stop != nil && a.Stop.Now {
			continue
		}
		ws = append(ws, wardOf(j))
	}
	return ws
}

func wardOf(j *job) ward {
	a := j.current()
	return ward{key: pasar.AttemptKey{Job: j.ID, Attempt: a.Attempt}, nonce: a.Nonce, bid: j.Spec.Bid, launched: a.LaunchedAt, grant: a.Grant}
}

// guard lets the watchdog look, and does what it decides: the kill may not wait for a disk, so it goes out
// before its entry in the journal, which then repeats it until it was taken. The exit record names the
// watchdog in any case.
func (l *lookout) guard(ctx context.Context, s *sight, inv pasar.Inventory, active []*job, now time.Time) pasar.Pace {
	l.mu.Lock()
	starved := map[string]time.Time{}
	for uuid, at := range l.starved {
		if now.Sub(at) <= lowFor {
			starved[uuid] = at
		} else {
			delete(l.starved, uuid)
		}
	}
	l.mu.Unlock()
	out := l.dog.look(&plight{sight: s, inv: inv, set: l.d.settings.Load(), wards: wards(active, inv.Machine), starved: starved})
	for _, st := range out.strikes {
		stop := pasar.Stop{ID: l.d.Random(), Why: pasar.StopWatchdog, Detail: st.detail, Now: true}
		l.d.Log.Warn("job killed for memory", "job", st.ward.key.Job, "attempt", st.ward.key.Attempt, "why", st.detail)
		l.d.effects.Go(func() {
			if err := l.d.Target.Signal(ctx, target.Handle{Key: st.ward.key, Nonce: st.ward.nonce}, stop); err != nil {
				l.d.Log.Debug("stop not taken", "job", st.ward.key.Job, "attempt", st.ward.key.Attempt, "error", err)
			}
		})
		l.judgeLater(func(s *state, _ time.Time) []pasar.Fact {
			facts := []pasar.Fact{pasar.Incident{Machine: inv.Machine, What: "memory", Detail: fmt.Sprintf("job %d was killed: %s", st.ward.key.Job, st.detail)}}
			if j := s.jobs[st.ward.key.Job]; j != nil && j.holds() && j.current().Attempt == st.ward.key.Attempt {
				facts = append(facts, pasar.StopAsked{Job: st.ward.key.Job, Attempt: st.ward.key.Attempt, Stop: stop})
			}
			return facts
		})
	}
	if out.incident != "" && l.health.again("pressure", s.at) {
		l.judgeLater(func(*state, time.Time) []pasar.Fact {
			return []pasar.Fact{pasar.Incident{Machine: inv.Machine, What: "memory", Detail: out.incident}}
		})
	}
	if out.urgent {
		return pasar.PaceUrgent
	}
	return pasar.PaceIdle
}

// starve notes that a job ended because it could not have more of its GPUs' memory.
func (d *Daemon) starve(f pasar.Fact, now time.Time) {
	e, ok := f.(pasar.Ended)
	if !ok || d.lookout == nil || e.Verdict.Reason != pasar.CodeGPUOOM {
		return
	}
	j := d.state.jobs[e.Job]
	if j == nil || j.current() == nil || j.current().Attempt != e.Attempt {
		return
	}
	d.lookout.mu.Lock()
	defer d.lookout.mu.Unlock()
	for _, ref := range j.current().Grant.GPUs {
		d.lookout.starved[ref.UUID] = now
	}
}
