package main

import (
	"context"
	"fmt"
	"strings"

	"pasar"
)

const afterForms = "write 41, 41:any or 41:fail; jobs are named as elsewhere: 3,5-8, last, @tag, group:7"

// dependencies resolves the words of --after: a reference to jobs, each with how they must have ended
// (":ok", ":any" or ":fail" at its end; ok without). "none" is no dependency at all.
func (c *call) dependencies(ctx context.Context, args []string) ([]pasar.Dependency, error) {
	deps := []pasar.Dependency{}
	if len(args) == 1 && (args[0] == "" || args[0] == "none") {
		return deps, nil
	}
	at := map[pasar.JobID]pasar.Condition{}
	for _, arg := range args {
		for word := range strings.SplitSeq(arg, ",") {
			jobs, on := splitCondition(word)
			if _, err := parseRef(jobs); err != nil {
				return nil, usagef("--after %q: no job and how it must have ended", pasar.Clean(word)).hint(afterForms)
			}
			ids, err := c.jobs(ctx, []string{jobs}, allJobs)
			if err != nil {
				return nil, fmt.Errorf("--after: %w", err)
			}
			for _, id := range ids {
				switch was, ok := at[id]; {
				case ok && was != on:
					return nil, usagef("--after names job %d twice, as %s and as %s", id, was, on)
				case ok:
					continue
				}
				at[id] = on
				deps = append(deps, pasar.Dependency{Job: id, On: on})
			}
		}
	}
	if len(deps) > pasar.MaxAfter {
		return nil, usagef("--after names %d jobs; at most %d", len(deps), pasar.MaxAfter)
	}
	return deps, nil
}

func splitCondition(word string) (jobs string, on pasar.Condition) {
	if i := strings.LastIndexByte(word, ':'); i > 0 {
		switch c := pasar.Condition(word[i+1:]); c {
		case pasar.AfterOK, pasar.AfterAny, pasar.AfterFail:
			return word[:i], c
		}
	}
	return word, pasar.AfterOK
}
