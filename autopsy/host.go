package autopsy

import (
	"fmt"
	"regexp"
	"syscall"

	"pasar"
)

// The rules of this file go by what the host says of an end: its service manager, its kernel's log, its memory
// killers, and the terminals that were attached. Each says no more than is known: who sent a signal, the kernel
// keeps to itself.

// hostLostRules say why an attempt was lost, where the host does. They stand before pasar's own doing, which has
// the rest of what is lost; a stop that was asked for is the reason all the same.
var hostLostRules = []rule{
	{
		name: "lost: killed for want of memory, says the kernel's log",
		when: func(e *Evidence) bool { return vanished(e) && e.kernelLine(kernelOOM) != "" },
		code: pasar.CodeLost,
		summary: func(e *Evidence) string {
			return "lost: " + e.Lost + "; the kernel had killed a process of it, or that supervisor, for want of memory"
		},
		hint:       say("say with --ram what the job needs, so that it starts when that is free; else let it use less"),
		confidence: pasar.Certain,
		blame:      pasar.BlameMachine,
		evidence:   hostEvidence,
	},
	{
		name: "lost: its unit was killed for memory",
		when: func(e *Evidence) bool { return vanished(e) && e.UnitResult == "oom-kill" },
		code: pasar.CodeLost,
		summary: func(e *Evidence) string {
			return "lost: its whole unit was killed for want of memory, says systemd (oom-kill), its supervisor with it"
		},
		hint:       say("systemd-oomd or the kernel did it; say with --ram what the job needs, so that it starts when that is free"),
		confidence: pasar.Certain,
		blame:      pasar.BlameMachine,
		evidence:   hostEvidence,
	},
	{
		name: "lost: its unit was ended",
		when: func(e *Evidence) bool { return vanished(e) && unitResults[e.UnitResult] != "" },
		code: pasar.CodeLost,
		summary: func(e *Evidence) string {
			return fmt.Sprintf("lost: %s, says systemd (%s); no process of it is left", unitResults[e.UnitResult], e.UnitResult)
		},
		hint:       say("somebody or something outside pasar ended the unit that its supervisor ran in: `journalctl --user` has more; then `pasar restart`"),
		confidence: pasar.Certain,
		blame:      pasar.BlameEnvironment,
		evidence:   hostEvidence,
	},
	{
		name:       "lost before it ran",
		when:       func(e *Evidence) bool { return vanished(e) && e.Phase == Launching && len(e.Log) == 0 },
		code:       pasar.CodeLost,
		summary:    func(e *Evidence) string { return "lost: " + e.Lost + "; its process was never seen" },
		hint:       say("most likely it never ran: `pasar restart`"),
		confidence: pasar.Certain,
		blame:      pasar.BlameMachine,
		evidence:   hostEvidence,
	},
}

// unitResults are systemd's words for how a unit ended (systemd.exec(5), $SERVICE_RESULT) that say something of the
// whole unit.
var unitResults = map[string]string{
	"timeout":   "its unit was stopped and didn't end in time",
	"watchdog":  "its unit didn't report in time",
	"signal":    "its supervisor was killed by a signal",
	"core-dump": "its supervisor crashed",
	"resources": "its unit could not be given what it needs",
}

func vanished(e *Evidence) bool { return e.Lost != "" && !stopped(e) && e.Unmet == "" }

// sayRAM is what to do where the host had too little memory for it.
var sayRAM = say("say with --ram what it needs, so that it starts when that is free; else let it use less")

