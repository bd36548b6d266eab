package ui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"pasar"
)

// group is a job's place in its array or sweep.
func (p *page) group(v *pasar.JobView) {
	if v.Group == nil {
		return
	}
	s := v.Group.String()
	if v.Index != nil {
		s += ", index " + strconv.Itoa(*v.Index)
	}
	for _, k := range sortedKeys(v.Params) {
		s += ", " + pasar.Clean(k) + "=" + pasar.Clean(v.Params[k])
	}
	if v.MaxConcurrent != nil && *v.MaxConcurrent > 0 {
		s += fmt.Sprintf("; at most %d at once", *v.MaxConcurrent)
	}
	p.field("group", s)
}

// order is when a job may start: after others, and not before a time.
func (p *page) order(v *pasar.JobView, now time.Time) {
	after := make([]string, len(v.After))
	for i, d := range v.After {
		after[i] = "#" + d.Job.String() + map[pasar.Condition]string{pasar.AfterAny: ", however it ends", pasar.AfterFail: ", if it fails"}[d.On]
	}
	const most = 20
	text := strings.Join(after[:min(most, len(after))], "; ")
	if n := len(after) - most; n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	p.field("after", text)
	if v.Begin != nil {
		p.field("begin", When(*v.Begin, now))
	}
}

// limits are the rules that a job is stopped and started again by.
func (p *page) limits(v *pasar.JobView) {
	if v.TimeLimit != nil && *v.TimeLimit > 0 {
		p.field("time limit", v.TimeLimit.String()+" for each attempt")
	}
	if v.Retries.Max > 0 {
		s := fmt.Sprintf("%d of %d used", v.Retries.Used, v.Retries.Max)
		for i, c := range v.Retries.On {
			s += map[bool]string{true: ", for ", false: ", "}[i == 0] + pasar.Clean(string(c))
		}
		p.field("retries", s)
	}
	if v.ResumeCommand != nil {
		p.field("resumes by", pasar.Clean(*v.ResumeCommand))
	}
	if v.Pausable && !v.State.Finished() && v.State != pasar.Paused {
		p.field("pausable", fmt.Sprintf("yes: `pasar pause %d`", v.ID))
	}
	if !v.Preemptible && !v.State.Finished() {
		p.field("preemptible", "no: it is never stopped for another job")
	}
}

func (p *page) projected(v *pasar.JobView, now time.Time) {
	if v.State.Finished() {
		return
	}
	var parts []string
	if t := v.Projected.Start; t != nil && !v.State.Active() {
		parts = append(parts, "starts "+soon(*t, now))
	}
	if t := v.Projected.Finish; t != nil {
		parts = append(parts, "ends "+soon(*t, now))
	}
	p.field("projected", strings.Join(parts, ", "))
}

// lost is the time that interruptions cost a job, and beside it what it spent waiting.
func lost(v *pasar.JobView) string {
	var parts []string
	add := func(d *pasar.Duration, to string) {
		if d != nil && *d > 0 {
			parts = append(parts, d.String()+" to "+to)
		}
	}
	add(v.Lost.Preemptions, "preemptions")
	add(v.Lost.Failures, "failures")
	if !v.Lost.Known && len(v.Attempts) > 1 {
		parts = append(parts, "not known: it reports no events")
	}
	if d := v.Lost.QueueWait; d >= pasar.Duration(time.Second) {
		parts = append(parts, "waited "+d.String()+" in the queue")
	}
	return strings.Join(parts, ", ")
}

// xid is an error of a GPU's in a few words: "Xid 31 at 12:00:00 (page fault)".
func xid(x *pasar.Xid) string {
	s := fmt.Sprintf("Xid %d", x.Code)
	if x.Meaning != "" {
		s += " (" + pasar.Clean(x.Meaning) + ")"
	}
	return s
}
