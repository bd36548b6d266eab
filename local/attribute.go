package local

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"pasar"
	"pasar/target"
)

// AttemptOf is the attempt that a process of this machine belongs to; false if it is nobody's: a stranger, or
// one of pasar's own programs. It is by the cgroup of the attempt, which holds for what is in a container
// there too; else by the nonce in its environment; else by its descent from the attempt's supervisor. Asking
// again costs one read of /proc. It holds for attempts that are over as long as something of them is left. Of a
// pid that nobody has any more it is whose the last process was that was seen with it: a GPU's fault names the
// process that it killed.
func (m *Machine) AttemptOf(pid int) (pasar.AttemptKey, bool) {
	if pid <= 0 {
		return pasar.AttemptKey{}, false
	}
	m.roster.mu.Lock()
	defer m.roster.mu.Unlock()
	var e *enrolled
	if s, err := readStat(pid); err == nil {
		e = m.ownerOf(s, readStat, time.Now())
	} else {
		e = m.roster.lastWith(pid)
	}
	if e == nil {
		return pasar.AttemptKey{}, false
	}
	return e.h.Key, true
}

// AttemptIn is the attempt that a cgroup belongs to, or is below the cgroup of, the supervisor's part included: what
// befalls that is the attempt's end. It is false if it is nobody's. The path is the kernel's, from the root of all.
func (m *Machine) AttemptIn(cgroup string) (pasar.AttemptKey, bool) {
	dirs := strings.Split(cgroup, "/")
	m.roster.mu.Lock()
	defer m.roster.mu.Unlock()
	for i := len(dirs) - 1; i >= 0; i-- {
		if !ownName.MatchString(dirs[i]) {
			continue
		}
		m.learn()
		if e := m.roster.cgroups[dirs[i]]; e != nil {
			return e.h.Key, true
		}
		break
	}
	return pasar.AttemptKey{}, false
}

// ownerOf finds whose a process is, nil for nobody's; stat tells of others. The roster is locked.
func (m *Machine) ownerOf(s procStat, stat func(int) (procStat, error), now time.Time) *enrolled {
	id := identity{s.pid, s.start}
	if f, ok := m.roster.seen[id]; ok && (f.of != nil || now.Sub(f.at) < seenNot) {
		return f.of
	}
	m.learn()
	f := finding{of: m.attribute(s, stat), at: now}
	// The pid may have gone to another while its files were read.
	if again, err := readStat(s.pid); err == nil && again.start == s.start {
		m.roster.remember(id, f)
		return f.of
	}
	return nil
}

// attribute looks at a process.
func (m *Machine) attribute(s procStat, stat func(int) (procStat, error)) *enrolled {
	if m.pasars(s) {
		return nil
	}
	if name, part := cgroupName(s); name != "" {
		if e := m.roster.cgroups[name]; e != nil && part == jobDir {
			return e
		}
		return nil // a supervisor, or of another daemon's attempt
	}
	if e, told := m.byNonce(s); told {
		return e
	}
	return m.byDescent(s, stat)
}

// pasars reports whether a process runs one of pasar's own programs, which are never of a job.
func (m *Machine) pasars(s procStat) bool {
	return newHunter("", 0, 0, m.o.Supervisor).spared(s)
}

// cgroupName is the name of the innermost cgroup of a process that is an attempt's own, and the part of it
// that the process is in; empty if it is in none.
func cgroupName(s procStat) (name, part string) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(s.pid) + "/cgroup")
	if err != nil {
		return "", ""
	}
	for line := range strings.Lines(string(b)) {
		path, unified := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::")
		if !unified {
			continue
		}
		dirs := strings.Split(strings.TrimSuffix(path, " (deleted)"), "/")
		for i := len(dirs) - 1; i >= 0; i-- {
			if !ownName.MatchString(dirs[i]) {
				continue
			}
			if i+1 < len(dirs) {
				part = dirs[i+1]
			}
			return dirs[i], part
		}
	}
	return "", ""
}

// byNonce goes by what the process's first environment says; told is false if it says nothing. A nonce that
// isn't of an attempt of ours is another daemon's: its processes descend from our job at most.
func (m *Machine) byNonce(s procStat) (e *enrolled, told bool) {
	env := readEnviron(s)
	nonce, ok := env["PASAR_NONCE"]
	if !ok {
		return nil, false
	}
	if e := m.roster.nonces[nonce]; e != nil {
		return e, true
	}
	// One that ended before this daemon began, and of which something is left all the same.
	job, err := strconv.ParseInt(env["PASAR_JOB_ID"], 10, 64)
	attempt, aerr := strconv.Atoi(env["PASAR_ATTEMPT"])
	if err != nil || aerr != nil || job <= 0 || attempt <= 0 {
		return nil, true
	}
	h := target.Handle{Key: pasar.AttemptKey{Job: pasar.JobID(job), Attempt: attempt}, Nonce: nonce}
	if known, err := nonceOf(m.attemptDir(h.Key)); err != nil || known == "" || known != nonce {
		return nil, true
	}
	return &enrolled{h: h, over: true}, true
}

// readEnviron reads what pasar said to a process in its first environment; the first of several counts, as for
// getenv(3). It is empty for another user's process and for one that has ended.
func readEnviron(s procStat) map[string]string {
	f, err := os.Open(s.entry() + "/environ")
	if err != nil {
		return nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSpec))
	if err != nil {
		return nil
	}
	env := map[string]string{}
	for v := range bytes.SplitSeq(b, []byte{0}) {
		if !bytes.HasPrefix(v, []byte("PASAR_")) {
			continue
		}
		k, value, _ := strings.Cut(string(v), "=")
		if _, again := env[k]; !again {
			env[k] = value
		}
	}
	return env
}

// deepest bounds a walk to the root of all processes.
const deepest = 1000

// byDescent goes up from a process to the supervisor that it descends from: orphans come back to it, so as long
// as it lives its whole job does. Another of pasar's programs on the way means that it is that one's.
func (m *Machine) byDescent(s procStat, stat func(int) (procStat, error)) *enrolled {
	for range deepest {
		if e := m.roster.sups[s.session]; e != nil && !e.over && e.lives() {
			return e // the supervisor leads the session
		}
		parent, err := stat(s.ppid)
		if err != nil || s.ppid <= 1 || parent.start > s.start {
			return nil
		}
		if e := m.roster.sups[parent.pid]; e != nil && e.holding.StartTime == parent.start {
			return e
		}
		if m.pasars(parent) {
			return nil
		}
		s = parent
	}
	return nil
}

// lives reports whether the attempt's supervisor is there, so that its pid is nobody else's session.
func (e *enrolled) lives() bool {
	return alive(e.holding.Boot, e.holding.Pid, e.holding.StartTime)
}
