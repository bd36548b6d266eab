package daemon

import (
	"time"

	"pasar"
)

// maxCommand bounds the command in a view, which is for reading; argv has all of it.
const maxCommand = 4096

// view is a job as clients see it. reason is why it waits, if it does; f is what is forecast, nil if that is
// not known.
func (d *Daemon) view(j *job, reason *pasar.Reason, f *forecast) pasar.JobView {
	v := specView(j)
	now := d.Clock.Now()
	var ran pasar.Duration // in this run, by now
	if len(j.Attempts) > 0 {
		ran = d.attemptViews(&v, j)
	} else {
		v.Lost.QueueWait = queueWait(j)
	}
	switch {
	case (j.Phase == phaseFinished || j.Phase == phasePaused) && j.Verdict != nil:
		v.Reason, v.Summary = pasar.Known(string(j.Verdict.Reason)), pasar.Known(j.Verdict.Summary)
	case j.Phase == phaseWaiting:
		waits(&v, j, reason)
		v.Lost.QueueWait += max(0, pasar.Duration(now.Sub(j.waitsSince())))
	case j.Phase == phaseStopping:
		v.Reason, v.Summary = d.stopping(j.current().Stop)
	case j.Phase == phaseLeaving:
		v.Reason, v.Summary = pasar.Known("exited"), pasar.Known("has exited; its record is being completed")
	}
	d.measured(j, &v)
	if j.holds() {
		v.Progress = d.progressOf(j.ID)
	} else if a := j.current(); a != nil && a.Exit != nil && a.Exit.Progress != nil && (j.Phase == phaseFinished || j.Phase == phasePaused) {
		v.Progress = progressView(a.Exit.Progress)
	}
	if j.Phase != phaseFinished {
		d.project(&v, j, ran, now, f)
	} else if j.Spec.Time > 0 {
		v.EstRuntime, v.EstSource = pasar.Known(j.Spec.Time), pasar.Known("estimate")
	}
	return v
}

// waits fills in why a waiting job waits.
func waits(v *pasar.JobView, j *job, reason *pasar.Reason) {
	if reason == nil {
		reason = &pasar.Reason{Why: pasar.WaitDaemon, Since: j.waitsSince()} // a caller that knows of none
	}
	v.Waiting = waitingView(reason)
	v.Reason, v.Summary = pasar.Known(string(reason.Why)), &v.Waiting.Sentence
	v.Projected.Start = inUTC(reason.Start) // where no forecast is at hand
}

// specView is what a view has from the job's spec.
func specView(j *job) pasar.JobView {
	s := &j.Spec
	v := pasar.JobView{
		Schema: pasar.Schema, ID: j.ID, Name: pasar.Clean(s.Name), State: j.state(), Bid: s.Bid,
		QueueTime: j.QueueTime.UTC(), Created: j.Created.UTC(), Claim: s.Claim.View(),
		GPUs: []pasar.GPURef{}, Projected: pasar.ProjectedView{GPUs: []pasar.GPURef{}}, Attempts: []pasar.AttemptView{},
		Retries: pasar.RetriesView{Max: s.Retries, Used: j.Retried},
		Command: shownCommand(s.Argv), Argv: s.Argv, Cwd: s.Cwd,
		Submitter: pasar.Clean(s.Submitter), By: cleaned(s.By), Tags: cleanedAll(s.Tags), Note: cleaned(s.Note),
		Git: j.Git, Group: pasar.Known(s.Group), Index: s.Index, MaxConcurrent: pasar.Known(s.MaxConcurrent),
		Key: cleaned(s.Key), Grace: s.Grace, TimeLimit: pasar.Known(s.TimeLimit),
		Preempt: s.Preempt, Preemptible: !s.NonPreemptible, Pausable: s.CanPause(),
		After: append([]pasar.Dependency{}, s.After...), Begin: known(s.Begin), Verdict: j.Verdict,
	}
	if len(s.RetryOn) > 0 {
		v.Retries.On = s.RetryOn
	}
	if len(s.Params) > 0 {
		v.Params = pasar.ParamsView{}
		for _, p := range s.Params {
			v.Params[p.Name] = pasar.Clean(p.Value)
		}
	}
	if len(s.ResumeCommand) > 0 {
		v.ResumeCommand = pasar.Known(shownCommand(s.ResumeCommand))
	}
	return v
}

