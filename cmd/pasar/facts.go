package main

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/ui"
)

func factsCommand() *command {
	return &command{
		name: "facts", section: sectionMachine, brief: "the stream of facts that pasar's state is made of",
		long: "One a line, in order, each with its number. With -f it goes on; without --since it then starts from now.",
		examples: []example{
			{"pasar facts -f", "what happens, as it happens"},
			{"pasar facts -f --since 1200 --json", "everything after fact 1200, for programs"},
		},
		setup: func(f *flags) action {
			follow := f.BoolP("follow", "f", false, "go on with what happens next")
			since := f.number("since", "", "only facts after this number; 0 is all", 0, 1<<62)
			return func(ctx context.Context, c *call) error {
				if err := c.noArgs(); err != nil {
					return err
				}
				s := &factStream{c: c, follow: *follow, last: *since, begun: time.Now()}
				if *follow && !f.given("since") {
					s.last = -1
				}
				return s.run(ctx)
			}
		},
	}
}

// A factStream shows facts in order, each once, over as many daemons as it takes.
type factStream struct {
	c      *call
	follow bool
	last   int64 // number of the last one seen; -1: none, from now on
	lost   bool  // the daemon went away before there was one
	begun  time.Time
}

func (s *factStream) run(ctx context.Context) error {
	return s.c.stream(ctx, func(d *ipc.Client, alive func()) error {
		since := s.last
		if since < 0 && s.lost {
			since = 0 // whatever happened since we began, found by its time
		}
		err := d.Facts(ctx, ipc.FactsRequest{Since: since, Follow: s.follow}, func(lines []byte) error {
			alive()
			for line := range bytes.Lines(lines) {
				if err := s.show(line); err != nil {
					return err
				}
			}
			if s.follow {
				return s.c.stdout.Flush()
			}
			return nil
		})
		s.lost = true
		return err
	})
}

func (s *factStream) show(line []byte) error {
	var h struct {
		Seq int64     `json:"seq"`
		At  time.Time `json:"at"`
	}
	if err := json.Unmarshal(line, &h); err != nil {
		return err
	}
	if h.Seq <= s.last || s.last < 0 && s.lost && h.At.Before(s.begun) {
		return nil
	}
	s.last = h.Seq
	if s.c.json {
		return s.c.printLine(line)
	}
	var r pasar.Record
	if err := json.Unmarshal(line, &r); err != nil {
		return s.c.print(pasar.Clean(string(bytes.TrimSpace(line))) + "\n") // of a newer daemon
	}
	return s.c.print(ui.Fact(r, time.Now()) + "\n")
}
