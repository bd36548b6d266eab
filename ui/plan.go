package ui

import (
	"fmt"
	"strconv"
	"time"

	"pasar"
)

// planRows is how many of a group's jobs a plan lists on a terminal.
const planRows = 20

// Plan is what would happen: `submit --dry-run` and `bid --dry-run`.
func Plan(v *pasar.PlanView, now time.Time, s Style) string {
	p := &page{s: s}
	if len(v.Jobs) == 1 {
		j := &v.Jobs[0]
		p.line("#" + j.ID.String() + " " + planned(j, now))
		if j.Before != nil {
			p.line("without the change it would start " + soon(*j.Before, now))
		}
	} else if len(v.Jobs) > 1 {
		p.line(fmt.Sprintf("%d jobs", len(v.Jobs)))
		p.plannedTable(v.Jobs, now)
	}
	p.line("claim: " + Claim(v.Claim))
	p.stopped(v.Stopped)
	p.delayed(v.Delayed, now)
	if v.Limit {
		p.line("the queue is too long to look to its end: later starts aren't known")
	}
	p.line(s.Dim("by the estimates that there are; nothing has changed"))
	return p.b.String()
}

// soon is a time to come: "in about 31m (12:31:00)".
func soon(t, now time.Time) string {
	if !t.After(now) {
		return "now"
	}
	return "in about " + roughly(t.Sub(now)) + " (" + When(t, now) + ")"
}

// planned is when a job would start, where, and until when.
func planned(j *pasar.PlannedJob, now time.Time) string {
	text := "would not start by the estimates that there are"
	switch {
	case j.Now:
		text = "would start now"
	case j.Start != nil && !j.Start.After(now) && j.Waiting == nil && j.Sentence != "":
		return pasar.Clean(j.Sentence) // it runs
	case j.Start != nil:
		text = "would start " + soon(*j.Start, now)
	}
	if g := GPUs(j.GPUs); g != "" {
		text += " on " + g
	}
	if j.Finish != nil {
		text += ", and end " + soon(*j.Finish, now)
	}
	if why := held(j); why != "" {
		text += ": " + why
	}
	return text
}

// held is why a job wouldn't start at once.
func held(j *pasar.PlannedJob) string {
	switch {
	case j.Now:
		return ""
	case j.Waiting != nil:
		return pasar.Clean(j.Waiting.Sentence)
	}
	return pasar.Clean(j.Sentence)
}

func (p *page) plannedTable(jobs []pasar.PlannedJob, now time.Time) {
	t := Table{Columns: []Column{{Head: "ID", Right: true}, {Head: "START"}, {Head: "END"}, {Head: "WHERE"}, {Head: "WHY"}}}
	for i := range jobs {
		j := &jobs[i]
		if p.s.Width > 0 && i == planRows {
			break
		}
		start, end := "not known", "-"
		switch {
		case j.Now:
			start = "now"
		case j.Start != nil:
			start = When(*j.Start, now)
		}
		if j.Finish != nil {
			end = When(*j.Finish, now)
		}
		t.Rows = append(t.Rows, []Cell{{Text: j.ID.String()}, {Text: start}, {Text: end}, {Text: GPUs(j.GPUs)}, {Text: held(j)}})
	}
	p.b.WriteString(t.Render(p.s))
	if n := len(jobs) - len(t.Rows); n > 0 {
		p.line(fmt.Sprintf("… and %d more", n))
	}
}

func (p *page) stopped(jobs []pasar.PreemptedJob) {
	if len(jobs) == 0 {
		p.line("nobody would be stopped")
		return
	}
	p.line(p.s.paint(red, plural(len(jobs), "job would be stopped", "jobs would be stopped")+", and queued again"))
	t := Table{Columns: []Column{{Head: "ID", Right: true}, {Head: "NAME", Max: 24}, {Head: "BID", Right: true}, {Head: "RAN", Right: true}, {Head: "WOULD LOSE"}}}
	for _, j := range jobs {
		loses, ran := "not known: it reports no events", "-"
		if j.RunTime != nil {
			ran = j.RunTime.String()
		}
		if j.Loses != nil {
			loses = j.Loses.String() + " of work"
		}
		if j.Pausable {
			loses += "; it is asked to save first"
		}
		t.Rows = append(t.Rows, []Cell{{Text: j.ID.String()}, {Text: pasar.Clean(j.Name)}, {Text: strconv.FormatInt(int64(j.Bid), 10)}, {Text: ran}, {Text: loses}})
	}
	p.b.WriteString(t.Render(p.s))
}

func (p *page) delayed(jobs []pasar.DelayedJob, now time.Time) {
	if len(jobs) == 0 {
		p.line("nobody would wait longer")
		return
	}
	p.line(p.s.paint(yellow, plural(len(jobs), "job would wait longer", "jobs would wait longer")))
	t := Table{Columns: []Column{{Head: "ID", Right: true}, {Head: "NAME", Max: 24}, {Head: "LATER BY", Right: true}, {Head: "START"}}}
	for i, j := range jobs {
		if p.s.Width > 0 && i == planRows {
			break
		}
		later, start := "not known", When(j.From, now)+" → not known"
		if j.Delay != nil {
			later = j.Delay.String()
		}
		if j.To != nil {
			start = When(j.From, now) + " → " + When(*j.To, now)
		}
		t.Rows = append(t.Rows, []Cell{{Text: j.ID.String()}, {Text: pasar.Clean(j.Name)}, {Text: later}, {Text: start}})
	}
	p.b.WriteString(t.Render(p.s))
	if n := len(jobs) - len(t.Rows); n > 0 {
		p.line(fmt.Sprintf("… and %d more", n))
	}
}
