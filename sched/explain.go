package sched

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pasar"
)

// An explainer gives every waiting job its reason, once the pass has decided. What it says is free is what
// is left at the end of the pass.
//
// Jobs that ask for the same wait for the same, and a long queue is mostly made of few claims, so the last
// few answers are remembered: then explaining costs little more than reading the queue.
type explainer struct {
	*pass
	reasons Reasons
	open    []level // of each machine, what would be free if nobody was reserved or promised anything
	most    limit   // of those
	behind  []prefix

	reservedAt []time.Time // of each reservation
	shapes     shapes
	held       int32      // the cause of held jobs; none: -1
	grouped    []int32    // the cause of jobs of each group; none: -1
	ahead      [2]int32   // jobs that wait for more than a release: with GPUs, and without
	answers    [8]answer  // to what was asked last
	next       int        // the answer to give up next
	recent     [16]number // the causes added last
}

// An answer is why any job with some claim waits.
type answer struct {
	ok        bool
	key       int32
	kind      kind
	gpus      int16
	class     int16 // how many reservations it would overlap
	avoids    pasar.External
	size, ram pasar.Bytes
	cause     int32
	need      pasar.Bytes
	before    int // the reservation that it would have to come before; none: -1
}

type number struct {
	cause int32
	shape int32
	ok    bool
}

func (p *pass) explain() Reasons {
	waiting := len(p.queue) - len(p.starts)
	if waiting == 0 {
		return Reasons{}
	}
	x := &explainer{pass: p, held: -1}
	x.reasons.list = make([]waitingJob, 0, waiting)
	x.open = make([]level, len(p.machines))
	for i, m := range p.machines {
		x.open[i].set(&m.base)
	}
	for k := range p.acts {
		if a := &p.acts[k]; a.promise {
			x.open[slices.Index(p.machines, a.m)].drop(&a.holding)
		}
	}
	for i := range p.booked {
		x.reservedAt = append(x.reservedAt, p.time(p.booked[i].at))
	}
	x.most.clear(p.widest)
	for i, m := range p.machines {
		if m.open() {
			x.most.raise(p, m, &x.open[i])
		}
	}
	for pos := range p.queue {
		if e := &p.queue[pos]; e.state != started {
			x.say(pos, e)
		}
	}
	x.nameHolders()
	return x.reasons
}

// say adds the reason of one job.
func (x *explainer) say(pos int, e *entry) {
	w := waitingJob{id: e.id}
	if e.state == waits && x.gate(e, &w) {
		x.reasons.list = append(x.reasons.list, w)
		return
	}
	ahead := &x.ahead[0]
	if e.kind == noGPU {
		ahead = &x.ahead[1]
	}
	w.ahead = *ahead
	*ahead++
	switch e.state {
	case owed:
		w.cause = x.cause(pasar.Reason{Why: pasar.WaitPreempting, Holders: x.stopping(pos)}, noShape)
	case reserved:
		a := x.find(e, pos)
		reason := x.reasons.causes[a.cause]
		shape := x.shapes.ids[a.cause]
		n := slices.IndexFunc(x.booked, func(r reservation) bool { return r.pos == pos })
		if reason.Start = &x.reservedAt[n]; reason.Why != pasar.WaitTurn {
			reason.Reserved = &x.reservedAt[n]
		}
		if shape != noShape {
			reason.Holders = x.holders(&x.shapes.list[shape], &x.booked[n])
			shape = noShape
		}
		w.need, w.cause = a.need, x.cause(reason, shape)
		x.needBid(&w, pos, a)
	default:
		a := x.find(e, pos)
		w.need, w.cause = a.need, a.cause
		x.needBid(&w, pos, a)
	}
	x.reasons.list = append(x.reasons.list, w)
}

