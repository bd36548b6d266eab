package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"pasar"
)

func examineTerminals(_ context.Context, p *patient) []finding {
	if !p.mounted("/dev/pts", "devpts") {
		return []finding{found(devptsMissing, "mount -t devpts devpts /dev/pts -o newinstance,ptmxmode=0666,mode=620",
			"devpts is not mounted on /dev/pts: jobs can't be given a terminal")}
	}
	if err := p.openPTY(); err != nil {
		return []finding{found(ptmxBroken, "let /dev/ptmx be opened for reading and writing (mode 0666), and mount devpts",
			"jobs can't be given a terminal: %v", err)}
	}
	most, ok1 := p.number("/proc/sys/kernel/pty/max")
	used, ok2 := p.number("/proc/sys/kernel/pty/nr")
	if ok1 && ok2 && most-used < 16 {
		return []finding{found(ptysFew, fmt.Sprintf("sysctl kernel.pty.max=%d", 2*most), "%d of the machine's %d terminals are in use", used, most)}
	}
	return []finding{found(terminalsFine, "", "jobs can be given terminals")}
}

// number is what a file of one number says.
func (e *doctorEnv) number(path string) (int, bool) {
	s, err := e.read(path)
	n, err2 := strconv.Atoi(s)
	return n, err == nil && err2 == nil
}

// A mount is one line of mountinfo (proc(5)).
type mount struct {
	point, fsType string
	options       []string // per mount, then per file system
}

func parseMounts(mountinfo string) []mount {
	var mounts []mount
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 6 || len(g) < 3 {
			continue
		}
		mounts = append(mounts, mount{point: f[4], fsType: g[0], options: strings.Split(f[5]+","+g[2], ",")})
	}
	return mounts
}

// mounted is whether a mount point shows a file system of that type. What can't be read counts as
// mounted: then /proc is what is wrong.
func (e *doctorEnv) mounted(point, fsType string) bool {
	text, err := e.read("/proc/self/mountinfo")
	if err != nil {
		return true
	}
	is := false
	for _, m := range parseMounts(text) { // the last one on a point is on top
		if m.point == point {
			is = m.fsType == fsType
		}
	}
	return is
}

func examineProc(_ context.Context, p *patient) []finding {
	if _, err := p.read("/proc/self/stat"); err != nil {
		return []finding{found(procMissing, "mount -t proc proc /proc", "/proc can't be read, and nothing is known about processes without: %v", err)}
	}
	if _, err := p.read("/proc/self/environ"); err != nil {
		return []finding{found(procEnviron, "let processes read the environ of their own user in /proc",
			"environments of processes can't be read (%v): what a dead supervisor leaves behind is not found", err)}
	}
	text, _ := p.read("/proc/self/mountinfo")
	for _, m := range parseMounts(text) {
		if m.point != "/proc" {
			continue
		}
		for _, o := range m.options {
			if v, ok := strings.CutPrefix(o, "hidepid="); ok && v != "0" && v != "off" {
				return []finding{found(procHides, "mount -o remount,hidepid=0 /proc, if the machine's owner agrees",
					"/proc hides processes of other users (hidepid=%s): your jobs are seen, what others run on a GPU has no name", v)}
			}
		}
	}
	return []finding{found(procFine, "", "/proc shows processes and their environments")}
}

func examineLimits(_ context.Context, p *patient) []finding {
	var out []finding
	text := func(n uint64) string {
		if n == unix.RLIM_INFINITY {
			return "any number of"
		}
		return strconv.FormatUint(n, 10)
	}
	files, err := p.rlimit(p.daemonPid(), unix.RLIMIT_NOFILE)
	if err == nil && files.Max < 1024 {
		out = append(out, found(filesFew, "raise the hard limit `ulimit -Hn` to 4096 or more (/etc/security/limits.conf, or LimitNOFILE= of the unit)",
			"only %d files can be open at once: hundreds of clients and jobs won't do", files.Max))
	}
	procs, err2 := p.rlimit(p.daemonPid(), unix.RLIMIT_NPROC)
	if err2 == nil && p.uid != 0 && procs.Cur < 512 { // root isn't bound by it
		out = append(out, found(processesFew, "raise `ulimit -u` to 4096 or more (/etc/security/limits.conf)",
			"you may have only %d processes and threads at once: jobs may fail to start threads", procs.Cur))
	}
	if len(out) == 0 {
		out = append(out, found(limitsFine, "", "%s open files, %s processes", text(files.Max), text(procs.Cur)))
	}
	return out
}

