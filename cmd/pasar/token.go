package main

import (
	"context"

	"pasar"
	"pasar/ipc"
)

func tokenCommand() *command {
	return &command{
		name: "token", section: sectionMachine, brief: "the token that HTTP asks of other users and machines",
		long: `Your own processes on this machine need none. Everybody else sends it as Authorization: Bearer; who has it may do with
your jobs what you may, so keep it where only you can read it, and hand it on by a pipe: what a program is started with, everybody can read.`,
		examples: []example{
			{`ssh box pasar token | sed 's/^/Authorization: Bearer /' | curl -H @- http://box:8750/api/status`, "ask from a machine that may reach box's port"},
			{"pasar token --new", "another one: whoever the old one let in is out, and every browser that was signed in"},
		},
		setup: func(f *flags) action {
			fresh := f.Bool("new", false, "make another; the old one is worth nothing from then on")
			return func(ctx context.Context, c *call) error {
				if err := c.noArgs(); err != nil {
					return err
				}
				var t string
				err := c.ask(ctx, func(d *ipc.Client) (err error) {
					t, err = d.Token(ctx, *fresh)
					return err
				})
				if err != nil {
					return err
				}
				if c.json {
					return c.printJSON(struct {
						Schema int    `json:"schema"`
						Token  string `json:"token"`
					}{pasar.Schema, t})
				}
				return c.print(t + "\n")
			}
		},
	}
}
