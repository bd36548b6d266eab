package sched

import (
	"cmp"
	"slices"
	"time"

	"pasar"
)

// A Forecast is when and where a job is projected to run.
type Forecast struct {
	ID      pasar.JobID
	Start   time.Time // of a running job, when it started
	Finish  time.Time // zero: not known, since it has no estimate, or is past it
	Machine string
	GPUs    []pasar.GPURef
	Guess   bool // its start rests on the end of a job that has no estimate, or is past it
}

// A Projection is what Decide would do from now on if every running job ended as projected and nothing
// else happened.
type Projection struct {
	Jobs  []Forecast // by id; a waiting job that isn't in it is never seen to start
	Stops []Stop     // preemptions at once
	Cut   bool       // there was more to see than asked for
}

// Find is a job's forecast; false when it has none.
func (p *Projection) Find(id pasar.JobID) (Forecast, bool) {
	i, ok := slices.BinarySearchFunc(p.Jobs, id, func(f Forecast, id pasar.JobID) int { return cmp.Compare(f.ID, id) })
	if !ok {
		return Forecast{}, false
	}
	return p.Jobs[i], true
}

// Project looks ahead from now until every waiting job that can start has, or passes have been made (0: as
// many as it takes). It is pure, as Decide is.
//
// Jobs are taken to end well, so that what comes after them may start; a job stopped for another one
// queues again, with what it lost still to do. Preemption is looked for at once and not later on.
func Project(in Input, now time.Time, passes int) Projection {
	p := newLookahead(&in, now)
	for n := 1; ; n++ {
		p.step(n == 1)
		if !p.more() {
			break
		}
		if passes > 0 && n >= passes {
			p.out.Cut = true
			break
		}
		if !p.advance() {
			break
		}
	}
	jobs := slices.DeleteFunc(p.out.Jobs, func(f Forecast) bool { return f.ID == 0 })
	slices.SortFunc(jobs, func(a, b Forecast) int { return cmp.Compare(a.ID, b.ID) })
	p.out.Jobs = jobs
	return p.out
}
