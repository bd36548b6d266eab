package ui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pasar"
)

// silence is how long a running job may report no progress before that is worth saying.
const silence = 10 * time.Minute

// untouched is how long a job may run before it is worth saying that it hasn't touched its GPU.
const untouched = 2 * time.Minute

// Beside is what there is to say of a job besides what its view has.
type Beside struct {
	Holders []*pasar.JobView // jobs that its reason to wait names, as far as they are known
	Wrote   *time.Time       // when a running one wrote last; nil: not known, or never
	Silent  bool             // it runs and has written nothing
}

// WhyPage says why a job died, why it waits, or how it is doing: `pasar why`.
func WhyPage(v *pasar.JobView, b Beside, now time.Time, s Style) string {
	p := &page{s: s}
	switch {
	case v.State.Finished():
		p.died(v, now)
	case v.State == pasar.Paused:
		p.line(End(v, s))
		if v.LastCheckpoint != nil {
			p.line("last checkpoint " + event(v.LastCheckpoint, now))
		}
		for _, h := range Hints(v) {
			p.line(h)
		}
	case v.Waiting != nil:
		p.waits(v, b.Holders, now)
	default:
		p.goesOn(v, b, now)
	}
	return p.b.String()
}

func (p *page) died(v *pasar.JobView, now time.Time) {
	p.line(End(v, p.s))
	a := lastAttempt(v)
	if v.State == pasar.Failed {
		if r := reason(v.Verdict); r != "" {
			p.line(r)
		}
	}
	p.earlier(v)
	if v.State == pasar.Failed && a != nil {
		p.line(ranAs(a, now))
	}
	p.shows(v.State, v.Verdict, a)
	if d := v.Verdict; d != nil {
		p.hints(v.ID, d)
		if v.State == pasar.Failed {
			p.again(v, d)
		}
	}
	p.certificate(v, a)
}

// certificate is where the whole evidence is kept.
func (p *page) certificate(v *pasar.JobView, a *pasar.AttemptView) {
	if a != nil && a.Certificate != nil && a.Verdict != nil && a.Verdict.Reason.Failure() {
		p.line(p.s.Dim(fmt.Sprintf("all of its output: `pasar logs %d`; all of the evidence: %s", v.ID, pasar.Clean(*a.Certificate))))
	}
}

// shows is the output that an end rests on, and what else does.
func (p *page) shows(st pasar.State, d *pasar.Verdict, a *pasar.AttemptView) {
	if a == nil {
		a = &pasar.AttemptView{}
	}
	x := p.excerpt(st, d, a.Tail)
	if st == pasar.Completed || st == pasar.Cancelled {
		x.lines = nil // it ended as it was to; `pasar logs` has the output
	}
	p.output(&x)
	for i := range a.Xids {
		code := fmt.Sprintf("Xid %d ", a.Xids[i].Code)
		if !slices.ContainsFunc(x.facts, func(f string) bool { return strings.Contains(f+" ", code) }) {
			p.line("its GPU reported " + xid(&a.Xids[i]) + " at " + When(a.Xids[i].At, a.Xids[i].At))
		}
	}
	switch {
	case st != pasar.Failed || len(x.lines) > 0:
	case a.Output != nil && *a.Output == 0:
		p.line("it wrote nothing")
	case a.Output != nil:
		p.line(fmt.Sprintf("of its %s of output nothing is at hand here", pasar.Bytes(*a.Output)))
	}
}

// again says whether it is of any use to start a failed job again as it is.
func (p *page) again(v *pasar.JobView, d *pasar.Verdict) {
	switch {
	case d.Retryable == nil || strings.Contains(d.Hint, "pasar restart"):
	case *d.Retryable:
		p.line(fmt.Sprintf("hint: it may well succeed as it is: `pasar restart %d` queues it again", v.ID))
	default:
		p.line("started again unchanged, it would most likely fail in the same way")
	}
}

// ranAs is which attempt it was, where it ran, how it ended, and when.
func ranAs(a *pasar.AttemptView, now time.Time) string {
	s := fmt.Sprintf("attempt %d on %s", a.Attempt, pasar.Clean(a.Machine))
	if g := GPUs(a.GPUs); g != "" {
		s += " " + g
	}
	if e := Ending(a.ExitCode, a.Signal); e != "" {
		s += ", " + e
	}
	if a.EndedAt != nil {
		s += ", ended " + When(*a.EndedAt, now) + " (" + Ago(*a.EndedAt, now) + " ago)"
	}
	return s
}

// Of the attempts before the last one so many are named, the first ones and the latest.
const (
	firstAttempts = 2
	lastAttempts  = 6
)

