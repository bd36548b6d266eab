package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pasar"
	"pasar/ipc"
)

// maxJobs bounds how many jobs one reference may name.
const maxJobs = 100_000

// A ref is one part of what a person typed to name jobs: a range, the last job, a tag, or a group.
type ref struct {
	from, to pasar.JobID
	last     bool
	tag      string
	group    pasar.JobID
}

// refForms says how jobs are named.
const refForms = "jobs are named 42, 3,5-8, last, @tag or group:7"

// parseRefs reads job references: 42, 3,5-8, last, @tag, group:7, #42.
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
	bad := usagef("%q names no job", pasar.Clean(word)).hint(refForms)
	switch {
	case word == "last":
		return ref{last: true}, nil
	case strings.HasPrefix(word, "@") && len(word) > 1:
		return ref{tag: word[1:]}, nil
	case strings.HasPrefix(word, "group:"):
		id, err := parseID(word[len("group:"):])
		if err != nil {
			return ref{}, usagef("%q names no group", pasar.Clean(word)).hint("a group is named for its first job: group:7")
		}
		return ref{group: id}, nil
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

// scope says which jobs a tag or a group stands for.
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
			found, err := c.listed(ctx, ipc.ListRequest{Tag: r.tag}, s, fmt.Sprintf("job has the tag %q", pasar.Clean(r.tag)))
			if err != nil {
				return nil, err
			}
			for _, id := range found {
				add(id)
			}
		case r.group != 0:
			found, err := c.listed(ctx, ipc.ListRequest{Group: r.group}, s, fmt.Sprintf("job is in group %d", r.group))
			if err != nil {
				return nil, err
			}
			slices.Sort(found) // a group is numbered in the order of its points
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

// listed is the jobs of a list, of which there must be one.
func (c *call) listed(ctx context.Context, req ipc.ListRequest, s scope, what string) ([]pasar.JobID, error) {
	req.All, what = true, "no "+what
	if s == unfinishedJobs {
		req.States, what = unfinished, strings.Replace(what, "job", "unfinished job", 1)
	}
	found, err := c.listIDs(ctx, req)
	if err == nil && len(found) == 0 {
		err = problemf(ipc.CodeUnknownJob, "%s", what)
	}
	return found, err
}

// job resolves the arguments of a command that takes one job; without any it is the last one.
func (c *call) job(ctx context.Context, args []string) (pasar.JobID, error) {
	if len(args) == 0 {
		return c.lastJob(ctx)
	}
	if len(args) > 1 {
		return 0, usagef("%s takes one job; got %s", c.name, pasar.Clean(strings.Join(args, " "))).hint("jobs are named 42 or last; a tag or a group may have only one")
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
