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

// Stats is what became of jobs, a row for each day, tag, submitter, machine or reason: `pasar stats`.
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
	if v.By == "reason" {
		p.reasons(v, now)
		return p.b.String()
	}
	t := Table{Columns: []Column{{Head: strings.ToUpper(pasar.Clean(v.By)), Max: 20}, {Head: "JOBS", Right: true}, {Head: "OK", Right: true}, {Head: "FAILED", Right: true},
		{Head: "CANC.", Right: true}, {Head: "GPU-HOURS", Right: true}, {Head: "WAIT", Right: true}, {Head: "LONGEST", Right: true}, {Head: "LOST", Right: true}, {Head: "ATTEMPTS FAILED FOR"}}}
	for i := range v.Rows {
		t.Rows = append(t.Rows, statsRow(&v.Rows[i], pasar.Clean(v.Rows[i].Key), ""))
	}
	t.Rows = append(t.Rows, statsRow(&v.Total, "all", bold))
	p.b.WriteString(t.Render(s))
	p.line(s.Dim("WAIT is the mean time in the queue; LOST is work and start-up time wasted by interruptions; reasons are of attempts, of which a job may have several"))
	p.lost(v)
	p.field("ran", fmt.Sprintf("%s over %s", v.Total.RunTime, plural(v.Total.Attempts, "attempt", "attempts")))
	return p.b.String()
}

// lost is what interruptions cost in all.
func (p *page) lost(v *pasar.StatsView) {
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
}

// reasons is what attempts failed for, a row for each reason.
func (p *page) reasons(v *pasar.StatsView, now time.Time) {
	all := 0
	for i := range v.Rows {
		all += v.Rows[i].Attempts
	}
	failed := fmt.Sprintf("%d of %s failed; %d of %s ended as failed", all, plural(v.Total.Attempts, "attempt", "attempts"), v.Total.States[pasar.Failed], plural(v.Total.Jobs, "job", "jobs"))
	if len(v.Rows) == 0 {
		p.line("none of " + plural(v.Total.Attempts, "attempt", "attempts") + " failed")
		return
	}
	t := Table{Columns: []Column{{Head: "REASON", Max: 20}, {Head: "ATTEMPTS", Right: true}, {Head: "SHARE", Right: true}, {Head: "JOBS", Right: true},
		{Head: "GPU-HOURS", Right: true}, {Head: "LOST", Right: true}, {Head: "TO BLAME", Max: 11}, {Head: "LAST"}}}
	for i := range v.Rows {
		r := &v.Rows[i]
		lost := "-"
		if r.LostFailed > 0 {
			lost = r.LostFailed.String()
		}
		if r.LostUnknown > 0 {
			lost = strings.TrimPrefix(lost, "-") + "?"
		}
		share := "-"
		if all > 0 && r.Attempts > 0 {
			share = fmt.Sprintf("%.0f %%", 100*float64(r.Attempts)/float64(all))
		}
		blame, last := "", ""
		if r.Blame != nil {
			blame = pasar.Clean(string(*r.Blame))
		}
		if r.LastJob != nil {
			last = "#" + r.LastJob.String()
		}
		if r.Last != nil {
			last = strings.TrimSpace(last + " " + agoShort(*r.Last, now))
		}
		t.Rows = append(t.Rows, []Cell{{Text: pasar.Clean(r.Key)}, {Text: strconv.Itoa(r.Attempts)}, {Text: share}, {Text: strconv.Itoa(r.Jobs)},
			{Text: strconv.FormatFloat(r.GPUHours, 'f', 1, 64)}, {Text: lost}, {Text: blame}, {Text: last}})
	}
	p.b.WriteString(t.Render(p.s))
	p.line(p.s.Dim("ATTEMPTS that failed so, of so many JOBS; GPU-HOURS is what they took, LOST what of it has to be done again; `pasar guide reasons` explains each"))
	p.field("failed", failed)
	p.lost(v)
	if h := v.Total.GPUHoursLost; h > 0 {
		p.field("", strconv.FormatFloat(h, 'f', 1, 64)+" GPU-hours in all")
	}
}

// agoShort is how long ago something was, in one unit.
func agoShort(t, now time.Time) string {
	d := max(0, now.Sub(t))
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd ago", int(d.Hours()/24))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	case d >= 2*time.Minute:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	}
	return fmt.Sprintf("%ds ago", int(d.Seconds()))
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