// earlier is how each attempt before the last one ended, in a line.
func (p *page) earlier(v *pasar.JobView) {
	n := len(v.Attempts) - 1
	for i := range max(n, 0) {
		if i >= firstAttempts && i < n-lastAttempts {
			if i == firstAttempts {
				p.line(p.s.Dim(fmt.Sprintf("  and %s between", plural(n-firstAttempts-lastAttempts, "attempt", "attempts"))))
			}
			continue
		}
		line := attemptEnd(&v.Attempts[i])
		if p.s.Width > 0 {
			line = Cut(line, p.s.Width)
		}
		p.line(line)
	}
}

// attemptEnd is how an attempt ended, in a line.
func attemptEnd(a *pasar.AttemptView) string {
	s := fmt.Sprintf("attempt %d", a.Attempt)
	d := a.Verdict
	switch {
	case d == nil && a.EndedAt == nil:
		return s + " isn't over"
	case d == nil:
		return strings.TrimSuffix(s+": "+Ending(a.ExitCode, a.Signal), ": ")
	}
	if a.RunTime != nil {
		s += " after " + a.RunTime.String()
	}
	return s + ": " + told(d)
}

// told is a verdict in a line: its code, unless the summary says it, and the summary.
func told(d *pasar.Verdict) string {
	code, summary := pasar.Clean(string(d.Reason)), pasar.Clean(d.Summary)
	if summary == "" {
		return code
	}
	if code == "" || strings.HasPrefix(summary, code) {
		return summary
	}
	if len(d.Evidence) > 0 { // where the summary puts words before the root line, the code stands for them
		root := pasar.Clean(d.Evidence[0].Text)
		if words, line, ok := strings.Cut(summary, ": "); ok && !strings.Contains(root, words) && strings.Contains(root, strings.TrimSuffix(line, "…")) {
			summary = line
		}
	}
	return code + ": " + summary
}

// WhyAttempt says why one attempt of a job ended, or how it is doing if it hasn't: `pasar why --attempt`.
func WhyAttempt(v *pasar.JobView, a *pasar.AttemptView, now time.Time, s Style) string {
	p := &page{s: s}
	d := a.Verdict
	if d == nil {
		p.line(Name(v) + " " + attemptEnd(a))
		p.line(ranAs(a, now))
		return p.b.String()
	}
	failed := d.Reason.Failure()
	p.line(Name(v) + " " + attemptEnd(a))
	if failed {
		p.line(reason(d))
	}
	p.line(ranAs(a, now))
	if n := len(v.Attempts); a.Attempt < v.Attempts[n-1].Attempt {
		p.line(fmt.Sprintf("%s of it followed; the job is %s now", plural(n-slices.IndexFunc(v.Attempts, func(o pasar.AttemptView) bool { return o.Attempt == a.Attempt })-1, "attempt", "attempts"), v.State))
	}
	st := pasar.Completed
	if failed {
		st = pasar.Failed
	}
	p.shows(st, d, a)
	p.hints(v.ID, d)
	p.certificate(v, a)
	return p.b.String()
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
		p.earlier(v)
		p.line(attemptEnd(a))
		if a.Verdict.Reason.Failure() {
			p.line(fmt.Sprintf("`pasar why %d --attempt %d` shows the output that says so", v.ID, a.Attempt))
		}
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

func (p *page) goesOn(v *pasar.JobView, b Beside, now time.Time) {
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
	p.earlier(v)
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
	switch {
	case b.Wrote != nil && now.Sub(*b.Wrote) > silence:
		p.line("silent for " + Ago(*b.Wrote, now) + ": no output since " + When(*b.Wrote, now))
	case b.Silent && v.RunTime != nil && time.Duration(*v.RunTime) > silence:
		p.line("it has written nothing so far")
	}
	p.overruns(v, now)
	if v.OverLimit {
		p.line("it uses " + overLimit(v) + ": should memory run short, it is the first to be stopped")
	}
	if u := v.Usage.PeakGPU; u != nil && *u == 0 && v.Claim.Kind != pasar.NoGPU && v.RunTime != nil && time.Duration(*v.RunTime) > untouched {
		p.line("it hasn't touched its GPU so far; --gpus 0 is a job without one")
	}
}

// overLimit is what a job uses beyond its limit, with the numbers where they are known.
func overLimit(v *pasar.JobView) string {
	use, limit := v.Usage.GPU, v.Claim.Limit
	if limit == nil {
		limit = v.Claim.Mem
	}
	if use != nil && limit != nil && *use > *limit {
		return use.String() + " of GPU memory, more than its limit of " + limit.String()
	}
	if use, limit = v.Usage.Host, v.Claim.RAM; use != nil && limit != nil && *use > *limit {
		return use.String() + " of host memory, more than its limit of " + limit.String()
	}
	return "more memory than its limit"
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
