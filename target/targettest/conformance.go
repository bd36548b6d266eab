package targettest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pasar"
	"pasar/target"
)

// A Harness is how the conformance suite gets at one kind of target. Each call of the function
// given to Conformance makes one with a state of its own.
type Harness struct {
	// Open makes a target object on the harness's state, as a daemon that has just started does.
	// The harness closes it at the test's end.
	Open func() target.Target
	// Abandon makes one whose daemon dies at that step of its next Launch: dead is closed then, and
	// nothing more is done on its behalf.
	Abandon func(step string) (t target.Target, dead <-chan struct{})
	// Steps are those that Abandon knows.
	Steps []string
	// Command makes a program's argument vector; nil is Program.Shell.
	Command func(Program) []pasar.Arg
	// Blind makes it impossible to know the state of an attempt until restore is called; nil if
	// that can't be had.
	Blind func(t target.Target, h target.Handle) (restore func())
}

// patience bounds each wait of the suite. It is never waited for when all is well.
const patience = 30 * time.Second

// Conformance is what every target must hold.
func Conformance(t *testing.T, harness func(*testing.T) Harness) {
	for _, c := range []struct {
		name string
		f    func(*suite)
	}{
		{"an attempt runs and its end has a record and its output", (*suite).runsToItsEnd},
		{"a second launch finds the first", (*suite).secondLaunch},
		{"concurrent launches run once", (*suite).concurrentLaunches},
		{"a launch given up midway runs once", (*suite).abandonedLaunches},
		{"an attempt is adopted and watched to its end", (*suite).adopted},
		{"an attempt lives on when its target object is closed or not", (*suite).endsUnseen},
		{"output is resumed at a cursor", (*suite).logsResume},
		{"output is followed to the end without gap or repeat", (*suite).logsFollow},
		{"each cause of end is told apart", (*suite).causesOfEnd},
		{"a stop ends an attempt by SIGTERM", (*suite).stopTerm},
		{"a stop right after the launch is not lost", (*suite).stopAtOnce},
		{"SIGKILL follows when the grace is over", (*suite).stopKill},
		{"a stop that can't wait kills at once", (*suite).stopNow},
		{"a repeated stop is one stop", (*suite).stopRepeated},
		{"a stop by a later daemon goes on where the first was", (*suite).stopByAdopter},
		{"a stop of what has ended is harmless", (*suite).stopEnded},
		{"a pause is the pause file alone, and its record has the marker", (*suite).pauses},
		{"a marker of what isn't there is recorded as that", (*suite).pauseMissing},
		{"a job that doesn't pause runs on until another stop", (*suite).pauseUnheard},
		{"a pause that gives up ends like a stop", (*suite).pauseGivesUp},
		{"a pause that waits can be told to give up", (*suite).pauseReplaced},
		{"a preemption or time limit is the pause file and SIGTERM", (*suite).preempted},
		{"SIGTERM can be left out", (*suite).stopWithoutTerm},
		{"what was never launched is absent, and can be launched", (*suite).absentThenLaunched},
		{"what can't be known is an error and no state", (*suite).unknown},
		{"a watch ends with its context", (*suite).watchCancelled},
		{"an acknowledged end can still be observed", (*suite).acknowledged},
		{"the inventory is of this machine", (*suite).inventory},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := harness(t)
			if h.Command == nil {
				h.Command = Program.Shell
			}
			s := &suite{T: t, h: h, dir: t.TempDir()}
			var cancel context.CancelFunc
			s.ctx, cancel = context.WithTimeout(t.Context(), patience)
			t.Cleanup(cancel)
			c.f(s)
		})
	}
}

// A suite is one test of the suite under way.
type suite struct {
	*testing.T
	h    Harness
	ctx  context.Context
	dir  string
	next int
}

// A run is an attempt of the suite's with what it needs to be held and counted.
type run struct {
	a    target.Attempt
	mark string
	gate *os.File // nil if it has none
}

func (r *run) handle() target.Handle { return target.Handle{Key: r.a.Spec.Key, Nonce: r.a.Spec.Nonce} }

// open lets the program pass its gate.
func (r *run) open(s *suite) {
	s.Helper()
	if _, err := r.gate.WriteString("go\n"); err != nil {
		s.Fatal(err)
	}
}

// prepare makes an attempt of a program; gated says that it waits at a gate.
func (s *suite) prepare(p Program, gated bool) *run {
	s.Helper()
	s.next++
	r := &run{mark: filepath.Join(s.dir, fmt.Sprintf("mark%d", s.next))}
	p.Mark = r.mark
	if gated {
		p.Gate = filepath.Join(s.dir, fmt.Sprintf("gate%d", s.next))
		if err := syscall.Mkfifo(p.Gate, 0o600); err != nil {
			s.Fatal(err)
		}
		f, err := os.OpenFile(p.Gate, os.O_RDWR, 0) // both ends, so that nobody blocks in open
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() { _ = f.Close() })
		r.gate = f
	}
	r.a = target.Attempt{
		Spec: pasar.AttemptSpec{
			Key:   pasar.AttemptKey{Job: pasar.JobID(s.next), Attempt: 1},
			Nonce: fmt.Sprintf("conformance-%d-%d", os.Getpid(), time.Now().UnixNano()),
			Argv:  s.h.Command(p), Cwd: pasar.Arg(s.dir),
			Surroundings: pasar.Surroundings{Env: []pasar.Arg{pasar.Arg("PATH=" + os.Getenv("PATH"))}, Umask: -1},
			Cols:         120, Rows: 40, Grace: pasar.Duration(10 * time.Second),
		},
		Grant: pasar.Grant{Machine: pasar.LocalMachine, Claim: pasar.Claim{Kind: pasar.NoGPU}},
	}
	return r
}

