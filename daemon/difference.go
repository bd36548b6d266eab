package daemon

import (
	"sort"
	"time"

	"pasar"
)

// A mark is what is kept of what a client was sent of a job: enough to tell whether it is otherwise now.
type mark struct {
	facts   uint64 // hash of what moves only when something happens
	outlook uint64 // hash of the rest, but for its times
	start   int64  // nanoseconds since 1970; 0: not known
	finish  int64
	reserve int64 // when its reservation begins
}

// A line is a job in a client's list.
type line struct {
	id pasar.JobID
	mark
	of    *job           // set only where facts follow from the job and from usual alone
	usual pasar.Duration // how long jobs like it take
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

// places is where each job is. It is made for one look, so that between looks nothing but the lines is kept.
func (l *sentList) places() map[pasar.JobID]int {
	at := make(map[pasar.JobID]int, len(l.lines))
	for i := range l.lines {
		at[l.lines[i].id] = i
	}
	return at
}

// become makes the list what it is now and says how it differs. No job may be in it twice. The marks of jobs and
// outlooks in the difference are to be set to what is then really sent; of the others the old ones stay, so that small
// steps add up until they count.
func (l *sentList) become(now time.Time, at map[pasar.JobID]int, lines []line) difference {
	var c difference
	stays := make([]bool, len(l.lines))
	was := make([]int, len(lines)) // places in the old list; -1: new
	for i := range lines {
		n := &lines[i]
		k, ok := at[n.id]
		if !ok {
			was[i] = -1
			c.jobs = append(c.jobs, i)
			continue
		}
		was[i], stays[k] = k, true
		switch o := &l.lines[k]; {
		case n.facts != o.facts:
			c.jobs = append(c.jobs, i)
		case n.otherOutlook(&o.mark, now):
			c.outlooks = append(c.outlooks, i)
		default:
			n.mark = o.mark
		}
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

// otherOutlook reports whether an outlook differs from the one that was sent by more than nobody minds.
func (m *mark) otherOutlook(sent *mark, now time.Time) bool {
	return m.outlook != sent.outlook || otherTime(sent.start, m.start, now) ||
		otherTime(sent.finish, m.finish, now) || otherTime(sent.reserve, m.reserve, now)
}

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
