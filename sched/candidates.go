package sched

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Among equal bids the order in which jobs are considered is ours to choose. It serves two ends that pull
// apart: that nobody waits much longer than in a strict order by age, and that short jobs don't wait for many
// times as long as they take. The numbers were chosen on recorded traces and many made from them; docs/scheduling.md
// has what they gave.
const (
	// perKey is how many of the blocked jobs that may run in the same places get a reservation: the first
	// ones in the order. With more of them fewer jobs are let in before others.
	perKey = 1

	urgentFrom  = time.Hour // of the longest wait: below that a queue is short enough to be taken as it came
	urgentWaits = 10        // times its estimate that an urgent job has waited
	urgentPart  = 0.01      // of the longest wait: with atLeast, what an urgent job may take at most
	seniorPart  = 0.7       // of the longest wait, from which on age alone counts
	guessPart   = 4         // a reservation that rests on a guess is kept free from this part of the way on
)

// neverUrgent is more than what is urgent beside a wait of a thousand years, so that no time wraps around.
const neverUrgent = 30 * 24 * time.Hour

// longest finds for each key how long the oldest of the jobs from one place in the order up to another has waited
// that could start but for room. They are in the order of their ages, so that the first is the oldest, and the
// first few jobs have all keys.
func (p *pass) longest(from, to int) {
	for i := range p.keys {
		p.keys[i].longest = -1
	}
	for i, left := from, len(p.keys); i < to && left > 0; i++ {
		k := &p.keys[p.gists[i].key]
		if e := &p.queue[i]; k.longest < 0 && (e.state == reserved || e.state == waits && !p.gated(e)) {
			k.longest = max(p.at-e.queued, 0)
			left--
		}
	}
}

// urgentMost is the longest estimate of an urgent job beside a longest wait: the geometric mean of a hundredth of
// that and of ten minutes. So the eldest yields for a moment that it hardly notices. In a short queue none is urgent.
func urgentMost(longest time.Duration) time.Duration {
	if longest < urgentFrom {
		return 0
	}
	return time.Duration(math.Sqrt(atLeast.Seconds()*urgentPart*max(longest, 0).Seconds()) * float64(time.Second))
}

// tryUrgent starts the urgent ones of jobs with equal bids, the shortest first: a job goes before its elders that
// has waited for many times as long as it takes, and takes next to nothing beside the longest wait. One that
// doesn't fit is considered again with the others, by its age.
func (p *pass) tryUrgent(from, to int) {
	p.longest(from, to)
	most := time.Duration(0)
	for i := range p.keys {
		p.keys[i].urgent = urgentMost(p.keys[i].longest)
		most = max(most, p.keys[i].urgent)
	}
	if most == 0 {
		return // the queue is short
	}
	p.hasty = p.hasty[:0]
	for i := from; i < to; i++ {
		if p.gists[i].est > most {
			continue
		}
		e := &p.queue[i]
		if e.est <= p.keys[e.key].urgent && e.est <= (p.at-e.queued)/urgentWaits && e.state == waits && !p.gated(e) && p.mayFit(i) {
			p.hasty = append(p.hasty, int32(i))
		}
	}
	slices.SortFunc(p.hasty, func(a, b int32) int { return cmp.Or(cmp.Compare(p.queue[a].est, p.queue[b].est), cmp.Compare(a, b)) })
	for _, i := range p.hasty {
		if e := &p.queue[i]; !p.gated(e) {
			p.tryStart(int(i))
		}
	}
}

// nextUrgent is when the next job becomes urgent, if nothing else happens, for which there is room but for
// reservations; forever when none does. Without a pass just then, when it starts would hang on what else happens.
func (p *pass) nextUrgent() time.Duration {
	next := forever
	if p.policy != PolicyPasar || len(p.booked) == 0 || !p.anything() {
		return next
	}
	from := 0
	for _, to := range p.ranges {
		p.longest(from, to)
		for i := from; i < to; i++ {
			g, e := &p.gists[i], &p.queue[i]
			if g.est > neverUrgent || !p.limits[0].allows(g) || e.state == started || p.keys[g.key].longest < 0 {
				continue
			}
			eldest := p.at - p.keys[g.key].longest
			long := time.Duration(math.Ceil(g.est.Seconds() * g.est.Seconds() / (atLeast.Seconds() * urgentPart) * 1e9))
			if at := max(e.queued+urgentWaits*g.est, until(eldest, max(long+1, urgentFrom))); at > p.at {
				next = min(next, at)
			}
		}
		from = to
	}
	return next
}

// nextClear is when a job for which there is room could next be let in before a reservation that rests on a
// guess, if nothing else happens: such a start moves away as those run on on whom it rests, and with it what may
// be let in. Never is forever.
func (p *pass) nextClear() time.Duration {
	next := forever
	for i := range p.booked {
		r := &p.booked[i]
		if r.clear == r.at || !p.anything() {
			continue
		}
		for k := range p.gists {
			if g := &p.gists[k]; g.est <= neverUrgent && p.limits[0].allows(g) && p.queue[k].state == waits {
				if at := p.at + guessPart*g.est - (r.at - p.at); at > p.at {
					next = min(next, at)
				}
			}
		}
	}
	return next
}

// merit says which of the jobs with equal bids is tried first among those that come after a
// reservation: the highest. Nothing that is promised hangs on it, since no such job may move a
// reservation, so it is free to serve everybody's wait. Equal merits are tried in the order of the queue.
//
// Those that have waited almost as long as the longest come first. Then it is the response ratio,
// (waited + estimate) / estimate: short jobs go first, and long ones the more the longer they have waited. A job
// without an estimate has the least there is.
func (p *pass) merit(e *entry) float64 {
	waited := max(p.at-e.queued, 0)
	switch {
	case p.policy != PolicyPasar:
		return 0
	case float64(waited) >= seniorPart*float64(p.keys[e.key].longest):
		return math.MaxFloat64
	case e.est == forever:
		return 1
	}
	return 1 + float64(waited)/float64(max(e.est, time.Second))
}
