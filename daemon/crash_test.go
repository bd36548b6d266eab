package daemon

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/target"
	"pasar/target/targettest"
)

// story drives a daemon through things that it has effects for. Each step is tried again by the next life if
// the daemon died in it, with the same request id, as clients do.
type story struct {
	w     *world
	step  int
	ids   map[string]pasar.JobID
	steps func(teller) []func() error
	check func(*testing.T, *running, *story) // what must be true at the end, however often the daemon died
}

// stories are told with a crash at every point that they come to.
var stories = map[string]func(*world) *story{"launch, end, cancel": plainStory, "preempt, pause, retry, array": schedulingStory}

// plainStory has an end, a failure, and a stop of a running job.
func plainStory(w *world) *story {
	w.machine.OnLaunch(func(a target.Attempt) targettest.Script {
		return targettest.Script{Manual: a.Spec.Argv[0] == "c"} // seen claimed before it runs
	})
	return &story{w: w, ids: map[string]pasar.JobID{}, check: checkPlain, steps: func(t teller) []func() error {
		return []func() error{
			t.submit("a"), t.submit("b"), t.submit("c"),
			t.running("a", 1), t.finish("a", 1, 0), t.is("a", pasar.Completed),
			t.running("b", 1), t.ask("b", (*Daemon).cancel), t.is("b", pasar.Cancelled),
			t.claimed("c"), t.begin("c"), t.running("c", 1), t.finish("c", 1, 3), t.is("c", pasar.Failed),
		}
	}}
}

func checkPlain(t *testing.T, d *running, s *story) {
	t.Helper()
	for name, want := range map[string]pasar.State{"a": pasar.Completed, "b": pasar.Cancelled, "c": pasar.Failed} {
		s.ended(t, d, name, want, 1)
	}
	if n := d.status().Jobs; n[pasar.Completed] != 1 || n[pasar.Cancelled] != 1 || n[pasar.Failed] != 1 {
		t.Errorf("counts = %v", n)
	}
}

// schedulingStory has a job that is preempted, comes back, is paused and resumed; one that is tried again; and
// an array with one that comes after it.
func schedulingStory(w *world) *story {
	w.machine.OnLaunch(func(a target.Attempt) targettest.Script {
		return targettest.Script{Pauses: targettest.Saves("/c", time.Second)}
	})
	return &story{w: w, ids: map[string]pasar.JobID{}, check: checkScheduling, steps: func(t teller) []func() error {
		low := func(s *pasar.Spec) { s.Pausable, s.NoSigterm = true, true }
		high := func(s *pasar.Spec) { s.Bid, s.Preempt = 2000, true }
		cpu := func(s *pasar.Spec) { s.Claim = pasar.Claim{Kind: pasar.NoGPU} }
		return []func() error{
			t.submit("low", low), t.running("low", 1),
			t.submit("high", high), t.running("high", 1), t.is("low", pasar.Queued),
			t.array("arr0", "arr1", cpu), t.running("arr0", 1), t.running("arr1", 1),
			t.submit("last", cpu, func(s *pasar.Spec) { s.After = []pasar.Dependency{{Job: t.s.ids["arr1"], On: pasar.AfterOK}} }),
			t.finish("arr0", 1, 0), t.finish("arr1", 1, 1), t.is("last", pasar.Cancelled),
			t.finish("high", 1, 0), t.running("low", 2),
			t.submit("tries", cpu, func(s *pasar.Spec) { s.Retries = 1 }), t.running("tries", 1), t.finish("tries", 1, 3),
			t.ask("low", (*Daemon).pause), t.is("low", pasar.Paused), t.ask("low", (*Daemon).resume), t.running("low", 3),
			t.running("tries", 2), t.finish("tries", 2, 0), t.is("tries", pasar.Completed),
			t.finish("low", 3, 0), t.is("low", pasar.Completed), t.is("high", pasar.Completed), t.is("arr0", pasar.Completed), t.is("arr1", pasar.Failed),
		}
	}}
}

