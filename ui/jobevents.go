package ui

import (
	"fmt"
	"strings"
	"time"

	"pasar"
)

// JobEvents is a job's life, a line for each event: `pasar events`.
func JobEvents(v *pasar.JobEventsView, now time.Time) string {
	times := make([]string, len(v.Events))
	wide := 0
	for i := range v.Events {
		times[i] = "-"
		if at := v.Events[i].At; at != nil {
			times[i] = When(*at, now)
		}
		wide = max(wide, len(times[i]))
	}
	var b strings.Builder
	for i := range v.Events {
		e := &v.Events[i]
		if i == 1 && v.LeftOut > 0 {
			fmt.Fprintf(&b, "%-*s  %6s  %s\n", wide, "…", "", plural(v.LeftOut, "event is left out", "events are left out"))
		}
		number := "#" + v.ID.String()
		if e.Attempt != nil {
			number = fmt.Sprintf("%s.%d", number, *e.Attempt)
		}
		text := pasar.Clean(e.Sentence)
		if p := Progress(&pasar.ProgressView{Step: e.Step, Total: e.TotalSteps, Metrics: e.Metrics}); e.Kind == pasar.JobEventKind(pasar.EventProgress) && p != "" {
			text = p
		}
		fmt.Fprintf(&b, "%-*s  %6s  %s\n", wide, times[i], number, strings.TrimSpace(text))
	}
	return b.String()
}
