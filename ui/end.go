package ui

import (
	"fmt"
	"slices"
	"strings"

	"pasar"
)

// End is how a job ended, in one line: "#42 train failed after 5s: exit code 7".
func End(v *pasar.JobView, s Style) string {
	line := Name(v) + " " + s.State(v.State, string(v.State))
	if v.State == pasar.Paused {
		if e := paused(v); e != "" {
			if rest := afterState(v, e); rest == e {
				line += ": " + rest
			} else {
				line += strings.TrimPrefix(e, string(v.State)) // "paused by ada": the sentence has the state
			}
		}
		return line
	}
	if !v.State.Finished() {
		return line
	}
	if v.RunTime != nil && v.State != pasar.Cancelled {
		line += " after " + runTime(v)
	}
	if v.State == pasar.Completed {
		return line
	}
	e := ended(v)
	if rest := afterState(v, e); v.State == pasar.Cancelled && rest != e && rest != "" {
		return line + strings.TrimPrefix(e, string(v.State)) // "cancelled by ada": the sentence has the state
	} else if rest != "" {
		line += ": " + rest
	}
	return line
}

// Why lists what an end rests on, for standard error: of a failed job its reason, the lines that show it among the
// last output, then hints, which a job that completed may have too.
func Why(v *pasar.JobView, lines int) []string {
	var out []string
	if v.State == pasar.Failed {
		if r := reason(v.Verdict); r != "" {
			out = append(out, r)
		}
		x := excerptOf(v.Verdict, tail(v, pasar.TailLines), lines)
		if len(x.lines) > 0 {
			out = append(out, x.title()+":")
			out = append(out, x.render(Style{})...)
		}
		for _, f := range x.facts {
			out = append(out, "also: "+f)
		}
	}
	return append(out, Hints(v)...)
}

// Seen lists what an end rests on where the output has just been seen: of a failed job its reason, and the first line
// that shows it unless that was among the last ones, then hints.
func Seen(v *pasar.JobView) (out []string) {
	d := v.Verdict
	if v.State != pasar.Failed || d == nil {
		return Hints(v)
	}
	if r := reason(d); r != "" {
		out = append(out, r)
	}
	out = append(out, Hints(v)...)
	if len(d.Evidence) == 0 {
		return out
	}
	last := tail(v, pageLines)
	if e := d.Evidence[0]; e.Number > 0 && !slices.ContainsFunc(last, func(t string) bool { return sameLine(t, e.Text) }) {
		out = slices.Insert(out, min(1, len(out)), fmt.Sprintf("line %d: %s", e.Number, pasar.Clean(e.Text)))
	}
	return append(out, fmt.Sprintf("hint: `pasar why %d` shows the lines that say so", v.ID))
}

// Hints lists what to do about an end, for where the output has just been seen.
func Hints(v *pasar.JobView) (out []string) {
	if v.State == pasar.Paused {
		return []string{fmt.Sprintf("hint: `pasar resume %d` queues it again, to go on from there", v.ID)}
	}
	if v.State != pasar.Failed && v.State != pasar.Completed || v.Verdict == nil || v.Verdict.Hint == "" {
		return nil
	}
	for h := range strings.SplitSeq(v.Verdict.Hint, "\n") {
		out = append(out, "hint: "+ofJob(v.ID, h))
	}
	return out
}

// ofJob is a hint with the job's id in the commands that it names: without one they are about another job.
func ofJob(id pasar.JobID, hint string) string {
	return strings.ReplaceAll(pasar.Clean(hint), "`pasar restart`", "`pasar restart "+id.String()+"`")
}

// tail is the last lines of a job's output.
func tail(v *pasar.JobView, lines int) []string {
	a := lastAttempt(v)
	if a == nil {
		return nil
	}
	return a.Tail[max(0, len(a.Tail)-lines):]
}

// reason is an end's code, how sure that is, and whose fault it was.
func reason(d *pasar.Verdict) string {
	if d == nil || d.Reason == "" {
		return ""
	}
	s := "reason: " + pasar.Clean(string(d.Reason))
	if d.Confidence != "" {
		s += " (" + pasar.Clean(string(d.Confidence)) + ")"
	}
	if d.Blame != "" {
		s += "; to blame: " + Blamed(d.Blame)
	}
	return s
}

// Blamed is whose fault something was, in words.
func Blamed(b pasar.Blame) string {
	switch b {
	case pasar.BlameJob:
		return "the job, its program or its data"
	case pasar.BlameMachine:
		return "the machine"
	case pasar.BlameEnvironment:
		return "the environment around the job"
	case pasar.BlamePasar:
		return "pasar"
	case pasar.BlameUser:
		return "who submitted or stopped it"
	case pasar.BlameProvider:
		return "the provider"
	}
	return pasar.Clean(string(b))
}
