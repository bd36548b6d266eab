package local

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
)

// bootID names this boot of the machine; an attempt of another boot is gone.
func bootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return string(bytes.TrimSpace(b)), nil
}

// thisBoot is bootID, read once; empty if it can't be read.
var thisBoot = sync.OnceValue(func() string {
	id, _ := bootID()
	return id
})

// A procStat is what proc(5) says of one process.
type procStat struct {
	pid, ppid, session int
	start              uint64 // clock ticks since boot
	ended              bool   // nothing of it runs any more
	headless           bool   // its first thread has ended, but others run: it looks like a zombie
}

// readStat reads a process's stat.
func readStat(pid int) (procStat, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}, err
	}
	s, err := parseStat(b)
	s.pid = pid
	return s, err
}

// startTime is when a process started, in clock ticks since boot (proc(5), stat field 22).
func startTime(pid int) (uint64, error) {
	s, err := readStat(pid)
	return s.start, err
}

// alive reports whether the process that had this pid and start time in that boot is there and not a
// zombie.
func alive(boot string, pid int, start uint64) bool {
	if boot != thisBoot() {
		return false
	}
	s, err := readStat(pid)
	return err == nil && s.start == start && !s.ended
}

// parseStat reads fields 3, 4, 6, 20 and 22 of a stat line. Fields are counted from the last parenthesis,
// since the name in the second may hold anything.
func parseStat(b []byte) (procStat, error) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return procStat{}, errors.New("parse stat: no name")
	}
	f := bytes.Fields(b[i+1:]) // f[0] is field 3
	if len(f) < 20 {
		return procStat{}, fmt.Errorf("parse stat: %d fields", len(f))
	}
	var n [4]uint64
	for i, at := range [...]int{1, 3, 17, 19} {
		v, err := strconv.ParseUint(string(f[at]), 10, 64)
		if err != nil {
			return procStat{}, fmt.Errorf("parse stat: %w", err)
		}
		n[i] = v
	}
	state, threads := f[0][0], n[2]
	s := procStat{ppid: int(n[0]), session: int(n[1]), start: n[3], headless: state == 'Z' && threads > 1}
	s.ended = (state == 'Z' || state == 'X') && !s.headless
	return s, nil
}

// entry is where in /proc to read of a process what a thread that has ended doesn't have any more: its
// environment and its program.
func (s procStat) entry() string {
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
