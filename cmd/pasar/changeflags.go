package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/submission"
)

// changeFlags are the flags that say when and how a job is run: those of submit that restart and edit may
// change as well.
type changeFlags struct {
	f                          *flags
	timeLimit, checkpointGrace *pasar.Duration
	nonPreemptible, pausable   *bool
	noSigterm                  *bool
	resume, visible            *string
	retries, most              *int64
	retryOn                    *[]pasar.Code
	after                      *[]string
	begin                      *time.Time
}

func (s *changeFlags) declare(f *flags) {
	s.f = f
	s.after = f.StringArray("after", nil, "start after `JOBS` that completed: 41, 41:any however it ended, 41:fail if it failed; with commas, or repeated")
	s.begin = define(f, "begin", "", "WHEN", "not before: 22:00, +2h, tomorrow 08:00, 2026-12-01T08:00", func(s string) (time.Time, error) { return submission.ParseBegin(s, time.Now()) })
	s.most = f.number("max-concurrent", "", "of the jobs of its array or sweep, run at most so many at once", 0, pasar.MaxPoints)
	s.timeLimit = f.span("time-limit", "stop an attempt that has run for so long; 0s for no limit")
	s.checkpointGrace = f.span("checkpoint-grace", "at the time limit: between the request to save and SIGKILL; else 60s")
	s.retries = f.number("retries", "", "start it again up to so many times when it fails", 0, pasar.MaxRetries)
	s.retryOn = define(f, "retry-on", "", "REASONS", "retry for these reasons only, with commas, such as gpu_oom,lost; else for all that may pass", parseCodes)
	s.nonPreemptible = f.Bool("non-preemptible", false, "never stop it for a job with a higher bid")
	s.pausable = f.Bool("pausable", false, "it can save and leave when asked to, so that it can be paused; pasar guide jobs says how")
	s.resume = f.String("resume-command", "", "what to run instead when it goes on from a checkpoint: a `LINE`; implies --pausable")
	s.noSigterm = f.Bool("no-sigterm", false, "ask it to save by the pause file alone, without SIGTERM")
	s.visible = f.String("visible", "", "how CUDA_VISIBLE_DEVICES names its GPUs: uuid or index; `HOW` the configuration says otherwise")
}

// parseCodes reads a list of reasons for a retry. Those that stay as they are, however often a job is started
// again, are refused.
func parseCodes(s string) ([]pasar.Code, error) {
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	var codes []pasar.Code
	for word := range strings.SplitSeq(s, ",") {
		c := pasar.Code(strings.TrimSpace(word))
		if !slices.Contains(pasar.Codes, c) {
			return nil, pasar.BadWord(likeCode(string(c)), "%q is no reason", pasar.Clean(word))
		}
		switch {
		case !c.Failure():
			return nil, fmt.Errorf("%s is no failure, after which a job would be tried again", c)
		case !c.RetriedByDefault():
			return nil, fmt.Errorf("%s is never retried: it would end in the same way", c)
		}
		if slices.Contains(codes, c) {
			return nil, fmt.Errorf("%s is there twice", c)
		}
		codes = append(codes, c)
	}
	return codes, nil
}

// likeCode says which reason may have been meant.
func likeCode(word string) string {
	word = strings.ReplaceAll(strings.ToLower(word), "-", "_")
	var names []string
	for _, c := range pasar.Codes {
		names = append(names, string(c))
	}
	if n := nearest(word, names); n != "" {
		return "did you mean " + n + "?"
	}
	if strings.Contains(word, "mem") {
		return "those for memory are " + strings.Join(memoryCodes(), ", ")
	}
	return "`pasar guide reasons` lists them, such as gpu_oom, network, lost or exit"
}

// memoryCodes are the reasons that mean that some memory ran out.
func memoryCodes() (codes []string) {
	for _, c := range pasar.Codes {
		if c.ForMemory() {
			codes = append(codes, string(c))
		}
	}
	return codes
}

// change is what the flags that were given ask for.
func (s *changeFlags) change(ctx context.Context, c *call) (ipc.Change, error) {
	f := s.f
	ch := ipc.Change{TimeLimit: ifGiven(f, "time-limit", s.timeLimit), NonPreemptible: ifGiven(f, "non-preemptible", s.nonPreemptible),
		Pausable: ifGiven(f, "pausable", s.pausable), CheckpointGrace: ifGiven(f, "checkpoint-grace", s.checkpointGrace), NoSigterm: ifGiven(f, "no-sigterm", s.noSigterm),
		RetryOn: ifGiven(f, "retry-on", s.retryOn), Begin: ifGiven(f, "begin", s.begin), Visible: ifGiven(f, "visible", s.visible)}
	if f.given("retries") {
		ch.Retries = whole(*s.retries)
	}
	if f.given("max-concurrent") {
		ch.MaxConcurrent = whole(*s.most)
	}
	if f.given("resume-command") {
		argv := []pasar.Arg{}
		if *s.resume != "" {
			words, err := submission.Argv([]string{*s.resume}, false)
			if err != nil {
				return ch, usagef("--resume-command: %v", err)
			}
			argv = pasar.Args(words)
		}
		ch.ResumeCommand = &argv
	}
	if f.given("after") {
		deps, err := c.dependencies(ctx, *s.after)
		if err != nil {
			return ch, err
		}
		ch.After = &deps
	}
	if s.visible != nil && *s.visible != "" && *s.visible != "uuid" && *s.visible != "index" {
		return ch, usagef("--visible %q: it is uuid or index", pasar.Clean(*s.visible))
	}
	return ch, nil
}

func whole(n int64) *int {
	i := int(n)
	return &i
}

// apply puts a change into the spec of a new job.
func apply(ch ipc.Change, s *pasar.Spec) {
	put(&s.TimeLimit, ch.TimeLimit)
	put(&s.NonPreemptible, ch.NonPreemptible)
	put(&s.Pausable, ch.Pausable)
	put(&s.ResumeCommand, ch.ResumeCommand)
	put(&s.CheckpointGrace, ch.CheckpointGrace)
	put(&s.NoSigterm, ch.NoSigterm)
	put(&s.Retries, ch.Retries)
	put(&s.RetryOn, ch.RetryOn)
	put(&s.After, ch.After)
	put(&s.Begin, ch.Begin)
	put(&s.MaxConcurrent, ch.MaxConcurrent)
	put(&s.Visible, ch.Visible)
}

func put[T any](to *T, v *T) {
	if v != nil {
		*to = *v
	}
}
