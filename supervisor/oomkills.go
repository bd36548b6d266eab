package supervisor

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"
)

// oomKills is how many processes of the whole machine the kernel has killed for want of memory since it booted,
// in whichever cgroup; -1 where it doesn't say.
func oomKills() int64 {
	b, err := readProc("/proc/vmstat", nil, 64<<10)
	if err != nil {
		return -1
	}
	return keyed(b).get("oom_kill")
}

// oomKillsSince is how many more there are now; nil where that isn't known.
func oomKillsSince(was int64) *int64 {
	now := oomKills()
	if was < 0 || now < was {
		return nil
	}
	now -= was
	return &now
}

// countsOOM reports whether the attempt's own cgroup counts what the kernel kills in it.
func (c *cell) countsOOM() bool { return c != nil && c.before.oomKill >= 0 }

// oomd is how many processes of the cell's were killed by a daemon that watches memory: systemd-oomd, and the
// one that it comes from, note that on the cgroup in which they did it.
func (c *cell) oomd() (n int64) {
	for _, dir := range []string{c.job, c.dir} {
		n += killedByOOMD(dir)
	}
	for _, dir := range cgroupsIn(c.job) {
		n += killedByOOMD(dir)
	}
	return n
}

func killedByOOMD(dir string) int64 {
	var b [32]byte
	n, err := unix.Getxattr(dir, "user.oomd_kill", b[:])
	if err != nil {
		return 0
	}
	killed, err := strconv.ParseInt(string(bytes.TrimRight(b[:n], "\x00\n")), 10, 64)
	if err != nil {
		return 0
	}
	return max(0, killed)
}