func (s *suite) launch(t target.Target, r *run) target.Handle {
	s.Helper()
	h, err := t.Launch(s.ctx, r.a)
	if err != nil {
		s.Fatalf("launch %s: %v", r.a.Spec.Key, err)
	}
	if h != r.handle() {
		s.Fatalf("launch of %v returned handle %v", r.handle(), h)
	}
	return h
}

// runs is how often the program left its mark.
func (s *suite) runs(r *run) int {
	s.Helper()
	b, err := os.ReadFile(r.mark)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.Fatal(err)
	}
	want := r.a.Spec.Key.String() + "\n"
	if strings.ReplaceAll(string(b), want, "") != "" {
		s.Errorf("marks of %s are %q: it was told another key", r.a.Spec.Key, b)
	}
	return strings.Count(string(b), "\n")
}

func (s *suite) ranOnce(r *run) {
	s.Helper()
	if n := s.runs(r); n != 1 {
		s.Errorf("attempt %s ran %d times, want once", r.a.Spec.Key, n)
	}
}

// errEnough ends a watch.
var errEnough = errors.New("seen enough")

// watch calls f with observations until it returns true or the attempt has ended. A target that
// can't be watched is asked.
func (s *suite) watch(t target.Target, h target.Handle, f func(target.Observation) bool) {
	s.Helper()
	tell := func(o target.Observation) error {
		if o.Handle != h {
			s.Errorf("watch of %v tells of %v", h, o.Handle)
		}
		if f(o) {
			return errEnough
		}
		return nil
	}
	if w, ok := t.(target.Watcher); ok {
		if err := w.Watch(s.ctx, h, tell); err != nil && !errors.Is(err, errEnough) {
			s.Fatalf("watch %s: %v", h.Key, err)
		}
		return
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		o := s.observe(t, h)
		if tell(o) != nil || over(o.Status) {
			return
		}
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			s.Fatalf("attempt %s is still %s", h.Key, o.Status)
		}
	}
}

func over(st target.Status) bool {
	return st == target.Ended || st == target.Gone || st == target.Absent
}

func (s *suite) observe(t target.Target, h target.Handle) target.Observation {
	s.Helper()
	o, err := t.Observe(s.ctx, h)
	if err != nil {
		s.Fatalf("observe %s: %v", h.Key, err)
	}
	if o.Handle != h {
		s.Fatalf("observation of %v is of %v", h, o.Handle)
	}
	return o
}

// awaitRunning waits until the attempt runs and has left its mark: its traps are set by then.
func (s *suite) awaitRunning(t target.Target, r *run) {
	s.Helper()
	seen := target.Absent
	s.watch(t, r.handle(), func(o target.Observation) bool {
		seen = o.Status
		return seen == target.Running
	})
	if seen != target.Running {
		s.Fatalf("attempt %s is %s, want running", r.a.Spec.Key, seen)
	}
	s.until(func() bool { return s.runs(r) > 0 }, "its mark")
}

// until waits for something that nobody tells of.
func (s *suite) until(ok func() bool, what string) {
	s.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			s.Fatalf("no sign of %s", what)
		}
	}
}

// awaitEnd watches to the end and returns the last observation.
func (s *suite) awaitEnd(t target.Target, h target.Handle) target.Observation {
	s.Helper()
	var last target.Observation
	s.watch(t, h, func(o target.Observation) bool {
		last = o
		return false
	})
	return last
}

func (s *suite) ended(o target.Observation) *pasar.ExitRecord {
	s.Helper()
	if o.Status != target.Ended || o.Record == nil {
		s.Fatalf("attempt %s is %s (%s), want ended with a record", o.Handle.Key, o.Status, o.Detail)
	}
	if o.Record.Key != o.Handle.Key || o.Record.Nonce != o.Handle.Nonce {
		s.Errorf("record of %v is for %s, %s", o.Handle, o.Record.Key, o.Record.Nonce)
	}
	return o.Record
}

// output reads all output from an offset on, checking that there is neither gap nor repeat.
func (s *suite) output(t target.Target, h target.Handle, from target.Cursor, follow bool) (string, target.Cursor) {
	s.Helper()
	var b strings.Builder
	at := int64(from)
	end, err := t.Logs(s.ctx, h, from, follow, func(c target.Chunk) error {
		if at < 0 {
			at = c.Offset // so many bytes before the end
		}
		if c.Offset != at || c.Gap != 0 {
			s.Errorf("output of %s: chunk at %d with gap %d, want offset %d and no gap", h.Key, c.Offset, c.Gap, at)
		}
		at = c.Offset + int64(len(c.Data))
		b.Write(c.Data)
		return nil
	})
	if err != nil {
		s.Fatalf("output of %s: %v", h.Key, err)
	}
	if int64(end) != at {
		s.Errorf("output of %s ended at %d, and the cursor returned is %d", h.Key, at, end)
	}
	return b.String(), end
}

// plain undoes what a terminal does to line ends.
func plain(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// abandon launches on a target object whose daemon dies at the step, and returns when it is dead.
func (s *suite) abandon(step string, a target.Attempt) {
	s.Helper()
	t, dead := s.h.Abandon(step)
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = t.Launch(ctx, a) })
	select {
	case <-dead:
	case <-s.ctx.Done():
		s.Fatalf("the launch never came to step %q", step)
	}
	cancel()
	wg.Wait()
}
