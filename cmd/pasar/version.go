package main

import (
	"context"
	"fmt"

	"pasar"
	"pasar/ipc"
)

func versionCommand() *command {
	return &command{
		name: "version", section: sectionMore, brief: "the version of this client, and of the daemon if one runs",
		examples: []example{{"pasar version", "both, and what to do if they differ"}},
		setup: func(*flags) action {
			return func(ctx context.Context, c *call) error {
				if err := c.noArgs(); err != nil {
					return err
				}
				type daemon struct {
					Version string `json:"version"`
					Pid     int    `json:"pid"`
				}
				var d *daemon
				if err := c.connectOnly(ctx); err != nil && c.getenv(urlVariable) != "" {
					c.note(pasar.Clean(err.Error()))
				} else if err == nil {
					d = &daemon{c.client.DaemonVersion, c.client.DaemonPid}
				}
				if c.json {
					return c.printJSON(struct {
						Schema   int     `json:"schema"`
						Version  string  `json:"version"`
						Protocol [2]int  `json:"protocol"`
						Daemon   *daemon `json:"daemon"`
					}{pasar.Schema, pasar.Version, [2]int{ipc.MinVersion, ipc.MaxVersion}, d})
				}
				line := fmt.Sprintf("pasar %s (protocol %d)", pasar.Version, ipc.MaxVersion)
				if d != nil {
					line += fmt.Sprintf("\npasard %s (pid %d)", pasar.Clean(d.Version), d.Pid)
					if c.far != nil {
						line += " on " + c.far.Name
					}
					if d.Version != pasar.Version && c.far != nil {
						c.note("the daemon is of another version; install the same on both machines if something is amiss")
					} else if d.Version != pasar.Version {
						c.note("the daemon is of another version; `pasar shutdown` ends it, the next command starts this one's. Jobs don't notice")
					}
				}
				return c.print(line + "\n")
			}
		},
	}
}
