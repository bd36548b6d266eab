package supervisor

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// A family finds every process of the job: what descends from the supervisor (orphans come back to
// it, as it is their reaper), what is in the session of the main process, and what carries the
// attempt's nonce in its environment. A pasard that the job started, and its supervisors, are not of
// the job: they outlive it.
type family struct {
	self  int
	sid   int           // the session of the main process; the supervisor leads it, or the main process does
	main  stat          // the main process
	born  time.Duration // when it was started, by the boot-time clock
	nonce []byte        // PASAR_NONCE=…
	own   programs
	cell  *cell // what is in its part for the job is of the job; nil: there is none
}

func newFamily(main stat, born time.Duration, nonce string, c *cell) *family {
	return &family{cell: c, self: os.Getpid(), sid: main.session, main: main, born: born,
		nonce: []byte("PASAR_NONCE=" + nonce), own: ownPrograms()}
}

// A member is a living process of the job. Strays belong only by the nonce, so that their process
// group may hold processes that are not of the job.
type member struct {
	stat
	stray  bool
	celled bool // it is in the job's cgroup
}

// anyChild reports whether the supervisor has a child, dead or alive. Without one nothing descends
// from it, and as orphans come back to it, nothing is left of the main process's session either.
func anyChild() bool {
	err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err != unix.ECHILD
}

// youngFor is how long after its start a job's processes are surely the ones with higher pids than
// its main one: pids go round only after some tens of thousands.
const youngFor = 2 * time.Second

// newestPid is the pid made last on this machine; 0 if it can't be told.
func newestPid() int {
	var buf [128]byte
	b, err := readProc("/proc/loadavg", buf[:0], len(buf))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(b)
	if len(fields) < 5 {
		return 0
	}
	pid, _ := strconv.Atoi(string(fields[4]))
	return pid
}

// members lists the living processes of the job: those in its cgroup and, once there are none, those that
// left it. They are rare, and to find them /proc must be gone through.
func (f *family) members() []member {
	if in, _ := f.celled(); len(in) > 0 {
		return in
	}
	return f.related()
}

// everyone lists all living processes of the job.
func (f *family) everyone() []member {
	all, _ := f.celled()
	in := make(map[int]bool, len(all))
	for _, m := range all {
		in[m.pid] = true
	}
	for _, m := range f.related() {
		if !in[m.pid] {
			all = append(all, m)
		}
	}
	return all
}

// populated reports whether something runs in the job's cgroup.
func (f *family) populated() bool { return f.cell != nil && f.cell.populated() }

// celled lists the living processes of the job that are in its cgroup, and counts those there that are
// spared.
func (f *family) celled() (found []member, guests int) {
	if !f.populated() {
		return nil, 0
	}
	pids := f.cell.pids()
	in := make(map[int]bool, len(pids))
	for _, pid := range pids {
		in[pid] = true
	}
	for _, pid := range pids {
		s, err := readStat(pid)
		switch {
		case err != nil || s.zombie || pid == f.self:
		case f.spared(s):
			guests++
		default:
			// A process group that somebody else leads may hold processes that are not of the job.
			found = append(found, member{stat: s, stray: !in[s.pgrp] && s.session != f.sid, celled: true})
		}
	}
	return found, guests
}

// kill kills all that is in the job's cgroup at one stroke. It is false when that can't be done, or not
// without harm to a process that is spared.
func (f *family) kill() bool {
	if !f.populated() {
		return false
	}
	// Hundreds that are busy would leave us no time to look at them.
	f.cell.freeze(true)
	members, guests := f.celled()
	if guests == 0 && f.cell.kill() == nil {
		return true
	}
	for _, m := range members {
		_ = signalProcess(m.stat, unix.SIGKILL)
	}
	f.cell.freeze(false)
	return false
}

// related lists the living processes of the job by descent, session and nonce.
func (f *family) related() []member {
	above := 0 // pids up to here needn't be looked at
	var all map[int]stat
	if newest := newestPid(); newest >= f.main.pid && bootTime()-f.born < youngFor {
		if newest == f.main.pid && !anyChild() {
			return nil // nothing was started after the main process
		}
		above = f.main.pid - 1
		all = probeProcesses(f.main.pid, newest)
	}
	if all == nil {
		all = listProcesses(above)
	}
	kids := make(map[int][]int, len(all))
	for pid, s := range all {
		kids[s.ppid] = append(kids[s.ppid], pid)
	}
	ours := make(map[int]bool)
	var found []member
	var walk func(pid int)
	walk = func(pid int) {
		for _, kid := range kids[pid] {
			s := all[kid]
			if ours[kid] || f.spared(s) {
				continue
			}
			ours[kid] = true
			if !s.zombie {
				found = append(found, member{stat: s})
			}
			walk(kid)
		}
	}
	walk(f.self)
	for pid, s := range all {
		switch {
		case ours[pid] || s.zombie || pid == f.self || s.start < f.main.start:
		case s.session == f.sid || s.pgrp == f.main.pid:
			found = append(found, member{stat: s})
		case f.carriesNonce(s) && !f.spared(s):
			found = append(found, member{stat: s, stray: true})
		}
	}
	return found
}

// spared reports whether a process is pasar's own: one that runs the file we run, or a daemon. They are
// told by the file, since anybody can give a program a name.
func (f *family) spared(s stat) bool {
	if s.session == f.sid || s.zombie {
		return false // the daemon and supervisors lead sessions of their own
	}
	return f.own.run(s)
}

// carriesNonce reports whether a process was started with the attempt's nonce in its environment.
func (f *family) carriesNonce(s stat) bool {
	const limit = 4 << 20
	env, err := readProc(s.entry()+"/environ", make([]byte, 0, 8<<10), limit)
	if err != nil {
		return false // another user's, or gone
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.Equal(v, f.nonce) {
			return true
		}
	}
	return false
}

// probeMost is up to how many pids asking for each is cheaper than listing /proc, where the kernel
// makes an entry for every process of the machine.
const probeMost = 256

// probeProcesses reads the stat of every process from one pid on, up to the newest one. It goes upwards
// and to the last one made meanwhile: who forks and ends while we look has a child further up. It is nil
// if there are too many.
func probeProcesses(from, newest int) map[int]stat {
	all := make(map[int]stat)
	for pid := from; pid <= newest; {
		if newest-from >= probeMost {
			return nil
		}
		for ; pid <= newest; pid++ {
			if s, err := readStat(pid); err == nil && !s.thread {
				all[pid] = s
			}
		}
		latest := newestPid()
		if latest < newest {
			return nil // they went round
		}
		newest = latest
	}
	return all
}

// listProcesses reads the stat of every process with a pid above a bound.
func listProcesses(above int) map[int]stat {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	all := make(map[int]stat, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid <= above {
			continue
		}
		if s, err := readStat(pid); err == nil {
			all[pid] = s
		}
	}
	return all
}
