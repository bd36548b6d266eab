package main

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"pasar"
	"pasar/jobproto"
)

func eventCommand() *command {
	kinds := []string{"checkpoint", "resumed", "progress", "note"}
	return &command{
		name: "event", section: sectionMore, args: "KIND [NAME=NUMBER…|TEXT…]", brief: "report from inside a job", takes: takesWords, words: func() []string { return kinds },
		long: "It appends a line to the file that PASAR_EVENTS names, and works without a daemon. Python programs can `import pasar_job`\n(`pasar guide helper`).",
		examples: []example{
			{"pasar event checkpoint --step 1200 --path /data/ck/1200", "what was saved: an interruption loses only what came after"},
			{"pasar event progress --step 1300 --total-steps 5000 loss=0.31", "how far it is; other numbers are metrics"},
			{"pasar event note switched to the small data set", "a line for people"},
		},
		setup: func(f *flags) action {
			number := func(name, usage string) *float64 { return define(f, name, "", "N", usage, parseNumber) }
			step := number("step", "the step reached")
			total := number("total-steps", "how many there will be")
			path := f.String("path", "", "`PATH` of the checkpoint")
			return func(_ context.Context, c *call) error {
				events := c.getenv(jobproto.EnvEvents)
				if events == "" {
					return usagef("not inside a job: %s is not set", jobproto.EnvEvents).hint("`pasar event` is for commands that pasar runs")
				}
				if len(c.args) == 0 {
					return usagef("which event?").hint("there are " + strings.Join(kinds, ", "))
				}
				if !slices.Contains(kinds, c.args[0]) {
					e := usagef("unknown event %q", pasar.Clean(c.args[0]))
					if n := nearest(c.args[0], kinds); n != "" {
						return e.hint("did you mean " + n + "?")
					}
					return e.hint("there are " + strings.Join(kinds, ", "))
				}
				e := pasar.Event{Kind: pasar.EventKind(c.args[0]), Path: *path, Step: ifGiven(f, "step", step), TotalSteps: ifGiven(f, "total-steps", total)}
				if err := eventWords(&e, c.args[1:]); err != nil {
					return err
				}
				line, err := jobproto.Encode(e)
				if err != nil {
					return usagef("%v", err)
				}
				if err := jobproto.Append(events, e); err != nil {
					return err
				}
				if c.json {
					return c.printLine(line)
				}
				return nil
			}
		},
	}
}

// eventWords takes what follows the kind: the text of a note, else numbers by name.
func eventWords(e *pasar.Event, words []string) error {
	if e.Kind == pasar.EventNote {
		e.Text = strings.Join(words, " ")
		return nil
	}
	for _, w := range words {
		name, v, ok := strings.Cut(w, "=")
		if !ok {
			return usagef("%q is not NAME=NUMBER", pasar.Clean(w))
		}
		n, err := parseNumber(v)
		if err != nil {
			return usagef("%s: %v", pasar.Clean(name), err)
		}
		if e.Metrics == nil {
			e.Metrics = map[string]float64{}
		}
		e.Metrics[name] = n
	}
	return nil
}

func parseNumber(s string) (float64, error) {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
		return 0, usagef("%q is not a finite number", pasar.Clean(s))
	}
	return n, nil
}