// hostMemoryRules are about kills for want of memory that the attempt's cgroup doesn't count. They stand after the
// kernel's word, which has the counts.
var hostMemoryRules = []rule{
	{
		name: "killed by systemd-oomd",
		when: func(e *Evidence) bool { return failed(e) && e.Cgroup != nil && e.Cgroup.Oomd > 0 && killed(e) },
		code: pasar.CodeKernelOOM,
		summary: func(e *Evidence) string {
			return "killed by systemd-oomd: too little host memory was left" + memoryLeft(e)
		},
		hint:       say("say with --ram what it needs, so that it starts when that is free; `journalctl -u systemd-oomd` says what was under pressure"),
		confidence: pasar.Certain,
		blame:      pasar.BlameMachine,
		evidence:   hostEvidence,
	},
	{
		name: "killed for want of memory, says the kernel's log",
		when: func(e *Evidence) bool { return failed(e) && killed(e) && e.kernelLine(kernelOOM) != "" },
		code: pasar.CodeKernelOOM,
		summary: func(e *Evidence) string {
			what := "the machine was out of host memory"
			if e.kernelLine(memcgOOM) != "" {
				what = "its cgroup was out of host memory"
			}
			if m := anonRSS.FindStringSubmatch(e.kernelLine(anonRSS)); m != nil {
				var kb pasar.Bytes
				if _, err := fmt.Sscan(m[1], &kb); err == nil {
					what += fmt.Sprintf(" (the process that was killed had %s)", kb*pasar.KiB)
				}
			}
			return "killed by the kernel: " + what
		},
		hint:       sayRAM,
		confidence: pasar.Certain,
		blame:      pasar.BlameMachine,
		evidence:   hostEvidence,
	},
	{
		name: "a child killed for want of memory, says the kernel's log",
		when: func(e *Evidence) bool {
			return failed(e) && e.kernelLine(kernelOOM) != "" && e.found().kill() != nil && !e.found().outlivedKill()
		},
		code: pasar.CodeKernelOOM,
		summary: func(e *Evidence) string {
			return "the kernel killed a process of it because host memory ran out: " + e.found().kill().quote() + "; then it " + exited(e)
		},
		hint:       sayRAM,
		confidence: pasar.Certain,
		blame:      pasar.BlameMachine,
		evidence:   hostEvidence,
	},
}

// askedRules are about attempts whose supervisor was asked to end, as services are: it passed that on. They stand
// after what the kernel says and before the log, in which the rest is consequence.
var askedRules = []rule{{
	name: "its service was stopped",
	when: func(e *Evidence) bool { return e.Asked && e.Stop == nil && e.Exit != nil && *e.Exit != (pasar.Exit{}) },
	code: pasar.CodeInterrupted,
	summary: func(e *Evidence) string {
		end := exited(e)
		if n := e.Exit.Signal; n != 0 {
			end = "ended by " + signalName(n)
		}
		return end + ": its supervisor was sent SIGTERM from outside pasar and passed it on, as on a shutdown, a logout or when its unit is stopped"
	},
	hint:       say("`pasar doctor` says whether jobs outlive a logout here; `pasar restart` queues it again"),
	confidence: pasar.Certain,
	blame:      pasar.BlameEnvironment,
	evidence:   hostEvidence,
}}

// typedRules are about keys. They stand before the log, which may say that it was interrupted, but not by whom.
var typedRules = []rule{{
	name: "Ctrl-C was typed",
	when: func(e *Evidence) bool {
		if !e.Typed || e.Exit == nil || *e.Exit == (pasar.Exit{}) {
			return false
		}
		if c := e.why(); c != nil {
			return c.reason(e) == pasar.CodeInterrupted
		}
		return failedBy(e, syscall.SIGINT)
	},
	code:       pasar.CodeInterrupted,
	summary:    func(e *Evidence) string { return "interrupted by SIGINT: Ctrl-C typed at " + typist(e) },
	hint:       say("`pasar restart` queues it again; Ctrl-] and then d leaves `pasar attach` and lets the job go on"),
	confidence: pasar.Certain,
	blame:      pasar.BlameUser,
	evidence:   hostEvidence,
}}

