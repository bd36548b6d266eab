package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"pasar"
	"pasar/autopsy"
	"pasar/target"
)

// A tender is the effect that looks after one attempt: it launches it, watches it, passes stops on
// and reports what it sees, until the end is journaled. It can begin again at any point.
type tender struct {
	job     pasar.JobID
	attempt int
	handle  target.Handle
	seen    bool // that it runs; tendAttempt's own

	late     bool      // it had started before: an earlier daemon was told what it reported first
	progress *progress // what it reported last; nil: nothing. tendAttempt's own

	trouble     string    // with its log; tendAttempt's own, as is the next
	troubleSaid time.Time // when that was last reported

	launched chan struct{} // closed once the target has accepted the attempt: before, a stop finds nothing to stop
	done     chan struct{} // closed by settled: the end is journaled

	mu       sync.Mutex // guards stopWant
	stopWant *pasar.Stop
	stopped  chan struct{} // signalled when stopWant changed; buffered
	hurry    chan struct{} // the same, for a launch that waits to be tried again
}

// stop asks the attempt to stop; a later call replaces an earlier one.
func (t *tender) stop(s pasar.Stop) {
	t.mu.Lock()
	t.stopWant = &s
	t.mu.Unlock()
	for _, c := range []chan struct{}{t.stopped, t.hurry} {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func (t *tender) wanted() *pasar.Stop {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stopWant
}

func (t *tender) settled() { close(t.done) }

// backoff bounds between asking a target again that couldn't say.
const (
	backoffMin = 50 * time.Millisecond
	backoffMax = 5 * time.Second
)

// tend starts looking after a job's current attempt. The loop calls it.
func (d *Daemon) tend(ctx context.Context, j *job) {
	a := j.current()
	t := &tender{
		job: j.ID, attempt: a.Attempt,
		handle: target.Handle{Key: pasar.AttemptKey{Job: j.ID, Attempt: a.Attempt}, Nonce: a.Nonce},
		done:   make(chan struct{}),

		launched: make(chan struct{}),
		seen:     a.Pid != 0,
		late:     a.Pid != 0,
		stopped:  make(chan struct{}, 1),
		hurry:    make(chan struct{}, 1),
	}
	if a.Stop != nil {
		t.stop(*a.Stop)
	}
	d.tenders[j.ID] = t
	ctx, cancel := context.WithCancel(ctx)
	d.effects.Go(func() {
		defer cancel()
		d.tendAttempt(ctx, t, j)
		if d.lookout != nil && ctx.Err() == nil {
			d.lookout.usages.ended(t.handle.Key, d.Clock.Now())
		}
		if t.progress != nil { // the next attempt may have reported by now
			d.latest.CompareAndDelete(j.ID, t.progress)
		}
	})
	d.effects.Go(func() { d.passStops(ctx, t) })
}

// tendAttempt launches (again, if need be) and watches until the attempt's end is journaled.
func (d *Daemon) tendAttempt(ctx context.Context, t *tender, j *job) {
	// A process was seen, or may have been begun before the machine went down: no launch, ever again.
	launched := j.current().Pid != 0 || j.current().LaunchBoot != d.Boot
	if launched {
		close(t.launched)
	}
	wait := backoffMin
	told := false
	for {
		var ended bool
		var err error
		if !launched {
			err = d.launch(ctx, t, j)
			if launched = err == nil; launched {
				close(t.launched)
			}
			if target.IsNever(err) && (t.wanted() != nil || !passes(err)) {
				ended, err = d.reportNever(ctx, t, j, err)
			}
		}
		if err == nil && !ended {
			ended, err = d.watch(ctx, t, j)
		}
		if ended {
			d.acknowledge(ctx, t)
			return
		}
		if ctx.Err() != nil {
			return
		}
		d.Log.Warn("attempt not under way yet, or not to be seen", "job", t.job, "attempt", t.attempt, "error", err)
		if passes(err) && !told {
			told = true
			d.report(ctx, pasar.Incident{Machine: j.current().Grant.Machine, What: "launch",
				Detail: fmt.Sprintf("job %d can't be started yet: %v", t.job, err)})
		}
		select {
		case <-t.hurry: // a stop was asked for: what was never begun needs no more tries
		case <-ctx.Done():
			return
		case <-t.done:
			return
		case <-time.After(wait):
			wait = min(2*wait, backoffMax)
		}
	}
}

func (d *Daemon) launch(ctx context.Context, t *tender, j *job) error {
	sur, err := d.Journal.Surroundings(j.ID)
	if err != nil {
		return err
	}
	a := j.current()
	set := d.settings.Load()
	at := target.Attempt{
		Spec: pasar.AttemptSpec{
			Key: t.handle.Key, Nonce: t.handle.Nonce,
			Argv: j.argv(), Cwd: j.Spec.Cwd, Surroundings: sur,
			Cols: cmp.Or(j.Spec.Cols, pasar.UsualCols), Rows: cmp.Or(j.Spec.Rows, pasar.UsualRows), NoPTY: j.Spec.NoPTY,
			Grace: j.Spec.Grace, LogMax: set.LogMax, RAM: a.Grant.Claim.RAM,
		},
		Grant:      a.Grant,
		GPUTotal:   d.gpuTotal(a.Grant),
		Resuming:   a.Attempt > 1,
		Checkpoint: j.checkpoint(),
		Params:     j.Spec.Params,
		Index:      j.Spec.Index,
		ByIndex:    j.Spec.Visible == "index" || j.Spec.Visible == "" && set.ByIndex,
	}
	if j.Spec.TimeLimit > 0 {
		at.SaveGrace = cmp.Or(j.Spec.CheckpointGrace, limitGrace)
	}
	_, err = d.Target.Launch(ctx, at)
	return err
}

// gpuTotal is the memory of the granted GPU, as last seen.
func (d *Daemon) gpuTotal(g pasar.Grant) pasar.Bytes {
	p := d.pub.Load()
	if p == nil || len(g.GPUs) == 0 {
		return 0
	}
	for _, gpu := range p.machines[g.Machine].GPUs {
		if gpu.UUID == g.GPUs[0].UUID {
			return gpu.Total
		}
	}
	return 0
}

// watch reports what becomes of an attempt. It returns true when the end was reported and is
// journaled.
func (d *Daemon) watch(ctx context.Context, t *tender, j *job) (bool, error) {
	ended := false
	see := func(o target.Observation) error {
		ended = d.observed(ctx, t, j, o) || ended
		return nil
	}
	var err error
	if w, ok := d.Target.(target.Watcher); ok {
		err = w.Watch(ctx, t.handle, see)
	} else {
		var o target.Observation
		if o, err = d.Target.Observe(ctx, t.handle); err == nil {
			_ = see(o)
			if !ended {
				err = errStillThere
			}
		}
	}
	if ended {
		return t.journaled(ctx)
	}
	if err == nil {
		err = errors.New("the target stopped watching")
	}
	return false, err
}

// journaled waits until the reported end is in the journal.
func (t *tender) journaled(ctx context.Context) (bool, error) {
	select {
	case <-t.done:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// passes reports whether what kept an attempt from being launched may pass by itself: the machine
// has run out of something. The job keeps its place and is tried again.
func passes(err error) bool {
	for _, e := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

var errStillThere = errors.New("not ended yet")

// observed turns an observation into facts. It returns true for the last one.
func (d *Daemon) observed(ctx context.Context, t *tender, j *job, o target.Observation) bool {
	if o.Event != nil { // also of one that has exited: the last reports are read after that
		d.event(ctx, t, *o.Event, o.EventNum)
		return false
	}
	switch o.Status {
	case target.Absent:
		// Surely never started: the launch that was journaled is still to be made. A tender that was
		// told so launches; when a process had been seen, it is gone.
		o.Detail = "its attempt directory is gone"
		d.reportLost(ctx, t, j, o)
		return true
	case target.Running:
		d.logTrouble(ctx, t, j, o.LogTrouble)
		if t.seen { // a watch begun again tells it again
			return false
		}
		t.seen = true
		d.report(ctx, pasar.Started{Job: t.job, Attempt: t.attempt, Pid: o.Pid, At: o.StartedAt})
	case target.Exited:
		var e pasar.Exit
		if o.Exit != nil {
			e = *o.Exit
		}
		d.report(ctx, pasar.Exited{Job: t.job, Attempt: t.attempt, Exit: e})
	case target.Ended:
		if o.Record == nil {
			o.Detail = "its exit record can't be read"
			d.reportLost(ctx, t, j, o)
			return true
		}
		d.reportEnded(ctx, t, j, *o.Record)
		return true
	case target.Gone:
		if e := d.exited(t); e != nil { // how it ended was seen; only its record is lost
			now := d.Clock.Now()
			d.reportEnded(ctx, t, j, pasar.ExitRecord{Schema: pasar.Schema, Key: t.handle.Key, Nonce: t.handle.Nonce,
				Exit: *e, StartedAt: j.current().StartedAt, ExitedAt: now, EndedAt: now, Tail: o.Tail})
			return true
		}
		d.reportLost(ctx, t, j, o)
		return true
	}
	return false
}

// exited is how the attempt's main process ended, if that is journaled.
func (d *Daemon) exited(t *tender) *pasar.Exit {
	j := d.lookup(t.job)
	if j == nil || j.current() == nil || j.current().Attempt != t.attempt {
		return nil
	}
	return j.current().Exited
}

func (d *Daemon) reportEnded(ctx context.Context, t *tender, j *job, rec pasar.ExitRecord) {
	e := autopsy.Evidence{
		LaunchError: rec.LaunchError, LaunchStep: rec.LaunchStep, Errno: rec.Errno,
		Argv0: string(j.Spec.Argv[0]), Cwd: string(j.Spec.Cwd), Grace: j.Spec.Grace,
		RunTime: rec.RunTime, PeakHost: rec.PeakHost, Cgroup: rec.Cgroup, Output: rec.Output,
		Marker: rec.Marker,
	}
	if rec.LaunchError == "" {
		e.Exit = &rec.Exit
	}
	if rec.Stop != nil && (rec.StopStep != pasar.StepNone || rec.LaunchError != "") {
		e.Stop, e.StopStep, e.For = rec.Stop, rec.StopStep, d.named(rec.Stop.For)
	}
	switch {
	case rec.LaunchError != "": // it has no output
	case rec.Exit == (pasar.Exit{}) && rec.Stop == nil: // it completed, whatever it printed
		e.Log = logOf(rec.Tail)
	default:
		e.Log = d.lastOutput(ctx, t.handle, &rec, rec.Tail)
	}
	d.gpuEvidence(ctx, t, j, &e)
	e.NoGPU = j.current() != nil && len(j.current().Grant.GPUs) == 0
	e.Untouched = d.untouched(t.handle.Key, j.current(), rec.RunTime)
	recordEvidence(&rec, &e)
	d.machineEvidence(ctx, t, j, rec.Pid, &e)
	v, certified := d.judge(ctx, t, e)
	d.report(ctx, pasar.Ended{Job: t.job, Attempt: t.attempt, Exit: rec, Verdict: v, Certified: certified, PeakGPU: e.PeakGPU, PeakHost: pasar.Known(e.HostPeak)})
}

// reportNever ends an attempt that surely never began: for err, or because it was to stop anyway.
func (d *Daemon) reportNever(ctx context.Context, t *tender, j *job, err error) (bool, error) {
	now := d.Clock.Now()
	d.reportEnded(ctx, t, j, pasar.ExitRecord{
		Schema: pasar.Schema, Key: t.handle.Key, Nonce: t.handle.Nonce, Stop: t.wanted(),
		LaunchError: err.Error(), LaunchStep: "target", StartedAt: now, ExitedAt: now, EndedAt: now,
	})
	return t.journaled(ctx)
}

func (d *Daemon) reportLost(ctx context.Context, t *tender, j *job, o target.Observation) {
	detail := o.Detail
	if detail == "" {
		detail = "it vanished with no exit status"
	}
	e := autopsy.Evidence{Lost: detail, Argv0: string(j.Spec.Argv[0]), Cwd: string(j.Spec.Cwd)}
	e.Log, e.UnitResult = d.lastOutput(ctx, t.handle, nil, o.Tail), o.UnitResult
	d.machineEvidence(ctx, t, j, 0, &e)
	if stop := t.wanted(); stop != nil { // what was asked of it decides, as if it had been seen to end
		e.Stop, e.For = stop, d.named(stop.For)
	}
	v, certified := d.judge(ctx, t, e)
	d.report(ctx, pasar.Lost{Job: t.job, Attempt: t.attempt, Verdict: v, Certified: certified, PeakGPU: e.PeakGPU, PeakHost: pasar.Known(e.HostPeak)})
}

// named is a job in words, as last committed; empty when there is none.
func (d *Daemon) named(id pasar.JobID) string {
	j := d.lookup(id)
	if j == nil {
		return ""
	}
	return j.named()
}

// acknowledge tells the target that the end is journaled. Nothing depends on it.
func (d *Daemon) acknowledge(ctx context.Context, t *tender) {
	if a, ok := d.Target.(target.Acknowledger); ok {
		if err := a.Acknowledge(ctx, t.handle); err != nil {
			d.Log.Debug("end not acknowledged", "job", t.job, "attempt", t.attempt, "error", err)
		}
	}
}

// passStops hands each stop to the target, and repeats one that the target couldn't take, until the
// end is journaled.
func (d *Daemon) passStops(ctx context.Context, t *tender) {
	select {
	case <-t.launched:
	case <-t.done:
		return
	case <-ctx.Done():
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.done:
			return
		case <-t.stopped:
		}
		wait := backoffMin
		for s := t.wanted(); s != nil; {
			err := d.Target.Signal(ctx, t.handle, *s)
			if err == nil {
				break
			}
			d.Log.Debug("stop not taken", "job", t.job, "attempt", t.attempt, "error", err)
			select {
			case <-ctx.Done():
				return
			case <-t.done:
				return
			case <-time.After(wait):
				wait = min(2*wait, time.Second)
				s = t.wanted()
			}
		}
	}
}
