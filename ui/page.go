package ui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"pasar"
)

// A page is lines of "label  text" with the labels in one column.
type page struct {
	b strings.Builder
	s Style
}

const labelWidth = 12

func (p *page) line(text string) { p.hang(text, 0) }

// hang writes a line; where it is wrapped, the rest stands so many columns in.
func (p *page) hang(text string, indent int) {
	p.b.WriteString(Wrap(strings.TrimRight(text, " "), p.s.Width, indent) + "\n")
}

func (p *page) field(label, text string) {
	if text != "" {
		p.hang(p.s.Dim(fmt.Sprintf("%-*s", labelWidth, label))+text, labelWidth)
	}
}

// commandRows is how many rows of a terminal a command may take.
const commandRows = 4

// Page is everything about one job: `pasar show`.
func Page(v *pasar.JobView, now time.Time, s Style) string {
	p := &page{s: s}
	head := s.Bold(Name(v)) + "  " + s.State(v.State, string(v.State))
	if v.Reason != nil && *v.Reason != "" && *v.Reason != string(v.State) {
		head += " (" + pasar.Clean(*v.Reason) + ")"
	}
	p.line(head)
	if about := afterState(v, About(v, now)); about != "" {
		p.line(about)
	}
	if d := v.Verdict; d != nil {
		if v.State == pasar.Failed {
			p.line(reason(d))
		}
		p.hints(v.ID, d)
	}
	p.line("")
	p.asked(v, now)
	p.measured(v, now)
	for i := range v.Attempts {
		p.attempt(&v.Attempts[i], now)
		if d := v.Attempts[i].Verdict; d != nil && i < len(v.Attempts)-1 && d.Summary != "" {
			p.field("", told(d))
		}
	}
	if x := p.excerpt(v.State, v.Verdict, tail(v, pasar.TailLines)); len(x.lines)+len(x.facts) > 0 {
		p.line("")
		p.output(&x)
	}
	return p.b.String()
}

// pageLines is how many lines of output a page ends with, where nothing says which of them matter.
const pageLines = 10

// excerpt is what to show of an output: of a failed job, what its end rests on.
func (p *page) excerpt(st pasar.State, d *pasar.Verdict, tail []string) excerpt {
	if st != pasar.Failed {
		d = nil
	}
	return excerptOf(d, tail, pageLines)
}

func (p *page) hints(id pasar.JobID, d *pasar.Verdict) {
	if d.Hint == "" {
		return
	}
	for h := range strings.SplitSeq(d.Hint, "\n") {
		p.hang("hint: "+ofJob(id, h), len("hint: "))
	}
}

func (p *page) output(x *excerpt) {
	if len(x.lines) > 0 {
		p.line(p.s.Dim(x.title()))
	}
	for _, l := range x.render(p.s) {
		p.b.WriteString(l + "\n")
	}
	for _, f := range x.facts {
		p.field("also", f)
	}
}

func (p *page) asked(v *pasar.JobView, now time.Time) {
	command := pasar.Clean(v.Command)
	if p.s.Width > labelWidth {
		command = Cut(command, commandRows*(p.s.Width-labelWidth))
	}
	p.field("command", command)
	p.field("directory", pasar.Clean(string(v.Cwd)))
	p.field("claim", Claim(v.Claim))
	bid := strconv.FormatInt(int64(v.Bid), 10)
	if v.Preempt {
		bid += "; to start, it may stop running jobs with a lower one"
	}
	p.field("bid", bid)
	p.group(v)
	p.order(v, now)
	by := "by " + pasar.Clean(v.Submitter)
	if v.By != nil && *v.By != "" {
		by += " for " + pasar.Clean(*v.By)
	}
	p.field("submitted", When(v.Created, now)+" "+by)
	if !v.QueueTime.Equal(v.Created) && !v.State.Finished() {
		p.field("queued", When(v.QueueTime, now))
	}
	tags := make([]string, len(v.Tags))
	for i, t := range v.Tags {
		tags[i] = pasar.Clean(t)
	}
	p.field("tags", strings.Join(tags, " "))
	if v.Note != nil {
		p.field("note", pasar.Clean(*v.Note))
	}
	if v.Key != nil {
		p.field("key", pasar.Clean(*v.Key))
	}
	if v.Git != nil {
		commit := pasar.Clean(v.Git.Commit)
		if v.Git.Dirty {
			commit += " with changes"
		}
		p.field("git", commit)
	}
	p.field("grace", v.Grace.String())
	p.limits(v)
}

func (p *page) measured(v *pasar.JobView, now time.Time) {
	if v.EstRuntime != nil {
		est := v.EstRuntime.String()
		if v.EstSource != nil {
			est = strings.TrimPrefix(about(v), "about ") + est + " (" + pasar.Clean(*v.EstSource) + ")"
		}
		p.field("expected", est)
	}
	if v.RunTime != nil {
		p.field("ran", runTime(v))
	}
	if v.Progress != nil {
		p.field("progress", Progress(v.Progress)+", "+Ago(v.Progress.At, now)+" ago")
	}
	if v.LastCheckpoint != nil {
		p.field("checkpoint", event(v.LastCheckpoint, now))
	}
	var use []string
	for _, u := range []struct {
		b    *pasar.Bytes
		what string
	}{{v.Usage.GPU, "GPU"}, {v.Usage.PeakGPU, "GPU at most"}, {v.Usage.Host, "host"}, {v.Usage.PeakHost, "host at most"}} {
		if u.b != nil {
			use = append(use, u.b.String()+" "+u.what)
		}
	}
	p.field("memory", strings.Join(use, ", "))
	p.projected(v, now)
	p.field("lost", lost(v))
}

func event(e *pasar.Event, now time.Time) string {
	s := When(e.At, now)
	if e.Step != nil {
		s += ", step " + num(*e.Step)
	}
	if e.Path != "" {
		s += ", " + pasar.Clean(e.Path)
	}
	return s
}

func (p *page) attempt(a *pasar.AttemptView, now time.Time) {
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	where := pasar.Clean(a.Machine)
	if g := GPUs(a.GPUs); g != "" {
		where += " " + g
	}
	add(where)
	start := a.LaunchedAt
	if a.StartedAt != nil {
		start = *a.StartedAt
	}
	span := "from " + When(start, now)
	if a.EndedAt != nil {
		span += " to " + When(*a.EndedAt, now)
	}
	if a.RunTime != nil {
		span += " (" + a.RunTime.String() + ")"
	}
	add(span)
	add(Ending(a.ExitCode, a.Signal))
	if a.EndedAt == nil && a.Pid != nil {
		add("pid " + strconv.Itoa(*a.Pid))
	}
	if a.PeakGPU != nil {
		add(a.PeakGPU.String() + " of GPU memory at most")
	}
	for _, x := range a.Xids {
		add(xid(&x))
	}
	if a.RestartCost != nil && *a.RestartCost > 0 {
		add(a.RestartCost.String() + " to get back to where it was")
	}
	if a.Wasted != nil && *a.Wasted > 0 {
		add(a.Wasted.String() + " of work lost")
	}
	if a.Output != nil {
		add(pasar.Bytes(*a.Output).String() + " of output")
	}
	if a.Stop != nil {
		add("stopped: " + stopWords(a.Stop))
	}
	p.field("attempt "+strconv.Itoa(a.Attempt), strings.Join(parts, ", "))
}
