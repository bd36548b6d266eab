package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// usage is what a process has used of the machine so far.
type usage struct {
	ticks   time.Duration // user and system, of all threads that ever were; in steps of 10 ms
	precise time.Duration // of the threads there are, from schedstat; 0 where the kernel doesn't say
	wakeups int64         // times that a thread there is gave up the processor to wait
}

// tick is the unit of /proc/PID/stat: USER_HZ is 100 on every architecture of Linux that Go knows.
const tick = 10 * time.Millisecond

func usageOf(pid int) (usage, error) {
	var u usage
	dir := "/proc/" + strconv.Itoa(pid)
	b, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return u, err
	}
	// The name, in parentheses, may hold anything.
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(f) < 13 {
		return u, fmt.Errorf("read %s/stat: %q", dir, b)
	}
	for _, s := range f[11:13] {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return u, fmt.Errorf("read %s/stat: %w", dir, err)
		}
		u.ticks += time.Duration(n) * tick
	}
	tasks, err := filepath.Glob(dir + "/task/[0-9]*")
	if err != nil {
		return u, err
	}
	for _, t := range tasks {
		if b, err := os.ReadFile(t + "/schedstat"); err == nil {
			n, _ := strconv.ParseInt(firstField(string(b)), 10, 64)
			u.precise += time.Duration(n)
		}
		n, err := statusNumber(t+"/status", "voluntary_ctxt_switches")
		if err != nil {
			return u, err
		}
		u.wakeups += n
	}
	return u, nil
}

// cpu is the best that is known of the processor time between two looks.
func (u usage) since(before usage) time.Duration {
	if before.precise > 0 && u.precise >= before.precise {
		return u.precise - before.precise
	}
	return u.ticks - before.ticks
}

// statusNumber reads one number of a file like /proc/PID/status or smaps_rollup.
func statusNumber(file, key string) (int64, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, key+":"); ok {
			return strconv.ParseInt(firstField(strings.TrimSpace(strings.ReplaceAll(v, "\t", " "))), 10, 64)
		}
	}
	return 0, fmt.Errorf("read %s: no %s", file, key)
}

// mib reads a number of KiB and returns MiB.
func mib(file, key string) (float64, error) {
	n, err := statusNumber(file, key)
	return float64(n) / 1024, err
}

func anonymousMiB(pid int) (float64, error) {
	return mib(fmt.Sprintf("/proc/%d/status", pid), "RssAnon")
}

func pssMiB(pid int) (float64, error) {
	return mib(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss")
}
