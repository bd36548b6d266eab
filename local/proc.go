package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
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

// startTime is when a process started, in clock ticks since boot (proc(5), stat field 22).
func startTime(pid int) (uint64, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	_, start, err := parseStat(b)
	return start, err
}

// alive reports whether the process that had this pid and start time in that boot is there and not a
// zombie.
func alive(boot string, pid int, start uint64) bool {
	if boot != thisBoot() {
		return false
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	state, t, err := parseStat(b)
	return err == nil && t == start && state != 'Z' && state != 'X'
}

// parseStat reads fields 3 and 22 of a stat line. Fields are counted from the last parenthesis, since
// the name in the second may hold anything.
func parseStat(b []byte) (state byte, start uint64, err error) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return 0, 0, errors.New("parse stat: no name")
	}
	f := bytes.Fields(b[i+1:]) // f[0] is field 3
	if len(f) < 20 {
		return 0, 0, fmt.Errorf("parse stat: %d fields", len(f))
	}
	start, err = strconv.ParseUint(string(f[19]), 10, 64)
	return f[0][0], start, err
}

// A hunter kills what an attempt left behind when its supervisor died: every process that carries
// the attempt's nonce in its environment. A daemon or supervisor that the job started is not the
// job's and is spared.
type hunter struct {
	nonce      string
	supervisor os.FileInfo // of the supervisor's binary; nil if it isn't there
}

// clear kills until a look finds nothing, and returns how many processes it killed. It gives up when
// ctx is done, with an error that says how many are left.
func (h hunter) clear(ctx context.Context) (int, error) {
	killed := map[string]bool{} // by pid and start time
	wait := time.Millisecond
	for {
		left := h.killAll(killed)
		if left == 0 {
			return len(killed), nil
		}
		select {
		case <-time.After(wait):
			wait = min(2*wait, 50*time.Millisecond)
		case <-ctx.Done():
			return len(killed), fmt.Errorf("%d processes of the attempt are still there after SIGKILL: %w", left, context.Cause(ctx))
		}
	}
}

// killAll sends SIGKILL to each process of the attempt that it sees, and counts them.
func (h hunter) killAll(killed map[string]bool) (seen int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return 0
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		if id, ok := h.kill(pid); ok {
			seen++
			killed[id] = true
		}
	}
	return seen
}

// kill kills a process if it is of the attempt. The pidfd is taken first: what is then read in /proc
// is of the process it holds, or of nobody.
func (h hunter) kill(pid int) (id string, ours bool) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return "", false
	}
	defer unix.Close(fd)
	before, err := startTime(pid)
	if err != nil || !h.carriesNonce(pid) || h.spared(pid) {
		return "", false
	}
	if after, err := startTime(pid); err != nil || after != before {
		return "", false
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil {
		return "", false
	}
	return fmt.Sprintf("%d/%d", pid, before), true
}

// carriesNonce reads a process's first environment. A zombie has none.
func (h hunter) carriesNonce(pid int) bool {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false // another user's, or gone
	}
	defer f.Close()
	env, err := io.ReadAll(io.LimitReader(f, maxSpec))
	if err != nil {
		return false
	}
	want := []byte("PASAR_NONCE=" + h.nonce)
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.Equal(v, want) {
			return true
		}
	}
	return false
}

func (h hunter) spared(pid int) bool {
	link := "/proc/" + strconv.Itoa(pid) + "/exe"
	if fi, err := os.Stat(link); err == nil && h.supervisor != nil && os.SameFile(fi, h.supervisor) {
		return true
	}
	name, err := os.Readlink(link)
	return err == nil && filepath.Base(name) == "pasard"
}
