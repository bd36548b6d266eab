package main

import (
	"context"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/ui"
)

// plan shows what would happen: the answer of a dry run.
func (c *call) plan(ctx context.Context, ask func(*ipc.Client) ([]byte, error)) error {
	return showValue(ctx, c, ask, func(v *pasar.PlanView) string { return ui.Plan(v, time.Now(), c.style()) })
}
