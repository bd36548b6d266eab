package ui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"pasar"
)

// Jobs is the table of `pasar ls`.
func Jobs(views []*pasar.JobView, now time.Time) Table {
	t := Table{Columns: JobColumns()}
	for _, v := range views {
		t.Rows = append(t.Rows, JobCells(v, now))
	}
	return t
}

// JobColumns are the headings of what JobCells gives.
func JobColumns() []Column {
	return []Column{
		{Head: "ID", Right: true}, {Head: "STATE"}, {Head: "NAME", Max: 24}, {Head: "BID", Right: true},
		{Head: "CLAIM", Max: 24}, {Head: "TIME", Right: true}, {Head: "ABOUT"},
	}
}

// JobCells are a job's fields in a table of jobs.
func JobCells(v *pasar.JobView, now time.Time) []Cell {
	return []Cell{
		{Text: v.ID.String()}, {string(v.State), stateColor(v.State)}, {Text: rowName(v)},
		{Text: strconv.FormatInt(int64(v.Bid), 10)}, {Text: ClaimShort(v.Claim)}, {Text: jobTime(v, now)}, {Text: rowAbout(v, now)},
	}
}

// rowName is a job's name with its place in its group: "train 7[3]", "train 7{lr=1e-5}".
func rowName(v *pasar.JobView) string {
	name := pasar.Clean(v.Name)
	if v.Group == nil {
		return name
	}
	switch place := element(v); {
	case v.Index != nil && len(v.Params) == 0:
		return name + " " + v.Group.String() + "[" + place + "]"
	default:
		return name + " " + v.Group.String() + "{" + place + "}"
	}
}

// element is what tells a job from the others of its group.
func element(v *pasar.JobView) string {
	var parts []string
	if v.Index != nil {
		parts = append(parts, strconv.Itoa(*v.Index))
	}
	for _, k := range sortedKeys(v.Params) {
		parts = append(parts, pasar.Clean(k)+"="+pasar.Clean(v.Params[k]))
	}
	return strings.Join(parts, ",")
}

// waitsSince is when a waiting job last began to wait: one that was preempted has kept its place in the queue, but
// it ran meanwhile.
func waitsSince(v *pasar.JobView) time.Time {
	if v.Waiting != nil && !v.Waiting.Since.IsZero() {
		return v.Waiting.Since
	}
	return v.QueueTime
}

// jobTime is how long a job ran, runs, or waits.
func jobTime(v *pasar.JobView, now time.Time) string {
	switch {
	case v.State == pasar.Queued || v.State == pasar.Awaiting:
		return Ago(waitsSince(v), now)
	case v.RunTime != nil:
		return v.RunTime.String()
	}
	return "-"
}

// rowAbout leaves out of a row what its other columns say: how a job ended, and after how long. Of one
// that completed its command is what tells it from its neighbours.
func rowAbout(v *pasar.JobView, now time.Time) string {
	if v.Waiting != nil && v.Projected.Start != nil && v.Projected.Start.After(now) {
		// When comes before why: what doesn't fit in a row is cut from its end.
		return "in about " + roughly(v.Projected.Start.Sub(now)) + "; " + pasar.Clean(v.Waiting.Sentence)
	}
	if !v.State.Finished() {
		if about := About(v, now); about != "" {
			return about
		}
		return shown(v)
	}
	var parts []string
	if n := ran(v); n > 1 {
		parts = append(parts, fmt.Sprintf("%d attempts", n))
	}
	about := ""
	switch {
	case v.State == pasar.Failed && v.Verdict != nil:
		about = told(v.Verdict) // the code first: what doesn't fit in a row is cut from its end
	case v.State != pasar.Completed:
		about = afterState(v, ended(v))
	}
	if about == "" {
		about = shown(v)
	}
	if about != "" {
		parts = append(parts, about)
	}
	if v.State == pasar.Completed && v.Verdict != nil && v.Verdict.Hint != "" {
		parts = append(parts, "hint: "+pasar.Clean(v.Verdict.Hint))
	}
	return strings.Join(parts, "; ")
}

// CommandLine is a job's command as a line for a shell, exactly: of a line for a shell, the line. It is not cleaned.
func CommandLine(v *pasar.JobView) string {
	if a := v.Argv; len(a) == 3 && a[0] == "/bin/sh" && a[1] == "-c" {
		return string(a[2])
	}
	return pasar.Quote(v.Argv)
}