// gate explains a job that may not start whatever is free.
func (x *explainer) gate(e *entry, w *waitingJob) bool {
	switch {
	case e.held:
		if x.held < 0 {
			x.held = x.cause(pasar.Reason{Why: pasar.WaitHeld}, noShape)
		}
		w.cause = x.held
	case e.due > x.at:
		why := pasar.WaitBegin
		if x.jobs[e.job].Retry {
			why = pasar.WaitRetry
		}
		w.cause = x.cause(pasar.Reason{Why: why}, noShape)
		w.own = x.reasons.ownUntil(x.jobs[e.job].NotBefore.In(x.epoch.Location()))
	case e.after > 0:
		w.cause = x.cause(pasar.Reason{Why: pasar.WaitAfter}, noShape)
		w.own = x.reasons.ownHolders(x.jobs[e.job].After)
	case e.group >= 0 && x.groups[e.group] >= e.groupMax:
		for len(x.grouped) < len(x.groups) {
			x.grouped = append(x.grouped, -1)
		}
		if x.grouped[e.group] < 0 {
			reason := pasar.Reason{Why: pasar.WaitGroup}
			for k := range x.acts {
				if a := &x.acts[k]; a.Group == x.jobs[e.job].Group && !a.promise {
					reason.Holders = append(reason.Holders, a.ID)
				}
			}
			for k := range x.queue {
				if o := &x.queue[k]; o.group == e.group && (o.state == reserved || o.state == owed) {
					reason.Holders = append(reason.Holders, o.id)
				}
			}
			slices.Sort(reason.Holders)
			x.grouped[e.group] = x.cause(reason, noShape)
		}
		w.cause = x.grouped[e.group]
	default:
		return false
	}
	return true
}

// stopping is the jobs whose end a job waits for that is promised their room.
func (x *explainer) stopping(pos int) (ids []pasar.JobID) {
	i := slices.IndexFunc(x.acts, func(a act) bool { return a.promise && a.pos == pos })
	own := &x.acts[i]
	var all []pasar.JobID
	for k := range x.acts {
		a := &x.acts[k]
		if a.pos >= 0 || a.m != own.m || !a.Leaving && (!a.Stopping || a.Patient) {
			continue
		}
		shares := len(own.gpus) == 0
		for _, g := range a.gpus {
			shares = shares || slices.Contains(own.gpus, g)
		}
		all = append(all, a.ID)
		if a.StopFor == own.ID || shares {
			ids = append(ids, a.ID)
		}
	}
	if len(ids) == 0 {
		ids = all // of whom it wants host memory alone
	}
	slices.Sort(ids)
	return ids
}

// find is the answer for a job.
func (x *explainer) find(e *entry, pos int) *answer {
	class := 0
	for class < len(x.bounds) && x.bounds[class] < e.est {
		class++
	}
	for i := range x.answers {
		a := &x.answers[i]
		if a.ok && a.size == e.size && a.ram == e.ram && a.key == e.key && a.kind == e.kind && a.gpus == e.gpus && a.class == int16(class) && a.avoids == e.avoids {
			return a
		}
	}
	a := &x.answers[x.next]
	x.next = (x.next + 1) % len(x.answers)
	*a = answer{ok: true, key: e.key, kind: e.kind, gpus: e.gpus, class: int16(class), avoids: e.avoids, size: e.size, ram: e.ram, before: -1}
	reason, shape := x.reason(e, a)
	a.need, reason.Need = reason.Need, 0
	a.cause = x.cause(reason, shape)
	return a
}

// reason says why a job doesn't start.
func (x *explainer) reason(e *entry, a *answer) (pasar.Reason, int32) {
	if x.opened(e) {
		return x.turn(e, a), noShape
	}
	for i := range x.booked {
		if x.queue[x.booked[i].pos].key == e.key {
			a.before = i
			break
		}
	}
	first := -1
	key := &x.keys[e.key]
	for i, m := range x.machines {
		if !x.may(key, i) || !m.couldFit(x.claim(e)) {
			continue
		}
		if m.plain || x.ever(e, i) {
			return x.lacks(e, i)
		}
		if first < 0 {
			first = i
		}
	}
	a.before = -1
	if first >= 0 {
		return x.never(e, first), noShape
	}
	return x.nowhere(e), noShape
}

// opened reports whether a job would fit if nobody was reserved or promised anything.
func (x *explainer) opened(e *entry) bool {
	if g := x.gistOf(e); !x.most.allows(&g) {
		return false
	}
	key := &x.keys[e.key]
	for i := range x.machines {
		if !x.may(key, i) {
			continue
		}
		if x.fits(e, i, &x.open[i], x.at) {
			return true
		}
	}
	return false
}

