// Package targettest holds what tests of targets and of the daemon share: a conformance suite that
// every target must pass, and a fake target whose attempts do what a test says.
package targettest

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"time"

	"pasar"
	"pasar/target"
)

// A World is all that lies outside the daemon: the machine and the attempts on it. It survives any
// number of daemons; each looks at it through a View of its own. The zero World is not usable.
//
// An attempt goes claimed → running → exited → ended, or gone at any point, by itself as its Script
// says or when a test calls Start, Exit, End, Finish or Vanish.
type World struct {
	mu         sync.Mutex // guards all below, and every attempt
	inv        pasar.Inventory
	attempts   map[pasar.AttemptKey]*attempt
	calls      map[pasar.AttemptKey]int
	violations []string
	rules      []*Rule
	hook       func(Call) Act
	script     func(target.Attempt) Script
	changed    chan struct{} // closed and replaced at each change
	pids       int
	boots      int
}

// An attempt is one launch, as the world has it.
type attempt struct {
	a       target.Attempt
	script  Script
	obs     target.Observation   // present; never with an Event
	past    []target.Observation // everything a watcher is told, in order
	events  int                  // how many reports
	output  []byte
	stops   []pasar.Stop // distinct ones, in order of arrival
	step    pasar.StopStep
	runs    int
	acked   bool
	kill    *time.Timer
	endedBy func() // of a program under way: told when the attempt ends
}

// NewWorld makes a world of one machine. See Machine for an inventory.
func NewWorld(inv pasar.Inventory) *World {
	return &World{
		inv:      inv,
		attempts: map[pasar.AttemptKey]*attempt{},
		calls:    map[pasar.AttemptKey]int{},
		changed:  make(chan struct{}),
	}
}

// Machine is the inventory of a local machine with so many GPUs of so much memory each, 64 GiB of
// RAM of which 8 are reserved, and 8 cores.
func Machine(gpus int, mem pasar.Bytes) pasar.Inventory {
	inv := pasar.Inventory{Machine: pasar.LocalMachine, Boot: "boot-0", Cores: 8, RAM: 64 * pasar.GiB,
		Reserve: 8 * pasar.GiB, CPUJobs: 8}
	for i := range gpus {
		inv.GPUs = append(inv.GPUs, pasar.GPU{Index: i, UUID: fmt.Sprintf("GPU-%d", i), Name: "Fake GPU", Total: mem})
	}
	return inv
}

// View is how one daemon sees the world.
func (w *World) View() *Fake { return &Fake{w: w, dead: make(chan struct{})} }

// launch is what a launch does to the world: it happens once for a key, however often it is asked
// for. With start false it stops after the claim, as if the supervisor hadn't come further yet.
func (w *World) launch(a target.Attempt, start bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := a.Spec.Key
	at := w.attempts[key]
	if at == nil {
		w.checkRoom(a)
		at = &attempt{a: a, obs: target.Observation{
			Handle: target.Handle{Key: key, Nonce: a.Spec.Nonce}, Status: target.Claimed}}
		if w.script != nil {
			at.script = w.script(a)
		}
		w.attempts[key] = at
		w.tell(at, at.obs)
	} else if at.a.Spec.Nonce != a.Spec.Nonce {
		w.violate("attempt %s is launched with nonce %q after %q", key, a.Spec.Nonce, at.a.Spec.Nonce)
	}
	if start && at.obs.Status == target.Claimed && !at.script.Manual {
		w.start(at)
	}
}

// checkRoom notes what no daemon may ever do: two attempts of one job at a time, or more on a GPU
// than it holds. An attempt has its claim until it has exited.
func (w *World) checkRoom(a target.Attempt) {
	for _, at := range w.attempts {
		if at.holds() && at.a.Spec.Key.Job == a.Spec.Key.Job {
			w.violate("attempt %s is launched while %s is %s", a.Spec.Key, at.a.Spec.Key, at.obs.Status)
		}
	}
	for _, g := range a.Grant.GPUs {
		i := slices.IndexFunc(w.inv.GPUs, func(x pasar.GPU) bool { return x.UUID == g.UUID })
		if i < 0 {
			w.violate("attempt %s is given GPU %s, which isn't there", a.Spec.Key, g.UUID)
			continue
		}
		w.checkGPU(a, w.inv.GPUs[i])
	}
}

