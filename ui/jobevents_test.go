package ui

import (
	"testing"
	"time"

	"pasar"
)

func TestAJobsLifeIsALineForEachEvent(t *testing.T) {
	step, total := 5.0, 10.0
	v := &pasar.JobEventsView{ID: 42, LeftOut: 3, Events: []pasar.JobEventView{
		{At: ptr(now.Add(-48 * time.Hour)), Kind: pasar.JobSubmitted, Sentence: "was submitted by ada"},
		{Attempt: ptr(1), Kind: pasar.JobXid, Sentence: "an Xid"},
		{At: ptr(now), Attempt: ptr(1), Kind: "note", Sentence: "evil\x1b[2J\n", Text: ptr("evil")},
		{At: ptr(now), Attempt: ptr(12), Kind: "progress", Sentence: "is at step 5", Step: &step, TotalSteps: &total, Metrics: map[string]float64{"loss": 0.25}},
	}}
	const want = `2026-03-02 12:00:00     #42  was submitted by ada
…                            3 events are left out
-                     #42.1  an Xid
12:00:00              #42.1  evil\x1b[2J\n
12:00:00             #42.12  step 5 of 10 (50 %), loss 0.25
`
	if got := JobEvents(v, now); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := JobEvents(&pasar.JobEventsView{ID: 1}, now); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}
