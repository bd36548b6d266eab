package supervisor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// A stat is what proc(5) says of one process. A pid alone is reused; with its start time it isn't.
type stat struct {
	pid, ppid, pgrp, session int
	start                    uint64 // clock ticks since boot
	zombie                   bool   // nothing of it runs any more
	stopped                  bool   // by a signal
	headless                 bool   // its first thread has ended, but others run: it looks like a zombie
	thread                   bool   // it has an entry in /proc that isn't listed, but is no process
}

// readStat reads /proc/pid/stat. The name in it may hold spaces and parentheses, so fields are
// counted from the last one.
func readStat(pid int) (stat, error) {
	var buf [1024]byte // a stat is some 300 bytes
	b, err := readProc("/proc/"+strconv.Itoa(pid)+"/stat", buf[:0], len(buf))
	if err != nil {
		return stat{}, err
	}
	return parseStat(pid, b)
}

// readProc appends at most limit bytes of a file of procfs to buf. All of a machine's processes are
// gone through at the end of a job, and a plain open, read and close is a third of the system calls
// that package os makes for each.
func readProc(path string, buf []byte, limit int) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for len(buf) < limit {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, max(4096, len(buf)))
		}
		n, err := unix.Read(fd, buf[len(buf):min(cap(buf), limit)])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
		buf = buf[:len(buf)+n]
	}
	return buf, nil
}

func parseStat(pid int, b []byte) (stat, error) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return stat{}, fmt.Errorf("parse stat of %d: no name", pid)
	}
	f := bytes.Fields(b[i+1:]) // f[0] is field 3, the state
	if len(f) < 20 {
		return stat{}, fmt.Errorf("parse stat of %d: %d fields", pid, len(f))
	}
	s := stat{pid: pid}
	var threads int
	for _, v := range []struct {
		at int
		to *int
	}{{1, &s.ppid}, {2, &s.pgrp}, {3, &s.session}, {17, &threads}} {
		n, err := strconv.Atoi(string(f[v.at]))
		if err != nil {
			return stat{}, fmt.Errorf("parse stat of %d: %w", pid, err)
		}
		*v.to = n
	}
	n, err := strconv.ParseUint(string(f[19]), 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("parse stat of %d: %w", pid, err)
	}
	s.start = n
	s.stopped = f[0][0] == 'T'
	s.headless = f[0][0] == 'Z' && threads > 1
	s.zombie = (f[0][0] == 'Z' || f[0][0] == 'X') && !s.headless
	s.thread = len(f) > 35 && string(f[35]) == "-1" // the signal to send at its end: threads have none
	return s, nil
}

// entry is where in /proc to read of a process what a thread that has ended doesn't have any more: its
// environment and its program.
func (s stat) entry() string {
	own := "/proc/" + strconv.Itoa(s.pid)
	if !s.headless {
		return own
	}
	tasks, _ := os.ReadDir(own + "/task")
	for _, t := range tasks {
		if tid, err := strconv.Atoi(t.Name()); err == nil && tid != s.pid {
			return own + "/task/" + t.Name()
		}
	}
	return own
}

// signalProcess signals exactly the process that s describes, by way of a pidfd; a process that has
// gone is no error.
func signalProcess(s stat, sig unix.Signal) error {
	fd, err := unix.PidfdOpen(s.pid, 0)
	if errors.Is(err, unix.ENOSYS) {
		if now, err := readStat(s.pid); err != nil || now.start != s.start {
			return nil
		}
		return ignoreGone(unix.Kill(s.pid, sig))
	}
	if err != nil {
		return ignoreGone(err)
	}
	defer unix.Close(fd)
	// The pidfd holds whoever has the pid now; only then is its start time a proof.
	if now, err := readStat(s.pid); err != nil || now.start != s.start {
		return nil
	}
	return ignoreGone(unix.PidfdSendSignal(fd, sig, nil, 0))
}

func ignoreGone(err error) error {
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}
