package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pasar"
	"pasar/answer"
	"pasar/ipc"
	"pasar/ui"
)

func waitCommand() *command {
	return &command{
		name: "wait", section: sectionJobs, args: "[JOB…]", brief: "wait until jobs have ended, and exit as they did", takes: takesJobs, jobCodes: true,
		long: `One line a job on standard output as it ends; of a failed one the summary, the lines it rests on and the last output on
standard error. Nothing is polled, and a daemon that is restarted meanwhile isn't noticed. A job that was paused is waited for
no longer, with exit code 5, unless --through-pauses is given.`,
		examples: []example{
			{"pasar wait 42", "its end, and its exit code by the table below"},
			{"pasar wait --timeout 30m @sweep", "all with that tag; 4 if that takes longer"},
			{"pasar wait group:7", "all jobs of an array or sweep"},
			{"pasar wait --propagate 42", "exit with the program's own code, or 128 + signal"},
		},
		setup: func(f *flags) action {
			w := &waiter{code: exitCompleted}
			f.BoolVar(&w.any, "any", false, "until one has ended, not all")
			all := f.Bool("all", false, "until all have ended, as without it")
			timeout := f.span("timeout", "give up after so long, with exit code 4; the jobs are unaffected")
			until := f.String("for", "ended", "`WHAT` to wait for: ended, or started")
			f.BoolVar(&w.throughPauses, "through-pauses", false, "a pause isn't an end: go on waiting, until it was resumed and has ended")
			f.BoolVar(&w.propagate, "propagate", false, "exit with the job's own code, or 128 + signal")
			return func(ctx context.Context, c *call) error {
				if w.any && *all {
					return usagef("--any and --all exclude each other")
				}
				switch *until {
				case "ended":
				case "started":
					w.started = true
				default:
					return usagef("--for %q: it is ended or started", pasar.Clean(*until))
				}
				if f.given("timeout") {
					var cancel func()
					ctx, cancel = context.WithTimeoutCause(ctx, time.Duration(*timeout), errTimeout)
					defer cancel()
				}
				err := w.run(ctx, c)
				if errors.Is(context.Cause(ctx), errTimeout) && err != nil {
					return w.timedOut(c, *timeout)
				}
				return err
			}
		},
	}
}

var errTimeout = errors.New("timed out")

// A waiter waits for jobs and remembers the worst end.
type waiter struct {
	any, started, propagate bool
	throughPauses           bool
	quiet                   bool // says nothing of ends
	several                 bool // more than one is waited for

	left  []pasar.JobID // still waited for
	code  int           // by the table, of the worst so far
	own   int           // what its program exited with
	count int           // how many have ended
}

func (w *waiter) run(ctx context.Context, c *call) error {
	var err error
	if len(c.args) == 0 {
		var id pasar.JobID
		id, err = c.lastJob(ctx)
		w.left = []pasar.JobID{id}
	} else {
		w.left, err = c.jobs(ctx, c.args, allJobs)
	}
	if err != nil {
		return err
	}
	w.several = len(w.left) > 1
	return w.all(ctx, c)
}

// all waits for those that are left.
func (w *waiter) all(ctx context.Context, c *call) error {
	err := c.stream(ctx, func(d *ipc.Client, alive func()) error {
		if w.any && w.count > 0 || len(w.left) == 0 {
			return nil // the connection was lost after the last word
		}
		return d.Wait(ctx, ipc.WaitRequest{Jobs: w.left, Any: w.any, Started: w.started, ThroughPauses: w.throughPauses}, func(b []byte) error {
			alive()
			return w.over(c, b)
		})
	})
	if err != nil {
		return err
	}
	code := w.code
	if w.propagate {
		code = w.own
	}
	if code != 0 {
		return exit(code)
	}
	return nil
}

// over takes one job's end.
func (w *waiter) over(c *call, b []byte) error {
	v, err := parseView(b)
	if err != nil {
		return err
	}
	kept := make([]pasar.JobID, 0, len(w.left))
	for _, id := range w.left {
		if id != v.ID {
			kept = append(kept, id)
		}
	}
	if len(kept) == len(w.left) {
		return nil // seen before
	}
	if w.any && w.count > 0 {
		return nil // the first one counts
	}
	w.left = kept
	w.count++
	if code := exitOf(&v.JobView); severity(code) > severity(w.code) || w.count == 1 {
		w.code, w.own = code, ownExit(&v.JobView)
	}
	if w.quiet {
		return nil
	}
	if c.json {
		err = c.printLine(b)
	} else {
		err = c.print(ui.End(&v.JobView, ui.Style{Color: c.term.color}) + "\n")
	}
	if err != nil {
		return err
	}
	if err := c.stdout.Flush(); err != nil {
		return err
	}
	if c.json {
		return nil
	}
	why := ui.Why(&v.JobView, tailLines)
	if len(why) > 0 && w.several && !c.term.is { // the line that names the job went elsewhere
		why = append([]string{ui.Name(&v.JobView) + " " + string(v.State) + ":"}, why...)
	}
	for _, l := range why {
		_, _ = fmt.Fprintln(c.stderr, l)
	}
	return nil
}

func (w *waiter) timedOut(c *call, after pasar.Duration) error {
	if c.json {
		if line, err := answer.TimedOut(w.left); err == nil {
			_ = c.printLine(line)
		}
		return exit(exitTimeout)
	}
	what := after.String() + " passed and " + stillOn(w.left)
	if after <= 0 {
		what = stillOn(w.left) + ", and --timeout 0s doesn't wait"
	}
	c.note(what + "; nothing was stopped")
	return exit(exitTimeout)
}

func stillOn(ids []pasar.JobID) string {
	if len(ids) == 1 {
		return fmt.Sprintf("job #%d isn't over", ids[0])
	}
	return fmt.Sprintf("%d jobs aren't over", len(ids))
}
