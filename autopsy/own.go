package autopsy

import "pasar"

// ownRules are about what pasar did or knows itself. It decides, whatever the log or the status says: a
// job that saves its state on SIGTERM and exits 0 was stopped all the same.
//
// A stop counts once something was sent, or when it ended a job that never ran; a job that ended before
// its stop got anywhere ended by itself.
var ownRules = []rule{
	{
		name:       "preempted",
		when:       stoppedFor(pasar.StopPreempt),
		code:       pasar.CodePreempted,
		summary:    func(e *Evidence) string { return "preempted by a job with a higher bid" + howStopped(e) },
		hint:       say("it is queued again with its old place among equal bids; --non-preemptible would have kept it running"),
		confidence: pasar.Certain,
		blame:      pasar.BlamePasar,
	},
	{
		name:       "time limit",
		when:       stoppedFor(pasar.StopLimit),
		code:       pasar.CodeTimeLimit,
		summary:    func(e *Evidence) string { return "stopped at its time limit" + after(e) + howStopped(e) },
		hint:       say("raise --time-limit, or let the program go on from a checkpoint"),
		confidence: pasar.Certain,
		blame:      pasar.BlameJob,
		evidence:   lastLines,
	},
	{
		name:       "paused",
		when:       stoppedFor(pasar.StopPause),
		code:       pasar.CodePreempted,
		summary:    func(e *Evidence) string { return "paused" + by(e) + howStopped(e) },
		confidence: pasar.Certain,
		blame:      pasar.BlameUser,
	},
	{
		name:       "cancelled", // and any other stop
		when:       stopped,
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
		evidence:   lastLines,
	},
}

func stopped(e *Evidence) bool {
	if e.Stop == nil {
		return false
	}
	return e.StopStep != pasar.StepNone || e.Exit == nil
}

func stoppedFor(why pasar.StopWhy) func(*Evidence) bool {
	return func(e *Evidence) bool { return stopped(e) && e.Stop.Why == why }
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
	case e.StopStep != pasar.StepNone:
		s = ": it ended on SIGTERM"
		if e.Exit != nil && e.Exit.Signal == 0 {
			s = ": after SIGTERM it " + exited(e)
		}
	case e.Lost == "":
		return " while it waited to start"
	}
	if e.Lost != "" {
		s += " (its end was not seen: " + e.Lost + ")"
	}
	return s
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
