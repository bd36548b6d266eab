package main

import (
	"context"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/ui"
)

func statusCommand() *command {
	return &command{
		name: "status", section: sectionMachine, brief: "the machine, the queue and the daemon in a few lines",
		examples: []example{{"pasar status", "what is free, what waits"}},
		setup: func(*flags) action {
			return func(ctx context.Context, c *call) error {
				if err := c.noArgs(); err != nil {
					return err
				}
				return showValue(ctx, c, func(d *ipc.Client) ([]byte, error) { return d.Status(ctx) },
					func(v *pasar.StatusView) string { return ui.Status(v, time.Now(), c.style()) })
			}
		},
	}
}

// glance is what `pasar` alone shows on a terminal without the console: the machine and the jobs.
func (a *app) glance(ctx context.Context, args []string) error {
	if err := a.runCommand(ctx, find("status"), args); err != nil {
		return err
	}
	if err := a.print("\n"); err != nil {
		return err
	}
	if err := a.runCommand(ctx, find("ls"), args); err != nil {
		return err
	}
	err := a.stdout.Flush()
	a.note("`pasar help` lists the commands")
	return err
}
