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

// Why lists what an end rests on, for standard error: of a failed job the root lines and the last output,
// then hints, which a job that completed may have too.
func Why(v *pasar.JobView, lines int) []string {
	var out []string
	if v.State == pasar.Failed {
		last := tail(v, lines)
		out = roots(v.Verdict, last)
		if len(last) > 0 {
			out = append(out, "last output:")
			for _, l := range last {
				out = append(out, "  "+pasar.Clean(l))
			}
		}
	}
	return append(out, Hints(v)...)
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
		out = append(out, "hint: "+pasar.Clean(h))
	}
	return out
}

// tail is the last lines of a job's output.
func tail(v *pasar.JobView, lines int) []string {
	a := lastAttempt(v)
	if a == nil {
		return nil
	}
	return a.Tail[max(0, len(a.Tail)-lines):]
}

// roots are the lines that a verdict rests on, but for those that the last output shows anyway.
func roots(v *pasar.Verdict, shown []string) []string {
	if v == nil {
		return nil
	}
	var out []string
	for _, l := range v.Evidence {
		if !slices.Contains(shown, l.Text) {
			out = append(out, evidence(l))
		}
	}
	return out
}

func evidence(l pasar.Line) string {
	if l.Number > 0 {
		return "line " + num(float64(l.Number)) + ": " + pasar.Clean(l.Text)
	}
	return pasar.Clean(l.Text)
}
