package main

import "context"

func attachCommand() *command {
	return &command{name: "attach", section: sectionJobs, args: "[JOB]", brief: "watch a job's terminal, or type into it", takes: takesJob,
		setup: func(f *flags) action { return func(_ context.Context, c *call) error { return nil } }}
}
