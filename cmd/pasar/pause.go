package main

import (
	"context"

	"pasar/ipc"
)

func pauseCommand() *command {
	return &command{
		name: "pause", section: sectionChange, args: "JOB…", brief: "ask running jobs to save and leave until they are resumed", takes: takesJobs,
		long: `Only jobs submitted with --pausable or --resume-command can be asked: their pause file appears, they save and leave
(` + "`pasar guide jobs`" + `). One that doesn't answer runs on, as stopping, until it does; with --kill-after it is stopped like any
other after that time, and what it did since its last checkpoint is lost.`,
		examples: []example{
			{"pasar pause 42", "it saves, leaves and waits for pasar resume"},
			{"pasar pause --kill-after 10m @sweep", "and those that don't within ten minutes are stopped"},
		},
		setup: func(f *flags) action {
			kill := f.span("kill-after", "stop it if it hasn't saved and left by then: SIGTERM, its grace, SIGKILL")
			by := f.String("by", "", "on whose behalf: a `NAME`")
			return func(ctx context.Context, c *call) error {
				return c.change(ctx, ipc.JobsRequest{KillAfter: ifGiven(f, "kill-after", kill), By: *by}, (*ipc.Client).Pause)
			}
		},
	}
}

func resumeCommand() *command {
	return &command{
		name: "resume", section: sectionChange, args: "JOB…", brief: "queue paused jobs again, at their old place", takes: takesJobs,
		long:     "It runs its --resume-command if it has one, else the same command, with PASAR_RESUMING=1 and PASAR_CHECKPOINT set.",
		examples: []example{{"pasar resume 42", "it goes on from its checkpoint when it is its turn"}},
		setup:    func(f *flags) action { return simpleChange(f, (*ipc.Client).Resume) },
	}
}
