package autopsy

import (
	"fmt"
	"syscall"

	"pasar"
)

var successRules = []rule{{
	name:       "exit 0", // whatever the log says
	when:       exit(0),
	code:       pasar.CodeCompleted,
	summary:    func(e *Evidence) string { return "completed" + after(e) },
	confidence: pasar.Certain,
	blame:      pasar.BlameJob,
}}

// statusRules go by how the main process ended, when nothing else says why. A shell reports a child that a
// signal ended as 128+N; a program may exit so by itself, so that is likely and not certain.
var statusRules = []rule{
	{
		name: "interrupted",
		when: func(e *Evidence) bool { return interrupts[e.Exit.Signal] },
		code: pasar.CodeInterrupted,
		summary: func(e *Evidence) string {
			return "ended by " + signalName(e.Exit.Signal) + from(syscall.Signal(e.Exit.Signal))
		},
		hint:       interruptedHint,
		confidence: pasar.Certain,
		blame:      pasar.BlameUser,
		evidence:   lastClueLine,
	},
	{
		name: "interrupted, says a shell",
		when: func(e *Evidence) bool { return interrupts[shellSignal(e)] },
		code: pasar.CodeInterrupted,
		summary: func(e *Evidence) string {
			return "interrupted: " + exited(e) + ", as after " + signalName(shellSignal(e)) + from(syscall.Signal(shellSignal(e)))
		},
		hint:       interruptedHint,
		confidence: pasar.Likely,
		blame:      pasar.BlameUser,
		evidence:   lastClueLine,
	},
	{
		name: "signal",
		when: func(e *Evidence) bool { return e.Exit.Signal != 0 },
		code: pasar.CodeSignal,
		summary: func(e *Evidence) string {
			s := "killed by " + signalName(e.Exit.Signal)
			if e.Exit.Core {
				s += " (core dumped)"
			}
			return s + quoteLast(e)
		},
		hint:       func(e *Evidence) string { return signalHint(e, e.Exit.Signal) },
		confidence: pasar.Certain,
		blame:      pasar.BlameJob,
		evidence:   lastClueLine,
	},
	{
		name: "signal, says a shell",
		when: func(e *Evidence) bool { return shellSignal(e) != 0 },
		code: pasar.CodeSignal,
		summary: func(e *Evidence) string {
			return exited(e) + ", as after " + signalName(shellSignal(e)) + quoteLast(e)
		},
		hint:       func(e *Evidence) string { return signalHint(e, shellSignal(e)) },
		confidence: pasar.Likely,
		blame:      pasar.BlameJob,
		evidence:   lastClueLine,
	},
	{
		name:       "timeout(1)",
		when:       exit(124),
		code:       pasar.CodeTimeLimit,
		summary:    func(e *Evidence) string { return exited(e) + ": a time limit ended it, as timeout(1) says" + after(e) },
		hint:       say("raise the limit that the command was given, or let the program go on from a checkpoint"),
		confidence: pasar.Likely,
		blame:      pasar.BlameJob,
		evidence:   lastClueLine,
	},
	{
		name:       "not executable, says a shell",
		when:       exit(126),
		code:       pasar.CodeBadCommand,
		summary:    func(e *Evidence) string { return exited(e) + ", command not executable" + lastWords(e) },
		hint:       say("make it executable with chmod +x, or name its interpreter first"),
		confidence: pasar.Likely,
		blame:      pasar.BlameUser,
		evidence:   rootLine,
	},
	{
		name:       "not found, says a shell",
		when:       exit(127),
		code:       pasar.CodeBadCommand,
		summary:    func(e *Evidence) string { return exited(e) + ", command not found" + lastWords(e) },
		hint:       say("is it installed, and on the PATH that the job was submitted with?"),
		confidence: pasar.Likely,
		blame:      pasar.BlameUser,
		evidence:   rootLine,
	},
}

// unexplained is for whatever no rule applies to.
var unexplained = rule{
	name:       "exit",
	code:       pasar.CodeExit,
	summary:    func(e *Evidence) string { return exited(e) + lastWords(e) },
	confidence: pasar.Certain,
	blame:      pasar.BlameJob,
	evidence:   rootLine,
}

// from says where a signal may have come from. Ctrl-C at the job's terminal is a SIGINT, and pasar can't
// tell it from any other.
func from(sig syscall.Signal) string {
	if sig == syscall.SIGINT {
		return ": Ctrl-C at its terminal, or sent from outside pasar"
	}
	return " from outside pasar"
}

func interruptedHint(e *Evidence) string {
	if e.Exit.Signal == int(syscall.SIGINT) || shellSignal(e) == int(syscall.SIGINT) {
		return "someone typed Ctrl-C through `pasar attach -i`, or a person or program sent it; `pasar restart` queues it again"
	}
	return "someone or something else sent it: a person, another program, a shutdown; `pasar restart` queues it again"
}

func exit(code int) func(*Evidence) bool {
	return func(e *Evidence) bool { return e.Exit != nil && e.Exit.Signal == 0 && e.Exit.Code == code }
}

// exited is "exited with code 7".
func exited(e *Evidence) string {
	if e.Exit == nil {
		return "ended"
	}
	return fmt.Sprintf("exited with code %d", e.Exit.Code)
}
