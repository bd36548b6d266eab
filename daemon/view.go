package daemon

import (
	"context"
	"sync"
	"time"

	"pasar"
)

// maxCommand bounds the command in a view, which is for reading; argv has all of it.
const maxCommand = 4096

// progress is the latest that a running attempt reported. It lives in memory only.
type progress struct {
	mu    sync.Mutex // guards the rest
	first pasar.Event
	last  pasar.Event
}

// event takes a report of the job's: checkpoints and resumes are facts, progress stays in memory.
func (d *Daemon) event(ctx context.Context, t *tender, e pasar.Event) {
	switch e.Kind {
	case pasar.EventCheckpoint, pasar.EventResumed, pasar.EventNote:
		if d.known(t, e) {
			return
		}
		d.report(ctx, pasar.Reported{Job: t.job, Attempt: t.attempt, Event: e})
	case pasar.EventProgress:
		v, loaded := d.latest.LoadOrStore(t.job, &progress{first: e, last: e})
		if loaded {
			p := v.(*progress)
			p.mu.Lock()
			p.last = e
			p.mu.Unlock()
		}
	}
}

// known reports whether an event is in the state already: a watch that is begun again tells what was
// reported before again, in order.
func (d *Daemon) known(t *tender, e pasar.Event) bool {
	j := d.lookup(t.job)
	if j == nil || j.current() == nil || j.current().Attempt != t.attempt {
		return false
	}
	a := j.current()
	last := a.Checkpoint
	switch e.Kind {
	case pasar.EventResumed:
		last = a.Resumed
	case pasar.EventNote:
		if last = nil; len(a.Notes) > 0 {
			last = &a.Notes[len(a.Notes)-1]
		}
	}
	return last != nil && !e.At.After(last.At)
}

func (d *Daemon) progressOf(id pasar.JobID) *pasar.ProgressView {
	v, ok := d.latest.Load(id)
	if !ok {
		return nil
	}
	p := v.(*progress)
	p.mu.Lock()
	defer p.mu.Unlock()
	pv := progressView(&p.last)
	if span := p.last.At.Sub(p.first.At).Seconds(); span > 0 && p.first.Step != nil && p.last.Step != nil {
		rate := (*p.last.Step - *p.first.Step) / span
		pv.Rate = &rate
	}
	return pv
}

func progressView(e *pasar.Event) *pasar.ProgressView {
	return &pasar.ProgressView{Step: e.Step, Total: e.TotalSteps, At: e.At.UTC(), Metrics: e.Metrics}
}

// remaining is how long a running attempt needs by its own pace: from the step it resumed at, the time
// it took for each step times the steps left, counted down from the latest report. False when it has
// not reported enough to tell.
func (d *Daemon) remaining(a *pasar.AttemptRecord, p *pasar.ProgressView) (pasar.Duration, bool) {
	if p == nil || p.Step == nil || p.Total == nil || a.StartedAt.IsZero() {
		return 0, false
	}
	from := 0.0
	if a.Resumed != nil && a.Resumed.Step != nil {
		from = *a.Resumed.Step
	}
	done, left := *p.Step-from, *p.Total-*p.Step
	elapsed := p.At.Sub(a.StartedAt)
	if done <= 0 || left < 0 || elapsed <= 0 {
		return 0, false
	}
	need := time.Duration(float64(elapsed) * left / done)
	return pasar.Duration(max(0, need-d.Clock.Now().Sub(p.At))), true
}

