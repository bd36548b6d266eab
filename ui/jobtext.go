package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pasar"
)

// metricRows is how many metrics are drawn at most.
const metricRows = 6

// JobText is everything about a job for a page of its own: how it is or how it ended, how far it got, what became of
// its attempts, then the facts.
func JobText(v *pasar.JobView, m *pasar.MetricsView, now time.Time, width int, ascii bool) []Line {
	text := Page(v, now, Style{Color: true, Width: width})
	_, text, _ = strings.Cut(text, "\n") // its name and state stand above
	verdict, facts, _ := strings.Cut(text, "\n\n")
	var out []Line
	if strings.TrimSpace(verdict) != "" {
		out = append(Lines(verdict), Line{})
	}
	drawn := progressLines(v, m, width, ascii)
	if v.Waiting == nil || len(v.Attempts) > 0 {
		bar, legend := AttemptsBar(v, now, max(1, width-labelWidth), ascii)
		drawn = append(drawn, append(Line{fieldLabel("attempts")}, bar...), append(Line{fieldLabel("")}, legend...))
	}
	if len(drawn) > 0 {
		out = append(append(out, drawn...), Line{})
	}
	for _, l := range Lines(facts) {
		out = append(out, WrapLine(l, width)...)
	}
	return out
}

func fieldLabel(text string) Span {
	return Span{Text: fmt.Sprintf("%-*s", labelWidth, text), Role: Faint}
}

// progressLines is how far a job got, and how its metrics went.
func progressLines(v *pasar.JobView, m *pasar.MetricsView, width int, ascii bool) (out []Line) {
	room := max(4, min(60, width-labelWidth-22))
	if p := v.Progress; p != nil && p.Step != nil && p.Total != nil && *p.Total > 0 {
		part := *p.Step / *p.Total
		l := Line{fieldLabel("progress"), {Text: Meter(part, room, ascii), Role: Good}, {Text: fmt.Sprintf(" %3.0f %%", 100*part), Bold: true}}
		if v.Remaining != nil && *v.Remaining > 0 && !v.State.Finished() {
			l = append(l, Span{Text: ", " + about(v) + roughly(time.Duration(*v.Remaining)) + " left"})
		}
		out = append(out, l)
	}
	if m == nil {
		return out
	}
	names, series := MetricSeries(m)
	for _, name := range names[:min(metricRows, len(names))] {
		values := slices.DeleteFunc(slices.Clone(series[name]), func(f float64) bool { return f != f })
		if len(values) < 2 {
			continue
		}
		last := strconv.FormatFloat(values[len(values)-1], 'g', 5, 64)
		out = append(out, Line{{Text: pad(Cut(Shown(name), labelWidth-1), labelWidth), Role: Faint}, {Text: Spark(values, room, ascii), Role: Accent}, {Text: " " + last, Bold: true}})
	}
	return out
}
