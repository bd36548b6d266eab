package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"pasar"
	"pasar/ipc"
)

// maxJobs bounds how many jobs one reference may name.
const maxJobs = 100_000

// A ref is one part of what a person typed to name jobs: a range, the last job, or a tag.
type ref struct {
	from, to pasar.JobID
	last     bool
	tag      string
}

// parseRefs reads job references: 42, 3,5-8, last, @tag, #42.
func parseRefs(args []string) ([]ref, error) {
	var refs []ref
	total := pasar.JobID(0)
	for _, arg := range args {
		for word := range strings.SplitSeq(arg, ",") {
			r, err := parseRef(word)
			if err != nil {
				return nil, err
			}
			if total += r.to - r.from + 1; total > maxJobs {
				return nil, usagef("%s names more than %d jobs", pasar.Clean(arg), maxJobs)
			}
			refs = append(refs, r)
		}
	}
	return refs, nil
}

func parseRef(word string) (ref, error) {
	bad := usagef("%q names no job", pasar.Clean(word)).hint("jobs are named 42, 3,5-8, last or @tag")
	switch {
	case word == "last":
		return ref{last: true}, nil
	case strings.HasPrefix(word, "@") && len(word) > 1:
		return ref{tag: word[1:]}, nil
	case strings.HasPrefix(word, "group:"):
		return ref{}, usagef("%s: there are no groups yet", pasar.Clean(word)).hint("use a tag: `--tag NAME` on submit, then @NAME")
	}
	a, b, isRange := strings.Cut(word, "-")
	from, err := parseID(a)
	if err != nil {
		return ref{}, bad
	}
	if !isRange {
		return ref{from: from, to: from}, nil
	}
	to, err := parseID(b)
	if err != nil || to < from {
		return ref{}, bad
	}
	return ref{from: from, to: to}, nil
}

func parseID(s string) (pasar.JobID, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "#"), 10, 53)
	if err == nil && n == 0 {
		err = fmt.Errorf("job ids start at 1")
	}
	return pasar.JobID(n), err
}

// scope says which jobs a tag stands for.
type scope int

const (
	allJobs        scope = iota
	unfinishedJobs       // for commands that change what is not over
)

var unfinished = []pasar.State{pasar.Awaiting, pasar.Queued, pasar.Starting, pasar.Running, pasar.Stopping, pasar.Paused}

// jobs resolves the references on the command line, each job once, in the order named.
func (c *call) jobs(ctx context.Context, args []string, s scope) ([]pasar.JobID, error) {
	refs, err := parseRefs(args)
	if err != nil {
		return nil, err
	}
	var ids []pasar.JobID
	seen := map[pasar.JobID]bool{}
	add := func(id pasar.JobID) {
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	for _, r := range refs {
		switch {
		case r.last:
			id, err := c.lastJob(ctx)
			if err != nil {
				return nil, err
			}
			add(id)
		case r.tag != "":
			req := ipc.ListRequest{Tag: r.tag, All: true}
			if s == unfinishedJobs {
				req.States = unfinished
			}
			found, err := c.listIDs(ctx, req)
			if err != nil {
				return nil, err
			}
			if len(found) == 0 {
				e := problemf(ipc.CodeUnknownJob, "no job has the tag %q", pasar.Clean(r.tag))
				if s == unfinishedJobs {
					e = problemf(ipc.CodeUnknownJob, "no unfinished job has the tag %q", pasar.Clean(r.tag))
				}
				return nil, e
			}
			for _, id := range found {
				add(id)
			}
		default:
			for id := r.from; id <= r.to; id++ {
				add(id)
			}
		}
	}
	return ids, nil
}

// job resolves the arguments of a command that takes one job; without any it is the last one.
func (c *call) job(ctx context.Context, args []string) (pasar.JobID, error) {
	if len(args) == 0 {
		return c.lastJob(ctx)
	}
	if len(args) > 1 {
		return 0, usagef("%s takes one job; got %s", c.name, pasar.Clean(strings.Join(args, " "))).hint("jobs are named 42, last or @tag")
	}
	ids, err := c.jobs(ctx, args, allJobs)
	if err != nil {
		return 0, err
	}
	if len(ids) != 1 {
		return 0, usagef("%s takes one job; %s names %d", c.name, pasar.Clean(strings.Join(args, " ")), len(ids))
	}
	return ids[0], nil
}

func (c *call) lastJob(ctx context.Context) (pasar.JobID, error) {
	ids, err := c.listIDs(ctx, ipc.ListRequest{Last: true})
	if err != nil {
		return 0, err
	}
	if len(ids) == 0 {
		return 0, problemf(ipc.CodeUnknownJob, "there are no jobs yet").hint("`pasar submit CMD…` queues one")
	}
	return ids[0], nil
}

func (c *call) listIDs(ctx context.Context, req ipc.ListRequest) ([]pasar.JobID, error) {
	var ids []pasar.JobID
	err := c.ask(ctx, func(d *ipc.Client) error {
		ids = ids[:0]
		return d.List(ctx, req, func(lines []byte) error {
			dec := json.NewDecoder(strings.NewReader(string(lines)))
			for dec.More() {
				var v struct {
					ID pasar.JobID `json:"id"`
				}
				if err := dec.Decode(&v); err != nil {
					return fmt.Errorf("read list of jobs: %w", err)
				}
				ids = append(ids, v.ID)
			}
			return nil
		})
	})
	return ids, err
}
