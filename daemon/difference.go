package daemon

import (
	"sort"
	"time"

	"pasar"
)

// A mark is what is kept of what a client was sent of a job: enough to tell whether it is otherwise now.
type mark struct {
	facts   uint64 // hash of what moves only when something happens to the job; 0: see of
	why     uint64 // hash of what it waits for
	rest    uint64 // hash of what moves with the queue: who has what it waits for, and where it is expected to run
	ahead   int
	start   int64 // nanoseconds since 1970; 0: not known
	finish  int64
	reserve int64 // when its reservation begins
}

// A line is a job in a client's list.
type line struct {
	id pasar.JobID
	mark
	of    *job           // set only where facts follow from the job and from usual alone
	usual pasar.Duration // how long jobs like it take, in steps that count
	waits bool
	late  pasar.Duration // when its outlook was first seen to be otherwise than it was sent; 0: it isn't
}

// A difference is what leads from one list to another.
type difference struct {
	jobs     []int // places in the new list of those that are new or have changed
	outlooks []int // of those of which only the outlook has
	gone     []pasar.JobID
	moved    []pasar.MovedView
}

func (c *difference) empty() bool {
	return len(c.jobs)+len(c.outlooks)+len(c.gone)+len(c.moved) == 0
}

// sentList is the list as a client has it, by the views that it was sent.
type sentList struct{ lines []line }

// A places finds jobs in a list: the next of them at once, as most come in their order, others by a map that is made
// when it is needed. It is for one look, so that between looks nothing but the lines is kept.
type places struct {
	lines []line
	next  int
	at    map[pasar.JobID]int
}

func (l *sentList) places() *places { return &places{lines: l.lines} }

// of is where a job is; -1 if it isn't there.
func (p *places) of(id pasar.JobID) int {
	if p.next < len(p.lines) && p.lines[p.next].id == id {
		p.next++
		return p.next - 1
	}
	if p.at == nil {
		p.at = make(map[pasar.JobID]int, len(p.lines))
		for i := range p.lines {
			p.at[p.lines[i].id] = i
		}
	}
	k, ok := p.at[id]
	if !ok {
		return -1
	}
	p.next = k + 1
	return k
}

// become makes the list what it is now and says how it differs; was is where each job was before, or -1. No job may be
// in it twice. The marks of jobs and outlooks in the difference are to be set to what is then really sent; of the others
// the old ones stay, so that small steps add up until they count. Up is the time that patience goes by.
func (l *sentList) become(now time.Time, up pasar.Duration, was []int, lines []line) difference {
	var c difference
	stays := make([]bool, len(l.lines))
	for i := range lines {
		n := &lines[i]
		if was[i] < 0 {
			c.jobs = append(c.jobs, i)
			continue
		}
		stays[was[i]] = true
		o := &l.lines[was[i]]
		if n.facts != o.facts || n.of != o.of || n.usual != o.usual {
			c.jobs = append(c.jobs, i)
			continue
		}
		if n.otherOutlook(&o.mark, now) {
			if n.late = o.late; n.late == 0 {
				n.late = up
			}
			if n.isNews(&o.mark) || !n.waits || up-n.late >= patience(i) {
				n.late = 0
				c.outlooks = append(c.outlooks, i)
				continue
			}
		}
		n.mark = o.mark
	}
	for k := range l.lines {
		if !stays[k] {
			c.gone = append(c.gone, l.lines[k].id)
		}
	}
	keep := increasing(was)
	var before pasar.JobID
	for i := range lines {
		if !keep[i] {
			c.moved = append(c.moved, pasar.MovedView{ID: lines[i].id, After: before})
		}
		before = lines[i].id
	}
	l.lines = lines
	return c
}

// patience is for how long a client may be told nothing of what has changed in the outlook of a waiting job: the first
// ones are told at once, others the later the further back they are, a minute at most. When a job starts the outlook of
// all others changes, since they waited for the one before it; but who has what the thousandth waits for matters
// little, and is another by the time that it does.
func patience(place int) pasar.Duration {
	const first, each = 20, time.Second / 10
	if place < first {
		return 0
	}
	return pasar.Duration(min(time.Duration(place)*each, time.Minute))
}

// isNews reports whether an outlook says something that it didn't say when it was sent: it waits for something else, or
// a time is known that wasn't, or isn't any more.
func (m *mark) isNews(sent *mark) bool {
	return m.why != sent.why || (m.start == 0) != (sent.start == 0) || (m.finish == 0) != (sent.finish == 0) || (m.reserve == 0) != (sent.reserve == 0)
}

// otherOutlook reports whether an outlook differs from the one that was sent by more than nobody minds.
func (m *mark) otherOutlook(sent *mark, now time.Time) bool {
	return m.isNews(sent) || m.rest != sent.rest || otherCount(sent.ahead, m.ahead) || otherTime(sent.start, m.start, now) ||
		otherTime(sent.finish, m.finish, now) || otherTime(sent.reserve, m.reserve, now)
}

// otherCount reports whether a number of jobs differs from the one that was sent by more than a tenth.
func otherCount(sent, is int) bool { return max(is-sent, sent-is) > is/10 }

// otherTime reports whether a time differs from the one that was sent by more than a second and a hundredth of
// the time until then: projections jitter, and those of long queues all move a little with every job.
func otherTime(sent, is int64, now time.Time) bool {
	if sent == 0 || is == 0 {
		return sent != is
	}
	until := max(0, is-now.UnixNano())
	return abs(is-sent) > int64(time.Second)+until/100
}

func abs(n int64) int64 { return max(n, -n) }

// increasing marks a longest subsequence that increases, of numbers that are each there once; -1 is never in it.
// What isn't in it is the least that has to move.
func increasing(ns []int) []bool {
	var ends []int                 // ends[k] is the place of the smallest end of one with k+1 numbers
	before := make([]int, len(ns)) // the place before each in the one that it ends
	for i, n := range ns {
		if n < 0 {
			continue
		}
		k := len(ends)
		if k > 0 && n < ns[ends[k-1]] { // an unchanged order needs no search
			k = sort.Search(k, func(k int) bool { return ns[ends[k]] > n })
		}
		before[i] = -1
		if k > 0 {
			before[i] = ends[k-1]
		}
		if k == len(ends) {
			ends = append(ends, i)
		} else {
			ends[k] = i
		}
	}
	in := make([]bool, len(ns))
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = before[i] {
			in[i] = true
		}
	}
	return in
}
