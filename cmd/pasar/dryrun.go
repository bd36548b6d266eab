package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/ui"
)

// plan shows what would happen: the answer of a dry run.
func (c *call) plan(ctx context.Context, ask func(*ipc.Client) ([]byte, error)) error {
	var b []byte
	err := c.ask(ctx, func(d *ipc.Client) error {
		var err error
		b, err = ask(d)
		return err
	})
	if err != nil {
		return err
	}
	if c.json {
		return c.printLine(b)
	}
	var v pasar.PlanView
	if err := json.Unmarshal(b, &v); err != nil {
		return fmt.Errorf("read plan: %w", err)
	}
	return c.print(ui.Plan(&v, time.Now(), c.style()))
}
