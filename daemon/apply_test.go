package daemon

import (
	"reflect"
	"testing"
	"time"

	"pasar"
)

// told folds facts a second apart, from epoch on.
func told(facts ...pasar.Fact) *state {
	s := newState()
	s.tell(facts...)
	return s
}

var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func (s *state) tell(facts ...pasar.Fact) {
	for _, f := range facts {
		seq := s.seq + 1
		s.apply(pasar.Record{Seq: seq, At: epoch.Add(time.Duration(seq) * time.Second), Mono: pasar.Duration(seq) * pasar.Duration(time.Second), Boot: "b", Fact: f})
	}
}

func submitted(id pasar.JobID, edit func(*pasar.Spec)) pasar.Submitted {
	s := spec("j"+id.String(), 1000)
	if edit != nil {
		edit(&s)
	}
	return pasar.Submitted{Job: id, Spec: s}
}

func launched(id pasar.JobID, attempt int) pasar.Launched {
	return pasar.Launched{Job: id, Attempt: attempt, Nonce: "n", Grant: pasar.Grant{Machine: pasar.LocalMachine, GPUs: []pasar.GPURef{{UUID: "GPU-0"}}}}
}

func ended(id pasar.JobID, attempt int, code pasar.Code, q pasar.Sequel) pasar.Ended {
	return pasar.Ended{Job: id, Attempt: attempt, Verdict: pasar.Verdict{Reason: code}, Sequel: q,
		Exit: pasar.ExitRecord{RunTime: pasar.Duration(10 * time.Minute), EndedAt: epoch}}
}

// checkThawed holds that a snapshot tells the same state, its lists and indices too.
func checkThawed(t *testing.T, s *state) {
	t.Helper()
	sv := s.freeze()
	body, err := sv.encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := thaw(body)
	if err != nil {
		t.Fatal(err)
	}
	ids := func(list []*job) (ids []pasar.JobID) {
		for _, j := range list {
			ids = append(ids, j.ID)
		}
		return ids
	}
	for _, x := range [][2]any{
		{ids(s.waiters), ids(again.waiters)}, {ids(s.active), ids(again.active)}, {ids(s.paused), ids(again.paused)},
		{s.after, again.after}, {s.finished, again.finished}, {len(s.queue), len(again.queue)}, {s.keys, again.keys},
	} {
		if !reflect.DeepEqual(x[0], x[1]) {
			t.Errorf("thawed %v, was %v", x[1], x[0])
		}
	}
	sv = again.freeze()
	if b, err := sv.encode(); err != nil || string(b) != string(body) {
		t.Errorf("a snapshot of a snapshot differs (%v)", err)
	}
}

func TestARequeuedJobKeepsItsQueueTime(t *testing.T) {
	s := told(submitted(1, func(s *pasar.Spec) { s.Time = pasar.Duration(time.Hour) }), submitted(2, nil), launched(1, 1),
		ended(1, 1, pasar.CodePreempted, pasar.Sequel{State: pasar.Queued}))
	if len(s.queue) != 2 || s.queue[0].ID != 1 || s.jobs[1].Retried != 0 || len(s.ended) != 0 {
		t.Fatalf("queue %+v, retried %d", s.queue, s.jobs[1].Retried)
	}
	if left := s.queue[0].Estimate; left != 50*time.Minute {
		t.Errorf("estimate is %s", left)
	}
	later := epoch.Add(time.Hour)
	s.tell(launched(1, 2), ended(1, 2, pasar.CodeExit, pasar.Sequel{State: pasar.Queued, Retry: true, NotBefore: later, Mem: 10, Limit: 12}))
	if q := s.queue[0]; q.ID != 1 || !q.Retry || !q.NotBefore.Equal(later) || s.jobs[1].Retried != 1 || q.Claim.Mem != 10 || q.Claim.Limit != 12 {
		t.Errorf("queue %+v, retried %d", q, s.jobs[1].Retried)
	}
	checkThawed(t, s)
	s.tell(launched(1, 3), ended(1, 3, pasar.CodeExit, pasar.Sequel{}))
	if j := s.jobs[1]; j.state() != pasar.Failed || s.finished[pasar.Failed] != 1 || len(s.ended) != 1 {
		t.Errorf("job is %s, counts %v", j.state(), s.finished)
	}
	s.tell(pasar.Restarted{Job: 1, Spec: s.jobs[1].Spec, Was: pasar.Failed, Attempts: s.jobs[1].Attempts})
	if j := s.jobs[1]; j.left() != time.Hour || j.Retried != 0 || s.queue[1].ID != 1 {
		t.Errorf("restarted: %s left, %d retried, queue %+v", j.left(), j.Retried, s.queue)
	}
}

