package daemon

import (
	"testing"
	"testing/synctest"
	"time"

	"pasar"
)

// A tale is a job's life told to a state, second by second. The wall clock may be set in between; the boot
// clock goes on.
type tale struct {
	t    *testing.T
	s    *state
	wall time.Time
	mono time.Duration
	boot string
	n    int
}

func newTale(t *testing.T) *tale {
	st := &tale{t: t, s: newState(), wall: time.Unix(1_700_000_000, 0), mono: time.Hour, boot: "b1"}
	st.tell(pasar.Submitted{Job: 1, Spec: spec("train", 1000)})
	return st
}

func (st *tale) tell(f pasar.Fact) {
	st.s.apply(pasar.Record{Seq: st.s.seq + 1, At: st.wall, Mono: pasar.Duration(st.mono), Boot: st.boot, Fact: f})
}

func (st *tale) after(d time.Duration) *tale {
	st.wall, st.mono = st.wall.Add(d), st.mono+d
	return st
}

func (st *tale) job() *job { return st.s.jobs[1] }

func (st *tale) launch() *tale {
	st.n++
	st.tell(pasar.Launched{Job: 1, Attempt: st.n, Nonce: "n", Grant: pasar.Grant{Machine: "local"}})
	st.tell(pasar.Started{Job: 1, Attempt: st.n, Pid: 7, At: st.wall})
	return st
}

func (st *tale) event(kind pasar.EventKind) *tale {
	st.tell(pasar.Reported{Job: 1, Attempt: st.n, Event: pasar.Event{Kind: kind, At: st.wall}})
	return st
}

// end ends the attempt for a reason, with what follows; edit may change the record.
func (st *tale) end(code pasar.Code, next pasar.State, edit func(*pasar.ExitRecord)) *tale {
	a := st.job().current()
	ran := pasar.Duration(st.mono) - a.StartMono
	rec := pasar.ExitRecord{StartedAt: st.wall.Add(-time.Duration(ran)), ExitedAt: st.wall, EndedAt: st.wall, RunTime: ran}
	if edit != nil {
		edit(&rec)
	}
	st.tell(pasar.Ended{Job: 1, Attempt: st.n, Exit: rec, Verdict: pasar.Verdict{Reason: code}, Sequel: pasar.Sequel{State: next}})
	return st
}

func (st *tale) wantLost(preemptions, failures time.Duration, known bool) {
	st.t.Helper()
	l := lostOf(st.job().Attempts)
	if l.known != known || known && (time.Duration(l.preemptions) != preemptions || time.Duration(l.failures) != failures) {
		st.t.Errorf("lost %s to preemptions and %s to failures (known: %v), want %s, %s (%v)",
			l.preemptions, l.failures, l.known, preemptions, failures, known)
	}
}

const minute = time.Minute

func marked(r *pasar.ExitRecord) {
	r.Exit.Code, r.Marker = pasar.ExitPaused, &pasar.Marker{Checkpoint: "/ckpt"}
}

