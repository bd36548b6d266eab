package ui

import (
	"fmt"
	"strings"
	"time"

	"pasar"
)

// silence is how long a running job may report no progress before that is worth saying.
const silence = 10 * time.Minute

// WhyPage says why a job died, why it waits, or how it is doing: `pasar why`.
func WhyPage(v *pasar.JobView, now time.Time, s Style) string {
	p := &page{s: s}
	switch {
	case v.State.Finished():
		p.died(v)
	case v.Waiting != nil:
		p.waits(v, now)
	default:
		p.goesOn(v, now)
	}
	return p.b.String()
}

func (p *page) died(v *pasar.JobView) {
	p.line(End(v, p.s))
	var last []string
	if v.State == pasar.Failed {
		last = tail(v, pageLines)
	}
	if d := v.Verdict; d != nil {
		if v.State == pasar.Failed {
			p.line(fmt.Sprintf("reason: %s (%s); to blame: %s", d.Reason, d.Confidence, d.Blame))
		}
		p.verdict(d, pasar.Completed, last) // the confidence stands above
	}
	p.output(last)
}

func (p *page) waits(v *pasar.JobView, now time.Time) {
	p.line(Name(v) + " " + waiting(v, now))
	p.line("it is queued for " + Ago(v.QueueTime, now) + " with a bid of " + num(float64(v.Bid)))
	if n := v.Waiting.Ahead; n > 0 {
		p.line(fmt.Sprintf("%s of it in the order", plural(n, "job is ahead", "jobs are ahead")))
	}
	if b := v.Waiting.BidNeeded; b != nil {
		p.line(fmt.Sprintf("hint: `pasar bid %d %d` would put it first", v.ID, *b))
	}
	if v.Waiting.Why == pasar.WaitHeld {
		p.line(fmt.Sprintf("hint: `pasar release %d` lets it start", v.ID))
	}
}

func (p *page) goesOn(v *pasar.JobView, now time.Time) {
	line := Name(v) + " " + p.s.State(v.State, string(v.State))
	if v.RunTime != nil {
		line += " for " + v.RunTime.String()
	}
	if a := About(v, now); a != "" {
		line += ": " + a
	}
	p.line(line)
	if v.State != pasar.Running {
		return
	}
	switch {
	case v.LastCheckpoint != nil:
		p.line("last checkpoint " + event(v.LastCheckpoint, now))
	default:
		p.line("no checkpoint reported yet: an interruption would lose all of its work")
	}
	switch {
	case v.Progress == nil:
		p.line("it reports no progress (see `pasar guide jobs`)")
	case now.Sub(v.Progress.At) > silence:
		p.line("silent for " + Ago(v.Progress.At, now) + ": no progress reported since")
	}
	if v.EstRuntime != nil && v.RunTime != nil && *v.RunTime > *v.EstRuntime {
		p.line("it has run longer than the " + v.EstRuntime.String() + " that were expected")
	}
	if v.OverLimit {
		p.line("it uses more memory than its limit")
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Fact is a record in one line: time, kind, the job and what else it says.
func Fact(r pasar.Record, now time.Time) string {
	parts := []string{When(r.At, now), fmt.Sprintf("%-17s", r.Fact.Kind())}
	switch f := r.Fact.(type) {
	case pasar.DaemonStarted:
		parts = append(parts, fmt.Sprintf("pid %d, version %s", f.Pid, f.Version))
	case pasar.Submitted:
		parts = append(parts, fmt.Sprintf("#%d %s: %s", f.Job, f.Spec.Name, pasar.Quote(f.Spec.Argv)))
	case pasar.BidChanged:
		parts = append(parts, fmt.Sprintf("#%d to %d%s", f.Job, f.Bid, byWhom(f.By)))
	case pasar.Held:
		parts = append(parts, fmt.Sprintf("#%d%s", f.Job, byWhom(f.By)))
	case pasar.Released:
		parts = append(parts, fmt.Sprintf("#%d%s", f.Job, byWhom(f.By)))
	case pasar.CancelledWaiting:
		parts = append(parts, fmt.Sprintf("#%d%s", f.Job, byWhom(f.By)))
	case pasar.StopAsked:
		parts = append(parts, fmt.Sprintf("#%d.%d %s%s", f.Job, f.Attempt, f.Stop.Why, byWhom(f.Stop.By)))
	case pasar.Launched:
		parts = append(parts, fmt.Sprintf("#%d.%d on %s %s", f.Job, f.Attempt, f.Grant.Machine, GPUs(f.Grant.GPUs)))
	case pasar.Started:
		parts = append(parts, fmt.Sprintf("#%d.%d pid %d", f.Job, f.Attempt, f.Pid))
	case pasar.Exited:
		parts = append(parts, fmt.Sprintf("#%d.%d %s", f.Job, f.Attempt, Ending(&f.Exit.Code, &f.Exit.Signal)))
	case pasar.Ended:
		parts = append(parts, fmt.Sprintf("#%d.%d %s: %s", f.Job, f.Attempt, f.Verdict.Reason, f.Verdict.Summary))
	case pasar.Lost:
		parts = append(parts, fmt.Sprintf("#%d.%d %s", f.Job, f.Attempt, f.Verdict.Summary))
	case pasar.Restarted:
		parts = append(parts, fmt.Sprintf("#%d%s", f.Job, byWhom(f.By)))
	case pasar.Reported:
		s := fmt.Sprintf("#%d.%d %s", f.Job, f.Attempt, f.Event.Kind)
		if f.Event.Step != nil {
			s += " at step " + num(*f.Event.Step)
		}
		parts = append(parts, s)
	case pasar.GitRead:
		parts = append(parts, fmt.Sprintf("#%d at %s", f.Job, f.Git.Commit))
	case pasar.Answered:
		parts = append(parts, f.Verb)
	case pasar.MachineSeen:
		parts = append(parts, fmt.Sprintf("%s: %s, %s of memory", f.Inventory.Machine, plural(len(f.Inventory.GPUs), "GPU", "GPUs"), f.Inventory.RAM))
	case pasar.Incident:
		parts = append(parts, f.What+": "+f.Detail)
	}
	return strings.TrimRight(pasar.Clean(strings.Join(parts, "  ")), " ")
}

func byWhom(by string) string {
	if by == "" {
		return ""
	}
	return " by " + by
}
