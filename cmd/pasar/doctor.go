package main

import (
	"context"
	"syscall"

	"pasar/ipc"
)

func doctorCommand() *command {
	return &command{
		name: "doctor", section: sectionMachine, brief: "check the installation, each finding with its fix",
		long:     "It runs `pasard doctor`, which needs no daemon.",
		examples: []example{{"pasar doctor", "when something is odd, and after installing"}},
		setup: func(f *flags) action {
			file := f.String("config", "", "check with this configuration `FILE` instead of the usual one")
			return func(_ context.Context, c *call) error {
				if err := c.onlyHere("`ssh HOST pasar doctor` looks at the other"); err != nil {
					return err
				}
				bin, err := findPasard(c.getenv("PATH"))
				if err != nil {
					return problemf(ipc.CodeNoDaemon, "%v", err).hint("install pasard beside pasar")
				}
				args := append([]string{"pasard", "doctor", "--color", f.color}, c.args...)
				if c.json {
					args = append(args, "--json")
				}
				if *file != "" {
					args = append(args, "--config", *file)
				}
				if err := syscall.Exec(bin, args, c.env); err != nil {
					return problemf(ipc.CodeNoDaemon, "run %s: %v", bin, err)
				}
				return nil
			}
		},
	}
}
