package main

import (
	"context"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/ui"
)

func showCommand() *command {
	return &command{
		name: "show", aliases: []string{"info"}, section: sectionJobs, args: "[JOB]", brief: "everything about one job", takes: takesJob,
		examples: []example{
			{"pasar show 42", "its claim, attempts, verdict and last output"},
			{"pasar show --json | jq .verdict", "of your last job, for programs"},
		},
		setup: func(*flags) action {
			return func(ctx context.Context, c *call) error {
				return c.page(ctx, func(v *pasar.JobView) string { return ui.Page(v, time.Now(), c.style()) })
			}
		},
	}
}

// page shows one job, as lay lays it out.
func (c *call) page(ctx context.Context, lay func(*pasar.JobView) string) error {
	id, err := c.job(ctx, c.args)
	if err != nil {
		return err
	}
	b, err := c.fetch(ctx, id)
	if err != nil {
		return err
	}
	if c.json {
		return c.printLine(b)
	}
	v, err := parseView(b)
	if err != nil {
		return err
	}
	return c.print(lay(&v.JobView))
}

// fetch is a job's JSON.
func (c *call) fetch(ctx context.Context, id pasar.JobID) ([]byte, error) {
	return c.fetchValue(ctx, func(d *ipc.Client) ([]byte, error) { return d.Show(ctx, ipc.ShowRequest{Job: id}) })
}