func TestLostTimeIsWorkSinceTheCheckpointAndTheWayBack(t *testing.T) {
	for name, c := range map[string]struct {
		tell                  func(*tale)
		preemptions, failures time.Duration
		unknown               bool
	}{
		"preempted with a checkpoint": {tell: func(st *tale) {
			st.launch().after(10*minute).event(pasar.EventCheckpoint).after(4*minute).end(pasar.CodePreempted, pasar.Queued, nil)
			st.after(30*minute).launch().after(2*minute).event(pasar.EventResumed).after(minute).end(pasar.CodeCompleted, "", nil)
		}, preemptions: 6 * minute},
		"preempted before the first checkpoint": {tell: func(st *tale) {
			st.launch().after(10*minute).event(pasar.EventNote).end(pasar.CodePreempted, pasar.Queued, nil)
		}, preemptions: 10 * minute},
		"saved when it was asked to stop": {tell: func(st *tale) {
			st.launch().after(10*minute).end(pasar.CodePreempted, pasar.Queued, marked)
			st.launch().after(minute).event(pasar.EventResumed)
		}, preemptions: minute},
		"failed, and failed for good": {tell: func(st *tale) {
			st.launch().after(10*minute).event(pasar.EventCheckpoint).after(3*minute).end(pasar.CodeExit, pasar.Queued, nil)
			st.launch().after(minute).event(pasar.EventResumed).after(5*minute).end(pasar.CodeOOM, "", nil)
		}, failures: 3*minute + minute + 6*minute},
		"both": {tell: func(st *tale) {
			st.launch().after(10*minute).event(pasar.EventCheckpoint).after(minute).end(pasar.CodePreempted, pasar.Queued, nil)
			st.launch().after(2*minute).event(pasar.EventResumed).after(2*minute).end(pasar.CodeSignal, "", nil)
		}, preemptions: 3 * minute, failures: 4 * minute},
		"a pause isn't an interruption": {tell: func(st *tale) {
			st.launch().after(10*minute).event(pasar.EventCheckpoint).after(minute).end(pasar.CodePaused, pasar.Paused, marked)
			st.after(time.Hour).tell(pasar.ResumeAsked{Job: 1})
			st.launch().after(2 * minute).event(pasar.EventResumed)
		}},
		"a pause by force is": {tell: func(st *tale) {
			st.launch().after(10*minute).event(pasar.EventCheckpoint).after(minute).end(pasar.CodePaused, pasar.Paused, nil)
			st.after(time.Hour).tell(pasar.ResumeAsked{Job: 1})
			st.launch().after(2 * minute).event(pasar.EventResumed)
		}, preemptions: 3 * minute},
		"completed and cancelled lose nothing": {tell: func(st *tale) {
			st.launch().after(minute).event(pasar.EventCheckpoint).after(minute).end(pasar.CodeCancelled, "", nil)
		}},
		"a job that never reports": {tell: func(st *tale) {
			st.launch().after(10*minute).end(pasar.CodePreempted, pasar.Queued, nil)
			st.launch()
		}, unknown: true},
		"only progress was reported": {tell: func(st *tale) {
			st.launch().after(10*minute).end(pasar.CodePreempted, pasar.Queued, func(r *pasar.ExitRecord) {
				r.Progress = &pasar.Event{Kind: pasar.EventProgress}
			})
		}, preemptions: 10 * minute},
		"the clock was set back in between": {tell: func(st *tale) {
			st.launch().after(10 * minute)
			st.wall = st.wall.Add(-3 * time.Hour)
			st.event(pasar.EventCheckpoint).after(4 * minute)
			st.wall = st.wall.Add(5 * time.Hour)
			st.end(pasar.CodePreempted, pasar.Queued, nil).launch()
			st.wall = st.wall.Add(time.Hour)
			st.after(2 * minute).event(pasar.EventResumed)
		}, preemptions: 6 * minute},
		"the daemon slept through the checkpoint": {tell: func(st *tale) {
			st.launch().after(10 * minute)
			saved := pasar.Event{Kind: pasar.EventCheckpoint, At: st.wall}
			st.after(3 * minute).tell(pasar.DaemonStarted{})
			st.tell(pasar.Reported{Job: 1, Attempt: 1, Event: saved})
			st.after(minute).end(pasar.CodePreempted, pasar.Queued, nil)
		}, preemptions: 4 * minute},
		"the last checkpoint is in the exit record alone": {tell: func(st *tale) {
			st.launch().after(5 * minute).event(pasar.EventCheckpoint).after(5 * minute)
			last := pasar.Event{Kind: pasar.EventCheckpoint, At: st.wall}
			st.after(2*minute).end(pasar.CodeExit, "", func(r *pasar.ExitRecord) { r.Checkpoint = &last })
		}, failures: 2 * minute},
		"lost with its supervisor": {tell: func(st *tale) {
			st.launch().after(5 * minute).event(pasar.EventCheckpoint).after(minute)
			st.tell(pasar.Lost{Job: 1, Attempt: 1, Verdict: pasar.Verdict{Reason: pasar.CodeLost}})
		}, failures: minute},
		"lost with the machine, which was up again 40 s before": {tell: func(st *tale) {
			st.launch().after(5 * minute).event(pasar.EventCheckpoint).after(6 * minute)
			st.boot, st.mono = "b2", 40*time.Second
			st.tell(pasar.Lost{Job: 1, Attempt: 1, Verdict: pasar.Verdict{Reason: pasar.CodeLost}})
		}, failures: 6*minute - 40*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			st := newTale(t)
			c.tell(st)
			st.wantLost(c.preemptions, c.failures, !c.unknown)
			body := st.job().row().Body // as the history keeps it
			j, err := decodeJob(body)
			if err != nil {
				t.Fatal(err)
			}
			st.s.jobs[1] = j
			st.wantLost(c.preemptions, c.failures, !c.unknown)
		})
	}
}

