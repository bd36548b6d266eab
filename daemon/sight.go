package daemon

import (
	"cmp"
	"math"
	"slices"
	"time"

	"pasar"
)

// A sight is what one reading saw, cleaned of what can't be and added up. It is never changed once readers
// may have it.
type sight struct {
	seq     int64     // of readings in this daemon's life, from 1
	at      time.Time // when it came, by the daemon's clock
	good    time.Time // when GPUs were last really looked at: at, unless there is trouble
	reading pasar.Reading
	gpus    map[string]*gpuSight // by UUID; as last seen while there is trouble
	growth  map[place]growth
}

// A gpuSight is one GPU in a sight.
type gpuSight struct {
	pasar.GPUReading
	use     map[pasar.AttemptKey]pasar.Bytes // by the processes of each attempt; 0 where the driver doesn't say how much
	strange pasar.Bytes                      // by processes of nobody's
	compute int                              // processes that compute
}

// A place is one attempt on one GPU.
type place struct {
	key  pasar.AttemptKey
	uuid string
}

// staleAfter is how old a reading may be and still say what a GPU has free: some times the slowest pace.
// After it the ledger alone counts, so that a meter that hangs neither holds jobs up nor lets them in for ever.
const staleAfter = 3 * idlePace

// idlePace is how often readings come at the slowest pace.
const idlePace = 10 * time.Second

// fresh reports whether GPUs' numbers still count.
func (s *sight) fresh(now time.Time) bool {
	return s != nil && !s.good.IsZero() && now.Sub(s.good) <= staleAfter
}

// answers is fresh for whether GPUs answer, which is known also while their numbers aren't.
func (s *sight) answers(now time.Time) bool { return s != nil && now.Sub(s.at) <= staleAfter }

// lacks reports whether GPUs are looked at without trouble and this one isn't among them. Where one of them has no
// UUID, or another's, it may be this.
func (s *sight) lacks(uuid string, now time.Time) bool {
	return uuid != "" && s.answers(now) && s.reading.Trouble == "" &&
		!slices.ContainsFunc(s.reading.GPUs, func(g pasar.GPUReading) bool { return g.UUID == uuid || s.gpus[g.UUID] == nil })
}

// gpu is what is known of a GPU; nil when nothing is.
func (s *sight) gpu(uuid string) *gpuSight {
	if s == nil {
		return nil
	}
	return s.gpus[uuid]
}

// Bounds of a reading, so that a driver gone mad can't fill the daemon's memory.
const (
	maxProcesses = 256 // that are kept of one GPU; all of them are added up
	maxSeenName  = 60  // bytes of a program's or a user's name
	maxGPUs      = 1024
	maxNewXids   = 64 // of one reading, the latest
)

// newSight cleans a reading and adds it up. Numbers that can't be are taken as not said, and a UUID that two
// GPUs have as neither's.
func newSight(old *sight, r pasar.Reading, at time.Time) *sight {
	s := &sight{seq: 1, at: at, good: at, gpus: map[string]*gpuSight{}}
	if old != nil {
		s.seq, s.growth = old.seq+1, old.growth
	}
	r.Host = saneHost(r.Host)
	r.Xids = slices.Clone(r.Xids[max(0, len(r.Xids)-maxNewXids):])
	r.Trouble = cut(r.Trouble, 4*maxSeenName)
	if r.Trouble != "" {
		s.good = time.Time{}
		if old != nil {
			s.good = old.good
		}
	}
	gpus := slices.Clone(r.GPUs[:min(len(r.GPUs), maxGPUs)])
	r.GPUs = gpus
	twice := map[string]bool{}
	for i := range gpus {
		g := &gpus[i]
		switch {
		case g.UUID == "" || twice[g.UUID]:
		case s.gpus[g.UUID] != nil:
			delete(s.gpus, g.UUID)
			twice[g.UUID] = true
		default:
			s.gpus[g.UUID] = addUp(saneGPU(*g))
		}
	}
	s.reading = r
	return s
}

