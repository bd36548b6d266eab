package schedtest

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"pasar"
	"pasar/sched"
)

// A model is the obvious way to keep the books: a list of who has what of which machine from when until
// when, added up anew for every question.
type model struct {
	in    sched.Input
	now   time.Time
	spans []span
	all   []span // of jobs that ran when the devices were looked at
}

// A span is one job's stay on a machine. Times are from now.
type span struct {
	id       pasar.JobID
	m        int
	gpus     uint // a set
	mem      [8]pasar.Bytes
	host     pasar.Bytes
	core     bool
	slice    bool
	from, to time.Duration
	clear    time.Duration // reserves: who starts before must be gone by then, or leave it its room
	guess    bool          // to is one
	late     bool          // to was put off, since it isn't gone when a reservation is to be clear
	kind     spanKind
}

type spanKind int

const (
	runs      spanKind = iota
	starts             // now, by the plan
	reserves           // later, by a reservation
	isPromise          // room that is being made
)

const never = time.Duration(math.MaxInt64)

// leftOf is how long a running job will hold on, by the design's words, and whether that is a guess.
func leftOf(r sched.Running, now time.Time) (time.Duration, bool) {
	const soon, slack, atLeast = 10 * time.Second, 2 * time.Second, 10 * time.Minute
	byProgress := r.Ends.Sub(now)
	if byProgress <= 0 {
		byProgress += slack
	}
	known := !r.Ends.IsZero() && byProgress > 0
	if r.Leaving || r.Stopping && !r.Patient {
		if known && byProgress < soon {
			return byProgress, false
		}
		return soon, false
	}
	if known {
		return byProgress, false
	}
	ran := now.Sub(r.Started)
	if r.Ends.IsZero() && !r.Patient && r.Estimate > 0 && ran < r.Estimate+slack {
		if ran >= r.Estimate {
			return r.Estimate - ran + slack, false
		}
		return r.Estimate - ran, false
	}
	return max(ran, atLeast), true
}

func newModel(in sched.Input, now time.Time) *model {
	w := &model{in: in, now: now}
	for _, r := range in.Active {
		left, guess := leftOf(r, now)
		w.add(r.ID, r.Grant, 0, max(left, 1), runs, &r) // what ends now still is there now
		if n := len(w.spans); n > 0 && w.spans[n-1].id == r.ID {
			w.spans[n-1].guess = guess
		}
	}
	w.all = w.spans
	return w
}

// add notes a stay.
func (w *model) add(id pasar.JobID, grant pasar.Grant, from, to time.Duration, kind spanKind, r *sched.Running) {
	for i := range w.in.Machines {
		m := &w.in.Machines[i]
		if m.Inventory.Machine != grant.Machine {
			continue
		}
		s := w.stay(i, w.setOf(m, grant.GPUs), grant.Claim, gone(m, grant.GPUs))
		s.id, s.from, s.to, s.kind = id, from, to, kind
		if r != nil {
			var shared pasar.Bytes
			for k := range m.GPUs {
				if seen := seenOf(m, k); seen != nil && s.gpus>>k&1 == 1 && s.slice {
					for _, u := range seen.Use {
						if grew := u.Mem - s.mem[k]; u.ID == id && grew > 0 {
							s.mem[k] += grew
							if sharesHost(m, k) {
								s.host += grew
							}
						}
					}
				}
				if sharesHost(m, k) {
					shared += s.mem[k]
				}
			}
			if r.Leaving {
				s.host, s.core = shared, false
			}
		}
		w.spans = append(w.spans, s)
		return
	}
}

func (w *model) setOf(m *sched.Machine, refs []pasar.GPURef) (set uint) {
	for _, ref := range refs {
		for k := range m.GPUs {
			if m.GPUs[k].UUID == ref.UUID {
				set |= 1 << k
			}
		}
		if slices.ContainsFunc(m.GPUs, func(g pasar.GPU) bool { return g.UUID == ref.UUID }) {
			continue
		}
		for k, g := range m.GPUs { // it was split since, or put together
			if g.Parent == ref.UUID || ref.Parent != "" && (g.UUID == ref.Parent || g.Parent == ref.Parent) {
				set |= 1 << k
			}
		}
	}
	return set
}