func (w *World) checkGPU(a target.Attempt, g pasar.GPU) {
	sum, tenants, whole := a.Grant.Claim.Limit, 0, a.Grant.Claim.Kind == pasar.Whole
	for _, at := range w.attempts {
		if !at.holds() || !slices.ContainsFunc(at.a.Grant.GPUs, func(x pasar.GPURef) bool { return x.UUID == g.UUID }) {
			continue
		}
		tenants++
		whole = whole || at.a.Grant.Claim.Kind == pasar.Whole
		sum += at.a.Grant.Claim.Limit
	}
	switch {
	case whole && tenants > 0:
		w.violate("attempt %s shares GPU %s, of which somebody has the whole", a.Spec.Key, g.UUID)
	case !whole && sum > g.Total:
		w.violate("attempt %s takes GPU %s to %s of %s", a.Spec.Key, g.UUID, sum, g.Total)
	}
}

func (at *attempt) holds() bool {
	return at.obs.Status == target.Claimed || at.obs.Status == target.Running
}

func (w *World) violate(format string, args ...any) {
	w.violations = append(w.violations, fmt.Sprintf(format, args...))
}

// tell makes an observation part of an attempt's past and wakes whoever waits.
func (w *World) tell(at *attempt, o target.Observation) {
	at.past = append(at.past, o)
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *World) start(at *attempt) {
	w.pids++
	at.runs++
	if msg := at.script.LaunchError; msg != "" {
		w.end(at, &pasar.ExitRecord{LaunchError: msg, LaunchStep: at.script.LaunchStep, Errno: at.script.Errno})
		return
	}
	at.obs.Status, at.obs.Pid, at.obs.StartedAt = target.Running, 1000+w.pids, time.Now()
	w.tell(at, at.obs)
	at.output = append(at.output, at.script.Output...)
	if at.step != pasar.StepNone || len(at.stops) > 0 { // asked to stop while claimed
		w.carryOut(at)
	}
	switch {
	case at.obs.Status != target.Running:
	case at.script.Ends:
		w.finish(at, at.script.Exit)
	case at.script.For > 0:
		time.AfterFunc(at.script.For, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.finish(at, at.script.Exit)
		})
	case at.script.run != nil:
		at.endedBy = at.script.run(w, at)
	}
}

func (w *World) exit(at *attempt, e pasar.Exit) {
	if !at.holds() {
		return
	}
	at.obs.Status, at.obs.Exit = target.Exited, &e
	w.tell(at, at.obs)
}

func (w *World) end(at *attempt, r *pasar.ExitRecord) {
	if at.obs.Status == target.Ended || at.obs.Status == target.Gone {
		return
	}
	if r == nil {
		r = &pasar.ExitRecord{}
	}
	r.Schema, r.Key, r.Nonce = 1, at.obs.Handle.Key, at.obs.Handle.Nonce
	r.StartedAt, r.EndedAt = at.obs.StartedAt, time.Now()
	r.Output, r.Pid, r.StopStep = int64(len(at.output)), at.obs.Pid, at.step
	r.Lines = int64(bytes.Count(at.output, []byte{'\n'}))
	if r.ExitedAt.IsZero() {
		r.ExitedAt = r.EndedAt
	}
	if !r.StartedAt.IsZero() {
		r.RunTime = pasar.Duration(r.ExitedAt.Sub(r.StartedAt))
	}
	if at.obs.Exit != nil {
		r.Exit = *at.obs.Exit
	}
	if n := len(at.stops); n > 0 {
		r.Stop = &at.stops[n-1]
	}
	at.obs.Status, at.obs.Record = target.Ended, r
	w.over(at)
}

// over is the last step, into Ended or Gone.
func (w *World) over(at *attempt) {
	if at.kill != nil {
		at.kill.Stop()
	}
	if at.endedBy != nil {
		at.endedBy()
	}
	w.tell(at, at.obs)
}

func (w *World) finish(at *attempt, e pasar.Exit) {
	w.exit(at, e)
	if at.obs.Status == target.Exited {
		w.end(at, nil)
	}
}

func (w *World) vanish(at *attempt, detail string) {
	if !at.holds() && at.obs.Status != target.Exited {
		return
	}
	at.obs.Status, at.obs.Detail, at.obs.Exit = target.Gone, detail, nil
	w.over(at)
}
