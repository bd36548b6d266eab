package main

import (
	"bytes"
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

func whyCommand() *command {
	return &command{
		name: "why", section: sectionJobs, args: "[JOB]", brief: "why it died, why it waits, or how it is doing", takes: takesJob,
		examples: []example{{"pasar why 42", "in a few lines, with what to do about it"}},
		setup: func(*flags) action {
			return func(ctx context.Context, c *call) error {
				return c.page(ctx, func(v *pasar.JobView) string {
					return ui.WhyPage(v, c.holders(ctx, v), time.Now(), c.style())
				})
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

// holders are the jobs that have what a job waits for, as far as they can be had: without them the reason still
// says their numbers.
func (c *call) holders(ctx context.Context, v *pasar.JobView) []*pasar.JobView {
	if v.Waiting == nil || len(v.Waiting.Holders) == 0 {
		return nil
	}
	const most = 20
	ids := v.Waiting.Holders[:min(most, len(v.Waiting.Holders))]
	var views []*pasar.JobView
	_ = c.ask(ctx, func(d *ipc.Client) error {
		views = nil
		return d.List(ctx, ipc.ListRequest{Jobs: ids}, func(lines []byte) error {
			for line := range bytes.Lines(lines) {
				if h, err := parseView(line); err == nil {
					views = append(views, &h.JobView)
				}
			}
			return nil
		})
	})
	return views
}

// fetch is a job's JSON.
func (c *call) fetch(ctx context.Context, id pasar.JobID) ([]byte, error) {
	return c.fetchValue(ctx, func(d *ipc.Client) ([]byte, error) { return d.Show(ctx, ipc.ShowRequest{Job: id}) })
}