// gone reports whether the GPU that a job was given isn't there any more.
func gone(m *sched.Machine, refs []pasar.GPURef) bool {
	return slices.ContainsFunc(refs, func(ref pasar.GPURef) bool {
		return !slices.ContainsFunc(m.GPUs, func(g pasar.GPU) bool { return g.UUID == ref.UUID })
	})
}

// stay is what a claim takes of some GPUs of a machine. What came of a GPU that is gone is taken wholly.
func (w *model) stay(i int, set uint, c pasar.Claim, gone bool) span {
	m := &w.in.Machines[i]
	s := span{m: i, gpus: set, host: c.RAM, core: c.Kind == pasar.NoGPU, slice: c.Kind == pasar.Slice}
	var shared pasar.Bytes
	for k := range m.GPUs {
		if set>>k&1 == 0 {
			continue
		}
		if s.mem[k] = c.Limit; c.Kind == pasar.Whole || gone && m.GPUs[k].Parent != "" {
			s.mem[k] = total(m, k) - strangersOn(m, k)
		}
		if sharesHost(m, k) {
			shared += s.mem[k]
		}
	}
	if s.host += shared; c.Kind == pasar.Whole && shared > 0 {
		s.host = max(shared, c.RAM)
	}
	return s
}

func seenOf(m *sched.Machine, k int) *sched.GPUSeen {
	for i := range m.Seen {
		if m.Seen[i].UUID == m.GPUs[k].UUID {
			return &m.Seen[i]
		}
	}
	return nil
}

func sharesHost(m *sched.Machine, k int) bool { return m.GPUs[k].Virtual || m.GPUs[k].Unified }

func total(m *sched.Machine, k int) pasar.Bytes {
	if sharesHost(m, k) {
		return min(m.GPUs[k].Total, m.HostMemory())
	}
	return m.GPUs[k].Total
}

func strangersOn(m *sched.Machine, k int) pasar.Bytes {
	if s := seenOf(m, k); s != nil {
		return min(s.Strangers, total(m, k))
	}
	return 0
}

// freeAt is what is left of a GPU at a moment, and how many jobs are on it then.
func (w *model) freeAt(i, k int, at time.Duration) (pasar.Bytes, int) {
	m := &w.in.Machines[i]
	free, onIt, sinceNow := total(m, k)-strangersOn(m, k), 0, 0
	first, tenants := free, 0 // when the device was looked at
	for n := range w.all {
		if s := &w.all[n]; s.m == i && s.gpus>>k&1 == 1 {
			first -= s.mem[k]
			tenants++
		}
	}
	for n := range w.spans {
		s := &w.spans[n]
		if s.m != i || s.gpus>>k&1 == 0 {
			continue
		}
		if s.from <= at && at < s.to {
			free -= s.mem[k]
			onIt++
			if s.kind != reserves && !s.late {
				sinceNow++
			}
		}
	}
	if seen := seenOf(m, k); seen != nil && seen.Free != nil {
		if missing := first - max(*seen.Free, 0); missing > 0 && (tenants == 0 || sinceNow > 0) {
			free -= missing
		}
	}
	return free, onIt
}

func (w *model) hostAt(i int, at time.Duration) (pasar.Bytes, int) {
	m := &w.in.Machines[i]
	host, cores := m.HostMemory(), m.CPUJobs
	for k := range m.GPUs {
		if sharesHost(m, k) {
			host -= strangersOn(m, k)
		}
	}
	for n := range w.spans {
		if s := &w.spans[n]; s.m == i && s.from <= at && at < s.to {
			host -= s.host
			if s.core {
				cores--
			}
		}
	}
	return host, cores
}

// open reports whether a job may be put on a machine.
func open(m *sched.Machine, j *sched.Job) bool {
	return m.Reachable && m.Blocked == "" && (j.Machine == "" || j.Machine == m.Inventory.Machine)
}

// may reports whether a job may have a GPU, whatever is on it.
func may(m *sched.Machine, k int, c *pasar.Claim) bool {
	seen := seenOf(m, k)
	if !allowed(m.GPUs[k], *c) || seen != nil && (seen.Unhealthy != "" || seen.Exclusive && c.Kind == pasar.Slice) {
		return false
	}
	return c.GPUs == 1 || m.GPUs[k].Parent == ""
}

