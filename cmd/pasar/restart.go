package main

import (
	"context"
	"errors"

	"pasar"
	"pasar/ipc"
)

func restartCommand() *command {
	return &command{
		name: "restart", section: sectionChange, args: "[JOB]", brief: "requeue a finished job, with changes if asked", takes: takesJob, wordsEndFlags: false,
		long: `It keeps its id, command, directory and environment, and gets a new place in the queue. What no flag changes stays as it
was, but for --preempt, which must be given again.`,
		examples: []example{
			{"pasar restart 42", "once more"},
			{"pasar restart 42 --mem 40G", "once more, with more memory"},
			{"pasar restart 42 --retries 3 --time-limit 2h", "once more, with other rules"},
		},
		setup: func(f *flags) action {
			var claim claimFlags
			var change changeFlags
			claim.declare(f)
			bid := f.bid("bid", "new bid")
			preempt := f.Bool("preempt", false, "to start, it may stop running jobs with a lower bid, once; they are queued again")
			time := f.span("time", "new estimate of the run time")
			grace := f.span("grace", "between the request to stop and SIGKILL")
			name := f.String("name", "", "new `NAME`")
			note := f.String("note", "", "new `TEXT` to keep with it")
			change.declare(f)
			by := f.String("by", "", "on whose behalf: a `NAME`")
			hold := f.Bool("hold", false, "keep it from starting until it is released")
			return func(ctx context.Context, c *call) error {
				id, err := c.job(ctx, c.args)
				if err != nil {
					return err
				}
				req := ipc.RestartRequest{Request: ipc.NewRequest(), Job: id, By: *by, Hold: *hold, Preempt: *preempt}
				req.Bid, req.Time, req.Grace = ifGiven(f, "bid", bid), ifGiven(f, "time", time), ifGiven(f, "grace", grace)
				req.Name, req.Note = ifGiven(f, "name", name), ifGiven(f, "note", note)
				if req.More, err = change.change(ctx, c); err != nil {
					return err
				}
				if claim.given() {
					if req.Claim, err = c.newClaim(ctx, id, &claim); err != nil {
						return err
					}
				}
				return c.requeue(ctx, req)
			}
		},
	}
}

func ifGiven[T any](f *flags, name string, v *T) *T {
	if f.given(name) {
		return v
	}
	return nil
}

// newClaim changes the claim that a job has.
func (c *call) newClaim(ctx context.Context, id pasar.JobID, flags *claimFlags) (*pasar.Claim, error) {
	b, err := c.fetch(ctx, id)
	if err != nil {
		return nil, err
	}
	v, err := parseView(b)
	if err != nil {
		return nil, err
	}
	claim, err := flags.claim(v.Claim.Asked())
	return &claim, err
}

func (c *call) requeue(ctx context.Context, req ipc.RestartRequest) error {
	var ans ipc.SubmitAnswer
	err := c.ask(ctx, func(d *ipc.Client) error {
		var err error
		ans, err = d.Restart(ctx, req)
		return err
	})
	if err == nil {
		c.warnOnce(ans.Warning, ans.Hint)
	}
	switch {
	case err != nil:
		return err
	case c.json && len(ans.View) == 0:
		return errors.New("the daemon didn't show the job")
	case c.json:
		return c.printLine(ans.View)
	}
	return c.print(changed("requeued", ans) + "\n")
}
