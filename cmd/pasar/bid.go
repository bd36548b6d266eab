package main

import (
	"context"
	"errors"
	"fmt"

	"pasar"
	"pasar/ipc"
)

func bidCommand() *command {
	return &command{
		name: "bid", section: sectionChange, args: "JOB N", brief: "change a job's bid", takes: takesJob,
		long: "Higher bids start first. It costs nothing, and stops nothing that runs.",
		examples: []example{
			{"pasar bid 42 1500", "ahead of those with the default of 1000"},
			{"pasar bid -- last -5", "behind everything else"},
		},
		setup: func(f *flags) action {
			by := f.String("by", "", "on whose behalf: a `NAME`")
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
				req := ipc.BidRequest{Request: ipc.NewRequest(), Job: id, Bid: pasar.Bid(n), By: *by}
				var o ipc.JobOutcome
				err = c.ask(ctx, func(d *ipc.Client) error {
					o, err = d.Bid(ctx, req)
					return err
				})
				var e *ipc.Error
				if errors.As(err, &e) {
					return advise(e, fmt.Sprintf("`pasar restart %d --bid %d` queues it again with that bid", id, n))
				}
				if err != nil {
					return err
				}
				return c.outcomes([]ipc.JobOutcome{o})
			}
		},
	}
}
