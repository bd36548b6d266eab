package ui

import (
	"fmt"
	"strconv"
	"time"

	"pasar"
)

// Trace is what became of a trace in a few lines: `pasar plan`.
func Trace(v *pasar.TraceView) string {
	p := &page{}
	what := fmt.Sprintf("%s on %s by the rules of %s", plural(v.Jobs, "job", "jobs"), plural(v.GPUs, "GPU", "GPUs"), v.Policy)
	if v.Estimates == "exact" {
		what += ", with exact estimates"
	}
	if v.Skipped > 0 {
		what += fmt.Sprintf("; %d left out, which ask for more GPUs or ran for no time", v.Skipped)
	}
	p.line(what)
	p.field("wait", fmt.Sprintf("%s on average, half of them at most %s, 99 of 100 at most %s, the longest %s",
		secs(v.MeanWait), secs(v.P50Wait), secs(v.P99Wait), secs(v.MaxWait)))
	p.field("slowdown", fmt.Sprintf("%s on average, 99 of 100 at most %s (bounded at 10 s)", figure(v.MeanSlow), figure(v.P99Slow)))
	p.field("use", fmt.Sprintf("%.1f %% of the GPUs' time between the first submit and the last", 100*v.Util))
	p.field("done", "after "+secs(v.Makespan))
	return p.b.String()
}

func secs(s float64) string { return pasar.Duration(s * float64(time.Second)).String() }

// figure shows three significant digits.
func figure(f float64) string {
	if f >= 1000 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 3, 64)
}
