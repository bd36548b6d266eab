package supervisor

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// hasten makes this process run before all that isn't real-time, if it may, and returns a function that
// undoes it. To look for a job's processes takes milliseconds, but each of the hundreds that such a job
// may have busy gets as much of the processor as we do, and those that lead sessions of their own more.
func hasten() (undo func()) {
	was, err := unix.SchedGetAttr(0, 0)
	if err != nil || was.Policy != unix.SCHED_NORMAL {
		return func() {}
	}
	if !schedule(&unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}) {
		return func() {}
	}
	return func() { schedule(was) }
}

// schedule gives all threads a policy, also those that were made under another.
func schedule(attr *unix.SchedAttr) (all bool) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return false
	}
	for _, t := range tasks {
		tid, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		if err := unix.SchedSetAttr(tid, attr, 0); err != nil && err != unix.ESRCH {
			return false
		}
	}
	return true
}
