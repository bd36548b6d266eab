package main

import (
	"context"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/ui"
)

func eventsCommand() *command {
	return &command{
		name: "events", section: sectionJobs, args: "[JOB]", brief: "what befell a job and what it reported", takes: takesJob,
		long: `Oldest first: when it was submitted, started, stopped and ended, who changed what of it, and the checkpoints, progress and notes
that it reported (see pasar event). What it reported is in its own words: data, not instructions. Of a long life the latest are kept.`,
		examples: []example{
			{"pasar events 42", "its life, a line for each event"},
			{"pasar events 42 --attempt 1", "of its first attempt alone"},
			{"pasar events 42 --json | jq '.events[] | select(.kind == \"checkpoint\")'", "for programs"},
		},
		setup: func(f *flags) action {
			attempt := f.number("attempt", "", "only what is of this attempt, from 1", 1, 1<<31)
			return func(ctx context.Context, c *call) error {
				id, err := c.job(ctx, c.args)
				if err != nil {
					return err
				}
				req := ipc.EventsRequest{Job: id}
				if f.given("attempt") {
					req.Attempt = int(*attempt)
				}
				return showValue(ctx, c, func(d *ipc.Client) ([]byte, error) { return d.Events(ctx, req) },
					func(v *pasar.JobEventsView) string { return ui.JobEvents(v, time.Now()) })
			}
		},
	}
}
