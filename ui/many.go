package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pasar"
)

// A fate is what jobs have in common: that they failed for one reason, or their state.
type fate struct {
	name  string
	code  pasar.Code // of those that failed
	state pasar.State
	jobs  []*pasar.JobView
}

// WhyMany is what became of many jobs: those that failed by reason, with one example of each, then the others.
func WhyMany(views []*pasar.JobView, now time.Time, s Style) string {
	p := &page{s: s}
	var fates []*fate
	states := map[pasar.State]int{}
	for _, v := range views {
		states[v.State]++
		name, code := string(v.State), pasar.Code("")
		if v.State == pasar.Failed && v.Verdict != nil {
			code = v.Verdict.Reason
			name = pasar.Clean(string(code))
		}
		i := slices.IndexFunc(fates, func(f *fate) bool { return f.name == name && f.state == v.State })
		if i < 0 {
			i = len(fates)
			fates = append(fates, &fate{name: name, code: code, state: v.State})
		}
		fates[i].jobs = append(fates[i].jobs, v)
	}
	slices.SortStableFunc(fates, func(a, b *fate) int {
		if (a.state == pasar.Failed) != (b.state == pasar.Failed) {
			return map[bool]int{true: -1, false: 1}[a.state == pasar.Failed]
		}
		return cmp.Compare(len(b.jobs), len(a.jobs))
	})
	p.line(s.Bold(plural(len(views), "job", "jobs")) + ": " + counts(states))
	width := 0
	for _, f := range fates {
		width = max(width, len(f.name)+2)
	}
	for _, f := range fates {
		p.fate(f, width, now)
	}
	return p.b.String()
}

func (p *page) fate(f *fate, width int, now time.Time) {
	p.hang(p.s.State(f.state, fmt.Sprintf("%-*s", width, f.name))+idList(f.jobs), width)
	if f.code != "" {
		summary, n := usual(f.jobs)
		line := pasar.Clean(summary)
		if more := len(f.jobs) - n; more > 0 {
			line += fmt.Sprintf(" (%d of %d; others differ)", n, len(f.jobs))
		}
		indent := strings.Repeat(" ", width)
		p.hang(indent+line, width)
		i := slices.IndexFunc(f.jobs, func(v *pasar.JobView) bool { return v.Verdict.Summary == summary })
		if i < 0 {
			return
		}
		if first, _, _ := strings.Cut(f.jobs[i].Verdict.Hint, "\n"); first != "" {
			p.hang(indent+"hint: "+pasar.Clean(first), width+len("hint: "))
		}
		p.hang(indent+p.s.Dim(fmt.Sprintf("`pasar why %d` shows more", f.jobs[i].ID)), width)
		return
	}
	if f.state == pasar.Queued || f.state == pasar.Awaiting {
		if about := About(f.jobs[0], now); about != "" {
			p.hang(strings.Repeat(" ", width)+Name(f.jobs[0])+" "+about, width)
		}
	}
}

// usual is the summary that most of some failed jobs have, and how many have it.
func usual(jobs []*pasar.JobView) (string, int) {
	n := map[string]int{}
	best := ""
	for _, v := range jobs {
		s := v.Verdict.Summary
		if n[s]++; n[s] > n[best] || best == "" {
			best = s
		}
	}
	return best, n[best]
}

// idList names some jobs: "#1 lr=1e-5, #2 lr=3e-5 and 7 more".
func idList(jobs []*pasar.JobView) string {
	const most = 6
	var parts []string
	for _, v := range jobs[:min(most, len(jobs))] {
		s := "#" + v.ID.String()
		if e := element(v); e != "" {
			s += " (" + e + ")"
		}
		parts = append(parts, s)
	}
	text := strings.Join(parts, ", ")
	if n := len(jobs) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
