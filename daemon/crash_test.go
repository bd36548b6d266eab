package daemon

import (
	"context"
	"fmt"
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

// story drives a daemon through everything it has effects for: launches, an end, a failure, a stop of
// a running job. Each step is tried again by the next life if the daemon died in it, with the same
// request id, as clients do.
type story struct {
	w    *world
	step int
	ids  map[string]pasar.JobID
}

func newStory(w *world) *story {
	w.machine.OnLaunch(func(a target.Attempt) targettest.Script {
		return targettest.Script{Manual: a.Spec.Argv[0] == "c"} // seen claimed before it runs
	})
	return &story{w: w, ids: map[string]pasar.JobID{}}
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
	submit := func(name string) func() error {
		return func() error {
			o, err := d.do(ctx, d.Daemon.submit(ipc.SubmitRequest{Request: "submit-" + name, Spec: spec(name, 1000)}))
			if err == nil {
				s.ids[name] = o.jobs[0]
			}
			return err
		}
	}
	cancelJob := func(name string) func() error {
		return func() error {
			_, err := d.do(ctx, d.cancel(ipc.JobsRequest{Request: "cancel-" + name, Jobs: []pasar.JobID{s.ids[name]}}))
			return err
		}
	}
	running := func(name string) func() error {
		return func() error { return s.w.machine.AwaitStatus(ctx, key(s.ids[name], 1), target.Running) }
	}
	claimed := func(name string) func() error {
		return func() error {
			err := s.w.machine.AwaitStatus(ctx, key(s.ids[name], 1), target.Claimed, target.Running)
			synctest.Wait() // until the daemon has seen it so
			return err
		}
	}
	begin := func(name string) func() error {
		return func() error { s.w.machine.Start(key(s.ids[name], 1)); return nil }
	}
	finish := func(name string, code int) func() error {
		return func() error { s.w.machine.Finish(key(s.ids[name], 1), code); return nil }
	}
	ended := func(name string) func() error {
		return func() error {
			for {
				next := d.changed.next()
				if j, err := d.find(s.ids[name]); err != nil || j.Phase == phaseFinished {
					return err
				}
				select {
				case <-next:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
	}
	steps := []func() error{
		submit("a"), submit("b"), submit("c"),
		running("a"), finish("a", 0), ended("a"),
		running("b"), cancelJob("b"), ended("b"),
		claimed("c"), begin("c"), running("c"), finish("c", 3), ended("c"),
	}
	for s.step < len(steps) {
		if err := steps[s.step](); err != nil {
			return
		}
		s.step++
	}
}

func (s *story) over() bool { return s.step == 14 }

// check holds what must be true at the end, however often the daemon died.
func (s *story) check(t *testing.T, d *running) {
	t.Helper()
	for name, want := range map[string]pasar.State{"a": pasar.Completed, "b": pasar.Cancelled, "c": pasar.Failed} {
		j, err := d.find(s.ids[name])
		if err != nil {
			t.Fatalf("job %s was lost: %v", name, err)
		}
		if j.state() != want || len(j.Attempts) != 1 {
			t.Errorf("job %s is %s after %d attempts, want %s after one; verdict %+v", name, j.state(), len(j.Attempts), want, j.Verdict)
		}
		if n := s.w.machine.Runs(key(s.ids[name], 1)); n != 1 {
			t.Errorf("job %s ran %d times", name, n)
		}
	}
	if n := d.status().Jobs; n[pasar.Completed] != 1 || n[pasar.Cancelled] != 1 || n[pasar.Failed] != 1 {
		t.Errorf("counts = %v", n)
	}
	s.w.check()
}

// maxLives bounds a story; each injected crash costs one.
const maxLives = 12

func TestACrashAtEveryEffectChangesNothing(t *testing.T) {
	for _, rule := range targettest.CrashPoints() {
		if rule.Method == targettest.Observe || rule.Method == targettest.Find {
			continue // not used on a target that can be watched
		}
		t.Run(rule.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)
				w.machine.Inject(rule)
				s := newStory(w)
				crashed := 0
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
						crashed++
						d.kill()
						continue
					default:
					}
					if !s.over() {
						t.Fatalf("the story is stuck at step %d", s.step)
					}
					s.check(t, d)
					if crashed == 0 {
						t.Errorf("no crash at %s: the point is never reached", rule)
					}
					return
				}
				t.Fatalf("not over after %d lives", maxLives)
			})
		})
	}
}

func TestACrashAtEveryAppendChangesNothing(t *testing.T) {
	for _, done := range []bool{false, true} {
		for at := 1; ; at++ {
			reached := false
			t.Run(fmt.Sprintf("append %d, done %v", at, done), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, 1)
					s := newStory(w)
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
					s.check(t, d)
				})
			})
			if !reached {
				if at < 8 {
					t.Errorf("only %d appends in the whole story", at-1)
				}
				break
			}
		}
	}
}

func TestAnUnknownAnswerIsAskedAgain(t *testing.T) {
	for _, m := range []targettest.Method{targettest.Launch, targettest.Watch, targettest.Signal, targettest.Acknowledge} {
		for _, when := range []targettest.When{targettest.Before, targettest.Midway, targettest.After} {
			t.Run(fmt.Sprintf("%s %s", m, when), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, 1)
					w.machine.Inject(targettest.Rule{Method: m, When: when, Do: targettest.Lose, Times: 3})
					s := newStory(w)
					d := w.start(nil)
					s.run(d)
					if !s.over() {
						t.Fatalf("the story is stuck at step %d", s.step)
					}
					s.check(t, d)
				})
			})
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
