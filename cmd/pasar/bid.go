package main

import (
	"context"
	"errors"
	"fmt"

	"pasar"
	"pasar/answer"
	"pasar/ipc"
)

func bidCommand() *command {
	return &command{
		name: "bid", section: sectionChange, args: "JOB N", brief: "change a job's bid", takes: takesJob,
		long: `Higher bids start first. It costs nothing, and stops nothing that runs, unless --preempt is given: then a waiting job
may once stop running jobs with a lower bid, the fewest that make room. They are queued again at their old place.`,
		examples: []example{
			{"pasar bid 42 1500", "ahead of those with the default of 1000"},
			{"pasar bid 42 1500 --preempt --dry-run", "what would start, wait and be stopped; nothing changes"},
			{"pasar bid -- last -5", "behind everything else"},
		},
		setup: func(f *flags) action {
			b := declareBid(f)
			return func(ctx context.Context, c *call) error {
				if len(c.args) != 1 && len(c.args) != 2 {
					return usagef("bid takes a job and a number").hint("`pasar bid 42 1500`")
				}
				last := len(c.args) - 1
				n, err := parseWhole(c.args[last], int64(pasar.MinBid), int64(pasar.MaxBid))
				if err != nil {
					return usagef("bid %v", err)
				}
				if last == 0 {
					return usagef("bid takes a job and a number; got only %s", c.args[0]).hint(fmt.Sprintf("`pasar bid last %d` is your last job", n))
				}
				id, err := c.job(ctx, c.args[:last])
				if err != nil {
					return err
				}
				return b.ask(ctx, c, ipc.BidRequest{Job: id, Bid: pasar.Bid(n)})
			}
		},
	}
}

func promoteCommand() *command {
	return &command{
		name: "promote", section: sectionChange, args: "[JOB]", brief: "put a waiting job first", takes: takesJob,
		long: "Its bid becomes one more than the best of those that wait, or what --bid says.",
		examples: []example{
			{"pasar promote 42", "the next to start"},
			{"pasar promote 42 --dry-run", "what that would change"},
		},
		setup: func(f *flags) action {
			b := declareBid(f)
			bid := f.bid("bid", "this bid, instead of one more than the best that waits")
			return func(ctx context.Context, c *call) error {
				id, err := c.job(ctx, c.args)
				if err != nil {
					return err
				}
				return b.ask(ctx, c, ipc.BidRequest{Job: id, Bid: *bid, Promote: !f.given("bid")})
			}
		},
	}
}

// bidFlags are those of bid and promote.
type bidFlags struct {
	by              *string
	preempt, dryRun *bool
}

func declareBid(f *flags) bidFlags {
	return bidFlags{preempt: f.Bool("preempt", false, "to start, it may stop running jobs with a lower bid, once; they are queued again"),
		dryRun: f.Bool("dry-run", false, "say what would happen, and change nothing"), by: f.String("by", "", "on whose behalf: a `NAME`")}
}

func (b bidFlags) ask(ctx context.Context, c *call, req ipc.BidRequest) error {
	req.Request, req.By, req.Preempt = ipc.NewRequest(), *b.by, *b.preempt
	if *b.dryRun {
		return c.plan(ctx, func(d *ipc.Client) ([]byte, error) { return d.PlanBid(ctx, req) })
	}
	var o ipc.JobOutcome
	err := c.ask(ctx, func(d *ipc.Client) error {
		var err error
		o, err = d.Bid(ctx, req)
		return err
	})
	var e *ipc.Error
	if errors.As(err, &e) {
		return answer.AdviseBid(e, req)
	}
	if err != nil {
		return err
	}
	return c.outcomes([]ipc.JobOutcome{o})
}