const capSysResource = 24 // capabilities(7)

// How supervisors set themselves apart from their jobs (oom_score_adj, proc(5)).
const (
	oomProtected = -900
	oomApart     = 200
	oomMost      = 1000
)

// examineMemory says whom the kernel kills first when memory runs out.
func examineMemory(_ context.Context, p *patient) []finding {
	own, _ := p.number(p.proc("oom_score_adj"))
	switch {
	case p.capable(capSysResource):
		return []finding{found(memoryProtected, "", "when memory runs out, the kernel kills jobs (oom score 0) before their supervisors (%d)", oomProtected)}
	case own < 0:
		return []finding{found(memoryProtected, "", "when memory runs out, the kernel kills jobs (oom score 0) before their supervisors (%d)", own)}
	case own+oomApart > oomMost:
		return []finding{found(memoryCrowded, "start pasard with a lower oom_score_adj (OOMScoreAdjust= of its unit)",
			"the oom score here is %d, so that jobs can't be set %d above their supervisors: the kernel may kill a supervisor first", own, oomApart)}
	}
	return []finding{found(memoryApart, "give pasard the capability CAP_SYS_RESOURCE to have supervisors at -900, jobs at 0",
		"when memory runs out, the kernel kills jobs (oom score %d) before their supervisors (%d), and those like any other program", own+oomApart, own)}
}

// capable is whether the daemon, or else this program, has a capability in force.
func (p *patient) capable(bit int) bool {
	text, _ := p.read(p.proc("status"))
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, "CapEff:"); ok {
			set, err := strconv.ParseUint(strings.TrimSpace(v), 16, 64)
			return err == nil && set>>bit&1 == 1
		}
	}
	return false
}

// shmUsual is what containers give when they aren't told otherwise: too little for data loaders.
const shmUsual = 64 * pasar.MiB

func examineShm(_ context.Context, p *patient) []finding {
	s, err := p.statfs(p.path("/dev/shm"))
	switch {
	case err != nil || !p.exists("/dev/shm"):
		if err == nil {
			err = errors.New("it does not exist")
		}
		return []finding{found(shmMissing, "mount -t tmpfs tmpfs /dev/shm -o mode=1777", "/dev/shm can't be used: %v; data loaders with several processes fail", err)}
	case s.total <= shmUsual:
		return []finding{found(shmSmall, "mount -o remount,size=50% /dev/shm; in a container: --shm-size=16g or --ipc=host",
			"/dev/shm has only %s: data loaders with several processes fail when it is full", s.total)}
	}
	return []finding{found(shmFine, "", "/dev/shm has %s, %s free", s.total, s.free)}
}

func examineClocks(_ context.Context, p *patient) []finding {
	if _, err := p.mono(); err != nil {
		return []finding{found(clockBroken, "run a kernel that has CLOCK_BOOTTIME (Linux 2.6.39)", "the clock since boot can't be read: %v", err)}
	}
	now := p.now().UTC()
	if now.Year() < 2025 {
		return []finding{found(clockEarly, "set the clock, and keep it by NTP (`timedatectl set-ntp true`)", "it is %s by the clock", now.Format("2006-01-02 15:04"))}
	}
	return []finding{found(clocksFine, "", "%s by the clock", now.Format("2006-01-02 15:04:05 UTC"))}
}
