package targettest

import (
	"context"
	"errors"
	"fmt"

	"pasar"
	"pasar/target"
)

// ErrUnknown is what an injected Lose returns: the caller can't tell what happened.
var ErrUnknown = errors.New("targettest: no answer")

// A Method is one of a target's.
type Method string

// The methods at which faults can be injected.
const (
	Inventory   Method = "inventory"
	Launch      Method = "launch"
	Find        Method = "find"
	Observe     Method = "observe"
	Logs        Method = "logs"
	Signal      Method = "signal"
	Watch       Method = "watch"
	Acknowledge Method = "acknowledge"
)

// A When is a point in a call.
type When string

// Points of a call.
const (
	// Before anything happened.
	Before When = "not begun"
	// Midway: the world has begun it. Launch: the attempt is claimed and doesn't run until it is
	// launched again or Start is called. Signal: the stop has arrived and not been acted on until
	// it is repeated. Watch: before each observation after the first is passed on.
	Midway When = "begun"
	// After: done, and the caller not told yet.
	After When = "done, unreported"
)

// An Act is what happens at a point.
type Act int

// What can happen.
const (
	Proceed Act = iota
	// Crash: the caller dies here. The view is dead: this call and each later one have no effect
	// and return only when their context is done.
	Crash
	// Lose: the call returns ErrUnknown from here.
	Lose
	// Refuse: the call returns an error that IsNever. Only Before keeps its promise.
	Refuse
)

func (a Act) String() string { return [...]string{"proceed", "crash", "lose", "refuse"}[a] }

// A Call is a point that a call has come to.
type Call struct {
	Method      Method
	Key         pasar.AttemptKey // zero for Inventory and Find
	When        When
	Observation *target.Observation // Watch: what is about to be passed on
}

// A Rule injects a fault. Zero fields match anything.
type Rule struct {
	Method Method
	Key    pasar.AttemptKey
	When   When
	Status target.Status // Watch: of the observation about to be passed on
	Do     Act
	Skip   int // so many matches pass first
	Times  int // 0 is once, negative is always
}

func (r Rule) String() string {
	s := fmt.Sprintf("%s at %s, %s", r.Do, r.Method, r.When)
	if r.Status != "" {
		s += ", " + string(r.Status)
	}
	return s
}

func (r Rule) matches(c Call) bool {
	return (r.Method == "" || r.Method == c.Method) && (r.Key == pasar.AttemptKey{} || r.Key == c.Key) &&
		(r.When == "" || r.When == c.When) &&
		(r.Status == "" || c.Observation != nil && c.Observation.Status == r.Status)
}

// CrashPoints are all the points at which a daemon that launches, watches, stops and acknowledges
// attempts can die, each once. A test goes through all of them.
func CrashPoints() []Rule {
	var rules []Rule
	for _, m := range []Method{Launch, Signal, Acknowledge, Observe, Find, Inventory} {
		for _, at := range []When{Before, Midway, After} {
			if at == Midway && m != Launch && m != Signal {
				continue // these have no middle
			}
			rules = append(rules, Rule{Method: m, When: at, Do: Crash})
		}
	}
	rules = append(rules, Rule{Method: Watch, When: Before, Do: Crash})
	for _, s := range []target.Status{target.Running, target.Exited, target.Ended} {
		rules = append(rules, Rule{Method: Watch, When: Midway, Status: s, Do: Crash})
	}
	return append(rules, Rule{Method: Watch, When: After, Do: Crash})
}

// Inject adds a rule. The first that matches acts.
func (w *World) Inject(r Rule) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Times == 0 {
		r.Times = 1
	}
	w.rules = append(w.rules, &r)
}

// Hook sets a function asked at each point where no rule matches; nil is none. It may call the
// world's methods.
func (w *World) Hook(f func(Call) Act) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hook = f
}

func (w *World) act(c Call) Act {
	w.mu.Lock()
	for _, r := range w.rules {
		if r.Times == 0 || !r.matches(c) {
			continue
		}
		if r.Skip > 0 {
			r.Skip--
			continue
		}
		if r.Times > 0 {
			r.Times--
		}
		w.mu.Unlock()
		return r.Do
	}
	hook := w.hook
	w.mu.Unlock()
	if hook != nil {
		return hook(c)
	}
	return Proceed
}

// at is called by each method at each of its points; an error ends the call.
func (f *Fake) at(ctx context.Context, c Call) error {
	select {
	case <-f.dead:
		<-ctx.Done()
		return context.Cause(ctx)
	default:
	}
	switch f.w.act(c) {
	case Crash:
		f.once.Do(func() { close(f.dead) })
		<-ctx.Done()
		return context.Cause(ctx)
	case Lose:
		return fmt.Errorf("%s %s, %s: %w", c.Method, c.Key, c.When, ErrUnknown)
	case Refuse:
		return target.Never(fmt.Errorf("%s %s is refused", c.Method, c.Key))
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	return nil
}
