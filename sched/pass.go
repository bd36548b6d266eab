package sched

import (
	"cmp"
	"slices"
	"time"

	"pasar"
)

// A pass is one run of Decide; a projection makes one after the other with the same.
//
// Times are spans from epoch, when the look began.
type pass struct {
	policy   Policy
	epoch    time.Time
	at       time.Duration // now
	machines []*machine
	jobs     []Job
	queue    []entry // of jobs, in order
	acts     []act   // what holds machines, by end
	keys     []key
	groups   []int32 // how many of each group hold their claims
	starts   []begun
	stops    []Stop
	booked   []reservation // of this pass, in the order of their jobs

	gists    []gist          // of the queue
	ranges   []int           // where in the queue bids change, and its end
	free     int             // jobs in the queue that aren't held
	widest   int             // the most GPUs of one machine
	limits   []limit         // by how many reservations a job would overlap
	bounds   []time.Duration // until reservations begin, over all machines
	unbooked int             // keys without a reservation
	searches int             // sets of jobs to stop that may still be tried in this pass
	preempts bool            // preemption is looked for

	preemptors, anyPromised bool        // there may be such jobs
	cpuJobs                 bool        // and such without a GPU
	least                   pasar.Bytes // the smallest slice; 0: none
	keyNos                  map[keyName]int32
	lastKey                 keyName
	lastKeyNo               int32
	groupNos                map[pasar.JobID]int32

	// Scratch space.
	picked, best, empty []int
	tries               []try
	hasty               []int32
	scratch, ahead      level
	later               []level
	rooms               []pasar.Bytes
	times               []time.Duration
}

// An act is a job that holds its claim: it runs, has just started, or is promised room that is being
// made.
type act struct {
	Running
	holding
	end     time.Duration
	guess   bool // the end is one
	pos     int  // in the queue, of one that has just started or is promised room; else -1
	promise bool
	booked  int // reservations that there were when it started, in this pass
}

// begun is a start.
type begun struct {
	pos   int
	grant pasar.Grant
}

// A reservation is room from some moment on for a job that can't start now.
type reservation struct {
	holding
	pos      int
	no       int // of the pass, from 0
	at, till time.Duration
	clear    time.Duration // jobs let in before it are gone by then or leave it its room: at, or sooner where that is a guess
	slice    bool
}

// A try is a job that may be let in before a reservation.
type try struct {
	pos   int
	merit float64
}

func newPass(in *Input, now time.Time) *pass {
	now = now.Round(0) // a reading of the monotonic clock would make spans that depend on it
	p := &pass{policy: in.Policy, epoch: now, machines: newMachines(in.Machines, now), preempts: true}
	p.acts = make([]act, len(in.Active), len(in.Active)+8)
	for i := range in.Active {
		a := &p.acts[i]
		*a = act{Running: in.Active[i], pos: -1}
		a.holding = held(&a.Running, p.machines)
		left, guess := a.left(now)
		a.end, a.guess = left, guess
		if a.m != nil {
			a.m.base.take(&a.holding)
		}
	}
	slices.SortFunc(p.acts, compareEnds)
	for i := range p.acts { // who has ended takes no more memory
		if a := &p.acts[i]; a.m != nil && !a.guess {
			for _, k := range a.gpus {
				if g := &a.m.gpus[k]; g.settleFor == a.ID && g.settle > a.end {
					g.settle = a.end
				}
			}
		}
	}
	for _, m := range p.machines {
		m.weigh()
	}
	for _, m := range p.machines {
		p.widest = max(p.widest, len(m.gpus))
	}
	p.enter(inOrder(in.Waiting))
	p.regist()
	return p
}

func compareEnds(a, b act) int {
	return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.ID, b.ID))
}

// decide makes one pass: what starts, what stops, and which jobs get reservations.
func (p *pass) decide() {
	p.starts, p.stops, p.booked, p.bounds = p.starts[:0], nil, p.booked[:0], p.bounds[:0]
	p.unbooked, p.searches = len(p.keys), maxSearches
	for i := range p.keys {
		p.keys[i].reserved, p.keys[i].tried = 0, 0
	}
	for _, m := range p.machines {
		m.booked = m.booked[:0]
		m.look(p)
	}
	p.limit()
	p.keepPromises()
	from := 0
	for _, to := range p.ranges {
		if !p.equals(from, to) {
			return
		}
		from = to
	}
}

// equals considers the jobs from one place in the order up to another, which have one bid: first in the
// order, until one of those that compete for the same can't start, and then those that are left by their
// merit. It is false when nothing more can come of the pass.
func (p *pass) equals(from, to int) bool {
	if p.policy == PolicyPasar {
		p.tryUrgent(from, to)
	}
	p.tries = p.tries[:0]
	for i := from; i < to; i++ {
		if len(p.booked) == len(p.keys) && perKey == 1 { // all of them have one: from here on nobody is blocked
			if i = p.skip(i, to); i == to {
				break
			}
		}
		g := &p.gists[i]
		free := p.keys[g.key].reserved >= perKey
		if free && p.policy == PolicyFIFO {
			continue
		}
		if free && !g.odd {
			if p.mayFit(i) {
				p.tries = append(p.tries, try{pos: i})
			}
			continue
		}
		e := &p.queue[i]
		if e.state != waits || p.gated(e) {
			continue
		}
		preempts := e.preempt && p.preempts
		switch {
		case free && (preempts || p.mayFit(i)):
			p.tries = append(p.tries, try{pos: i})
		case free, p.tryStart(i), preempts && p.preempt(i):
		default:
			p.reserve(i)
		}
	}
	p.tryOthers()
	return p.unbooked > 0 || p.anything() || p.preemptors && p.preempts
}

// tryOthers lets jobs in before the reservations of others, by merit. A heap, since mostly one start takes
// all that there is and the rest need not be sorted.
func (p *pass) tryOthers() {
	for k := range p.tries {
		e := &p.queue[p.tries[k].pos]
		p.tries[k].merit = p.merit(e)
	}
	heapify(p.tries)
	for begun := 0; len(p.tries) > 0; {
		pos := p.tries[0].pos
		e := &p.queue[pos]
		switch {
		case p.gated(e): // its group is at its bound by now
		case p.tryStart(pos):
			// The others are looked through at the first start, the second, the fourth, …: it pays at once when
			// little is left, and costs little when much is.
			if begun++; begun&(begun-1) == 0 {
				if !p.preemptors && !p.anything() {
					return
				}
				p.tries[0].pos = -1
				p.tries = slices.DeleteFunc(p.tries, func(t try) bool {
					if t.pos < 0 {
						return true
					}
					e := &p.queue[t.pos]
					return !p.mayFit(t.pos) && !(e.preempt && p.preempts)
				})
				heapify(p.tries)
				continue
			}
		case e.preempt && p.preempts:
			p.preempt(pos)
		}
		last := len(p.tries) - 1
		p.tries[0] = p.tries[last]
		p.tries = p.tries[:last]
		sift(p.tries, 0)
	}
}

// sooner reports whether a is tried before b.
func (a try) sooner(b try) bool { return a.merit > b.merit || a.merit == b.merit && a.pos < b.pos }

func heapify(h []try) {
	for i := len(h)/2 - 1; i >= 0; i-- {
		sift(h, i)
	}
}

func sift(h []try, i int) {
	for {
		top := i
		for k := 2*i + 1; k <= 2*i+2 && k < len(h); k++ {
			if h[k].sooner(h[top]) {
				top = k
			}
		}
		if top == i {
			return
		}
		h[i], h[top] = h[top], h[i]
		i = top
	}
}
