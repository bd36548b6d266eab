package main

import (
	"context"
	"errors"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/ui"
)

func gpusCommand() *command {
	return &command{
		name: "gpus", section: sectionMachine, brief: "a line per GPU: memory, use, temperature, power and who is on it",
		long: `What pasar didn't start is listed with its user, what has ended and still has memory too, and a GPU that takes no jobs with
why and what would mend it. The bar is memory in use, then what is claimed beyond that. MIG instances stand below their GPU.

With --history it is how each was used until now, from pasar's own samples: every 10 seconds, over a day, kept over restarts of the
daemon. Of memory the most of each point counts, of use the mean; a gap is when nobody looked. Of longer ago, up to 30 days, the
Prometheus is asked that prometheus_url in the configuration names; if it can't be, a line says so.`,
		examples: []example{
			{"pasar gpus", "what there is, and who is on it"},
			{"pasar gpus --watch", "every two seconds, until q"},
			{"pasar gpus --history 6h", "memory and use over the last six hours"},
			{"pasar gpus --json | jq '.machines[].gpus[].free'", "for programs"},
		},
		setup: func(f *flags) action {
			watch := f.Bool("watch", false, "again every two seconds, until q or Ctrl-C; with --json one value a line")
			history := define(f, "history", "", "TIME", "how they were used over such a time until now: up to 24h, or 30d with prometheus_url", parseHistory)
			return func(ctx context.Context, c *call) error {
				if err := c.noArgs(); err != nil {
					return err
				}
				look := c.gpus
				if f.given("history") {
					look = func(ctx context.Context) (picture, error) { return c.gpuHistory(ctx, *history) }
				}
				if *watch {
					return c.again(ctx, look)
				}
				return c.once(ctx, look)
			}
		},
	}
}

// gpus is a look at the GPUs.
func (c *call) gpus(ctx context.Context) (picture, error) {
	b, err := c.fetchValue(ctx, func(d *ipc.Client) ([]byte, error) { return d.GPUs(ctx) })
	if err != nil || c.json {
		return picture{raw: b}, err
	}
	v, err := readValue[pasar.GPUsView](b)
	if err != nil {
		return picture{}, err
	}
	return picture{lay: func(s ui.Style) string { return ui.GPUPage(v, time.Now(), s) }}, nil
}

// parseHistory reads how far back a history is to go.
func parseHistory(s string) (pasar.Duration, error) {
	d, err := pasar.ParseDuration(s)
	if err == nil && (d < pasar.Duration(10*time.Second) || d > pasar.Duration(30*24*time.Hour)) {
		err = errors.New("it is 10s to 30d")
	}
	return d, err
}

// gpuHistory is a look at how the GPUs were used.
func (c *call) gpuHistory(ctx context.Context, span pasar.Duration) (picture, error) {
	req := ipc.GPUHistoryRequest{Since: time.Now().Add(-time.Duration(span))}
	b, err := c.fetchValue(ctx, func(d *ipc.Client) ([]byte, error) { return d.GPUHistory(ctx, req) })
	if err != nil || c.json {
		return picture{raw: b}, err
	}
	v, err := readValue[pasar.GPUHistoryView](b)
	if err != nil {
		return picture{}, err
	}
	return picture{lay: func(s ui.Style) string { return ui.GPUHistory(v, time.Now(), s) }}, nil
}
