package main

import (
	"context"
	"errors"
	"fmt"

	"pasar"
	"pasar/answer"
	"pasar/ipc"
)

func editCommand() *command {
	return &command{
		name: "edit", section: sectionChange, args: "[JOB]", brief: "change what a waiting or paused job asks for", takes: takesJob,
		long: `It keeps its place in the queue. What no flag changes stays as it was; --after none and --begin now take those away, and
an empty --gpu-ids, --gpu-type, --resume-command or --retry-on does. The bid is changed by pasar bid, the command by a new submit.`,
		examples: []example{
			{"pasar edit 42 --mem 40G --time 3h", "more memory, and a longer estimate"},
			{"pasar edit 42 --after none --begin now", "as soon as it can"},
			{"pasar edit group:7 --max-concurrent 4", "of a whole array or sweep: name its first job, or the group"},
		},
		setup: func(f *flags) action {
			var claim claimFlags
			var change changeFlags
			claim.declare(f)
			time := f.span("time", "new estimate of the run time")
			grace := f.span("grace", "between the request to stop and SIGKILL")
			name := f.String("name", "", "new `NAME`")
			note := f.String("note", "", "new `TEXT` to keep with it")
			tags := f.StringArray("tag", nil, "new `TAG` in place of those it has; may be repeated, and empty for none")
			change.declare(f)
			by := f.String("by", "", "on whose behalf: a `NAME`")
			return func(ctx context.Context, c *call) error {
				if len(c.args) == 1 && len(c.args[0]) > 6 && c.args[0][:6] == "group:" {
					c.args = []string{c.args[0][6:]} // a group is named for its first job
				}
				id, err := c.job(ctx, c.args)
				if err != nil {
					return err
				}
				req := ipc.EditRequest{Request: ipc.NewRequest(), Job: id, By: *by, Time: ifGiven(f, "time", time), Grace: ifGiven(f, "grace", grace),
					Name: ifGiven(f, "name", name), Note: ifGiven(f, "note", note)}
				if f.given("tag") {
					kept := []string{}
					for _, t := range *tags {
						if t != "" {
							kept = append(kept, t)
						}
					}
					req.Tags = &kept
				}
				if req.More, err = change.change(ctx, c); err != nil {
					return err
				}
				if claim.given() {
					if req.Claim, err = c.newClaim(ctx, id, &claim); err != nil {
						return err
					}
				}
				if req == (ipc.EditRequest{Request: req.Request, Job: id, By: *by}) {
					return usagef("nothing to change").hint("`pasar edit --help` lists what can be changed; `pasar bid` changes the bid")
				}
				return c.edit(ctx, req)
			}
		},
	}
}

func (c *call) edit(ctx context.Context, req ipc.EditRequest) error {
	var ans ipc.SubmitAnswer
	err := c.ask(ctx, func(d *ipc.Client) error {
		var err error
		ans, err = d.Edit(ctx, req)
		return err
	})
	var e *ipc.Error
	switch {
	case errors.As(err, &e):
		return answer.AdviseEdit(e, req.Job)
	case err != nil:
		return err
	case c.json && len(ans.View) == 0:
		return errors.New("the daemon didn't show the job")
	case c.json:
		return c.printLine(ans.View)
	}
	return c.print(changed("changed", ans) + "\n")
}

// changed is what became of a job that was asked to be another: "requeued #42 train (…)".
func changed(what string, ans ipc.SubmitAnswer) string {
	line := fmt.Sprintf("%s #%d", what, ans.Job)
	if v, err := parseView(ans.View); err == nil {
		line += " " + pasar.Clean(v.Name) + " (" + claimOf(v)
		if ans.Sentence != "" {
			line += "; " + pasar.Clean(ans.Sentence)
		}
		line += ")"
	}
	return line
}
