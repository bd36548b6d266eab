package daemon

import (
	"encoding/json"
	"slices"
	"sync"

	"pasar"
	"pasar/sched"
)

// published is what readers see: the state as of the last durable batch. Nothing in it is ever
// changed.
type published struct {
	seq      int64
	waiting  []*job        // in the order they are considered
	reasons  sched.Reasons // why each of them waits, in the same order
	active   []*job
	paused   []*job
	recent   []*job
	machines map[string]pasar.Inventory
	incident []incident
	finished map[pasar.State]int
	next     pasar.JobID
	tally    tally
	drains   drains
	leaving  []*leaver
	problem  string
}

// publish makes the state visible to readers and wakes those that wait for a change.
func (d *Daemon) publish(b turned) {
	d.reindexTouched()
	old := d.pub.Load()
	if old != nil && len(b.batch.Records) == 0 && !b.woken && old.seq == d.state.seq && old.problem == "" {
		return
	}
	d.pub.Store(d.snapshotOf(b.plan.Reasons))
	d.changed.fire()
}

func (d *Daemon) snapshotOf(reasons sched.Reasons) *published {
	s := d.state
	p := &published{
		seq:      s.seq,
		waiting:  slices.Clone(s.waiters),
		reasons:  reasons,
		active:   slices.Clone(s.active),
		paused:   slices.Clone(s.paused),
		recent:   slices.Clone(s.recent),
		machines: map[string]pasar.Inventory{},
		incident: slices.Clone(s.incident),
		finished: map[pasar.State]int{},
		next:     s.next,
		tally:    s.tally.clone(),
		drains:   s.drains,
		leaving:  slices.Clone(d.leaving),
	}
	for k, v := range s.machines {
		p.machines[k] = v
	}
	for k, v := range s.finished {
		p.finished[k] = v
	}
	return p
}

// setProblem publishes, over what was published last, the reason why no work is taken; every waiting
// job then waits for that. The next turn of the loop takes it back.
func (d *Daemon) setProblem(problem string) {
	p := *d.pub.Load()
	p.problem = problem
	d.pub.Store(&p)
	d.changed.fire()
}

// reindex makes the index anew after a fold.
func (d *Daemon) reindex() {
	d.index.Range(func(k, _ any) bool {
		if d.state.jobs[k.(pasar.JobID)] == nil {
			d.index.Delete(k)
		}
		return true
	})
	for id, j := range d.state.jobs {
		d.index.Store(id, j)
	}
	d.state.touched = nil
	d.learn(true)
}

func (d *Daemon) reindexTouched() {
	for _, id := range d.state.touched {
		if j := d.state.jobs[id]; j != nil {
			d.index.Store(id, j)
		} else {
			d.index.Delete(id)
		}
	}
	d.state.touched = d.state.touched[:0]
	d.learn(false)
}

// lookup finds a job that is unfinished or ended recently, as last committed.
func (d *Daemon) lookup(id pasar.JobID) *job {
	if v, ok := d.index.Load(id); ok {
		return v.(*job)
	}
	return nil
}

// find is lookup, and then the history.
func (d *Daemon) find(id pasar.JobID) (*job, error) {
	if j := d.lookup(id); j != nil {
		return j, nil
	}
	body, ok, err := d.History.FinishedJob(id)
	if err != nil {
		return nil, err
	}
	if !ok {
		// It may have been forgotten or restarted between the two looks.
		if j := d.lookup(id); j != nil {
			return j, nil
		}
		return nil, unknownJob(id)
	}
	return decodeJob(body)
}

// reasonFor is why a waiting job waits; nil for any other.
func (p *published) reasonFor(j *job) *pasar.Reason {
	if j.Phase != phaseWaiting {
		return nil
	}
	r, ok := p.reasons.Find(j.ID)
	return p.complete(j, r, ok)
}

// reasonAt is reasonFor for the i-th waiting job.
func (p *published) reasonAt(i int) *pasar.Reason {
	j := p.waiting[i]
	if i < p.reasons.Len() && p.reasons.ID(i) == j.ID {
		return p.complete(j, p.reasons.At(i), true)
	}
	return p.reasonFor(j)
}

func (p *published) complete(j *job, r pasar.Reason, ok bool) *pasar.Reason {
	switch {
	case p.problem != "":
		r = pasar.Reason{Why: pasar.WaitDaemon, Detail: p.problem}
	case !ok: // just recovered, or queued since: the scheduler is about to look
		r = pasar.Reason{Why: pasar.WaitDaemon, Detail: "it has just begun to look"}
	}
	r.Since = j.waitsSince()
	return &r
}

// row is a finished job for the history.
func (j *job) row() HistoryRow {
	body, err := json.Marshal(j)
	if err != nil {
		body = nil // a job is plain data; only its own marshallers could fail, and they don't
	}
	machine := ""
	if a := j.current(); a != nil {
		machine = a.Grant.Machine
	}
	key := ""
	if j.leads() { // a group's key finds its first job
		key = j.Spec.Key
	}
	return HistoryRow{
		Job: j.ID, State: j.End, Created: j.Created, Finished: j.Finished, Submitter: j.Spec.Submitter,
		By: j.Spec.By, Name: j.Spec.Name, Key: key, Machine: machine, Tags: j.Spec.Tags, Body: body,
	}
}

func decodeJob(body []byte) (*job, error) {
	var j job
	if err := json.Unmarshal(body, &j); err != nil {
		return nil, err
	}
	return &j, nil
}

// broadcast wakes everyone who waits for the next change.
type broadcast struct {
	mu sync.Mutex // guards ch
	ch chan struct{}
}

// next is closed at the next change after the call.
func (b *broadcast) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *broadcast) fire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
