package daemon

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pasar"
	"pasar/sched"
)

// A tenant is an attempt with a claim on GPUs of this machine: under way, or ended while its memory isn't
// free yet.
type tenant struct {
	key     pasar.AttemptKey
	grant   pasar.Grant
	since   time.Time // launched
	leaving bool
}

func (t *tenant) on(uuid string) bool {
	return slices.ContainsFunc(t.grant.GPUs, func(r pasar.GPURef) bool { return r.UUID == uuid })
}

// takes is what a tenant may have of a GPU's memory, and whether it is on it at all: also on one that came of what
// it was given, when that was split or was a part. Of a part it then has all, as the scheduler has it.
func (v *seeing) takes(t *tenant, g *pasar.GPU) (pasar.Bytes, bool) {
	if t.on(g.UUID) {
		return share(&t.grant.Claim, g.Total), true
	}
	var sum pasar.Bytes
	on := false
	var buf [8]int
	for _, ref := range t.grant.GPUs {
		places, _ := v.inv.Places(ref, buf[:0])
		if !slices.ContainsFunc(places, func(k int) bool { return v.inv.GPUs[k].UUID == g.UUID }) {
			continue
		}
		if on = true; g.Parent != "" {
			return g.Total, true
		}
		sum += share(&t.grant.Claim, g.Total)
	}
	return min(sum, g.Total), on
}

func (v *seeing) on(t *tenant, g *pasar.GPU) bool {
	_, on := v.takes(t, g)
	return on
}

// share is what a claim may have of one GPU's memory.
func share(c *pasar.Claim, total pasar.Bytes) pasar.Bytes {
	switch c.Kind {
	case pasar.Slice:
		return min(max(c.Limit, c.Mem), total)
	case pasar.NoGPU:
		return 0
	}
	return total
}

// A seeing is what makes the scheduler's words of a sight.
type seeing struct {
	inv     pasar.Inventory
	sight   *sight // nil: nobody has looked
	set     *Settings
	now     time.Time
	tenants []tenant
	leavers []*leaver // with those that leaked, which are no tenants any more
}

// seeing is one of the local machine for a set of jobs under way and of those that leave.
func (d *Daemon) seeing(inv pasar.Inventory, active []*job, leaving []*leaver, now time.Time) *seeing {
	v := &seeing{inv: inv, sight: d.sight(), set: d.settings.Load(), now: now}
	for _, j := range active {
		if a := j.current(); j.holds() && a.Grant.Machine == inv.Machine && len(a.Grant.GPUs) > 0 {
			v.tenants = append(v.tenants, tenant{key: pasar.AttemptKey{Job: j.ID, Attempt: a.Attempt}, grant: a.Grant, since: a.LaunchedAt})
		}
	}
	v.leavers = leaving
	for _, l := range leaving {
		if !l.leaked {
			v.tenants = append(v.tenants, tenant{key: l.key, grant: l.grant, since: l.exited, leaving: true})
		}
	}
	return v
}

// addSeen adds to the scheduler's input what the last reading saw, who leaves, and how this machine likes its
// GPUs to be given out. Jobs that leave are charged what they were given; a machine whose GPUs are virtual
// has nothing of this but the drains that are there already. Called on the loop.
func (d *Daemon) addSeen(in *sched.Input, s *state, now time.Time) {
	for i := range in.Machines {
		m := &in.Machines[i]
		if m.Inventory.Machine != pasar.LocalMachine {
			continue
		}
		set := d.settings.Load()
		m.External, m.Prefer = set.External, preferred(set.Prefer, m.GPUs)
		if d.Meter == nil {
			continue
		}
		m.Settles = set.Settle
		v := d.seeing(m.Inventory, s.active, d.leaving, now)
		for k := range m.GPUs {
			seen, ok := v.gpu(&m.GPUs[k])
			if !ok {
				continue
			}
			if at := slices.IndexFunc(m.Seen, func(s sched.GPUSeen) bool { return s.UUID == seen.UUID }); at >= 0 {
				seen.Unhealthy = cmp.Or(m.Seen[at].Unhealthy, seen.Unhealthy) // what has a remedy first
				m.Seen[at] = seen
			} else {
				m.Seen = append(m.Seen, seen)
			}
		}
	}
	for _, l := range d.leaving {
		if l.leaked {
			continue
		}
		r := l.running()
		if w := s.jobs[l.stopFor]; w != nil && w.Phase == phaseWaiting { // its room is still promised
			r.StopFor = w.ID
		}
		in.Active = append(in.Active, r)
	}
}

// preferred turns indices and UUIDs into the UUIDs of GPUs that are there, in that order.
func preferred(ids []string, gpus []pasar.GPU) []string {
	var out []string
	for _, id := range ids {
		for _, g := range gpus {
			if (id == strconv.Itoa(g.Index) || id != "" && strings.EqualFold(id, g.UUID)) && !slices.Contains(out, g.UUID) {
				out = append(out, g.UUID)
			}
		}
	}
	return out
}

