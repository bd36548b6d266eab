package main

import (
	"context"
	"syscall"

	"pasar/ipc"
)

func setupCommand() *command {
	return &command{
		name: "setup", section: sectionMachine, brief: "make the daemon a service of your systemd, there at boot",
		long: "It runs `pasard setup`, which writes pasard.service and pasard.socket into ~/.config/systemd/user and starts them. " +
			"A daemon that runs already hands over; jobs don't notice. `pasar guide service` tells all of it.",
		examples: []example{
			{"pasar setup --dry-run", "see what it would write"},
			{"pasar setup --linger", "so that nothing ends at the last logout"},
			{"pasar setup --uninstall", "as it was before; jobs go on"},
		},
		setup: func(f *flags) action {
			uninstall := f.Bool("uninstall", false, "stop and remove the service; jobs go on, and commands start the daemon again")
			linger := f.Bool("linger", false, "turn linger on, so that the service and jobs outlive the last logout")
			dryRun := f.Bool("dry-run", false, "print what would be written, and change nothing")
			force := f.Bool("force", false, "replace units that somebody changed; allow a pasard in a temporary or build directory")
			return func(_ context.Context, c *call) error {
				if err := c.noArgs(); err != nil {
					return err
				}
				if err := c.onlyHere("`ssh HOST pasar setup` is for the other"); err != nil {
					return err
				}
				bin, err := findPasard(c.getenv("PATH"))
				if err != nil {
					return problemf(ipc.CodeNoDaemon, "%v", err).hint("install pasard beside pasar")
				}
				args := []string{"pasard", "setup"}
				for flag, on := range map[string]bool{"--uninstall": *uninstall, "--linger": *linger, "--dry-run": *dryRun, "--force": *force, "--json": c.json} {
					if on {
						args = append(args, flag)
					}
				}
				if err := syscall.Exec(bin, args, c.env); err != nil {
					return problemf(ipc.CodeNoDaemon, "run %s: %v", bin, err)
				}
				return nil
			}
		},
	}
}
