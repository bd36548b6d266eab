package ui

import (
	"strings"

	"pasar"
)

// End is how a job ended, in one line: "#42 train failed after 5s: exit code 7".
func End(v *pasar.JobView, s Style) string {
	line := Name(v) + " " + s.State(v.State, string(v.State))
	if v.RunTime != nil && v.State != pasar.Cancelled {
		line += " after " + v.RunTime.String()
	}
	if e := ended(v); e != "" && v.State != pasar.Completed && !strings.EqualFold(e, string(v.State)) {
		line += ": " + e
	}
	return line
}

// Why lists what an end rests on, for standard error: the root lines and the last output, then hints.
// Nothing for a job that completed.
func Why(v *pasar.JobView, lines int) []string {
	if v.State != pasar.Failed {
		return nil
	}
	var out []string
	if v.Verdict != nil {
		for _, l := range v.Verdict.Evidence {
			out = append(out, evidence(l))
		}
	}
	if a := lastAttempt(v); a != nil && len(a.Tail) > 0 && lines > 0 {
		out = append(out, "last output:")
		for _, l := range a.Tail[max(0, len(a.Tail)-lines):] {
			out = append(out, "  "+pasar.Clean(l))
		}
	}
	if v.Verdict != nil && v.Verdict.Hint != "" {
		for h := range strings.SplitSeq(v.Verdict.Hint, "\n") {
			out = append(out, "hint: "+pasar.Clean(h))
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
