package main

import (
	"context"
	"encoding/json"
	"fmt"

	"pasar/ipc"
)

// fetchValue asks the daemon for one JSON value.
func (c *call) fetchValue(ctx context.Context, ask func(*ipc.Client) ([]byte, error)) (b []byte, err error) {
	err = c.ask(ctx, func(d *ipc.Client) error {
		b, err = ask(d)
		return err
	})
	return b, err
}

// showValue asks for one JSON value and shows it: with --json as it came, else as a page.
func showValue[V any](ctx context.Context, c *call, ask func(*ipc.Client) ([]byte, error), page func(*V) string) error {
	b, err := c.fetchValue(ctx, ask)
	switch {
	case err != nil:
		return err
	case c.json:
		return c.printLine(b)
	}
	v, err := readValue[V](b)
	if err != nil {
		return err
	}
	return c.print(page(v))
}

// readValue reads what the daemon answered.
func readValue[V any](b []byte) (*V, error) {
	v := new(V)
	if err := json.Unmarshal(b, v); err != nil {
		return nil, fmt.Errorf("read %T: %w", *v, err)
	}
	return v, nil
}