// A prefix is what the machines have left for jobs that come before some of the reserved ones.
type prefix []struct {
	booked          []reservation
	instants, views []level
}

// turn names the job that goes before one for which there is room: of those with a reservation that it
// would move, the last in the order, since it is enough to pass that one; or else one that is promised the
// room.
func (x *explainer) turn(e *entry, a *answer) pasar.Reason {
	low, high := -1, len(x.booked) // before low it fits, if that isn't -1; before high it doesn't
	for high-low > 1 {
		mid := (low + high) / 2
		if x.fitsBefore(e, mid) {
			low = mid
		} else {
			high = mid
		}
	}
	if low >= 0 {
		a.before = low
		r := &x.booked[low]
		return pasar.Reason{Why: pasar.WaitTurn, Behind: x.queue[r.pos].id, Reserved: &x.reservedAt[low]}
	}
	reason := pasar.Reason{Why: pasar.WaitTurn}
	for k := range x.acts {
		if act := &x.acts[k]; act.promise && (reason.Behind == 0 || act.ID < reason.Behind) {
			reason.Behind = act.ID
		}
	}
	return reason
}

// fitsBefore reports whether a job would start if it came just before the n-th of the reserved ones.
func (x *explainer) fitsBefore(e *entry, n int) bool {
	for len(x.behind) < len(x.booked) {
		x.behind = append(x.behind, nil)
	}
	if x.behind[n] == nil {
		x.behind[n] = make(prefix, len(x.machines))
		for i, m := range x.machines {
			booked, instants, views := m.booked, m.instants, m.views
			m.booked, m.instants, m.views = nil, nil, nil
			for _, r := range booked {
				if r.pos < x.booked[n].pos {
					m.booked = append(m.booked, r)
				}
			}
			m.look(x.pass)
			x.behind[n][i].booked, x.behind[n][i].instants, x.behind[n][i].views = m.booked, m.instants, m.views
			m.booked, m.instants, m.views = booked, instants, views
		}
	}
	swap := func() {
		for i, m := range x.machines {
			b := &x.behind[n][i]
			m.booked, b.booked = b.booked, m.booked
			m.instants, b.instants = b.instants, m.instants
			m.views, b.views = b.views, m.views
		}
	}
	swap()
	_, ok := x.place(e, x.at, func(m *machine) *level { return m.leftFor(x.at, e.est) })
	swap()
	return ok
}

// needBid notes the smallest bid with which a job would come before the reserved one in its way.
func (x *explainer) needBid(w *waitingJob, pos int, a *answer) {
	if a.before < 0 {
		return
	}
	r := &x.booked[a.before]
	if r.pos >= pos {
		return
	}
	job, other := &x.jobs[x.queue[pos].job], &x.jobs[x.queue[r.pos].job]
	bid, ok := toPrecede(job, other)
	// With an equal bid it is tried by merit, after all reservations, if another one of its key goes first.
	for i := range x.booked[:a.before] {
		b := &x.queue[x.booked[i].pos]
		if b.key == x.queue[pos].key && bid == other.Bid {
			bid++
			ok = bid <= pasar.MaxBid
			break
		}
	}
	if ok {
		w.bid = x.reasons.bid(bid)
	}
}

// nowhere is the reason of a job that no machine can take just now, whatever ends.
func (x *explainer) nowhere(e *entry) pasar.Reason {
	r := pasar.Reason{Why: pasar.WaitMachine}
	key, c := &x.keys[e.key], x.claim(e)
	var why []string
	for _, m := range x.machines {
		name := m.Inventory.Machine
		if key.machine != "" && key.machine != name {
			continue
		}
		switch {
		case !m.couldFit(c):
			why = append(why, fmt.Sprintf("%s has not got %s", name, *c))
		case !m.Reachable:
			why = append(why, name+" is unreachable")
		default:
			why = append(why, name+": "+m.Blocked)
		}
	}
	const show = 3
	switch n := len(why); {
	case n == 0 && key.machine != "":
		r.Detail = key.machine + " is unknown"
	case n == 0:
		r.Detail = "there is none"
	case n > show:
		r.Detail = fmt.Sprintf("%s and %d more", strings.Join(why[:show], ", "), n-show)
	default:
		r.Detail = strings.Join(why, ", ")
	}
	return r
}