// shown is a job's command as it was typed: of a line for a shell, the line.
func shown(v *pasar.JobView) string {
	if a := v.Argv; len(a) == 3 && a[0] == "/bin/sh" && a[1] == "-c" {
		return pasar.Clean(string(a[2]))
	}
	return pasar.Clean(v.Command)
}

// afterState is a sentence without the state it begins with, for where the state stands before it.
func afterState(v *pasar.JobView, sentence string) string {
	rest, ok := strings.CutPrefix(sentence, string(v.State))
	if !ok || rest != "" && rest[0] != ' ' && rest[0] != ':' {
		return sentence
	}
	return strings.TrimLeft(rest, ": ")
}

// ran counts the attempts that are known to have run.
func ran(v *pasar.JobView) (n int) {
	for i := range v.Attempts {
		if v.Attempts[i].RunTime != nil {
			n++
		}
	}
	return n
}

// runTime is how long a finished job ran: its last attempt, and all of them where there were more.
func runTime(v *pasar.JobView) string {
	if v.RunTime == nil {
		return ""
	}
	n := ran(v)
	if n <= 1 {
		return v.RunTime.String()
	}
	all := fmt.Sprintf("%s over %d attempts", v.RunTime, n)
	if a := lastAttempt(v); a.RunTime != nil {
		return a.RunTime.String() + " (" + all + ")"
	}
	return all
}

// About is what there is to say of a job in one phrase: what it waits for, how it is doing, how it ended.
func About(v *pasar.JobView, now time.Time) string {
	switch {
	case v.State.Finished():
		return ended(v)
	case v.Waiting != nil:
		return waiting(v, now)
	case v.State == pasar.Paused:
		return paused(v)
	case v.State == pasar.Stopping:
		if a := lastAttempt(v); a != nil && a.Stop != nil {
			if a.Stop.Why == pasar.StopPause && a.Stop.Step != pasar.StepTerm && a.Stop.Step != pasar.StepKill {
				return "asked to save and leave (" + stopWords(a.Stop) + "); it runs on until it does"
			}
			return "asked to stop: " + stopWords(a.Stop)
		}
		if s := summary(v); s != "" {
			return s
		}
		return "is ending"
	case v.State == pasar.Running:
		return running(v)
	}
	return summary(v)
}

func waiting(v *pasar.JobView, now time.Time) string {
	s := pasar.Clean(v.Waiting.Sentence)
	if v.Projected.Start != nil && v.Projected.Start.After(now) {
		s += ", starts in about " + roughly(v.Projected.Start.Sub(now))
	}
	return s
}

// paused is since when and how a job is paused.
func paused(v *pasar.JobView) string {
	s := summary(v)
	if v.Verdict != nil && v.Verdict.Summary != "" {
		s = pasar.Clean(v.Verdict.Summary)
	}
	return s
}

func running(v *pasar.JobView) string {
	s := GPUs(v.GPUs)
	add := func(more string) {
		if s != "" && more != "" {
			s += ", "
		}
		s += more
	}
	if v.Progress != nil {
		add(Progress(v.Progress))
	}
	if v.Remaining != nil {
		if *v.Remaining > 0 {
			add(about(v) + roughly(time.Duration(*v.Remaining)) + " left")
		} else {
			add("over its estimate")
		}
	}
	if v.OverLimit {
		add("over its memory limit")
	}
	return s
}

// about stands before a span that is expected: ~ where it comes from history and nobody said so.
func about(v *pasar.JobView) string {
	if v.EstSource != nil && *v.EstSource == "history" {
		return "~"
	}
	return "about "
}

func ended(v *pasar.JobView) string {
	if v.State == pasar.Completed && v.RunTime != nil {
		return string(v.State) + " after " + runTime(v)
	}
	if v.Verdict != nil && v.State != pasar.Completed {
		return pasar.Clean(v.Verdict.Summary)
	}
	return summary(v)
}

func summary(v *pasar.JobView) string {
	if v.Summary == nil {
		return ""
	}
	return pasar.Clean(*v.Summary)
}

func lastAttempt(v *pasar.JobView) *pasar.AttemptView {
	if len(v.Attempts) == 0 {
		return nil
	}
	return &v.Attempts[len(v.Attempts)-1]
}

func stopWords(s *pasar.StopView) string {
	w := strings.ReplaceAll(string(s.Why), "_", " ")
	if s.By != nil {
		w += " by " + pasar.Clean(*s.By)
	}
	switch s.Step {
	case pasar.StepFile:
		w += ", its pause file is there"
	case pasar.StepTerm:
		w += ", SIGTERM sent"
	case pasar.StepKill:
		w += ", SIGKILL sent"
	}
	return w
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