func TestEachAttemptSaysWhatItsEndCost(t *testing.T) {
	st := newTale(t)
	st.after(5*minute).launch().after(10*minute).event(pasar.EventCheckpoint).after(4*minute).end(pasar.CodePreempted, pasar.Queued, nil)
	st.after(30 * minute).launch().after(2 * minute).event(pasar.EventResumed).after(minute)
	d := &Daemon{Deps: Deps{Clock: stillClock{st.wall, pasar.Duration(st.mono)}, Boot: st.boot}}
	v := d.view(st.job(), nil, nil)
	first, second := v.Attempts[0], v.Attempts[1]
	if first.Wasted == nil || first.Wasted.Seconds() != 240 || first.RestartCost != nil {
		t.Errorf("first: wasted %v, restart %v", first.Wasted, first.RestartCost)
	}
	if second.Wasted != nil || second.RestartCost == nil || second.RestartCost.Seconds() != 120 {
		t.Errorf("second: wasted %v, restart %v", second.Wasted, second.RestartCost)
	}
	if l := v.Lost; !l.Known || l.Preemptions.Seconds() != 360 || *l.Failures != 0 || l.QueueWait.Seconds() != 35*60 {
		t.Errorf("lost %+v, waited %s", l, l.QueueWait)
	}
}

type stillClock struct {
	now  time.Time
	mono pasar.Duration
}

func (c stillClock) Now() time.Time       { return c.now }
func (c stillClock) Mono() pasar.Duration { return c.mono }

func TestLostTimeHoldsOverRestartsOfTheDaemon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		id := d.submit(spec("a", 1000))
		time.Sleep(10 * minute)
		w.machine.Report(key(id, 1), pasar.Event{Kind: pasar.EventCheckpoint, At: time.Now()})
		synctest.Wait()
		d.kill()
		time.Sleep(3 * minute)
		w.machine.Report(key(id, 1), pasar.Event{Kind: pasar.EventCheckpoint, At: time.Now()}) // nobody listens
		time.Sleep(2 * minute)
		d = w.start(nil)
		time.Sleep(minute)
		w.machine.Finish(key(id, 1), 1)
		d.expect(id, pasar.Failed)
		v := d.seen(id)
		if got := v.Lost.Failures; got == nil || got.Seconds() != 180 {
			t.Errorf("lost %v, want 3 minutes", got)
		}
		d.kill()
		d = w.start(nil)
		if got := d.seen(id).Lost.Failures; got == nil || got.Seconds() != 180 {
			t.Errorf("a new daemon says %v was lost, want 3 minutes", got)
		}
	})
}

func TestTimeInTheQueueIsNeitherPausedTimeNorTimeAfterTheEnd(t *testing.T) {
	st := newTale(t)
	st.after(minute).launch().after(10*minute).end(pasar.CodePaused, pasar.Paused, marked)
	st.after(time.Hour).tell(pasar.ResumeAsked{Job: 1})
	st.after(2*minute).launch().after(minute).end(pasar.CodeExit, "", nil)
	j := st.after(5 * time.Hour).job()
	st.tell(pasar.Restarted{Job: 1, Spec: j.Spec, Was: j.End, Attempts: j.Attempts, Created: j.Created})
	st.after(4 * minute).tell(pasar.CancelledWaiting{Job: 1, Verdict: pasar.Verdict{Reason: pasar.CodeCancelled}})
	if got := queueWait(st.job()); time.Duration(got) != 7*minute {
		t.Errorf("waited %s, want 7 minutes", got)
	}
}