// clean reports whether a job that avoids strangers may have a GPU.
func (w *model) clean(i, k int) bool {
	seen := seenOf(&w.in.Machines[i], k)
	if seen == nil {
		return true
	}
	had := slices.ContainsFunc(w.in.Active, func(r sched.Running) bool {
		return r.Grant.Machine == w.in.Machines[i].Inventory.Machine && w.setOf(&w.in.Machines[i], r.Grant.GPUs)>>k&1 == 1
	})
	return seen.Strangers == 0 && (seen.Idle || had)
}

// fits reports whether a job could be on these GPUs from a moment on until its end, or for ever, beside all
// that the model knows. With patience settling doesn't count.
func (w *model) fits(j *sched.Job, i int, set uint, at time.Duration, patience bool) bool {
	m, c := &w.in.Machines[i], &j.Claim
	if !open(m, j) || bits.OnesCount(set) != c.GPUs && c.Kind != pasar.NoGPU || c.Kind == pasar.NoGPU && set != 0 {
		return false
	}
	avoid := c.External == pasar.ExternalAvoid || c.External == "" && m.External == pasar.ExternalAvoid
	for k := range m.GPUs {
		if set>>k&1 == 0 {
			continue
		}
		if !may(m, k, c) || c.Kind == pasar.Whole && avoid && !w.clean(i, k) {
			return false
		}
		if c.Kind == pasar.Slice && !patience && !w.settled(i, k, at) {
			return false
		}
	}
	s := w.stay(i, set, *c, false)
	end := never
	if j.Estimate > 0 && at < never-j.Estimate {
		end = at + j.Estimate
	}
	if !w.roomAt(&s, c, at) {
		return false
	}
	for n := range w.spans {
		t, from := w.spans[n].from, w.spans[n].from
		if w.spans[n].kind == reserves {
			from = w.spans[n].clear
		}
		if t > at && from < end && w.spans[n].m == i && !w.roomAt(&s, c, t) {
			return false
		}
	}
	return true
}

func (w *model) roomAt(s *span, c *pasar.Claim, t time.Duration) bool {
	host, cores := w.hostAt(s.m, t)
	shares := s.gpus != 0 && sharesHost(&w.in.Machines[s.m], bits.TrailingZeros(s.gpus))
	if s.host > host && (s.host > 0 || shares) || c.Kind == pasar.NoGPU && cores <= 0 {
		return false
	}
	for k := range w.in.Machines[s.m].GPUs {
		if s.gpus>>k&1 == 0 {
			continue
		}
		free, onIt := w.freeAt(s.m, k, t)
		if c.Kind == pasar.Whole && onIt > 0 || c.Kind == pasar.Slice && s.mem[k] > free {
			return false
		}
	}
	return true
}

// settled reports whether a slice may start on a GPU at a moment.
func (w *model) settled(i, k int, at time.Duration) bool {
	m := &w.in.Machines[i]
	seen := seenOf(m, k)
	if seen == nil {
		return true
	}
	if !seen.Settle.IsZero() && seen.Settle.After(w.now.Add(at)) {
		return false
	}
	if m.GPUs[k].Virtual {
		return true
	}
	for n := range w.spans {
		s := &w.spans[n]
		if s.m == i && s.slice && s.gpus>>k&1 == 1 && (s.kind == starts || s.kind == reserves) && (s.from-at).Abs() < m.Settles {
			return false
		}
	}
	return true
}

// anywhere reports whether there is any place for a job at a moment.
func (w *model) anywhere(j *sched.Job, at time.Duration, patience bool) bool {
	for i := range w.in.Machines {
		if w.somewhere(j, i, at, patience) {
			return true
		}
	}
	return false
}

func (w *model) somewhere(j *sched.Job, i int, at time.Duration, patience bool) bool {
	for set := range uint(1) << len(w.in.Machines[i].GPUs) {
		if (bits.OnesCount(set) == j.Claim.GPUs) && w.fits(j, i, set, at, patience) {
			return true
		}
	}
	return false
}

func allowed(g pasar.GPU, c pasar.Claim) bool {
	if !strings.Contains(strings.ToLower(g.Name), strings.ToLower(c.Type)) {
		return false
	}
	return len(c.IDs) == 0 || slices.ContainsFunc(c.IDs, func(id string) bool {
		return id == string(rune('0'+g.Index)) || strings.HasPrefix(g.UUID, id)
	})
}
