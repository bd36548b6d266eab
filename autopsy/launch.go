package autopsy

import (
	"slices"
	"syscall"

	"pasar"
)

// launchRules are about attempts that never ran. What is wrong with the program is the command's fault;
// anything else is pasar's or the machine's to explain.
var launchRules = []rule{
	{
		name:    "no interpreter",
		when:    func(e *Evidence) bool { return e.LaunchError != "" && e.LaunchStep == "interpreter" },
		code:    pasar.CodeBadCommand,
		summary: couldNotStart,
		hint: say("the program is there, but what its first line names isn't: install that, or correct the line; " +
			"one that ends in \\r has Windows line ends: sed -i 's/\\r$//' FILE takes them away"),
		confidence: pasar.Certain,
		blame:      pasar.BlameUser,
		evidence:   launchLine,
	},
	{
		name:       "no such program",
		when:       cantExec(syscall.ENOENT, syscall.ENOTDIR),
		code:       pasar.CodeBadCommand,
		summary:    func(e *Evidence) string { return "no such program: " + program(e) },
		hint:       say("give its path, or submit with the PATH that has it"),
		confidence: pasar.Certain,
		blame:      pasar.BlameUser,
		evidence:   launchLine,
	},
	{
		name:       "not executable",
		when:       cantExec(syscall.EACCES, syscall.EPERM),
		code:       pasar.CodeBadCommand,
		summary:    func(e *Evidence) string { return "not executable: " + program(e) },
		hint:       say("make it so with chmod +x, or name its interpreter first: python3 train.py"),
		confidence: pasar.Certain,
		blame:      pasar.BlameUser,
		evidence:   launchLine,
	},
	{
		name:       "not a program",
		when:       cantExec(syscall.ENOEXEC, syscall.ELIBBAD),
		code:       pasar.CodeBadCommand,
		summary:    func(e *Evidence) string { return "not a program that this machine can run: " + program(e) },
		hint:       say("a script needs a first line such as #!/bin/sh; a binary must be built for this machine"),
		confidence: pasar.Certain,
		blame:      pasar.BlameUser,
		evidence:   launchLine,
	},
	{
		name:    "arguments too long",
		when:    cantExec(syscall.E2BIG),
		code:    pasar.CodeLaunchError,
		summary: func(e *Evidence) string { return "could not be started: argument list too long for " + program(e) },
		hint: say("the arguments and the environment are too much for the kernel: put them into a file, " +
			"or leave the environment behind with --no-env"),
		confidence: pasar.Certain,
		blame:      pasar.BlameUser,
		evidence:   launchLine,
	},
	{
		name: "working directory",
		when: func(e *Evidence) bool { return e.LaunchError != "" && e.LaunchStep == "chdir" },
		code: pasar.CodeLaunchError,
		summary: func(e *Evidence) string {
			return "cannot enter working directory " + oneLine(or(e.Cwd, "/"), pathRunes) + ": " + systemError(e)
		},
		hint:       say("it must be there, and be yours to enter, when the job starts; --cwd names another"),
		confidence: pasar.Certain,
		blame:      pasar.BlameUser,
		evidence:   launchLine,
	},
	{
		name:       "out of processes or memory",
		when:       cantLaunch(syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE),
		code:       pasar.CodeLaunchError,
		summary:    couldNotStart,
		hint:       say("the machine was out of processes, descriptors or memory; `pasar restart` when there is room"),
		confidence: pasar.Certain,
		blame:      pasar.BlameMachine,
		evidence:   launchLine,
	},
	{
		name:       "disk full at launch",
		when:       cantLaunch(syscall.ENOSPC, syscall.EDQUOT),
		code:       pasar.CodeLaunchError,
		summary:    couldNotStart,
		hint:       say("make room on the disk of pasar's data directory, then `pasar restart`"),
		confidence: pasar.Certain,
		blame:      pasar.BlameMachine,
		evidence:   launchLine,
	},
	{
		name:       "launch failed",
		when:       func(e *Evidence) bool { return e.LaunchError != "" },
		code:       pasar.CodeLaunchError,
		summary:    couldNotStart,
		hint:       say("`pasar doctor` looks for what keeps jobs from starting"),
		confidence: pasar.Certain,
		blame:      pasar.BlamePasar,
		evidence:   launchLine,
	},
}

// launchLine is what the attempt to start it said.
func launchLine(e *Evidence) []pasar.Line {
	return []pasar.Line{{Text: oneLine(e.LaunchError, lineRunes)}}
}

func couldNotStart(e *Evidence) string { return "could not be started: " + e.LaunchError }

func cantLaunch(errs ...syscall.Errno) func(*Evidence) bool {
	return func(e *Evidence) bool {
		return e.LaunchError != "" && slices.Contains(errs, syscall.Errno(max(e.Errno, 0)))
	}
}

func cantExec(errs ...syscall.Errno) func(*Evidence) bool {
	failed := cantLaunch(errs...)
	return func(e *Evidence) bool { return e.LaunchStep == "exec" && failed(e) }
}

func program(e *Evidence) string { return oneLine(or(e.Argv0, "(none)"), pathRunes) }

// systemError is the system's error, or what was said of it.
func systemError(e *Evidence) string {
	if e.Errno > 0 {
		return syscall.Errno(e.Errno).Error()
	}
	return e.LaunchError
}