// hostSignalRules are about signals, and ends of children, of which the host says more. They stand right before the
// status: whatever the log says of an end says more.
var hostSignalRules = []rule{
	{
		name:       `Ctrl-\ was typed`,
		when:       func(e *Evidence) bool { return e.Quit && failedBy(e, syscall.SIGQUIT) },
		code:       pasar.CodeSignal,
		summary:    func(e *Evidence) string { return `killed by SIGQUIT: Ctrl-\ typed at ` + typist(e) },
		hint:       say("`pasar restart` queues it again"),
		confidence: pasar.Certain,
		blame:      pasar.BlameUser,
		evidence:   hostEvidence,
	},
	{
		name: "damaged memory",
		when: func(e *Evidence) bool { return failedBy(e, syscall.SIGBUS) && e.kernelLine(poisoned) != "" },
		code: pasar.CodeSignal,
		summary: func(e *Evidence) string {
			return "killed by SIGBUS: the machine's memory is damaged where it was used, says the kernel"
		},
		hint:       say("the hardware is at fault, not the program: have the machine's memory looked at (`journalctl -k`, rasdaemon)"),
		confidence: pasar.Certain,
		blame:      pasar.BlameMachine,
		evidence:   hostEvidence,
	},
	{
		name: "a fault in native code, says the kernel's log",
		when: func(e *Evidence) bool {
			return failedBy(e, syscall.SIGSEGV, syscall.SIGILL, syscall.SIGFPE, syscall.SIGBUS, syscall.SIGTRAP) && e.kernelLine(nativeFault) != ""
		},
		code: pasar.CodeSignal,
		summary: func(e *Evidence) string {
			s := "killed by " + signalName(lastSignal(e)) + ": " + nativeFault.FindString(e.kernelLine(nativeFault))
			if m := faultIn.FindStringSubmatch(e.kernelLine(nativeFault)); m != nil {
				s += " in " + m[1]
			}
			return s + quoteLast(e)
		},
		hint:       func(e *Evidence) string { return signalHint(e, lastSignal(e)) },
		confidence: pasar.Certain,
		blame:      pasar.BlameJob,
		evidence:   hostEvidence,
	},
	{
		name: "a forbidden system call, says the kernel's log",
		when: func(e *Evidence) bool { return failedBy(e, syscall.SIGSYS) && e.kernelLine(seccomp) != "" },
		code: pasar.CodeSignal,
		summary: func(e *Evidence) string {
			s := "killed by SIGSYS: a sandbox forbids a system call that it made"
			if m := seccomp.FindStringSubmatch(e.kernelLine(seccomp)); m != nil && m[1] != "" {
				s += " (number " + m[1] + ")"
			}
			return s
		},
		hint:       func(e *Evidence) string { return signalHint(e, lastSignal(e)) },
		confidence: pasar.Certain,
		blame:      pasar.BlameEnvironment,
		evidence:   hostEvidence,
	},
	{
		name: "left after a child was killed for want of memory, says the kernel's log",
		when: func(e *Evidence) bool {
			const ofTools = 124 // statuses from here on say something of themselves
			return failed(e) && e.Exit.Signal == 0 && e.Exit.Code < ofTools && e.kernelLine(kernelOOM) != ""
		},
		code: pasar.CodeKernelOOM,
		summary: func(e *Evidence) string {
			return "the kernel killed a process of it because host memory ran out; then it " + exited(e) + quoteLast(e)
		},
		hint:       sayRAM,
		confidence: pasar.Likely,
		blame:      pasar.BlameMachine,
		evidence:   hostEvidence,
	},
	{
		name: "killed while the kernel killed for want of memory",
		when: func(e *Evidence) bool { return killed(e) && e.OOMKills != nil && *e.OOMKills > 0 && !e.KernelRead },
		code: pasar.CodeKernelOOM,
		summary: func(e *Evidence) string {
			n := "a process"
			if *e.OOMKills > 1 {
				n = fmt.Sprintf("%d processes", *e.OOMKills)
			}
			return fmt.Sprintf("killed by SIGKILL; the kernel killed %s on the machine for want of memory while it ran%s", n, memoryLeft(e))
		},
		hint:       func(e *Evidence) string { return signalHint(e, int(syscall.SIGKILL)) },
		sure:       oomLikely,
		confidence: pasar.Guess,
		blame:      pasar.BlameMachine,
		evidence:   hostEvidence,
	},
	{
		name: "killed, and not by the kernel",
		when: func(e *Evidence) bool { return killed(e) && noOOM(e) },
		code: pasar.CodeSignal,
		summary: func(e *Evidence) string {
			return "killed by SIGKILL from outside pasar; not by the kernel for want of memory" + quoteLast(e)
		},
		hint: func(e *Evidence) string {
			hint := "who sends a signal isn't recorded: a person (kill -9), a container runtime, a memory killer such as earlyoom"
			if left := memoryLeft(e); left != "" {
				hint += "\nwhen it ended" + left
			}
			return hint
		},
		sure: func(e *Evidence) pasar.Confidence {
			if e.Exit.Signal != 0 {
				return pasar.Certain
			}
			return pasar.Likely // a shell says so, or the program
		},
		confidence: pasar.Certain,
		blame:      pasar.BlameEnvironment,
		evidence:   hostEvidence,
	},
}

