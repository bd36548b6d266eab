package main

import "context"

func guideCommand() *command {
	return &command{name: "guide", section: sectionMore, args: "[TOPIC]", brief: "how to use pasar, for agents and people; needs no daemon",
		setup: func(f *flags) action { return func(_ context.Context, c *call) error { return nil } }}
}