// view is a job as clients see it. reason is why it waits, if it does.
func (d *Daemon) view(j *job, reason *pasar.Reason) pasar.JobView {
	v := pasar.JobView{
		Schema: pasar.Schema, ID: j.ID, Name: pasar.Clean(j.Spec.Name), State: j.state(), Bid: j.Spec.Bid,
		QueueTime: j.QueueTime.UTC(), Created: j.Created.UTC(), Claim: j.Spec.Claim.View(),
		GPUs: []pasar.GPURef{}, Attempts: []pasar.AttemptView{},
		Command: shownCommand(j.Spec.Argv), Argv: j.Spec.Argv, Cwd: j.Spec.Cwd,
		Submitter: pasar.Clean(j.Spec.Submitter), By: cleaned(j.Spec.By), Tags: cleanedAll(j.Spec.Tags), Note: cleaned(j.Spec.Note),
		Git: j.Git, Key: cleaned(j.Spec.Key), Grace: j.Spec.Grace, Verdict: j.Verdict,
	}
	if j.Spec.Time > 0 {
		v.EstRuntime, v.EstSource = pasar.Known(j.Spec.Time), pasar.Known("estimate")
	}
	var ran pasar.Duration
	for i := range j.Attempts {
		a := &j.Attempts[i]
		av := attemptView(a)
		if i == len(j.Attempts)-1 && j.holds() && !a.StartedAt.IsZero() {
			av.RunTime = pasar.Known(d.ranFor(a))
		}
		if av.RunTime != nil {
			ran += *av.RunTime
		}
		if a.Checkpoint != nil {
			v.LastCheckpoint = a.Checkpoint
		}
		if av.PeakHost != nil && (v.Usage.PeakHost == nil || *av.PeakHost > *v.Usage.PeakHost) {
			v.Usage.PeakHost = av.PeakHost
		}
		v.Attempts = append(v.Attempts, av)
	}
	if len(j.Attempts) > 0 {
		v.RunTime = &ran
	}
	if a := j.current(); a != nil && (j.underWay() || j.Phase == phaseFinished) {
		v.Machine = pasar.Known(a.Grant.Machine)
		v.GPUs = append(v.GPUs, a.Grant.GPUs...)
	}
	switch {
	case (j.Phase == phaseFinished || j.Phase == phasePaused) && j.Verdict != nil:
		v.Reason, v.Summary = pasar.Known(string(j.Verdict.Reason)), pasar.Known(j.Verdict.Summary)
	case j.Phase == phaseWaiting:
		if reason == nil {
			reason = &pasar.Reason{Why: pasar.WaitDaemon} // a caller that knows of none
		}
		sentence := reason.Sentence()
		v.Reason, v.Summary = pasar.Known(string(reason.Why)), &sentence
		v.Waiting = &pasar.WaitingView{Why: reason.Why, Sentence: sentence, Ahead: reason.Ahead, Holders: reason.Holders, BidNeeded: reason.BidNeeded}
		if v.Waiting.Holders == nil {
			v.Waiting.Holders = []pasar.JobID{}
		}
		v.Projected.Start = reason.Start
	case j.Phase == phaseStopping:
		v.Reason = pasar.Known(string(j.current().Stop.Why))
	case j.Phase == phaseLeaving:
		v.Reason, v.Summary = pasar.Known("exited"), pasar.Known("has exited; its record is being completed")
	}
	if j.holds() {
		v.Progress = d.progressOf(j.ID)
		if left, ok := d.remaining(j.current(), v.Progress); ok {
			total := ran + left
			v.EstRuntime, v.EstSource, v.Remaining = &total, pasar.Known("progress"), &left
		} else if v.EstRuntime != nil && ran < j.Spec.Time {
			left := j.Spec.Time - ran
			v.Remaining = &left
		}
	} else if a := j.current(); a != nil && a.Exit != nil && a.Exit.Progress != nil && j.Phase == phaseFinished {
		v.Progress = progressView(a.Exit.Progress)
	}
	return v
}

// ranFor is how long a running attempt has run, by the boot clock where it can be told.
func (d *Daemon) ranFor(a *pasar.AttemptRecord) pasar.Duration {
	if a.StartBoot == d.Boot && a.StartMono > 0 {
		return max(0, d.Clock.Mono()-a.StartMono)
	}
	return max(0, pasar.Duration(d.Clock.Now().Sub(a.StartedAt)))
}

func attemptView(a *pasar.AttemptRecord) pasar.AttemptView {
	v := pasar.AttemptView{
		Attempt: a.Attempt, Machine: a.Grant.Machine, GPUs: append([]pasar.GPURef{}, a.Grant.GPUs...),
		LaunchedAt: a.LaunchedAt.UTC(), StartedAt: known(a.StartedAt), EndedAt: known(a.EndedAt),
		Pid: pasar.Known(a.Pid), LastCheckpoint: a.Checkpoint, Resumed: a.Resumed, Verdict: a.Verdict,
		Notes: []pasar.Event{},
	}
	for _, n := range a.Notes {
		n.Text = pasar.Clean(n.Text)
		v.Notes = append(v.Notes, n)
	}
	if a.Stop != nil {
		v.Stop = &pasar.StopView{Why: a.Stop.Why, By: cleaned(a.Stop.By)}
	}
	if e := a.Exit; e != nil {
		v.RunTime = &e.RunTime
		v.Output, v.Tail, v.PeakHost = &e.Output, e.Tail, pasar.Known(e.PeakHost)
		v.Place, v.Cgroup = pasar.Known(e.Place), e.Cgroup.View()
		if v.Tail == nil {
			v.Tail = []string{}
		}
		if v.Stop != nil {
			v.Stop.Step = e.StopStep
		}
		switch {
		case e.LaunchError != "":
		case e.Exit.Signal != 0:
			v.Signal = &e.Exit.Signal
		default:
			v.ExitCode = &e.Exit.Code
		}
	}
	return v
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
