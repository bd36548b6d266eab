package ui

import (
	"fmt"
	"slices"
	"time"

	"pasar"
)

// silence is how long a running job may report no progress before that is worth saying.
const silence = 10 * time.Minute

// untouched is how long a job may run before it is worth saying that it hasn't touched its GPU.
const untouched = 2 * time.Minute

// WhyPage says why a job died, why it waits, or how it is doing: `pasar why`. The holders are jobs that its
// reason names, as far as they are known.
func WhyPage(v *pasar.JobView, holders []*pasar.JobView, now time.Time, s Style) string {
	p := &page{s: s}
	switch {
	case v.State.Finished():
		p.died(v)
	case v.State == pasar.Paused:
		p.line(End(v, s))
		if v.LastCheckpoint != nil {
			p.line("last checkpoint " + event(v.LastCheckpoint, now))
		}
		for _, h := range Hints(v) {
			p.line(h)
		}
	case v.Waiting != nil:
		p.waits(v, holders, now)
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
	if a := lastAttempt(v); a != nil {
		for _, x := range a.Xids {
			p.line("its GPU reported " + xid(&x) + " at " + x.At.Format("15:04:05"))
		}
	}
	p.output(last)
}

func (p *page) waits(v *pasar.JobView, holders []*pasar.JobView, now time.Time) {
	w := v.Waiting
	p.line(Name(v) + " " + pasar.Clean(w.Sentence))
	for _, id := range w.Holders[:min(holderLines, len(w.Holders))] {
		i := slices.IndexFunc(holders, func(h *pasar.JobView) bool { return h.ID == id })
		if i >= 0 {
			p.hang("  "+holder(holders[i], now), 4)
		}
	}
	if n := len(w.Holders) - holderLines; n > 0 && len(holders) > 0 {
		p.line(fmt.Sprintf("  and %d more", n))
	}
	if n := v.Waiting.Ahead; n > 0 {
		p.line(fmt.Sprintf("%s of it in the order", plural(n, "job is ahead", "jobs are ahead")))
	}
	if w.Until != nil && w.Until.After(now) {
		p.line("that is " + soon(*w.Until, now))
	}
	switch {
	case w.Reserved == nil:
	case w.Why == pasar.WaitTurn:
		p.line("it would delay the reservation for " + When(*w.Reserved, now))
	default:
		what := "its GPUs"
		if v.Claim.Kind == pasar.NoGPU {
			what = "its place"
		}
		p.line("it has " + what + " reserved " + soon(*w.Reserved, now) + ": nothing is started that would delay that")
	}
	if t := v.Projected.Start; t != nil && t.After(now) && !near(t, w.Until) && !near(t, w.Reserved) {
		p.line("by the estimates it starts " + soon(*t, now))
	}
	p.line("it is queued for " + Ago(waitsSince(v), now) + " with a bid of " + num(float64(v.Bid)))
	if a := lastAttempt(v); a != nil && a.Verdict != nil {
		p.line(fmt.Sprintf("attempt %d: %s", a.Attempt, pasar.Clean(a.Verdict.Summary)))
		if v.LastCheckpoint != nil {
			p.line("it can go on from the checkpoint " + event(v.LastCheckpoint, now))
		}
	}
	if b := w.BidNeeded; b != nil {
		p.line(fmt.Sprintf("hint: `pasar bid %d %d` would put it first", v.ID, *b))
	}
	if bid, ok := preempting(v, holders); ok {
		p.line(fmt.Sprintf("hint: `pasar bid %d %d --preempt --dry-run` says what stopping a lower bid for it would cost", v.ID, bid))
	}
	switch w.Why {
	case pasar.WaitHeld:
		p.line(fmt.Sprintf("hint: `pasar release %d` lets it start", v.ID))
	case pasar.WaitBegin:
		p.line(fmt.Sprintf("hint: `pasar edit %d --begin now` lets it start", v.ID))
	case pasar.WaitAfter:
		p.line(fmt.Sprintf("hint: `pasar edit %d --after none` lets it start without them", v.ID))
	case pasar.WaitUnhealthy, pasar.WaitMachine, pasar.WaitStranger, pasar.WaitRelease:
		p.line("hint: `pasar gpus` shows what is the matter")
	}
}

// near reports whether two times are the same to whoever waits.
func near(a, b *time.Time) bool { return a != nil && b != nil && a.Sub(*b).Abs() < 2*time.Second }

// holderLines is how many of those that have what a job waits for are named.
const holderLines = 5

// holder is who has what a job waits for, and until when.
func holder(h *pasar.JobView, now time.Time) string {
	s := Name(h) + ", bid " + num(float64(h.Bid)) + ", " + string(h.State)
	switch {
	case h.State.Finished():
	case h.Projected.Finish != nil && h.Projected.Finish.After(now):
		s += ", ends " + soon(*h.Projected.Finish, now)
	case h.Remaining != nil && *h.Remaining > 0:
		s += ", " + about(h) + roughly(time.Duration(*h.Remaining)) + " left"
	case h.Remaining != nil:
		s += ", over its estimate"
	case h.State == pasar.Running:
		s += ", with no estimate of its run time"
	}
	if !h.Preemptible && h.State.Active() {
		s += ", never stopped for another"
	}
	return s
}

// preempting is the bid with which a job could stop one of the holders; false if it can't, or is asked to already.
func preempting(v *pasar.JobView, holders []*pasar.JobView) (pasar.Bid, bool) {
	if v.Preempt || v.Waiting.Why != pasar.WaitGPU && v.Waiting.Why != pasar.WaitMemory && v.Waiting.Why != pasar.WaitTurn {
		return 0, false
	}
	var least *pasar.JobView
	for _, h := range holders {
		if h.Preemptible && h.State == pasar.Running && (least == nil || h.Bid < least.Bid) {
			least = h
		}
	}
	if least == nil {
		return 0, false
	}
	return max(v.Bid, least.Bid+1), true
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
	if a := lastAttempt(v); v.State == pasar.Stopping && a != nil && a.Stop != nil && a.Stop.Why == pasar.StopPause {
		p.line(fmt.Sprintf("hint: `pasar pause --kill-after 10m %d` stops it then, if it hasn't saved and left", v.ID))
	}
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
	p.overruns(v, now)
	if v.OverLimit {
		p.line("it uses more memory than its limit: should memory run short, it is the first to be stopped")
	}
	if u := v.Usage.PeakGPU; u != nil && *u == 0 && v.Claim.Kind != pasar.NoGPU && v.RunTime != nil && time.Duration(*v.RunTime) > untouched {
		p.line("it hasn't touched its GPU so far; --gpus 0 is a job without one")
	}
}

// overruns says whether a running job takes longer than it was to, or may.
func (p *page) overruns(v *pasar.JobView, now time.Time) {
	if v.EstRuntime != nil && v.RunTime != nil && *v.RunTime > *v.EstRuntime {
		p.line("it has run longer than the " + v.EstRuntime.String() + " that were expected")
	}
	if v.Projected.Finish != nil && v.Projected.Finish.After(now) {
		p.line("it is projected to end " + soon(*v.Projected.Finish, now))
	}
	a := lastAttempt(v)
	if v.TimeLimit == nil || *v.TimeLimit <= 0 || a == nil || a.StartedAt == nil {
		return
	}
	stop := a.StartedAt.Add(time.Duration(*v.TimeLimit))
	if end := v.Projected.Finish; end != nil && end.After(stop) {
		p.line("its time limit of " + v.TimeLimit.String() + " would stop it before that, " + soon(stop, now))
		return
	}
	p.line("its time limit stops it " + soon(stop, now))
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