// attemptViews fills in what a view has from the job's attempts, and returns how long it has run since its last
// restart.
func (d *Daemon) attemptViews(v *pasar.JobView, j *job) pasar.Duration {
	var all, ran pasar.Duration
	lost := lostOf(j.Attempts)
	if !lost.known {
		_, lost.known = d.latest.Load(j.ID) // progress of the present attempt is not in its record
	}
	for i := range j.Attempts {
		a := &j.Attempts[i]
		av := attemptView(a, lost.attempts[i])
		if a.Certified {
			path := certificatePath(d.DataDir, pasar.AttemptKey{Job: j.ID, Attempt: a.Attempt})
			av.Certificate = &path
		}
		if i == len(j.Attempts)-1 && j.underWay() && a.Exit == nil && !a.StartedAt.IsZero() {
			av.RunTime = pasar.Known(d.ranFor(a))
		}
		if av.RunTime != nil {
			if all += *av.RunTime; i >= j.Earlier {
				ran += *av.RunTime
			}
		}
		if a.Checkpoint != nil {
			v.LastCheckpoint = a.Checkpoint
		}
		v.Usage.PeakHost, v.Usage.PeakGPU = larger(v.Usage.PeakHost, av.PeakHost), larger(v.Usage.PeakGPU, av.PeakGPU)
		v.Attempts = append(v.Attempts, av)
	}
	v.RunTime = &all
	v.Lost = lost.view(queueWait(j))
	if j.underWay() || j.Phase == phaseFinished {
		a := j.current()
		v.Machine = pasar.Known(a.Grant.Machine)
		v.GPUs = append(v.GPUs, a.Grant.GPUs...)
	}
	return ran
}

func larger(a, b *pasar.Bytes) *pasar.Bytes {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// project fills in how long an unfinished job takes, and when and where it is expected to start and finish: a running
// one by its own pace, else by what was said of it, else by history.
func (d *Daemon) project(v *pasar.JobView, j *job, ran pasar.Duration, now time.Time, f *forecast) {
	total, source := j.Spec.Time, "estimate"
	if total == 0 && j.like != 0 {
		total, source = d.usual(j.like).ran, "history"
	}
	if total > 0 {
		v.EstRuntime, v.EstSource = &total, &source
		if left := total - ran; left > 0 {
			v.Remaining = &left
		}
	}
	if !j.holds() {
		if fc, ok := f.of(j.ID); ok && j.Phase == phaseWaiting {
			v.Projected.Start, v.Projected.Finish = known(fc.Start), known(fc.Finish)
			v.Projected.Machine = pasar.Known(fc.Machine)
			v.Projected.GPUs = append(v.Projected.GPUs, fc.GPUs...)
		}
		return
	}
	a := j.current()
	v.Projected.Start = known(a.StartedAt)
	v.Projected.Machine, v.Projected.GPUs = v.Machine, v.GPUs
	ends := now.Add(time.Duration(total - ran))
	if t, ok := paceEnd(a, v.Progress); ok {
		left := max(0, pasar.Duration(t.Sub(now)))
		byPace := ran + left
		v.EstRuntime, v.EstSource, v.Remaining, ends = &byPace, pasar.Known("progress"), &left, t
	}
	if v.Remaining != nil && *v.Remaining > 0 && j.Phase != phaseStopping {
		v.Projected.Finish = known(ends)
	}
}

// waitingView is a reason in its JSON form.
func waitingView(r *pasar.Reason) *pasar.WaitingView {
	w := &pasar.WaitingView{Why: r.Why, Sentence: r.Sentence(), Ahead: r.Ahead, Holders: r.Holders, BidNeeded: r.BidNeeded,
		Since: r.Since.UTC(), Until: inUTC(r.Until), Reserved: inUTC(r.Reserved), Detail: cleaned(r.Detail)}
	if w.Holders == nil {
		w.Holders = []pasar.JobID{}
	}
	return w
}

func inUTC(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return known(*t)
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	u := t.UTC()
	return &u
}

func shownCommand(argv []pasar.Arg) string {
	s := pasar.Quote(argv)
	if len(s) > maxCommand {
		cut := maxCommand
		for cut > 0 && s[cut]&0xc0 == 0x80 { // not inside a character
			cut--
		}
		s = s[:cut] + "…"
	}
	return s
}

func cleaned(s string) *string { return pasar.Known(pasar.Clean(s)) }

func cleanedAll(ss []string) []string {
	out := make([]string, len(ss))
	for i, s := range ss {
		out[i] = pasar.Clean(s)
	}
	return out
}
