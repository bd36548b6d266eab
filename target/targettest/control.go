package targettest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pasar"
	"pasar/target"
)

// A Script is what an attempt does by itself. The zero Script runs until it is told to end, and
// dies of SIGTERM.
type Script struct {
	Manual      bool   // stays claimed until Start
	Output      string // printed at the start
	Ends        bool   // ends at once, with Exit
	For         time.Duration
	Exit        pasar.Exit // how it ends at once, or after For if that is positive
	IgnoreTerm  bool       // only SIGKILL ends it when it is asked to stop
	Pauses      *Pausing   // it watches the pause file; nil: it doesn't
	LaunchError string     // it can't be started: ended at once, with LaunchStep and Errno
	LaunchStep  string
	Errno       int

	run func(*World, *attempt) (ended func()) // of a Program
}

// A Pausing is how a program ends that found the pause file.
type Pausing struct {
	After  time.Duration
	Exit   pasar.Exit
	Marker *pasar.Marker
}

// Saves is the Pausing of a program that keeps the contract.
func Saves(checkpoint string, after time.Duration) *Pausing {
	return &Pausing{After: after, Exit: pasar.Exit{Code: pasar.ExitPaused}, Marker: &pasar.Marker{Checkpoint: checkpoint}}
}

// OnLaunch sets what gives each new attempt its script; nil is the zero Script for all.
func (w *World) OnLaunch(f func(target.Attempt) Script) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.script = f
}

// SetInventory changes what the machine has to give.
func (w *World) SetInventory(inv pasar.Inventory) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inv = inv
}

// with runs f on an attempt that must be there, with the lock held.
func (w *World) with(k pasar.AttemptKey, f func(*attempt)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.attempts[k]
	if at == nil {
		panic(fmt.Sprintf("targettest: attempt %s was never launched", k))
	}
	f(at)
}

// Start lets a claimed attempt run.
func (w *World) Start(k pasar.AttemptKey) {
	w.with(k, func(at *attempt) {
		if at.obs.Status == target.Claimed {
			w.start(at)
		}
	})
}

// Print is output of the attempt.
func (w *World) Print(k pasar.AttemptKey, s string) {
	w.with(k, func(at *attempt) { w.print(at, s) })
}

func (w *World) print(at *attempt, s string) {
	at.output = append(at.output, s...)
	close(w.changed)
	w.changed = make(chan struct{})
}

// Report is an event that the job reports.
func (w *World) Report(k pasar.AttemptKey, e pasar.Event) {
	w.with(k, func(at *attempt) {
		o := at.obs
		at.events++
		o.Event, o.EventNum = &e, at.events
		w.tell(at, o)
	})
}

// Trouble says why the attempt's output can't be kept just now; with no reason, that it is kept again.
func (w *World) Trouble(k pasar.AttemptKey, why string) {
	w.with(k, func(at *attempt) {
		at.obs.LogTrouble = why
		w.tell(at, at.obs)
	})
}

// Exit ends the attempt's main process; its claim is free and its record still to come.
func (w *World) Exit(k pasar.AttemptKey, e pasar.Exit) {
	w.with(k, func(at *attempt) { w.exit(at, e) })
}

// End completes the record of an attempt that exited. A nil record is made up from what is known.
func (w *World) End(k pasar.AttemptKey, r *pasar.ExitRecord) {
	w.with(k, func(at *attempt) { w.end(at, r) })
}

// Finish is Exit and End at once.
func (w *World) Finish(k pasar.AttemptKey, code int) {
	w.with(k, func(at *attempt) { w.finish(at, pasar.Exit{Code: code}) })
}

// Vanish loses the attempt unseen, as when its supervisor is killed.
func (w *World) Vanish(k pasar.AttemptKey, detail string) {
	w.with(k, func(at *attempt) { w.vanish(at, detail) })
}

// Reboot loses every attempt under way and gives the machine a new boot id.
func (w *World) Reboot() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.boots++
	w.inv.Boot = fmt.Sprintf("boot-%d", w.boots)
	for _, k := range w.keys() {
		w.vanish(w.attempts[k], "the machine rebooted")
	}
}

// keys are those of all attempts, in order; the lock is held.
func (w *World) keys() []pasar.AttemptKey {
	keys := make([]pasar.AttemptKey, 0, len(w.attempts))
	for k := range w.attempts {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b pasar.AttemptKey) int {
		if a.Job != b.Job {
			return int(a.Job - b.Job)
		}
		return a.Attempt - b.Attempt
	})
	return keys
}

// Attempts are the keys of all that ever were launched, in order.
func (w *World) Attempts() []pasar.AttemptKey {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.keys()
}

// Runs is how often the attempt was really started: never more than once, or the fake is wrong.
// See Violations for what a daemon may do wrong.
func (w *World) Runs(k pasar.AttemptKey) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := w.attempts[k]; at != nil {
		return at.runs
	}
	return 0
}

// Launches is how many calls of Launch for the key got past the injected faults before it.
func (w *World) Launches(k pasar.AttemptKey) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[k]
}

// Launched is what the attempt was launched with; false if it never was.
func (w *World) Launched(k pasar.AttemptKey) (target.Attempt, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := w.attempts[k]; at != nil {
		return at.a, true
	}
	return target.Attempt{}, false
}

// Stops are the distinct stops that reached the attempt, in order.
func (w *World) Stops(k pasar.AttemptKey) []pasar.Stop {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := w.attempts[k]; at != nil {
		return slices.Clone(at.stops)
	}
	return nil
}

// Acknowledged reports whether the attempt's end was acknowledged.
func (w *World) Acknowledged(k pasar.AttemptKey) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.attempts[k]
	return at != nil && at.acked
}

// Status is where the attempt is, Absent if it never was launched.
func (w *World) Status(k pasar.AttemptKey) target.Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := w.attempts[k]; at != nil {
		return at.obs.Status
	}
	return target.Absent
}

// Violations are what no daemon may do, and this one did: a job running twice at a time, a GPU
// over-committed, a key used for two attempts.
func (w *World) Violations() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.violations)
}

// Await waits until ok, which is called without the lock, is true; it is asked again at each change.
func (w *World) Await(ctx context.Context, ok func() bool) error {
	for {
		w.mu.Lock()
		changed := w.changed
		w.mu.Unlock()
		if ok() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// AwaitStatus waits until an attempt has one of the statuses.
func (w *World) AwaitStatus(ctx context.Context, k pasar.AttemptKey, any ...target.Status) error {
	err := w.Await(ctx, func() bool { return slices.Contains(any, w.Status(k)) })
	if err != nil {
		return fmt.Errorf("wait for attempt %s to be %v, now %s: %w", k, any, w.Status(k), err)
	}
	return nil
}
