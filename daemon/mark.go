package daemon

import (
	"hash/maphash"
	"math"
	"slices"
	"time"

	"pasar"
)

// plain reports whether all of a job's view but its outlook follows from the job, which is never changed itself, and
// from what is usual: so it is for most of a long queue.
func plain(j *job) bool { return j.Phase == phaseWaiting && len(j.Attempts) == 0 }

// measure sets a line to a job as it is now. Of a plain one that takes no view, which costs ten times as much.
func (s *follower) measure(g *glance, n *found, l *line) (err error) {
	reason := g.reason(n)
	if !plain(n.j) {
		v := s.d.view(n.j, reason, g.f)
		s.scratch, err = s.mark(s.scratch, l, n.j, reason, &v)
		return err
	}
	v := pasar.JobView{Projected: pasar.ProjectedView{}}
	v.Projected.Start = inUTC(reason.Start)
	s.d.project(&v, n.j, 0, g.now, g.f)
	s.scratch, err = s.mark(s.scratch, l, n.j, reason, &v)
	return err
}

// glimpse is a view of which the outlook alone is asked for.
func (s *follower) glimpse(g *glance, j *job, reason *pasar.Reason) pasar.JobView {
	if !plain(j) {
		return s.d.view(j, reason, g.f)
	}
	v := pasar.JobView{ID: j.ID, Projected: pasar.ProjectedView{GPUs: []pasar.GPURef{}}}
	waits(&v, j, reason)
	s.d.project(&v, j, 0, g.now, g.f)
	return v
}

// mark sets a line to what a view says. It returns buf as it was, with the room that it needed behind it.
func (s *follower) mark(buf []byte, l *line, j *job, reason *pasar.Reason, v *pasar.JobView) ([]byte, error) {
	l.waits = reason != nil
	s.markOutlook(&l.mark, reason, &v.Projected)
	if plain(j) {
		l.facts, l.of, l.usual = 0, j, usualIn(v)
		return buf, nil
	}
	l.of, l.usual = nil, 0
	b, err := factsIn(buf, *v)
	if err != nil {
		return buf, err
	}
	l.facts = maphash.Bytes(s.seed, b[len(buf):])
	return b[:len(buf)], nil
}

// usualIn is what a plain job is expected to take, in steps if that is by history: or each end of an array's jobs would
// change all that wait, a little.
func usualIn(v *pasar.JobView) pasar.Duration {
	switch {
	case v.EstRuntime == nil:
		return 0
	case *v.EstSource == "history":
		return pasar.Duration(math.Round(math.Log(float64(*v.EstRuntime)) * 10))
	}
	return *v.EstRuntime
}

// factsIn appends what of a view moves neither with time nor with the queue: those parts are cleared.
func factsIn(dst []byte, v pasar.JobView) ([]byte, error) {
	v.RunTime, v.Remaining, v.Projected = nil, nil, pasar.ProjectedView{}
	if v.Waiting != nil {
		v.Waiting, v.Reason, v.Summary, v.Lost.QueueWait = nil, nil, nil, 0
	}
	if v.EstSource != nil && *v.EstSource == "progress" { // then it follows from the progress, but for the time it was reckoned
		v.EstRuntime = nil
	}
	if v.EstSource != nil && *v.EstSource == "history" {
		steps := usualIn(&v)
		v.EstRuntime = &steps
	}
	if n := len(v.Attempts); n > 0 && v.Attempts[n-1].EndedAt == nil {
		v.Attempts = slices.Clone(v.Attempts)
		v.Attempts[n-1].RunTime = nil
	}
	return v.AppendJSON(dst)
}

// markOutlook sets the part of a mark that is the outlook's. All of an outlook follows from these, but for what is left
// over of the time.
func (s *follower) markOutlook(m *mark, r *pasar.Reason, p *pasar.ProjectedView) {
	m.why, m.rest, m.ahead, m.reserve = 0, 0, 0, 0
	m.start, m.finish = nanos(p.Start), nanos(p.Finish)
	var h maphash.Hash
	h.SetSeed(s.seed)
	if r != nil {
		m.ahead, m.reserve = r.Ahead, nanos(r.Reserved)
		maphash.WriteComparable(&h, why{r.Why, r.Detail, nanos(r.Until)})
		m.why = h.Sum64()
		h.Reset()
		maphash.WriteComparable(&h, holding{r.Need, r.Free, r.Behind, bidIn(r.BidNeeded), len(r.Holders)})
		for _, id := range r.Holders {
			maphash.WriteComparable(&h, id)
		}
	}
	if p.Machine != nil {
		h.WriteString(*p.Machine)
	}
	for i := range p.GPUs {
		maphash.WriteComparable(&h, p.GPUs[i])
	}
	m.rest = h.Sum64()
}

// A why is what a job waits for.
type why struct {
	why    pasar.WaitWhy
	detail string
	until  int64
}

// A holding is what it lacks, and who has it.
type holding struct {
	need, free pasar.Bytes
	behind     pasar.JobID
	bid        pasar.Bid
	holders    int
}

func bidIn(b *pasar.Bid) pasar.Bid {
	if b == nil {
		return -1
	}
	return *b
}

func nanos(t *time.Time) int64 {
	if t == nil {
		return 0
	}
	return t.UnixNano()
}
