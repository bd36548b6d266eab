package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/sched"
)

// A dryRun is a change that is tried on a copy of the state, and what the scheduler may know with it and
// without.
type dryRun struct {
	now    time.Time
	change change
	state  *state // with the change applied
	before sched.Input
	after  sched.Input
}

// fork is a copy of the state to try facts of waiting jobs on: submits, bids, edits. Jobs and what has ended
// are shared, since those facts replace or never touch them.
func (s *state) fork() *state {
	c := *s
	c.jobs, c.keys = maps.Clone(s.jobs), maps.Clone(s.keys)
	c.queue, c.waiters, c.active, c.recent = slices.Clone(s.queue), slices.Clone(s.waiters), slices.Clone(s.active), slices.Clone(s.recent)
	c.paused = slices.Clone(s.paused)
	c.after = maps.Clone(s.after)
	for id, who := range c.after {
		c.after[id] = slices.Clone(who)
	}
	c.finished, c.tally = maps.Clone(s.finished), s.tally.clone()
	c.stale, c.touched, c.ended, c.stranded = map[fingerprint]bool{}, nil, nil, nil
	return &c
}

// try checks a command as if it were made and applies what it would record to a copy of the state. Nothing is
// journaled, and no id is used up.
func (d *Daemon) try(ctx context.Context, c *command) (*dryRun, error) {
	r := &dryRun{}
	var refused error
	err := d.look(ctx, func(s *state, now time.Time) {
		if r.change, refused = c.check(s, now); refused != nil {
			return
		}
		r.now, r.state = now, s.fork()
		r.before = d.lasting(s)
		for _, f := range r.change.facts {
			r.state.apply(pasar.Record{Seq: r.state.seq + 1, At: now, Mono: d.Clock.Mono(), Boot: d.Boot, Fact: f})
		}
		r.after = d.input(r.state, "")
	})
	return r, errors.Join(err, refused)
}

func (d *Daemon) servePlanSubmit(ctx context.Context, c *ipc.Call) error {
	var r ipc.SubmitRequest
	if err := c.Bind(&r); err != nil {
		return err
	}
	if err := d.checkSubmit(&r); err != nil {
		return err
	}
	return d.answerPlan(ctx, c, d.submit(r))
}

func (d *Daemon) servePlanBid(ctx context.Context, c *ipc.Call) error {
	var r ipc.BidRequest
	if err := c.Bind(&r); err != nil {
		return err
	}
	j, err := d.find(r.Job)
	if err != nil {
		return err
	}
	if j.Phase == phaseFinished {
		return wrongState(j, "given another bid")
	}
	return d.answerPlan(ctx, c, d.bid(r))
}

func (d *Daemon) answerPlan(ctx context.Context, c *ipc.Call, cmd *command) error {
	d.lookFirst(ctx)
	end, err := c.Turn(ctx)
	if err != nil {
		return err
	}
	defer end()
	v, err := d.plan(ctx, cmd)
	if err != nil {
		return err
	}
	return answerView(c, v)
}

// planMany bounds each list of a plan, so that it fits a frame.
const planMany = 2000

// plan is what would happen if a command were given.
func (d *Daemon) plan(ctx context.Context, cmd *command) (*pasar.PlanView, error) {
	r, err := d.try(ctx, cmd)
	if err != nil {
		return nil, err
	}
	passes := d.reach.passes(len(r.after.Waiting))
	before, after := sched.Project(r.before, r.now, passes), sched.Project(r.after, r.now, passes)
	v := &pasar.PlanView{Schema: pasar.Schema, Jobs: []pasar.PlannedJob{}, Delayed: []pasar.DelayedJob{},
		Stopped: []pasar.PreemptedJob{}, Limit: before.Cut || after.Cut}
	now := sched.Decide(r.after, r.now)
	reasons := make(map[pasar.JobID]int, now.Reasons.Len())
	for i := range now.Reasons.Len() {
		reasons[now.Reasons.ID(i)] = i
	}
	asked := map[pasar.JobID]bool{}
	for _, id := range r.change.jobs {
		asked[id] = true
		j, err := r.job(d, id)
		if err != nil {
			return nil, err
		}
		if v.Claim.Kind == "" {
			v.Claim = j.Spec.Claim.View()
		}
		var why *pasar.Reason
		if i, ok := reasons[id]; ok {
			reason := now.Reasons.At(i)
			reason.Since = j.QueueTime
			why = &reason
		}
		if len(v.Jobs) < planMany {
			p := r.planned(j, why, &before, &after)
			if r.change.existing {
				p.Sentence = "its key is known, and nothing would change; " + p.Sentence
			}
			v.Jobs = append(v.Jobs, p)
		} else {
			v.Limit = true
		}
	}
	for i := range before.Jobs {
		if f := &before.Jobs[i]; !asked[f.ID] && f.Start.After(r.now) {
			r.delayed(v, f, &after)
		}
	}
	for _, st := range after.Stops {
		v.Stopped = append(v.Stopped, d.preempted(r, st.ID))
	}
	return v, nil
}

