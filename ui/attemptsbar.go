package ui

import (
	"strings"
	"time"

	"pasar"
)

// AttemptsBar is a job's life from its submit to its end, or now, in so many columns: how long it waited, ran, and did
// work that was lost or done again; and that in words.
func AttemptsBar(v *pasar.JobView, now time.Time, width int, ascii bool) (bar, legend Line) {
	width = max(0, width)
	c := newCells(width)
	l := lifeOf(v, now)
	signs := [...]string{lifeWaits: "·", lifeRuns: "█", lifeLost: "▒"}
	if ascii {
		signs = [...]string{lifeWaits: ".", lifeRuns: "#", lifeLost: "x"}
	}
	looks := [...]Role{lifeWaits: Faint, lifeRuns: Good, lifeLost: Bad}
	draw := func(p phase) {
		begin := min(max(columnAt(p.from, l.from, l.to, width), 0), float64(width))
		end := min(max(columnAt(p.to, l.from, l.to, width), 0), float64(width))
		first, last := int(begin+0.5), int(end+0.5)
		if first == last && p.kind != lifeWaits { // what is short is seen all the same
			first = min(first, width-1)
			last = first + 1
		}
		for i := first; i < last; i++ {
			c.set(i, signs[p.kind], Span{Role: looks[p.kind]}, 0)
		}
	}
	if !l.from.IsZero() && l.from.Before(l.to) {
		draw(phase{lifeWaits, l.from, l.to})
		for _, kind := range []int{lifeRuns, lifeLost} { // what is lost is part of what ran
			for _, p := range l.phases {
				if p.kind == kind {
					draw(p)
				}
			}
		}
		for _, t := range l.failed {
			at := min(max(int(columnAt(t, l.from, l.to, width)+0.5)-1, 0), width-1)
			c.set(at, map[bool]string{false: "✗", true: "x"}[ascii], Span{Role: Bad, Bold: true}, 0)
		}
	}
	return c.line(), Line{{Text: l.words(), Role: Faint}}
}

// What a job does at a time of its life.
const (
	lifeWaits = iota
	lifeRuns
	lifeLost
)

// A phase is a time of a job's life in which it does one thing.
type phase struct {
	kind     int
	from, to time.Time
}

// A life is what a job did when. Between its phases it waits.
type life struct {
	from, to          time.Time
	attempts          int
	phases            []phase
	ran, lost, waited time.Duration
	failed            []time.Time // when attempts did
}

func lifeOf(v *pasar.JobView, now time.Time) (l life) {
	if v == nil {
		return l
	}
	l.from, l.to, l.attempts = v.Created, now, len(v.Attempts)
	if v.Created.IsZero() {
		l.from = v.QueueTime
	}
	if a := lastAttempt(v); a != nil && a.EndedAt != nil && v.State.Finished() {
		l.to = *a.EndedAt
	}
	until := l.from // what is before it has been counted
	for i := range v.Attempts {
		a := &v.Attempts[i]
		from, to := a.LaunchedAt, l.to
		if a.StartedAt != nil {
			from = *a.StartedAt
		}
		switch {
		case a.EndedAt != nil:
			to = *a.EndedAt
		case i+1 < len(v.Attempts):
			to = v.Attempts[i+1].LaunchedAt
		}
		if l.from.IsZero() {
			l.from, until = from, from
		}
		if from.Before(until) {
			from = until
		}
		if !from.Before(to) {
			continue
		}
		l.waited += from.Sub(until)
		l.ran += to.Sub(from)
		until = to
		l.phases = append(l.phases, phase{lifeRuns, from, to})
		if d := a.RestartCost; d != nil && *d > 0 {
			cost := min(time.Duration(*d), to.Sub(from))
			l.lost += cost
			l.phases = append(l.phases, phase{lifeLost, from, from.Add(cost)})
			from = from.Add(cost)
		}
		if a.Verdict != nil && a.Verdict.Reason.Failure() {
			l.failed = append(l.failed, to)
		}
		if d := a.Wasted; d != nil && *d > 0 {
			wasted := min(time.Duration(*d), to.Sub(from))
			l.lost += wasted
			l.phases = append(l.phases, phase{lifeLost, to.Add(-wasted), to})
		}
	}
	if until.Before(l.to) && !l.from.IsZero() {
		l.waited += l.to.Sub(until)
	}
	if d := v.Lost.QueueWait; d > 0 { // between a failure and somebody's restart it didn't wait
		l.waited = time.Duration(d)
	}
	return l
}

// words are what a life came to: "2 attempts: ran 3h10m, lost 12m, waited 40m".
func (l *life) words() string {
	var parts []string
	for _, p := range []struct {
		what string
		d    time.Duration
	}{{"ran", l.ran}, {"lost", l.lost}, {"waited", l.waited}} {
		if d := p.d.Round(time.Second); d > 0 {
			parts = append(parts, p.what+" "+pasar.Duration(d).String())
		}
	}
	return strings.TrimSuffix(plural(l.attempts, "attempt", "attempts")+": "+strings.Join(parts, ", "), ": ")
}