func checkScheduling(t *testing.T, d *running, s *story) {
	t.Helper()
	s.ended(t, d, "low", pasar.Completed, 3)
	s.ended(t, d, "high", pasar.Completed, 1)
	s.ended(t, d, "tries", pasar.Completed, 2)
	s.ended(t, d, "arr0", pasar.Completed, 1)
	s.ended(t, d, "arr1", pasar.Failed, 1)
	s.ended(t, d, "last", pasar.Cancelled, 0)
	var why []pasar.Code
	for _, a := range d.get(s.ids["low"]).Attempts {
		why = append(why, a.Verdict.Reason)
	}
	if !slices.Equal(why, []pasar.Code{pasar.CodePreempted, pasar.CodePaused, pasar.CodeCompleted}) {
		t.Errorf("attempts of the job that was preempted and paused ended for %v", why)
	}
	for attempt, want := range map[int]pasar.StopWhy{1: pasar.StopPreempt, 2: pasar.StopPause} {
		if stops := s.w.machine.Stops(key(s.ids["low"], attempt)); len(stops) != 1 || stops[0].Why != want {
			t.Errorf("attempt %d was asked to stop by %+v", attempt, stops)
		}
	}
	if s.ids["arr1"] != s.ids["arr0"]+1 || d.get(s.ids["arr1"]).Spec.Group != s.ids["arr0"] {
		t.Errorf("the array is %v", s.ids)
	}
}

// ended holds that a job ended so, after so many attempts, of which each ran once.
func (s *story) ended(t *testing.T, d *running, name string, want pasar.State, attempts int) {
	t.Helper()
	j, err := d.find(s.ids[name])
	if err != nil {
		t.Fatalf("job %s was lost: %v", name, err)
	}
	if j.state() != want || len(j.Attempts) != attempts {
		t.Errorf("job %s is %s after %d attempts, want %s after %d; verdict %+v", name, j.state(), len(j.Attempts), want, attempts, j.Verdict)
	}
	for i := range j.Attempts {
		if n := s.w.machine.Runs(key(j.ID, i+1)); n != 1 {
			t.Errorf("attempt %d of job %s ran %d times", i+1, name, n)
		}
	}
}

// A teller makes the steps of a story for one life of the daemon.
type teller struct {
	s   *story
	d   *running
	ctx context.Context
}

func (t teller) submit(name string, edits ...func(*pasar.Spec)) func() error {
	return func() error {
		s := spec(name, 1000)
		for _, edit := range edits {
			edit(&s)
		}
		o, err := t.d.do(t.ctx, t.d.Daemon.submit(ipc.SubmitRequest{Request: "submit-" + name, Spec: s}))
		if err == nil {
			t.s.ids[name] = o.jobs[0]
		}
		return err
	}
}

func (t teller) array(first, second string, edit func(*pasar.Spec)) func() error {
	return func() error {
		s := spec("arr", 1000)
		edit(&s)
		r := ipc.SubmitRequest{Request: "array-" + first, Spec: s, Points: []pasar.Point{{Index: new(int)}, {Index: new(int)}}}
		o, err := t.d.do(t.ctx, t.d.Daemon.submit(r))
		if err == nil {
			t.s.ids[first], t.s.ids[second] = o.jobs[0], o.jobs[1]
		}
		return err
	}
}

// ask makes a request about a job, with one request id for each verb.
func (t teller) ask(name string, c func(*Daemon, ipc.JobsRequest) *command) func() error {
	return func() error {
		cmd := c(t.d.Daemon, ipc.JobsRequest{Jobs: []pasar.JobID{t.s.ids[name]}})
		cmd.request = string(cmd.verb) + "-" + name
		_, err := t.d.do(t.ctx, cmd)
		return err
	}
}

func (t teller) running(name string, attempt int) func() error {
	return func() error {
		return t.s.w.machine.AwaitStatus(t.ctx, key(t.s.ids[name], attempt), target.Running, target.Ended)
	}
}

func (t teller) claimed(name string) func() error {
	return func() error {
		err := t.s.w.machine.AwaitStatus(t.ctx, key(t.s.ids[name], 1), target.Claimed, target.Running)
		synctest.Wait() // until the daemon has seen it so
		return err
	}
}

func (t teller) begin(name string) func() error {
	return func() error { t.s.w.machine.Start(key(t.s.ids[name], 1)); return nil }
}

func (t teller) finish(name string, attempt, code int) func() error {
	return func() error { t.s.w.machine.Finish(key(t.s.ids[name], attempt), code); return nil }
}

// is waits until a job has come to a state.
func (t teller) is(name string, want pasar.State) func() error {
	return func() error {
		for {
			next := t.d.changed.next()
			if j, err := t.d.find(t.s.ids[name]); err != nil || j.state() == want {
				return err
			}
			select {
			case <-next:
			case <-t.ctx.Done():
				return t.ctx.Err()
			}
		}
	}
}

