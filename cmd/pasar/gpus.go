package main

import (
	"context"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/ui"
)

func gpusCommand() *command {
	return &command{
		name: "gpus", section: sectionMachine, brief: "a line per GPU: memory, use, temperature, power and who is on it",
		long: `What pasar didn't start is listed with its user, what has ended and still has memory too, and a GPU that takes no jobs with
why and what would mend it. The bar is memory in use, then what is claimed beyond that. MIG instances stand below their GPU.`,
		examples: []example{
			{"pasar gpus", "what there is, and who is on it"},
			{"pasar gpus --watch", "every two seconds, until q"},
			{"pasar gpus --json | jq '.machines[].gpus[].free'", "for programs"},
		},
		setup: func(f *flags) action {
			watch := f.Bool("watch", false, "again every two seconds, until q or Ctrl-C; with --json one value a line")
			return func(ctx context.Context, c *call) error {
				if err := c.noArgs(); err != nil {
					return err
				}
				if *watch {
					return c.again(ctx, c.gpus)
				}
				return c.once(ctx, c.gpus)
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
