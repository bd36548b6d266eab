package ui

import (
	"slices"
	"time"

	"pasar"
)

// A BarKind says what a bar of the market shows.
type BarKind uint8

// Kinds of bar.
const (
	BarRan     BarKind = iota // an attempt that is over
	BarRuns                   // the one that runs
	BarPlanned                // one that is projected
)

// A Bar is an attempt over time, past, present or projected.
type Bar struct {
	Job      pasar.JobID
	Attempt  int    // 0 of a projected one
	Label    string // "#42 train", as Shown
	Hue      int
	Kind     BarKind
	From, To time.Time
	Open     bool // its end isn't known: To is a guess, or the end of what is shown
	Failed   bool
}

// A Lane is a row of the market: a GPU, a part of one that jobs share, places without a GPU, or the queue.
type Lane struct {
	Label string // empty: it goes on with the lane above
	Bars  []Bar  // in their order; they never overlap
}

// Labels of lanes that aren't GPUs.
const (
	laneHost  = "host"
	laneCPU   = "cpu"
	laneQueue = "queue" // it isn't known where they will run
)

// Lanes is the market between two times: the attempts of the snapshot's jobs and of past ones on their GPUs, and the
// projected ones. Each GPU has a lane, and more where jobs share it; then come places without a GPU, then the queue.
// There are at most so many lanes; first go places without a GPU, the queue and the lanes of what is shared. Hidden is
// how many bars are in none of them.
func Lanes(s *Snapshot, past []*pasar.JobView, from, to, now time.Time, most int) (lanes []Lane, hidden int) {
	if to.Before(from) {
		from, to = to, from
	}
	m := newMarket(s, from, to, now)
	seen := map[pasar.JobID]bool{}
	var jobs []*pasar.JobView
	if s != nil {
		jobs = s.Jobs
	}
	for _, list := range [][]*pasar.JobView{jobs, past} {
		for _, v := range list {
			if v != nil && !seen[v.ID] {
				seen[v.ID] = true
				m.job(v)
			}
		}
	}
	return m.lanes(max(0, most))
}

// A market collects bars by where they are.
type market struct {
	from, to, now time.Time
	several       bool    // machines: their names are in the labels
	spots         []*spot // GPUs in their order, then those that are gone
	byUUID        map[gpuAt]*spot
	byIndex       map[gpuAt]*spot
	cpu, queue    spot
}

// put shows a bar on each of its GPUs, unless it is wholly before or after what is shown.
func (m *market) put(b Bar, machine string, gpus []pasar.GPURef, other *spot, v *pasar.JobView) {
	if b.To.Before(b.From) {
		b.To = b.From
	}
	if !b.From.Before(m.to) || b.To.Before(m.from) || b.To.Equal(m.from) && b.From.Before(m.from) {
		return
	}
	b.Job, b.Label, b.Hue = v.ID, label(v), Hue(v)
	if len(gpus) == 0 {
		other.bars = append(other.bars, b)
	}
	for i, ref := range gpus {
		if !slices.Contains(gpus[:i], ref) {
			st := m.at(machine, ref)
			st.bars = append(st.bars, b)
		}
	}
}

// guess is how far beyond now a bar is drawn that has no known end.
func (m *market) guess() time.Time { return m.now.Add(m.to.Sub(m.from) / 20) }

// job adds the bars of a job.
func (m *market) job(v *pasar.JobView) {
	for i := range v.Attempts {
		a := &v.Attempts[i]
		b := Bar{Attempt: a.Attempt, From: a.LaunchedAt, Failed: a.Verdict != nil && a.Verdict.Reason.Failure()}
		if a.StartedAt != nil {
			b.From = *a.StartedAt
		}
		last := i == len(v.Attempts)-1
		switch finish := v.Projected.Finish; {
		case a.EndedAt != nil:
			b.To = *a.EndedAt
		case !last: // its end was lost
			b.To = v.Attempts[i+1].LaunchedAt
		case !v.State.Active():
			b.To, b.Open = m.now, true
		case finish != nil && finish.After(m.now):
			b.Kind, b.To = BarRuns, *finish
		default:
			b.Kind, b.To, b.Open = BarRuns, m.guess(), true
		}
		if b.From.IsZero() {
			continue
		}
		m.put(b, a.Machine, a.GPUs, &m.cpu, v)
	}
	p := &v.Projected
	if v.State != pasar.Queued || p.Start == nil {
		return
	}
	b := Bar{Kind: BarPlanned, From: *p.Start, To: m.to, Open: true}
	if b.From.Before(m.now) {
		b.From = m.now
	}
	if p.Finish != nil {
		b.To, b.Open = *p.Finish, false
	}
	where := &m.queue
	if v.Claim.Kind == pasar.NoGPU {
		where = &m.cpu
	}
	machine := pasar.LocalMachine
	if p.Machine != nil {
		machine = *p.Machine
	}
	m.put(b, machine, p.GPUs, where, v)
}
