package autopsy

import (
	"fmt"

	"pasar"
)

// ownRules are about what pasar did or knows itself. It decides, whatever the log or the status says: a
// job that saves its state on SIGTERM and exits 0 was stopped all the same.
//
// A stop counts once something was sent, or when it ended a job that never ran; a job that ended before
// its stop got anywhere ended by itself.
var ownRules = []rule{
	{
		name:       "dependency",
		when:       func(e *Evidence) bool { return e.Unmet != "" },
		code:       pasar.CodeDependency,
		summary:    func(e *Evidence) string { return "never started: " + e.Unmet },
		hint:       say("`pasar restart` queues it again, and then it doesn't wait for what has ended"),
		confidence: pasar.Certain,
		blame:      pasar.BlameJob,
	},
	{
		name: "preempted",
		// One that exits 0 on SIGTERM has saved and gone; the pause file alone is answered with another code, so
		// that one that exits 0 was done.
		when: func(e *Evidence) bool {
			return stoppedFor(e, pasar.StopPreempt) && !(exitedWell(e) && e.StopStep == pasar.StepFile)
		},
		code: pasar.CodePreempted,
		summary: func(e *Evidence) string {
			return "preempted by " + or(e.For, "a job with a higher bid") + howStopped(e)
		},
		hint:       say("it is queued again with its old place among equal bids; --non-preemptible would have kept it running"),
		confidence: pasar.Certain,
		blame:      pasar.BlamePasar,
	},
	{
		name:       "paused at the time limit",
		when:       func(e *Evidence) bool { return stoppedFor(e, pasar.StopLimit) && saved(e) },
		code:       pasar.CodeTimeLimit,
		summary:    func(e *Evidence) string { return "paused at its time limit" + after(e) + savedWhat(e) },
		hint:       say("`pasar resume` goes on from there; `pasar edit --time-limit` gives it longer"),
		confidence: pasar.Certain,
		blame:      pasar.BlameJob,
	},
	{
		name:       "time limit",
		when:       func(e *Evidence) bool { return stoppedFor(e, pasar.StopLimit) },
		code:       pasar.CodeTimeLimit,
		summary:    func(e *Evidence) string { return "stopped at its time limit" + after(e) + howStopped(e) + missing(e) },
		hint:       say("raise --time-limit, or let the program go on from a checkpoint"),
		confidence: pasar.Certain,
		blame:      pasar.BlameJob,
	},
	{
		name:       "watchdog",
		when:       func(e *Evidence) bool { return stoppedFor(e, pasar.StopWatchdog) },
		code:       pasar.CodeOOM,
		summary:    func(e *Evidence) string { return "killed by pasar's memory watchdog" + detail(e) },
		hint:       say("give it what it needs with --mem or --ram, or have it use less; `pasar show` has what it was seen to use at most"),
		confidence: pasar.Certain,
		blame:      pasar.BlameJob,
	},
	{
		name:       "paused",
		when:       func(e *Evidence) bool { return stoppedFor(e, pasar.StopPause) && saved(e) },
		code:       pasar.CodePaused,
		summary:    func(e *Evidence) string { return "paused" + by(e) + savedWhat(e) },
		hint:       say("`pasar resume` goes on from there"),
		confidence: pasar.Certain,
		blame:      pasar.BlameUser,
	},
	{
		name: "paused by force",
		when: func(e *Evidence) bool {
			return stoppedFor(e, pasar.StopPause) && (e.StopStep == pasar.StepTerm || e.StopStep == pasar.StepKill) && e.Exit != nil && !exitedWell(e)
		},
		code:       pasar.CodePaused,
		summary:    func(e *Evidence) string { return "paused" + by(e) + ", by force" + howStopped(e) + missing(e) },
		hint:       say("what it did since its last checkpoint is lost; `pasar resume` starts it again"),
		confidence: pasar.Certain,
		blame:      pasar.BlameUser,
	},
	{
		name: "pause incomplete",
		when: func(e *Evidence) bool { return stoppedFor(e, pasar.StopPause) && exit(pasar.ExitPaused)(e) },
		code: pasar.CodeExit,
		summary: func(e *Evidence) string {
			return "it was asked to pause" + by(e) + " and " + exited(e) + missing(e) + ", so nothing says that it saved"
		},
		hint:       say("to be paused a program writes {\"checkpoint\": PATH} to $PASAR_CHECKPOINT_READY, by rename, and then exits with 75; `pasar guide jobs` has an example"),
		confidence: pasar.Certain,
		blame:      pasar.BlameJob,
	},
	{
		name:       "cancelled", // and any stop of a kind that is not known here
		when:       func(e *Evidence) bool { return stopped(e) && !otherStops[e.Stop.Why] },
		code:       pasar.CodeCancelled,
		summary:    func(e *Evidence) string { return "cancelled" + by(e) + howStopped(e) },
		hint:       say("`pasar restart` queues it again"),
		confidence: pasar.Certain,
		blame:      pasar.BlameUser,
	},
	{
		name:       "lost",
		when:       func(e *Evidence) bool { return e.Lost != "" || e.Exit == nil && e.LaunchError == "" },
		code:       pasar.CodeLost,
		summary:    func(e *Evidence) string { return "lost: " + or(e.Lost, "nobody saw it end") },
		hint:       say("whether its work was done isn't known: look at its output, then `pasar restart`"),
		confidence: pasar.Certain,
		blame:      pasar.BlameMachine,
	},
}