// What lines of the kernel's log say.
var (
	kernelOOM   = regexp.MustCompile(`^oom-kill:|[Oo]ut of memory: Kill(ed)? process|^oom_reaper: reaped process`)
	memcgOOM    = regexp.MustCompile(`CONSTRAINT_MEMCG|^Memory cgroup out of memory`)
	anonRSS     = regexp.MustCompile(`Killed process \d+ .*\banon-rss:(\d+)kB`)
	poisoned    = regexp.MustCompile(`due to hardware memory corruption`)
	nativeFault = regexp.MustCompile(`segfault at [0-9a-f]+|general protection fault|trap (invalid opcode|divide error|int3|stack segment)|undefined instruction|unhandled [a-z ]{1,40}`)
	faultIn     = regexp.MustCompile(` in ([^\[\],]{1,80})\[`)
	seccomp     = regexp.MustCompile(`type=1326 (?:.*\bsyscall=(\d+))?`)
)

// kernelLine is the first line of the kernel's log that matches; empty: none.
func (e *Evidence) kernelLine(re *regexp.Regexp) string {
	for _, line := range e.Kernel {
		if re.MatchString(line) {
			return line
		}
	}
	return ""
}

// lastSignal is the signal that ended it, by the status or by what a shell says; 0: none.
func lastSignal(e *Evidence) int {
	if e.Exit != nil && e.Exit.Signal != 0 {
		return e.Exit.Signal
	}
	return shellSignal(e)
}

func failedBy(e *Evidence, signals ...syscall.Signal) bool {
	for _, s := range signals {
		if lastSignal(e) == int(s) {
			return true
		}
	}
	return false
}

// killed reports whether SIGKILL ended it.
func killed(e *Evidence) bool { return failedBy(e, syscall.SIGKILL) }

// noOOM reports whether the kernel surely killed nothing of it for want of memory: it counts, and counted none.
func noOOM(e *Evidence) bool {
	if e.Cgroup != nil && e.Cgroup.OOMKill == 0 && e.Cgroup.Oomd == 0 {
		return true
	}
	return e.OOMKills != nil && *e.OOMKills == 0 || e.KernelRead && e.kernelLine(kernelOOM) == ""
}

// oomLikely is how sure it is that it was one of the processes that the kernel killed: the more so the more of the
// machine's memory it had.
func oomLikely(e *Evidence) pasar.Confidence {
	if most := max(e.PeakHost, e.HostPeak); e.HostTotal > 0 && most > e.HostTotal/4 {
		return pasar.Likely
	}
	return pasar.Guess
}

// memoryLeft is what was left of the machine's memory, where that was little; else empty.
func memoryLeft(e *Evidence) string {
	if e.HostTotal <= 0 || e.HostFree > e.HostTotal/10 {
		return ""
	}
	return fmt.Sprintf(", %s of %s were free", e.HostFree, e.HostTotal)
}

// typist is who typed, and how long before the end.
func typist(e *Evidence) string {
	s := or(e.TypedBy, "an attached terminal")
	if e.TypedBefore >= pasar.Duration(1e9) {
		s += fmt.Sprintf(", %s before it ended", e.TypedBefore)
	}
	return s
}

// hostEvidence is the root line and what the kernel's log said.
func hostEvidence(e *Evidence) []pasar.Line {
	lines := lastClueLine(e)
	if c := e.found().kill(); c != nil {
		lines = c.evidence(e)
	} else if c := e.why(); c != nil {
		lines = c.evidence(e)
	}
	kernel := e.Kernel[:min(len(e.Kernel), 3)]
	lines = lines[:min(len(lines), maxLines-len(kernel))]
	for _, k := range kernel {
		lines = append(lines, pasar.Line{Text: oneLine("kernel: "+k, lineRunes)})
	}
	return lines
}
