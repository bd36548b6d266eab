package main

import (
	"encoding/json"
	"fmt"

	"pasar"
	"pasar/ui"
)

// A view is a job as the daemon showed it, with the bytes it sent.
type view struct {
	pasar.JobView
	raw []byte
}

func parseView(b []byte) (*view, error) {
	v := &view{raw: b}
	if err := json.Unmarshal(b, &v.JobView); err != nil {
		return nil, fmt.Errorf("read job: %w", err)
	}
	return v, nil
}

func claimOf(v *view) string { return ui.Claim(v.Claim) }

// style is how text for standard output looks.
func (a *app) style() ui.Style { return ui.Style{Color: a.term.color, Width: a.term.width} }

// exitOf is the exit code that a job's end stands for.
func exitOf(v *pasar.JobView) int {
	switch v.State {
	case pasar.Completed:
		return exitCompleted
	case pasar.Cancelled:
		return exitCancelled
	case pasar.Paused:
		return exitPaused
	case pasar.Failed:
		if v.Verdict != nil && v.Verdict.Reason.ForMemory() {
			return exitMemory
		}
		return exitFailed
	}
	return exitCompleted // --for started, and it runs
}

// ownExit is what a shell would report for the job's program, or the code its end stands for when the
// program has none: it never ran, or nobody saw it end.
func ownExit(v *pasar.JobView) int {
	if n := len(v.Attempts); n > 0 && v.State.Finished() {
		switch a := v.Attempts[n-1]; {
		case a.Signal != nil && *a.Signal != 0:
			return 128 + *a.Signal
		case a.ExitCode != nil && v.State != pasar.Cancelled:
			return *a.ExitCode
		}
	}
	return exitOf(v)
}

// severity orders ends: of several jobs the worst counts.
func severity(code int) int {
	switch code {
	case exitMemory:
		return 5
	case exitFailed:
		return 4
	case exitCancelled:
		return 3
	case exitPaused:
		return 2
	case exitCompleted:
		return 0
	}
	return 1
}
