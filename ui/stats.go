package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pasar"
)

// Stats is what became of jobs, a row for each day, tag, submitter or machine: `pasar stats`.
func Stats(v *pasar.StatsView, now time.Time, s Style) string {
	p := &page{s: s}
	span := "jobs that ended"
	if v.Since != nil {
		span += " since " + When(*v.Since, now)
	}
	p.line(s.Dim(span))
	if v.Total.Jobs == 0 {
		p.line("none")
		return p.b.String()
	}
	t := Table{Columns: []Column{{Head: strings.ToUpper(pasar.Clean(v.By)), Max: 20}, {Head: "JOBS", Right: true}, {Head: "OK", Right: true}, {Head: "FAILED", Right: true},
		{Head: "CANC.", Right: true}, {Head: "GPU-HOURS", Right: true}, {Head: "WAIT", Right: true}, {Head: "LONGEST", Right: true}, {Head: "LOST", Right: true}, {Head: "FAILED FOR"}}}
	for i := range v.Rows {
		t.Rows = append(t.Rows, statsRow(&v.Rows[i], pasar.Clean(v.Rows[i].Key), ""))
	}
	t.Rows = append(t.Rows, statsRow(&v.Total, "all", bold))
	p.b.WriteString(t.Render(s))
	p.line(s.Dim("WAIT is the mean time in the queue; LOST is work and start-up time wasted by interruptions"))
	lost := []string{}
	if d := v.Total.LostPreempt; d > 0 {
		lost = append(lost, d.String()+" to preemptions")
	}
	if d := v.Total.LostFailed; d > 0 {
		lost = append(lost, d.String()+" to failures")
	}
	if n := v.Total.LostUnknown; n > 0 {
		lost = append(lost, "not known of "+plural(n, "job that reports no events", "jobs that report no events"))
	}
	p.field("lost", strings.Join(lost, ", "))
	p.field("ran", fmt.Sprintf("%s over %s", v.Total.RunTime, plural(v.Total.Attempts, "attempt", "attempts")))
	return p.b.String()
}

func statsRow(r *pasar.StatsRow, key, code string) []Cell {
	if key == "" {
		key = "(none)"
	}
	lost := "-"
	if d := r.LostPreempt + r.LostFailed; d > 0 {
		lost = d.String()
	}
	if r.LostUnknown > 0 {
		lost = strings.TrimPrefix(lost, "-") + "?"
	}
	count := func(n int) string {
		if n == 0 {
			return "-"
		}
		return strconv.Itoa(n)
	}
	failed := Cell{Text: count(r.States[pasar.Failed])}
	if r.States[pasar.Failed] > 0 {
		failed.Code = red
	}
	return []Cell{{key, code}, {Text: count(r.Jobs)}, {Text: count(r.States[pasar.Completed])}, failed, {Text: count(r.States[pasar.Cancelled])},
		{Text: strconv.FormatFloat(r.GPUHours, 'f', 1, 64)}, {Text: r.MeanWait.String()}, {Text: r.MaxWait.String()}, {Text: lost}, {Text: verdicts(r.Verdicts)}}
}

// verdicts are the reasons for which attempts didn't end well, the most frequent first.
func verdicts(n map[pasar.Code]int) string {
	codes := slices.DeleteFunc(sortedKeys(n), func(c pasar.Code) bool { return c == pasar.CodeCompleted || c == pasar.CodeCancelled || n[c] == 0 })
	slices.SortStableFunc(codes, func(a, b pasar.Code) int { return cmp.Compare(n[b], n[a]) })
	var parts []string
	for _, c := range codes {
		parts = append(parts, fmt.Sprintf("%s %d", pasar.Clean(string(c)), n[c]))
	}
	return strings.Join(parts, ", ")
}
