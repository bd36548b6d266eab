package targettest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/target"
	"pasar/target/targettest"
)

func TestTheFakeConforms(t *testing.T) {
	targettest.Conformance(t, func(t *testing.T) targettest.Harness {
		w := targettest.NewWorld(targettest.Machine(1, 24*pasar.GiB))
		w.OnLaunch(targettest.PlayPrograms)
		t.Cleanup(func() {
			for _, v := range w.Violations() {
				t.Error(v)
			}
		})
		steps := []targettest.When{targettest.Before, targettest.Midway, targettest.After}
		h := targettest.Harness{
			Open: func() target.Target { return w.View() },
			Abandon: func(step string) (target.Target, <-chan struct{}) {
				w.Inject(targettest.Rule{Method: targettest.Launch, When: targettest.When(step), Do: targettest.Crash})
				v := w.View()
				return v, v.Crashed()
			},
			Command: targettest.Program.Fake,
			Blind: func(_ target.Target, h target.Handle) func() {
				w.Inject(targettest.Rule{Method: targettest.Observe, Key: h.Key, Do: targettest.Lose})
				return func() {}
			},
		}
		for _, s := range steps {
			h.Steps = append(h.Steps, string(s))
		}
		return h
	})
}

func attempt(job pasar.JobID, n int, gpu string, c pasar.Claim) target.Attempt {
	a := target.Attempt{Spec: pasar.AttemptSpec{Key: pasar.AttemptKey{Job: job, Attempt: n}, Nonce: "n"}}
	a.Grant.Claim = c
	if gpu != "" {
		a.Grant.GPUs = []pasar.GPURef{{UUID: gpu}}
	}
	return a
}

func TestTheFakeNoticesWhatNoDaemonMayDo(t *testing.T) {
	whole := pasar.Claim{Kind: pasar.Whole, GPUs: 1}
	slice := pasar.Claim{Kind: pasar.Slice, GPUs: 1, Mem: 10 * pasar.GiB, Limit: 13 * pasar.GiB}
	for name, c := range map[string]struct {
		launches []target.Attempt
		bad      bool
	}{
		"one after the other": {[]target.Attempt{attempt(1, 1, "", pasar.Claim{})}, false},
		"a job twice at once": {[]target.Attempt{attempt(1, 1, "", pasar.Claim{}), attempt(1, 2, "", pasar.Claim{})}, true},
		"a whole GPU twice":   {[]target.Attempt{attempt(1, 1, "GPU-0", whole), attempt(2, 1, "GPU-0", whole)}, true},
		"two GPUs":            {[]target.Attempt{attempt(1, 1, "GPU-0", whole), attempt(2, 1, "GPU-1", whole)}, false},
		"a slice that fits":   {[]target.Attempt{attempt(1, 1, "GPU-0", slice)}, false},
		"slices beyond a GPU": {[]target.Attempt{attempt(1, 1, "GPU-0", slice), attempt(2, 1, "GPU-0", slice)}, true},
		"a slice of a whole":  {[]target.Attempt{attempt(1, 1, "GPU-0", whole), attempt(2, 1, "GPU-0", slice)}, true},
		"a GPU not there":     {[]target.Attempt{attempt(1, 1, "GPU-9", whole)}, true},
	} {
		w := targettest.NewWorld(targettest.Machine(2, 24*pasar.GiB))
		for _, a := range c.launches {
			if _, err := w.View().Launch(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.Violations(); (len(got) > 0) != c.bad {
			t.Errorf("%s: violations %q", name, got)
		}
	}
}

func TestEachFaultActsAtItsPoint(t *testing.T) {
	key := pasar.AttemptKey{Job: 1, Attempt: 1}
	for _, c := range []struct {
		rule   targettest.Rule
		status target.Status
		never  bool
	}{
		{targettest.Rule{When: targettest.Before, Do: targettest.Lose}, target.Absent, false},
		{targettest.Rule{When: targettest.Midway, Do: targettest.Lose}, target.Claimed, false},
		{targettest.Rule{When: targettest.After, Do: targettest.Lose}, target.Running, false},
		{targettest.Rule{When: targettest.Before, Do: targettest.Refuse}, target.Absent, true},
	} {
		w := targettest.NewWorld(targettest.Machine(0, 0))
		w.Inject(c.rule)
		v := w.View()
		_, err := v.Launch(t.Context(), attempt(1, 1, "", pasar.Claim{}))
		if err == nil || target.IsNever(err) != c.never || !c.never && !errors.Is(err, targettest.ErrUnknown) {
			t.Errorf("%s: error %v", c.rule, err)
		}
		if got := w.Status(key); got != c.status {
			t.Errorf("%s: the attempt is %s, want %s", c.rule, got, c.status)
		}
		if _, err := v.Launch(t.Context(), attempt(1, 1, "", pasar.Claim{})); err != nil {
			t.Errorf("%s: the second launch fails too: %v", c.rule, err)
		}
		if w.Status(key) != target.Running || w.Runs(key) != 1 {
			t.Errorf("%s: launched again, it is %s after %d runs", c.rule, w.Status(key), w.Runs(key))
		}
	}
}

func TestADeadDaemonHasNoEffectAndTheNextSeesTheWorldAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := pasar.AttemptKey{Job: 1, Attempt: 1}
		h := target.Handle{Key: key, Nonce: "n"}
		w := targettest.NewWorld(targettest.Machine(0, 0))
		w.Inject(targettest.Rule{Method: targettest.Watch, When: targettest.Midway, Status: target.Exited, Do: targettest.Crash})
		v := w.View()
		if _, err := v.Launch(t.Context(), attempt(1, 1, "", pasar.Claim{})); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var seen []target.Status
		done := make(chan error)
		go func() {
			done <- v.Watch(ctx, h, func(o target.Observation) error {
				seen = append(seen, o.Status)
				return nil
			})
		}()
		synctest.Wait()
		w.Finish(key, 3)
		<-v.Crashed()
		synctest.Wait()
		go func() { done <- v.Signal(ctx, h, pasar.Stop{ID: "s"}) }()
		synctest.Wait()
		cancel()
		for range 2 {
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("a dead daemon's call returned %v", err)
			}
		}
		if !slices.Equal(seen, []target.Status{target.Running}) {
			t.Errorf("the dead daemon was told %v", seen)
		}
		o, err := w.View().Observe(t.Context(), h)
		if err != nil || o.Status != target.Ended || o.Record.Exit.Code != 3 || o.Record.Stop != nil {
			t.Errorf("the next daemon sees %+v (%v)", o, err)
		}
	})
}

func TestAStopGivesGraceOnTheFakesClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := pasar.AttemptKey{Job: 1, Attempt: 1}
		h := target.Handle{Key: key, Nonce: "n"}
		w := targettest.NewWorld(targettest.Machine(0, 0))
		w.OnLaunch(func(target.Attempt) targettest.Script { return targettest.Script{IgnoreTerm: true} })
		v := w.View()
		if _, err := v.Launch(t.Context(), attempt(1, 1, "", pasar.Claim{})); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := v.Signal(t.Context(), h, pasar.Stop{ID: "s", Grace: pasar.Duration(time.Minute)}); err != nil {
			t.Fatal(err)
		}
		if err := w.AwaitStatus(t.Context(), key, target.Ended); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("killed after %v", took)
		}
	})
}

func TestWatchersGetEveryReport(t *testing.T) {
	key := pasar.AttemptKey{Job: 1, Attempt: 1}
	w := targettest.NewWorld(targettest.Machine(0, 0))
	v := w.View()
	if _, err := v.Launch(t.Context(), attempt(1, 1, "", pasar.Claim{})); err != nil {
		t.Fatal(err)
	}
	var seen []string
	err := v.Watch(t.Context(), target.Handle{Key: key, Nonce: "n"}, func(o target.Observation) error {
		if o.Event != nil {
			seen = append(seen, o.Event.Text)
			return nil
		}
		seen = append(seen, string(o.Status))
		if o.Status == target.Running {
			w.Report(key, pasar.Event{Kind: pasar.EventNote, Text: "hello"})
			w.Finish(key, 0)
		}
		return nil
	})
	if want := []string{"running", "hello", "exited", "ended"}; err != nil || !slices.Equal(seen, want) {
		t.Errorf("seen %v (%v), want %v", seen, err, want)
	}
}

func TestANewWatchIsToldTheLatestReportsAgain(t *testing.T) {
	key := pasar.AttemptKey{Job: 1, Attempt: 1}
	w := targettest.NewWorld(targettest.Machine(0, 0))
	if _, err := w.View().Launch(t.Context(), attempt(1, 1, "", pasar.Claim{})); err != nil {
		t.Fatal(err)
	}
	w.Report(key, pasar.Event{Kind: pasar.EventCheckpoint, Path: "a"})
	w.Report(key, pasar.Event{Kind: pasar.EventNote, Text: "b"})
	w.Report(key, pasar.Event{Kind: pasar.EventCheckpoint, Path: "c"})
	enough := errors.New("enough")
	var seen []int
	err := w.View().Watch(t.Context(), target.Handle{Key: key, Nonce: "n"}, func(o target.Observation) error {
		if o.Event == nil {
			return nil
		}
		if seen = append(seen, o.EventNum); len(seen) == 1 {
			w.Report(key, pasar.Event{Kind: pasar.EventNote, Text: "d"})
			return nil
		}
		return enough
	})
	if !errors.Is(err, enough) || !slices.Equal(seen, []int{3, 4}) {
		t.Errorf("told of reports %v (%v), want 3 again and then 4", seen, err)
	}
}
