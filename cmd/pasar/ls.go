package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"pasar"
	"pasar/answer"
	"pasar/ipc"
	"pasar/submission"
	"pasar/ui"
)

func lsCommand() *command {
	return &command{
		name: "ls", aliases: []string{"queue", "ps"}, section: sectionJobs, args: "[JOB…]", brief: "list jobs", takes: takesJobs,
		long: `Without a filter: the jobs that aren't over and the last 20 that are. Running ones come first, then the waiting
in the order in which they will be considered, each with what it waits for, then the finished.`,
		examples: []example{
			{"pasar ls", "what goes on"},
			{"pasar ls --state failed --since 1d", "what failed since yesterday"},
			{"pasar ls --since 2026-01-01 --until 2026-02-01", "what was submitted or ended in January"},
			{"pasar ls --format id,state,verdict.reason @sweep", "a line of fields for each, for shells"},
			{"pasar ls --json --all | jq '.jobs[].id'", "for programs"},
		},
		setup: func(f *flags) action {
			all := f.BoolP("all", "a", false, "every finished job too")
			states := f.StringSlice("state", nil, "only jobs in this `STATE`; may be repeated, or a list with commas")
			tag := f.String("tag", "", "only jobs with this `TAG`")
			by := f.String("by", "", "only jobs of this `NAME`: the submitter, or who --by named")
			machine := f.String("machine", "", "only jobs on this machine, by `NAME`")
			since := define(f, "since", "", "TIME", "only jobs submitted or ended since: 2h (ago), 14:30, 2026-01-31, or RFC 3339", parseSince)
			until := define(f, "until", "", "TIME", "only jobs submitted or ended before that; with --since, between the two", parseSince)
			limit := f.number("limit", "", "at most so many", 1, 1<<31)
			watch := f.Bool("watch", false, "again every two seconds, until q or Ctrl-C; with --json one value a line")
			format := define(f, "format", "", "FIELDS", "these fields of the JSON with tabs between them, a job a line: id,state,claim.mem", parseFields)
			return func(ctx context.Context, c *call) error {
				req := ipc.ListRequest{All: *all, Tag: strings.TrimPrefix(*tag, "@"), By: *by, Machine: *machine, Since: *since, Until: *until, Limit: int(*limit)}
				for _, s := range *states {
					st, err := parseState(s)
					if err != nil {
						return err
					}
					req.States = append(req.States, st)
				}
				if len(c.args) > 0 {
					ids, err := c.jobs(ctx, c.args, allJobs)
					if err != nil {
						return err
					}
					req.Jobs = ids
				}
				if f.given("format") && c.json {
					return usagef("--format and --json exclude each other")
				}
				look := func(ctx context.Context) (picture, error) { return c.lsPicture(ctx, req, *format) }
				if *watch {
					return c.again(ctx, look)
				}
				unbridled()
				return c.once(ctx, look)
			}
		},
	}
}

// unbridled is for a command that prints a list and ends. Nearly all that is read is kept until it is printed:
// collecting garbage meanwhile takes a third of the time and gains nothing, short of a really long list.
func unbridled() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(256 << 20)
}

// list collects the daemon's lines. It doesn't write as they come: should the daemon go away half way,
// the list is asked for again from the start.
func (c *call) list(ctx context.Context, req ipc.ListRequest) ([][]byte, error) {
	var chunks [][]byte
	err := c.ask(ctx, func(d *ipc.Client) error {
		chunks = chunks[:0]
		return d.List(ctx, req, func(lines []byte) error {
			if len(lines) > 0 {
				chunks = append(chunks, lines)
			}
			return nil
		})
	})
	return chunks, err
}

// lsPicture is a look at the jobs.
func (c *call) lsPicture(ctx context.Context, req ipc.ListRequest, format []string) (picture, error) {
	chunks, err := c.list(ctx, req)
	if err != nil {
		return picture{}, err
	}
	if c.json {
		return picture{raw: answer.List(chunks)}, nil
	}
	if format != nil {
		text, err := formatted(chunks, format)
		return picture{lay: func(ui.Style) string { return text }}, err
	}
	var views []*pasar.JobView
	for _, b := range chunks {
		for line := range bytes.Lines(b) {
			v := &pasar.JobView{}
			if err := json.Unmarshal(line, v); err != nil {
				return picture{}, fmt.Errorf("read list of jobs: %w", err)
			}
			views = append(views, v)
		}
	}
	return picture{lay: func(s ui.Style) string {
		switch {
		case len(views) > 0:
			return ui.Jobs(views, time.Now()).Render(s)
		case !c.term.is:
			return ""
		case filtered(req):
			return "no such jobs\n"
		}
		return "no jobs; `pasar submit CMD…` queues one\n"
	}}, nil
}

func filtered(r ipc.ListRequest) bool {
	return r.Jobs != nil || r.States != nil || r.Tag != "" || r.By != "" || r.Machine != "" || !r.Since.IsZero() || !r.Until.IsZero()
}

func parseState(s string) (pasar.State, error) {
	st := pasar.State(strings.ToLower(s))
	if slices.Contains(pasar.States, st) {
		return st, nil
	}
	var names []string
	for _, st := range pasar.States {
		names = append(names, string(st))
	}
	e := usagef("--state %q: there is no such state", pasar.Clean(s))
	if n := nearest(s, names); n != "" {
		return "", e.hint("did you mean " + n + "?")
	}
	return "", e.hint("states are " + strings.Join(names, ", "))
}

// parseSince reads a time of the past, as of now.
func parseSince(s string) (time.Time, error) { return submission.ParseSince(s, time.Now()) }