// run goes on from where the last life died. It returns when the story is over or the daemon is dead.
func (s *story) run(d *running) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-d.life.died:
		case <-d.fake.Crashed():
		case <-ctx.Done():
		}
		cancel()
	}()
	steps := s.steps(teller{s, d, ctx})
	for s.step < len(steps) {
		if err := steps[s.step](); err != nil {
			return
		}
		s.step++
	}
}

func (s *story) over() bool { return s.step == len(s.steps(teller{s: s})) }

// maxLives bounds a story; each injected crash costs one.
const maxLives = 12

func TestACrashAtEveryEffectChangesNothing(t *testing.T) {
	for _, rule := range targettest.CrashPoints() {
		if rule.Method == targettest.Observe || rule.Method == targettest.Find {
			continue // not used on a target that can be watched
		}
		crashes := 0
		for name, tell := range stories {
			for rule.Skip = 0; ; rule.Skip++ {
				reached := false
				t.Run(fmt.Sprintf("%s/%s/%d", name, rule, rule.Skip), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { reached = crashAt(t, tell, rule) })
				})
				if t.Failed() {
					return
				}
				if !reached {
					break
				}
				crashes++
			}
		}
		if crashes == 0 {
			t.Errorf("no crash at %s: the point is never reached", rule)
		}
	}
}

// crashAt tells a story with a crash where a rule says; false if that point is never reached.
func crashAt(t *testing.T, tell func(*world) *story, rule targettest.Rule) bool {
	w := newWorld(t, 1)
	w.machine.Inject(rule)
	s := tell(w)
	crashed := false
	for range maxLives {
		d := w.start(nil)
		s.run(d)
		if s.over() {
			synctest.Wait()
			time.Sleep(time.Minute) // what is left under way, such as acknowledging
			synctest.Wait()
		}
		select {
		case <-d.fake.Crashed():
			crashed = true
			d.kill()
			continue
		default:
		}
		if !s.over() {
			t.Fatalf("the story is stuck at step %d", s.step)
		}
		s.check(t, d, s)
		w.check()
		return crashed
	}
	t.Fatalf("not over after %d lives", maxLives)
	return true
}

func TestACrashAtEveryAppendChangesNothing(t *testing.T) {
	for name, tell := range stories {
		for _, done := range []bool{false, true} {
			for at := 1; ; at++ {
				reached := false
				t.Run(fmt.Sprintf("%s/append %d, done %v", name, at, done), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t, 1)
						s := tell(w)
						n := 0
						d := w.start(func(_ Batch, after bool) bool {
							if after == done {
								n++
							}
							reached = reached || after == done && n == at
							return after == done && n == at
						})
						s.run(d)
						d.kill()
						d = w.start(nil)
						s.run(d)
						synctest.Wait()
						if !s.over() {
							t.Fatalf("the story is stuck at step %d", s.step)
						}
						s.check(t, d, s)
						w.check()
					})
				})
				if t.Failed() {
					return
				}
				if !reached {
					if at < 8 {
						t.Errorf("only %d appends in the whole story", at-1)
					}
					break
				}
			}
		}
	}
}

func TestAnUnknownAnswerIsAskedAgain(t *testing.T) {
	for name, tell := range stories {
		for _, m := range []targettest.Method{targettest.Launch, targettest.Watch, targettest.Signal, targettest.Acknowledge} {
			for _, when := range []targettest.When{targettest.Before, targettest.Midway, targettest.After} {
				t.Run(fmt.Sprintf("%s/%s %s", name, m, when), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t, 1)
						w.machine.Inject(targettest.Rule{Method: m, When: when, Do: targettest.Lose, Times: 3})
						s := tell(w)
						d := w.start(nil)
						s.run(d)
						if !s.over() {
							t.Fatalf("the story is stuck at step %d", s.step)
						}
						s.check(t, d, s)
						w.check()
					})
				})
			}
		}
	}
}

func TestALaunchThatSurelyNeverBeganIsALaunchError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.machine.Inject(targettest.Rule{Method: targettest.Launch, When: targettest.Before, Do: targettest.Refuse})
		d := w.start(nil)
		id, next := d.submit(spec("a", 1000)), d.submit(spec("b", 1000))
		d.expect(id, pasar.Failed)
		d.expect(next, pasar.Running)
		if j, _ := d.find(id); j.Verdict.Reason != pasar.CodeLaunchError {
			t.Errorf("verdict = %+v", j.Verdict)
		}
	})
}