func TestAPausedJobIsNeitherQueuedNorFinished(t *testing.T) {
	s := told(submitted(1, nil), launched(1, 1), ended(1, 1, pasar.CodePaused, pasar.Sequel{State: pasar.Paused}))
	j := s.jobs[1]
	if j.state() != pasar.Paused || len(s.queue) != 0 || len(s.active) != 0 || len(s.ended) != 0 || len(s.paused) != 1 || j.Verdict == nil {
		t.Fatalf("job is %s: %+v", j.state(), s)
	}
	checkThawed(t, s)
	s.tell(submitted(2, nil), pasar.ResumeAsked{Job: 1})
	if len(s.paused) != 0 || s.queue[0].ID != 1 || s.queue[0].Machine != pasar.LocalMachine || s.jobs[1].Verdict != nil {
		t.Errorf("queue %+v, paused %d", s.queue, len(s.paused))
	}
	s.tell(launched(1, 2), ended(1, 2, pasar.CodePaused, pasar.Sequel{State: pasar.Paused}), pasar.CancelledWaiting{Job: 1})
	if j := s.jobs[1]; j.state() != pasar.Cancelled || len(s.paused) != 0 {
		t.Errorf("job is %s, paused %d", j.state(), len(s.paused))
	}
}

func TestTheAskingToPreemptIsUsedUpAtTheStart(t *testing.T) {
	s := told(submitted(1, nil), submitted(2, nil), launched(1, 1), pasar.BidChanged{Job: 2, Bid: 2000, Preempt: true})
	if !s.queue[0].Preempt {
		t.Fatalf("queue %+v", s.queue)
	}
	s.tell(pasar.StopAsked{Job: 1, Attempt: 1, Stop: pasar.Stop{ID: "s", Why: pasar.StopPreempt, For: 2}})
	if r := s.input("").Active[0]; !r.Stopping || r.StopFor != 2 || r.Patient {
		t.Errorf("running %+v", r)
	}
	s.tell(pasar.Exited{Job: 1, Attempt: 1}, launched(2, 1), ended(2, 1, pasar.CodeLost, pasar.Sequel{State: pasar.Queued}))
	if s.jobs[2].Spec.Preempt {
		t.Error("it may preempt again")
	}
}

func TestARoomIsPromisedOnlyToAJobThatWaits(t *testing.T) {
	s := told(submitted(1, nil), submitted(2, nil), launched(1, 1),
		pasar.StopAsked{Job: 1, Attempt: 1, Stop: pasar.Stop{ID: "s", Why: pasar.StopPreempt, For: 2}}, pasar.CancelledWaiting{Job: 2})
	if r := s.input("").Active[0]; r.StopFor != 0 || !r.Stopping {
		t.Errorf("running %+v", r)
	}
	s = told(submitted(1, nil), launched(1, 1),
		pasar.StopAsked{Job: 1, Attempt: 1, Stop: pasar.Stop{ID: "s", Why: pasar.StopPause, Wait: pasar.Forever}})
	if r := s.input("").Active[0]; r.Stopping || !r.Patient {
		t.Errorf("one that may take for ever to pause: %+v", r)
	}
}

func TestWhatIsMetIsNoLongerWaitedFor(t *testing.T) {
	after := func(ds ...pasar.Dependency) func(*pasar.Spec) {
		return func(s *pasar.Spec) { s.After = ds }
	}
	s := told(submitted(1, nil), submitted(2, nil), submitted(3, after(
		pasar.Dependency{Job: 1, On: pasar.AfterOK}, pasar.Dependency{Job: 2, On: pasar.AfterFail}, pasar.Dependency{Job: 2, On: pasar.AfterAny})))
	unmet := func() []pasar.Dependency { return s.queue[len(s.queue)-1].After }
	if len(unmet()) != 3 || len(s.after[2]) != 1 {
		t.Fatalf("unmet %v, index %v", unmet(), s.after)
	}
	checkThawed(t, s)
	before := s.jobs[3]
	s.tell(launched(1, 1), ended(1, 1, pasar.CodeExit, pasar.Sequel{State: pasar.Queued}))
	if len(unmet()) != 3 {
		t.Errorf("a retry met it: %v", unmet())
	}
	s.tell(launched(1, 2), ended(1, 2, pasar.CodeCompleted, pasar.Sequel{}))
	if len(unmet()) != 2 || len(s.after[1]) != 0 || len(before.Unmet) != 3 {
		t.Errorf("unmet %v, index %v", unmet(), s.after)
	}
	s.tell(launched(2, 1), ended(2, 1, pasar.CodeCompleted, pasar.Sequel{}))
	if u := unmet(); len(u) != 1 || u[0].On != pasar.AfterFail {
		t.Errorf("unmet %v", u) // the loop cancels it
	}
	s.tell(pasar.CancelledWaiting{Job: 3})
	if len(s.after) != 0 {
		t.Errorf("index %v", s.after)
	}
	spec := s.jobs[1].Spec
	s.tell(pasar.Restarted{Job: 1, Spec: spec, Was: pasar.Completed}, submitted(4, after(pasar.Dependency{Job: 2, On: pasar.AfterAny})))
	if len(s.queue) != 2 || len(s.queue[1].After) != 0 {
		t.Errorf("queue %+v", s.queue)
	}
}

