package autopsy

import (
	"fmt"
	"syscall"

	"pasar"
)

// memoryRules go by what the kernel counted in the attempt's cgroup: processes that it killed for want of
// host memory. A job that lived through it, and completed or was stopped, is judged before. One that
// somebody ended from outside wasn't ended by that.
var memoryRules = []rule{
	{
		name: "over its own limit on host memory",
		when: func(e *Evidence) bool { return memoryKilled(e) && e.Cgroup.OwnLimit && e.Cgroup.OOM != 0 },
		code: pasar.CodeKernelOOM,
		summary: func(e *Evidence) string {
			return killedFor(e, fmt.Sprintf("over its %s of host memory (--ram)", e.Cgroup.MemoryMax))
		},
		hint:       say("`pasar restart --ram` gives it more; else let it use less: fewer or smaller worker processes, less read ahead, data mapped and not copied"),
		confidence: pasar.Certain,
		blame:      pasar.BlameJob,
		evidence:   memoryEvidence,
	},
	{
		name: "over a limit on host memory above",
		when: func(e *Evidence) bool {
			return memoryKilled(e) && !e.Cgroup.OwnLimit && e.Cgroup.MemoryMax >= 0 && e.Cgroup.OOM != 0
		},
		code: pasar.CodeKernelOOM,
		summary: func(e *Evidence) string {
			return killedFor(e, fmt.Sprintf("over the %s of host memory that its cgroup allows to all in it", e.Cgroup.MemoryMax))
		},
		hint:       say("the limit is the container's, or MemoryMax of a systemd slice or unit: raise it there, or run less beside this job"),
		confidence: pasar.Certain,
		blame:      pasar.BlameEnvironment,
		evidence:   memoryEvidence,
	},
	{
		name:       "over a limit on host memory that it set",
		when:       func(e *Evidence) bool { return memoryKilled(e) && e.Cgroup.OOM > 0 },
		code:       pasar.CodeKernelOOM,
		summary:    func(e *Evidence) string { return killedFor(e, "over a limit on host memory in its own cgroups") },
		hint:       say("the job, or a container that it started, set that limit"),
		confidence: pasar.Certain,
		blame:      pasar.BlameJob,
		evidence:   memoryEvidence,
	},
	{
		name:       "the machine was out of host memory",
		when:       memoryKilled,
		code:       pasar.CodeKernelOOM,
		summary:    func(e *Evidence) string { return killedFor(e, "the machine was out of host memory") },
		hint:       say("say with --ram what it needs, so that it starts when that is free; `journalctl -k` says what else used memory"),
		confidence: pasar.Certain,
		blame:      pasar.BlameMachine,
		evidence:   memoryEvidence,
	},
}

// memoryKilled reports whether the kernel killed the main process for want of memory, or another process of
// the job, without which it then failed.
func memoryKilled(e *Evidence) bool {
	return e.Cgroup != nil && e.Cgroup.OOMKill > 0 && e.Exit != nil && !interrupts[e.Exit.Signal] && !interrupts[shellSignal(e)] && !e.found().outlivedKill()
}

// killedFor says who was killed for what, and what it did to the job.
func killedFor(e *Evidence, what string) string {
	if e.Exit.Signal == int(syscall.SIGKILL) {
		return "killed by the kernel: " + what
	}
	n := "a process"
	if e.Cgroup.OOMKill > 1 {
		n = fmt.Sprintf("%d processes", e.Cgroup.OOMKill)
	}
	end := exited(e)
	if e.Exit.Signal != 0 {
		end = "was killed by " + signalName(e.Exit.Signal)
	}
	return fmt.Sprintf("the kernel killed %s of it: %s; then it %s", n, what, end)
}

// memoryEvidence is the line that speaks of it, if any, and what the kernel counted.
func memoryEvidence(e *Evidence) []pasar.Line {
	var lines []pasar.Line
	if c := e.found().kill(); c != nil {
		lines = append(lines, c.evidence(e)[0])
	} else if c := e.why(); c != nil {
		lines = append(lines, c.evidence(e)[0])
	}
	c := e.Cgroup
	s := fmt.Sprintf("the job's cgroup counted oom_kill %d", c.OOMKill)
	if c.OOM >= 0 {
		s += fmt.Sprintf(", oom %d", c.OOM)
	}
	if c.MemoryMax >= 0 {
		s += fmt.Sprintf("; limit %s", c.MemoryMax)
	}
	if c.MemoryPeak >= 0 {
		s += fmt.Sprintf("; at most %s were used", c.MemoryPeak)
	}
	if c.SwapPeak > 0 {
		s += fmt.Sprintf(" and %s of swap", c.SwapPeak)
	}
	return append(lines, pasar.Line{Text: s})
}
