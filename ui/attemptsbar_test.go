package ui

import (
	"testing"
	"time"

	"pasar"
)

func TestAnAttemptsBarShowsWhatRanWaitedAndWasLost(t *testing.T) {
	ago := func(min int) time.Time { return now.Add(-time.Duration(min) * time.Minute) }
	span := func(min int) *pasar.Duration { return ptr(pasar.Duration(time.Duration(min) * time.Minute)) }
	v := &pasar.JobView{ID: 1, Created: ago(240), State: pasar.Running, Attempts: []pasar.AttemptView{
		{Attempt: 1, LaunchedAt: ago(201), StartedAt: ptr(ago(200)), EndedAt: ptr(ago(100)), Wasted: span(10)},
		{Attempt: 2, LaunchedAt: ago(90), StartedAt: ptr(ago(90)), RestartCost: span(2)},
	}}
	bar, legend := AttemptsBar(v, now, 24, false)
	if got := bar.String(); got != "····█████████▒·▒████████" {
		t.Error(got)
	}
	if got := legend.String(); got != "2 attempts: ran 3h10m, lost 12m, waited 50m" {
		t.Error(got)
	}
	if bar, _ := AttemptsBar(v, now, 24, true); bar.String() != "....#########x.x########" {
		t.Error(bar)
	}
	v.State, v.Attempts[1].EndedAt = pasar.Completed, ptr(ago(80))
	if bar, legend := AttemptsBar(v, now, 16, false); bar.String() != "····█████████▒·▒" || legend.String() != "2 attempts: ran 1h50m, lost 12m, waited 50m" {
		t.Errorf("%s %s", bar, legend)
	}
}

func TestAnAttemptsBarOfLittleIsStillABar(t *testing.T) {
	odd := &pasar.JobView{State: pasar.Failed, Created: now.Add(time.Hour), Attempts: []pasar.AttemptView{{}, {EndedAt: ptr(now), Wasted: ptr(pasar.Duration(1 << 62)), RestartCost: ptr(pasar.Duration(1 << 62))}}}
	for _, c := range []struct {
		v           *pasar.JobView
		bar, legend string
	}{
		{nil, "     ", "0 attempts"},
		{&pasar.JobView{}, "     ", "0 attempts"},
		{&pasar.JobView{Created: now.Add(-time.Hour), State: pasar.Queued}, "·····", "0 attempts: waited 1h"},
		{&pasar.JobView{Created: now.Add(time.Hour), State: pasar.Queued}, "     ", "0 attempts"},
		{odd, "     ", "2 attempts"},
	} {
		if bar, legend := AttemptsBar(c.v, now, 5, false); bar.String() != c.bar || legend.String() != c.legend {
			t.Errorf("%q %q; want %q %q", bar, legend, c.bar, c.legend)
		}
		if bar, _ := AttemptsBar(c.v, now, -1, true); len(bar) != 0 {
			t.Errorf("no columns: %q", bar)
		}
	}
}