func TestAPersonsDrainOutlivesAFaults(t *testing.T) {
	person, fault := pasar.Health{Reason: "drained by ada", Person: true}, pasar.Health{Reason: "Xid 79"}
	s := told(pasar.MachineSeen{Inventory: pasar.Inventory{Machine: "m", GPUs: []pasar.GPU{{UUID: "a"}, {UUID: "b"}}}},
		pasar.Drained{Machine: "m", GPU: "a", Health: person}, pasar.Drained{Machine: "m", GPU: "a", Health: fault})
	unwell := func() string {
		if seen := s.input("").Machines[0].Seen; len(seen) == 1 && seen[0].UUID == "a" {
			return seen[0].Unhealthy
		}
		return ""
	}
	if unwell() != "Xid 79" {
		t.Errorf("unhealthy for %q", unwell())
	}
	checkThawed(t, s)
	was := s.drains
	s.tell(pasar.Undrained{Machine: "m", GPU: "a"})
	if unwell() != "drained by ada" || was.of("m", "a").Reason != "Xid 79" {
		t.Errorf("unhealthy for %q", unwell())
	}
	s.tell(pasar.Undrained{Machine: "m", GPU: "a", By: "ada"}, pasar.Drained{Machine: "m", Health: person})
	if m := s.input("").Machines[0]; unwell() != "" || m.Blocked != "drained by ada" {
		t.Errorf("machine %+v", m)
	}
	s.tell(pasar.Undrained{Machine: "m", By: "bob"})
	if len(s.drains) != 0 {
		t.Errorf("drains %v", s.drains)
	}
}

func TestXidsAreKeptWithTheAttemptThatRan(t *testing.T) {
	s := told(submitted(1, nil), submitted(2, nil), launched(1, 1))
	for i := range pasar.MaxXids + 3 {
		s.tell(pasar.XidSeen{Machine: "local", Xid: pasar.Xid{Code: i}, Jobs: []pasar.JobID{1, 2, 9}})
	}
	xids := s.jobs[1].current().Xids
	if len(xids) != pasar.MaxXids || xids[len(xids)-1].Code != pasar.MaxXids+2 {
		t.Errorf("xids %+v", xids)
	}
	s.tell(ended(1, 1, pasar.CodeGPUXid, pasar.Sequel{}), pasar.XidSeen{Machine: "local", Jobs: []pasar.JobID{1}})
	if n := len(s.jobs[1].current().Xids); n != pasar.MaxXids {
		t.Errorf("%d xids after the end", n)
	}
}

func TestAnEditKeepsWhatWasMet(t *testing.T) {
	s := told(submitted(1, nil), submitted(2, func(s *pasar.Spec) { s.After = []pasar.Dependency{{Job: 1, On: pasar.AfterAny}} }),
		launched(1, 1), ended(1, 1, pasar.CodeCompleted, pasar.Sequel{}))
	s.tell(pasar.Restarted{Job: 1, Spec: s.jobs[1].Spec, Was: pasar.Completed})
	edited := s.jobs[2].Spec
	edited.Name = "other"
	s.tell(pasar.Edited{Job: 2, Spec: edited})
	if j := s.jobs[2]; len(j.Unmet) != 0 || j.Spec.Name != "other" {
		t.Errorf("%+v", j)
	}
	edited.After = []pasar.Dependency{{Job: 1, On: pasar.AfterOK}}
	s.tell(pasar.Edited{Job: 2, Spec: edited})
	if j := s.jobs[2]; len(j.Unmet) != 1 || len(s.after[1]) != 1 {
		t.Errorf("%+v", j)
	}
}

func TestAGroupSharesOneReadingOfGit(t *testing.T) {
	s := told(submitted(1, nil), submitted(2, nil), submitted(3, nil), submitted(4, nil), launched(3, 1),
		pasar.GitRead{Job: 2, More: 1, Git: pasar.Git{Commit: "c"}})
	for id, want := range map[pasar.JobID]bool{1: false, 2: true, 3: true, 4: false} {
		if got := s.jobs[id].Git; (got != nil) != want || want && got.Commit != "c" {
			t.Errorf("job %d: %+v", id, got)
		}
	}
}
