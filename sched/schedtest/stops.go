package schedtest

import (
	"cmp"
	"slices"
	"time"

	"pasar"
	"pasar/sched"
)

// stopsAreNeeded holds that jobs are stopped only for one that asked for it, that they bid less, that they
// are enough, and that neither fewer nor cheaper ones, nor those on their way out, would have been.
func (o *oracle) stopsAreNeeded() {
	sets := map[pasar.JobID][]pasar.JobID{}
	var order []pasar.JobID
	for _, s := range o.plan.Stops {
		if sets[s.For] == nil {
			order = append(order, s.For)
		}
		sets[s.For] = append(sets[s.For], s.ID)
		if i := slices.IndexFunc(o.queue, func(j sched.Job) bool { return j.ID == s.For }); i < 0 || !o.queue[i].Preempt || o.gated(&o.queue[i]) {
			o.Errorf("job %d stops for %d, which did not ask", s.ID, s.For)
			return
		}
		if !o.mayStop(o.active(s.ID), o.job(s.For)) {
			o.Errorf("job %d may not be stopped for %d", s.ID, s.For)
		}
	}
	asked := map[pasar.JobID]bool{}
	for _, id := range order {
		j := later(o.job(id))
		if r := o.reasons[id]; r.Why != pasar.WaitPreempting {
			o.Errorf("job %d has others stopped, reason %q", id, r.Why)
		}
		set := sets[id]
		// Later starts and reservations only leave less, so what isn't enough now wasn't then.
		state := o.without(func(r *sched.Running) bool { return leaving(r) || asked[r.ID] })
		enough := func(ids []pasar.JobID) bool {
			return state.without(func(r *sched.Running) bool { return slices.Contains(ids, r.ID) }).anywhere(j, 0, true)
		}
		bare := newModel(o.in, o.now).without(func(r *sched.Running) bool { return leaving(r) || slices.Contains(set, r.ID) })
		if !bare.anywhere(j, 0, true) {
			o.Errorf("job %d: stopping %v does not make room", id, set)
		}
		var may []pasar.JobID
		for _, r := range o.in.Active {
			if o.mayStop(&r, j) && !asked[r.ID] {
				may = append(may, r.ID)
			}
		}
		for n := range 1 << len(may) {
			var other []pasar.JobID
			for k := range may {
				if n>>k&1 == 1 {
					other = append(other, may[k])
				}
			}
			if !o.several && o.cheaper(other, set) && enough(other) {
				o.Errorf("job %d: %v are stopped, %v would do", id, set, other)
			}
		}
		for _, s := range set {
			asked[s] = true
		}
	}
	for _, j := range o.queue {
		if !j.Preempt || o.started[j.ID] || o.gated(&j) || o.full(&j) || sets[j.ID] != nil || o.reasons[j.ID].Why == pasar.WaitPreempting || o.held {
			continue
		}
		all := o.without(func(r *sched.Running) bool { return leaving(r) || o.mayStop(r, &j) })
		// Its own reservation doesn't stand in its way.
		all.spans = slices.DeleteFunc(all.spans, func(s span) bool { return s.kind == reserves && s.id == j.ID })
		waits := o.without(leaving)
		waits.spans = slices.DeleteFunc(waits.spans, func(s span) bool { return s.kind == reserves && s.id == j.ID })
		if all.anywhere(later(&j), 0, true) && !waits.anywhere(later(&j), 0, true) {
			o.Errorf("job %d may stop others, and it would help, and nobody is asked (%s)", j.ID, o.reasons[j.ID].Sentence())
		}
	}
}

// later is a job that starts only when others have stopped.
func later(j *sched.Job) *sched.Job {
	l := *j
	if l.Estimate > 0 {
		l.Estimate += 10 * time.Second
	}
	return &l
}

func (o *oracle) active(id pasar.JobID) *sched.Running {
	return &o.in.Active[slices.IndexFunc(o.in.Active, func(r sched.Running) bool { return r.ID == id })]
}

func (o *oracle) mayStop(r *sched.Running, j *sched.Job) bool {
	return r.Preemptible && r.Bid < j.Bid && !r.Stopping && !r.Leaving
}

// cheaper reports whether it takes less to stop some jobs than others: how many, their bids, the work that
// is lost, how long they ran.
func (o *oracle) cheaper(a, b []pasar.JobID) bool {
	sum := func(ids []pasar.JobID) (bids pasar.Bid, lost, ran time.Duration) {
		for _, id := range ids {
			r := o.active(id)
			since := r.SafeSince
			if since.IsZero() {
				since = r.Started
			}
			bids, lost, ran = bids+r.Bid, lost+o.now.Sub(since), ran+o.now.Sub(r.Started)
		}
		return bids, lost, ran
	}
	ab, al, ar := sum(a)
	bb, bl, br := sum(b)
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(ab, bb), cmp.Compare(al, bl), cmp.Compare(ar, br)) < 0
}