func TestAVanishedAttemptIsLostAndItsPlaceIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		id, next := d.submit(spec("a", 1000)), d.submit(spec("b", 1000))
		w.machine.Vanish(key(id, 1), "its supervisor was killed")
		d.expect(id, pasar.Failed)
		d.expect(next, pasar.Running)
		if j, _ := d.find(id); j.Verdict.Reason != pasar.CodeLost {
			t.Errorf("verdict = %+v", j.Verdict)
		}
		w.check()
	})
}

// A brokenMachine can't launch anything while it is full.
type brokenMachine struct {
	*targettest.Fake
	full *atomic.Bool
}

func (m brokenMachine) Launch(ctx context.Context, a target.Attempt) (target.Handle, error) {
	if m.full.Load() {
		return target.Handle{}, target.Never(fmt.Errorf("make attempt directory: %w", syscall.ENOSPC))
	}
	return m.Fake.Launch(ctx, a)
}

func TestALaunchThatAFullDiskPreventsIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		var full atomic.Bool
		w.wrap = func(f *targettest.Fake) target.Target { return brokenMachine{f, &full} }
		d := w.start(nil)
		full.Store(true)
		stays, goes := d.submit(spec("stays", 1000)), d.submit(spec("goes", 1000))
		time.Sleep(time.Minute)
		d.expect(stays, pasar.Starting)
		if n := len(d.status().Incidents); n != 2 {
			t.Errorf("%d incidents, want one for each job", n)
		}
		if _, err := d.do(context.Background(), d.cancel(ipc.JobsRequest{Request: "c", Jobs: []pasar.JobID{goes}})); err != nil {
			t.Fatal(err)
		}
		d.expect(goes, pasar.Cancelled) // at once, not after the next try
		full.Store(false)
		time.Sleep(backoffMax)
		d.expect(stays, pasar.Running)
		w.check()
	})
}

func TestAnAttemptOfAnotherBootIsNeverLaunchedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.machine.Inject(targettest.Rule{Method: targettest.Launch, When: targettest.Before, Do: targettest.Crash})
		d := w.start(nil)
		id, next := d.submit(spec("a", 1000)), d.submit(spec("b", 1000))
		d.kill() // journaled, and not known to have begun; the power cut took the directory with it
		w.machine.Reboot()
		w.boot = "boot-2"
		d = w.start(nil)
		d.expect(id, pasar.Failed)
		d.expect(next, pasar.Running)
		if n := w.machine.Launches(key(id, 1)); n != 0 {
			t.Errorf("launched %d times after the reboot", n)
		}
		if j, _ := d.find(id); j.Verdict.Reason != pasar.CodeLost {
			t.Errorf("verdict = %+v", j.Verdict)
		}
	})
}

// A slowMachine takes its time to launch, and has nothing to stop until it has.
type slowMachine struct {
	*targettest.Fake
	launch   chan struct{}
	launched *atomic.Bool
}

func (m slowMachine) Launch(ctx context.Context, a target.Attempt) (target.Handle, error) {
	<-m.launch
	h, err := m.Fake.Launch(ctx, a)
	m.launched.Store(true)
	return h, err
}

func (m slowMachine) Signal(ctx context.Context, h target.Handle, s pasar.Stop) error {
	if !m.launched.Load() {
		return nil
	}
	return m.Fake.Signal(ctx, h, s)
}

func TestAStopDuringTheLaunchIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		slow := slowMachine{launch: make(chan struct{}), launched: new(atomic.Bool)}
		w.wrap = func(f *targettest.Fake) target.Target { slow.Fake = f; return slow }
		d := w.start(nil)
		id := d.submit(spec("a", 1000))
		if _, err := d.do(context.Background(), d.cancel(ipc.JobsRequest{Request: "c", Jobs: []pasar.JobID{id}})); err != nil {
			t.Fatal(err)
		}
		d.expect(id, pasar.Stopping)
		close(slow.launch)
		d.expect(id, pasar.Cancelled)
	})
}

func TestAnExitThatWasSeenIsTheVerdictThoughItsRecordIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		d := w.start(nil)
		id := d.submit(spec("a", 1000))
		w.machine.Exit(key(id, 1), pasar.Exit{Code: 0})
		synctest.Wait()
		w.machine.Vanish(key(id, 1), "its supervisor was killed")
		d.expect(id, pasar.Completed)
	})
}