func stopped(e *Evidence) bool {
	if e.Stop == nil {
		return false
	}
	return e.StopStep != pasar.StepNone || e.Exit == nil
}

func stoppedFor(e *Evidence, why pasar.StopWhy) bool { return stopped(e) && e.Stop.Why == why }

// otherStops have rules of their own. A job that wasn't saved when it was asked to pause, or that completed
// when it was to make room, ended as it ended.
var otherStops = map[pasar.StopWhy]bool{pasar.StopPreempt: true, pasar.StopPause: true, pasar.StopLimit: true}

// exitedWell: a job that ends well has done what it was to do, whoever asked it to go.
func exitedWell(e *Evidence) bool { return exit(0)(e) }

// saved reports whether the job kept the pause contract: the code, the marker and what the marker names.
func saved(e *Evidence) bool {
	return exit(pasar.ExitPaused)(e) && e.Marker != nil && e.Marker.Missing == ""
}

func savedWhat(e *Evidence) string { return ": it saved " + oneLine(e.Marker.Checkpoint, pathRunes) }

// missing says which part of the pause contract was missing when a job kept the rest.
func missing(e *Evidence) string {
	switch {
	case saved(e):
		return ""
	case exit(pasar.ExitPaused)(e) && e.Marker == nil:
		return ", without a marker"
	case exit(pasar.ExitPaused)(e):
		return ", without a marker that holds (" + oneLine(e.Marker.Missing, pathRunes) + ")"
	case e.Marker != nil && e.Marker.Missing == "" && e.Exit != nil:
		return fmt.Sprintf("; it left a marker, but %s and not with %d", ended(e), pasar.ExitPaused)
	}
	return ""
}

// ended is "exited with code 7", or "was killed by SIGKILL".
func ended(e *Evidence) string {
	if e.Exit != nil && e.Exit.Signal != 0 {
		return "was ended by " + signalName(e.Exit.Signal)
	}
	return exited(e)
}

// though is what a verdict adds for a job that was asked to pause or to make room and ended as it ended.
func though(e *Evidence) string {
	switch {
	case stoppedFor(e, pasar.StopPreempt) && exitedWell(e) && e.StopStep == pasar.StepFile:
		return ", though it was asked to make room"
	case !stoppedFor(e, pasar.StopPause) || e.Exit == nil || exit(pasar.ExitPaused)(e):
		return ""
	case exitedWell(e) || e.StopStep == pasar.StepFile:
		return ", after it was asked to pause" + by(e) + missing(e)
	}
	return ""
}

// howStopped says how far a stop got.
func howStopped(e *Evidence) string {
	var s string
	switch {
	case e.StopStep == pasar.StepKill && e.Stop.Now:
		s = ": killed at once"
	case e.StopStep == pasar.StepKill:
		s = ": it did not end within its grace"
		if grace := max(e.Stop.Grace, 0); grace > 0 || e.Grace > 0 {
			s += " of " + or(grace, e.Grace).String()
		}
		s += " and was killed"
	case e.StopStep == pasar.StepFile && e.Exit != nil:
		s = ": asked by the pause file, it " + ended(e)
	case e.StopStep == pasar.StepFile:
		s = ": it was asked by the pause file"
	case e.StopStep != pasar.StepNone:
		s = ": it ended on SIGTERM"
		if e.Exit != nil && e.Exit.Signal == 0 {
			s = ": after SIGTERM it " + exited(e)
		}
	case e.Lost == "" && e.Paused:
		return " while it was paused"
	case e.Lost == "":
		return " while it waited to start"
	}
	if e.Lost != "" {
		s += " (its end was not seen: " + e.Lost + ")"
	}
	return s
}

func detail(e *Evidence) string {
	if e.Stop.Detail == "" {
		return ""
	}
	return ": " + e.Stop.Detail
}

func by(e *Evidence) string {
	if e.Stop.By == "" {
		return ""
	}
	return " by " + oneLine(e.Stop.By, nameRunes)
}

// after is " after 2h" when it is known how long it ran.
func after(e *Evidence) string {
	if e.RunTime <= 0 {
		return ""
	}
	return " after " + e.RunTime.String()
}

// or is the first of its arguments that says something.
func or[T comparable](a, b T) T {
	var zero T
	if a == zero {
		return b
	}
	return a
}