// addUp sums the processes of a GPU and keeps the largest.
func addUp(g pasar.GPUReading) *gpuSight {
	s := &gpuSight{use: map[pasar.AttemptKey]pasar.Bytes{}}
	for i := range g.Processes {
		p := &g.Processes[i]
		if !p.Graphics {
			s.compute++
		}
		used := pasar.Bytes(0)
		if p.Used != nil {
			used = *p.Used
		}
		if p.Job == (pasar.AttemptKey{}) {
			s.strange += used
		} else {
			s.use[p.Job] += used
		}
	}
	slices.SortStableFunc(g.Processes, func(a, b pasar.GPUProcess) int {
		return cmp.Or(cmp.Compare(orZero(b.Used), orZero(a.Used)), cmp.Compare(a.Pid, b.Pid))
	})
	g.Processes = g.Processes[:min(len(g.Processes), maxProcesses)]
	s.GPUReading = g
	return s
}

func saneGPU(g pasar.GPUReading) pasar.GPUReading {
	switch g.Status {
	case pasar.GPUOK, pasar.GPUUnresponsive, pasar.GPULost:
	case "":
		g.Status = pasar.GPUOK
	default:
		g.Status = pasar.GPUUnresponsive
	}
	g.Detail = cut(g.Detail, 4*maxSeenName)
	g.Recovery = cut(g.Recovery, maxSeenName)
	g.Total = saneBytes(g.Total, pasar.MaxMem)
	most := pasar.Bytes(pasar.MaxMem)
	if g.Total != nil {
		most = *g.Total
	}
	g.Reserved, g.Used = saneBytes(g.Reserved, most), saneBytes(g.Used, most)
	for _, f := range []**float64{&g.Util, &g.TempC, &g.HotC, &g.PowerW, &g.LimitW, &g.FanPct, &g.ClockMHz} {
		if *f != nil && (math.IsNaN(**f) || math.IsInf(**f, 0) || math.Abs(**f) > 1e9) {
			*f = nil
		}
	}
	g.Throttle = slices.Clone(g.Throttle[:min(len(g.Throttle), 16)])
	for i := range g.Throttle {
		g.Throttle[i] = cut(g.Throttle[i], maxSeenName)
	}
	at := map[int]int{}
	var ps []pasar.GPUProcess
	for _, p := range g.Processes {
		p.Used = saneBytes(p.Used, most)
		p.Name, p.User = cut(p.Name, maxSeenName), cut(p.User, maxSeenName)
		if p.Job.Job <= 0 || p.Job.Attempt <= 0 {
			p.Job = pasar.AttemptKey{}
		}
		if p.Pid < 0 {
			continue
		}
		if i, again := at[p.Pid]; again && p.Pid != 0 { // it computes and draws
			q := &ps[i]
			q.Graphics = q.Graphics && p.Graphics
			if p.Used != nil && orZero(p.Used) > orZero(q.Used) {
				q.Used = p.Used
			}
			continue
		}
		at[p.Pid] = len(ps)
		ps = append(ps, p)
	}
	g.Processes = ps
	return g
}

func saneHost(h pasar.HostReading) pasar.HostReading {
	if h.Total < 0 || h.Total > pasar.MaxMem {
		h.Total = 0
	}
	if h.Available < 0 || h.Available > h.Total {
		h.Total, h.Available = 0, 0 // not known
	}
	if h.Pressure != nil && !(*h.Pressure >= 0 && *h.Pressure <= 1) {
		h.Pressure = nil
	}
	use := map[pasar.AttemptKey]pasar.Bytes{}
	for k, b := range h.Use {
		if b >= 0 && b <= pasar.MaxMem && k.Job > 0 && k.Attempt > 0 {
			use[k] = b
		}
	}
	h.Use = use
	return h
}

func saneBytes(b *pasar.Bytes, most pasar.Bytes) *pasar.Bytes {
	if b == nil || *b < 0 || *b > most {
		return nil
	}
	return b
}

func cut(s string, n int) string {
	s = pasar.Clean(s[:min(len(s), 4*n)])
	for i := range s {
		if i > n {
			return s[:i] + "…"
		}
	}
	return s
}

func orZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