// job is one that was asked about: as it would be, or, if it is over, as it is.
func (r *dryRun) job(d *Daemon, id pasar.JobID) (*job, error) {
	if j := r.state.jobs[id]; j != nil {
		return j, nil
	}
	return d.find(id)
}

// planned is when and where a job would run.
func (r *dryRun) planned(j *job, why *pasar.Reason, before, after *sched.Projection) pasar.PlannedJob {
	p := pasar.PlannedJob{ID: j.ID, GPUs: []pasar.GPURef{}}
	if f, ok := before.Find(j.ID); ok && j.Phase == phaseWaiting {
		p.Before = known(f.Start)
	}
	f, seen := after.Find(j.ID)
	if seen {
		p.Start, p.Finish, p.Machine = known(f.Start), known(f.Finish), pasar.Known(f.Machine)
		p.GPUs = append(p.GPUs, f.GPUs...)
	}
	if j.Phase != phaseWaiting {
		p.Sentence = "is " + string(j.state())
		if p.Finish != nil {
			p.Sentence += ", done in " + r.in(f.Finish)
		} else if j.Phase == phaseFinished && !r.change.existing && j.Verdict != nil { // it would end at once
			p.Sentence = j.Verdict.Summary
		}
		return p
	}
	p.Now = seen && !f.Start.After(r.now)
	where := ""
	if len(p.GPUs) > 0 {
		where = " on GPU " + indices(p.GPUs)
	}
	switch {
	case p.Now:
		p.Sentence = "would start now" + where
	case seen:
		p.Sentence = "would start in " + r.in(f.Start) + where
		if f.Guess {
			p.Sentence = "would start in perhaps " + r.in(f.Start) + where
		}
	default:
		p.Sentence = "would start at a time that isn't known"
	}
	if p.Finish != nil {
		p.Sentence += ", done in " + r.in(f.Finish)
	}
	if why != nil && !p.Now {
		p.Waiting = waitingView(why)
		p.Sentence += "; " + p.Waiting.Sentence
	}
	return p
}

func (r *dryRun) in(t time.Time) string {
	return pasar.Duration(max(0, t.Sub(r.now)).Round(time.Second)).String()
}

func indices(gpus []pasar.GPURef) string {
	s := ""
	for i, g := range gpus {
		if i > 0 {
			s += ","
		}
		s += fmt.Sprint(g.Index)
	}
	return s
}

// delayed adds a job that would start later than it would have.
func (r *dryRun) delayed(v *pasar.PlanView, was *sched.Forecast, after *sched.Projection) {
	j := r.state.jobs[was.ID]
	if j == nil || j.Phase != phaseWaiting {
		return
	}
	d := pasar.DelayedJob{ID: j.ID, Name: pasar.Clean(j.Spec.Name), From: was.Start.UTC()}
	if f, ok := after.Find(j.ID); ok {
		late := pasar.Duration(f.Start.Sub(was.Start))
		if late <= 0 {
			return
		}
		d.To, d.Delay = known(f.Start), &late
	} else if after.Cut {
		return // it may start as before, further on than was looked
	}
	if len(v.Delayed) >= planMany {
		v.Limit = true
		return
	}
	v.Delayed = append(v.Delayed, d)
}

// preempted is a job that would be asked to stop, and what it would lose.
func (d *Daemon) preempted(r *dryRun, id pasar.JobID) pasar.PreemptedJob {
	v := pasar.PreemptedJob{ID: id}
	j := r.state.jobs[id]
	if j == nil || j.current() == nil {
		return v
	}
	v.Name, v.Bid, v.Pausable = pasar.Clean(j.Spec.Name), j.Spec.Bid, j.Spec.CanPause()
	a := j.current()
	var ran pasar.Duration
	if !a.StartedAt.IsZero() {
		ran = d.ranFor(a)
	}
	v.RunTime = &ran
	_, reports := d.latest.Load(id)
	if reports || lostOf(j.Attempts).known {
		loses := ran
		if a.Checkpoint != nil {
			loses = min(ran, max(0, ran-sinceStart(a, a.Checkpoint, a.CheckpointRan)))
		}
		v.Loses = &loses
	}
	return v
}
