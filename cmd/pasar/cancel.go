package main

import (
	"context"
	"fmt"

	"pasar"
	"pasar/answer"
	"pasar/ipc"
)

func cancelCommand() *command {
	return &command{
		name: "cancel", aliases: []string{"kill"}, section: sectionChange, args: "JOB…", brief: "stop jobs and don't requeue them", takes: takesJobs,
		long: `A running job gets SIGTERM, and SIGKILL when its grace has passed; nothing of it is left. The answer comes at once;
` + "`pasar wait`" + ` waits for the end.`,
		examples: []example{
			{"pasar cancel 42", "stop it, with its grace"},
			{"pasar cancel --now 3,5-8 @sweep", "kill some at once"},
		},
		setup: func(f *flags) action {
			now := f.Bool("now", false, "skip the grace: SIGKILL at once")
			by := f.String("by", "", "on whose behalf: a `NAME`")
			return func(ctx context.Context, c *call) error {
				return c.change(ctx, ipc.JobsRequest{Now: *now, By: *by}, (*ipc.Client).Cancel)
			}
		},
	}
}

func holdCommand() *command {
	return &command{
		name: "hold", section: sectionChange, args: "JOB…", brief: "keep waiting jobs from starting", takes: takesJobs,
		examples: []example{{"pasar hold @sweep", "everything with that tag that waits"}},
		setup:    func(f *flags) action { return simpleChange(f, (*ipc.Client).Hold) },
	}
}

func releaseCommand() *command {
	return &command{
		name: "release", section: sectionChange, args: "JOB…", brief: "end a hold", takes: takesJobs,
		examples: []example{{"pasar release 42", "it keeps its place in the queue"}},
		setup:    func(f *flags) action { return simpleChange(f, (*ipc.Client).Release) },
	}
}

type jobsVerb func(*ipc.Client, context.Context, ipc.JobsRequest) (ipc.JobsAnswer, error)

func simpleChange(f *flags, verb jobsVerb) action {
	by := f.String("by", "", "on whose behalf: a `NAME`")
	return func(ctx context.Context, c *call) error {
		return c.change(ctx, ipc.JobsRequest{By: *by}, verb)
	}
}

// change does something to each of the jobs named, and says what became of each.
func (c *call) change(ctx context.Context, req ipc.JobsRequest, verb jobsVerb) error {
	if len(c.args) == 0 {
		return usagef("no job named").hint(refForms)
	}
	ids, err := c.jobs(ctx, c.args, unfinishedJobs)
	if err != nil {
		return err
	}
	req.Request, req.Jobs = ipc.NewRequest(), ids
	var ans ipc.JobsAnswer
	err = c.ask(ctx, func(d *ipc.Client) error {
		ans, err = verb(d, ctx, req)
		return err
	})
	if err != nil {
		return err
	}
	switch c.name {
	case "cancel":
		answer.AdviseCancel(ans.Jobs)
	case "hold":
		answer.AdviseHold(ans.Jobs)
	}
	return c.outcomes(ans.Jobs)
}

// outcomes shows what became of each job. The exit code is that of the first refusal.
func (c *call) outcomes(jobs []ipc.JobOutcome) error {
	status := 0
	for _, o := range jobs {
		if o.Error != nil && status == 0 {
			if status = exitCodes[o.Error.Code]; status == 0 {
				status = exitRefused
			}
		}
	}
	if c.json {
		v, refused := answer.Outcomes(jobs)
		if refused != nil {
			return refused
		}
		if err := c.printJSON(v); err != nil {
			return err
		}
	} else if err := c.outcomeLines(jobs); err != nil {
		return err
	}
	if status != 0 {
		return exit(status)
	}
	return nil
}

func (c *call) outcomeLines(jobs []ipc.JobOutcome) error {
	for _, o := range jobs {
		if o.Error != nil {
			c.reportText(o.Error)
			continue
		}
		if err := c.print(fmt.Sprintf("#%d %s\n", o.Job, pasar.Clean(o.Sentence))); err != nil {
			return err
		}
	}
	return nil
}
