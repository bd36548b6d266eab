// Package autopsy says why an attempt ended: evidence in, verdict out, purely. Its rules are data.
package autopsy

import "pasar"

// Evidence is all that is known of an attempt's end.
type Evidence struct {
	Exit        *pasar.Exit // nil: it was never seen to end
	LaunchError string      // it never ran
	LaunchStep  string      // chdir, exec, interpreter, pty, fork, claim, …
	Errno       int
	Stop        *pasar.Stop // who asked it to stop
	StopStep    pasar.StopStep
	Lost        string         // why its end is unknown, in words; set only when it is
	Argv0       string         // the program as asked for
	Cwd         string         // the working directory as asked for
	Grace       pasar.Duration // between the request to stop and SIGKILL
	RunTime     pasar.Duration
	PeakHost    pasar.Bytes
	Cgroup      *pasar.CgroupUse // what was counted for the job; nil: nothing
	Log         []pasar.Line     // end of its output, as ReadLog has it
	Output      int64            // bytes written
	Xids        []BlamedXid      // of its GPUs while it ran, in order
	GPULost     []string         // of its GPUs, those that the driver had lost when it ended, in words
	GPUSilent   []string         // those that didn't answer

	Marker *pasar.Marker // what the job left to say that it saved; nil: nothing, and nothing was due
	For    string        // preempted: the job that is to have the room, in words; empty: not known
	Unmet  string        // it waited for a job that didn't end as it must: which, in words; set only then
	Paused bool          // it was paused, and had no attempt under way

	Typed      bool     // an attached terminal sent it Ctrl-C just before it ended; By is who
	TypedBy    string   // whose terminal that was; empty: not known
	Screen     []string // the last screen, of a job that drew on one rather than print lines
	UnitResult string   // what systemd says of its unit, such as oom-kill or timeout; empty or success: nothing
	Kernel     []string // lines of the kernel's log that speak of a process of it, in order

	Untouched bool // it held whole GPUs, and was never seen to have memory of one
}

// Attribute gives the verdict of the first rule that applies. It has one for any evidence; the summary
// is one line of clean text.
func Attribute(e Evidence) pasar.Verdict { return apply(&e).verdict(&e) }

func apply(e *Evidence) *rule {
	for _, g := range groups {
		for i := range g.rules {
			if g.rules[i].when(e) {
				return &g.rules[i]
			}
		}
	}
	return &unexplained // its own condition always holds, so this is never reached
}