// gpu is what the scheduler is to know of one GPU; false if there is nothing to say.
func (v *seeing) gpu(g *pasar.GPU) (sched.GPUSeen, bool) {
	seen := sched.GPUSeen{UUID: g.UUID}
	if g.Virtual {
		return seen, false
	}
	v.settle(g, &seen)
	s := v.sight.gpu(g.UUID)
	if s == nil {
		if v.sight.lacks(g.UUID, v.now) {
			seen.Unhealthy = "it isn't there any more"
			return seen, true
		}
		return seen, !seen.Settle.IsZero()
	}
	seen.Exclusive = s.Exclusive
	if v.sight.answers(v.now) {
		seen.Unhealthy = unwell(s)
		for _, l := range v.leavers {
			if seen.Unhealthy != "" && l.untold && slices.ContainsFunc(l.grant.GPUs, func(r pasar.GPURef) bool { return r.UUID == g.UUID }) {
				seen.Unhealthy += fmt.Sprintf(", so it isn't known whether the memory of job %d is free", l.key.Job)
				break
			}
		}
	}
	if !v.sight.fresh(v.now) || s.Status != pasar.GPUOK {
		seen.Idle = true // by the ledger
		return seen, true
	}
	seen.Free = v.free(g, s)
	seen.Idle = s.compute == 0 && orZero(s.Used) <= v.set.IdleMem
	u := v.explain(g, s)
	seen.Use, seen.Strangers, seen.Who = u.use, u.strangers, u.who
	return seen, true
}

// unwell is why a GPU that doesn't answer takes nothing; empty if it does. It is no drain: it ends when the
// GPU answers again.
func unwell(s *gpuSight) string {
	var why string
	switch s.Status {
	case pasar.GPULost:
		why = "the driver has lost it"
	case pasar.GPUUnresponsive:
		why = "it doesn't answer"
	default:
		return ""
	}
	if s.Detail != "" {
		why += ": " + s.Detail
	}
	return why
}

// free is what the device itself has left. A GPU that shares the host's memory has what the host has, less
// what the watchdog keeps free.
func (v *seeing) free(g *pasar.GPU, s *gpuSight) *pasar.Bytes {
	if g.Unified {
		h := v.sight.reading.Host
		if h.Total == 0 {
			return nil
		}
		left := max(0, h.Available-floor(v.set, h.Total))
		return &left
	}
	if s.Used == nil {
		return nil
	}
	total := g.Total
	if s.Total != nil {
		total = *s.Total
	}
	left := max(0, total-orZero(s.Reserved)-*s.Used)
	return &left
}

// floor is the host memory that must stay free.
func floor(set *Settings, total pasar.Bytes) pasar.Bytes {
	return pasar.Bytes(float64(total) * set.PressureFree)
}

// An account says whose a GPU's memory is.
type account struct {
	use       []sched.Use                      // of jobs that have a claim on it
	strangers pasar.Bytes                      // of everybody else, and what ended jobs left for good
	who       string                           // in words
	left      map[pasar.AttemptKey]pasar.Bytes // what is left of each that leaked
}

// explain shares a GPU's memory out. Sums over processes alone are not trusted, since the driver sees too
// little of managed memory there and nothing of a process in another container: what no process explains is
// first what leaked there, then the tenants' up to what they may have, and only then somebody else's. So a
// tenant whose memory can't be seen is not charged twice.
func (v *seeing) explain(g *pasar.GPU, s *gpuSight) account {
	a := account{left: map[pasar.AttemptKey]pasar.Bytes{}}
	var explained, slack pasar.Bytes
	mine := map[pasar.AttemptKey]bool{}
	for i := range v.tenants {
		t := &v.tenants[i]
		takes, on := v.takes(t, g)
		if !on {
			continue
		}
		mine[t.key] = true
		used, there := s.use[t.key]
		if there {
			a.add(t.key.Job, used)
		}
		explained += used
		slack += max(0, takes-used)
	}
	var names []string
	for _, p := range s.Processes {
		if p.Job == (pasar.AttemptKey{}) {
			names = append(names, nameOf(p))
		}
	}
	for _, key := range sortedAttempts(s.use) {
		if !mine[key] {
			a.strangers += s.use[key]
			names = append(names, v.formerly(key))
		}
	}
	a.strangers += s.strange
	if s.Used != nil && !g.Unified {
		rest := *s.Used - explained - a.strangers
		if rest <= v.set.IdleMem {
			rest = 0 // the driver's own
		}
		for _, l := range v.leavers {
			if n := min(rest, l.had[g.UUID].mem); n > 0 && l.leaked {
				a.left[l.key] = n
				a.strangers += n
				rest -= n
				names = append(names, v.formerly(l.key))
			}
		}
		if rest -= slack; rest > 0 {
			a.strangers += rest
			names = append(names, "no process that can be seen")
		}
	}
	a.strangers = min(a.strangers, max(g.Total, orZero(s.Total)))
	const show = 3
	names = slices.Compact(names)
	if n := len(names) - show; n > 0 {
		names = append(names[:show:show], fmt.Sprintf("%d more", n))
	}
	a.who = strings.Join(names, ", ")
	return a
}

func (a *account) add(id pasar.JobID, used pasar.Bytes) {
	for i := range a.use {
		if a.use[i].ID == id {
			a.use[i].Mem += used
			return
		}
	}
	a.use = append(a.use, sched.Use{ID: id, Mem: used})
}

// nameOf is a stranger in words.
func nameOf(p pasar.GPUProcess) string {
	name := p.Name
	if name == "" {
		name = "pid " + strconv.Itoa(p.Pid)
	}
	if p.User != "" {
		name += " (" + p.User + ")"
	}
	return name
}

// formerly names an attempt that has memory of a GPU on which it has no claim.
func (v *seeing) formerly(key pasar.AttemptKey) string {
	for i := range v.tenants {
		if v.tenants[i].key == key && !v.tenants[i].leaving {
			return fmt.Sprintf("job %d, which was not given this GPU", key.Job)
		}
	}
	return fmt.Sprintf("what job %d left", key.Job)
}

func sortedAttempts[V any](m map[pasar.AttemptKey]V) []pasar.AttemptKey {
	keys := make([]pasar.AttemptKey, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b pasar.AttemptKey) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Attempt, b.Attempt))
	})
	return keys
}
