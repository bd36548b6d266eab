package local

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// A hunter kills what an attempt left behind when its supervisor died: every process that carries the
// attempt's nonce in its environment, what is in the session that the supervisor led, and what descends
// from those. A daemon or supervisor that the job started is not the job's and is spared.
type hunter struct {
	nonce  string
	leader int      // pid of the dead supervisor, and so its session's number
	born   uint64   // its start time
	spare  []string // paths of pasar's own programs
}

func newHunter(nonce string, leader int, born uint64, supervisor string) hunter {
	dir := filepath.Dir(supervisor)
	return hunter{nonce: nonce, leader: leader, born: born, spare: []string{
		supervisor, filepath.Join(dir, "pasard"), filepath.Join(dir, "..", "..", "bin", "pasard")}}
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
	for _, s := range h.find() {
		if kill(s) {
			seen++
			killed[fmt.Sprintf("%d/%d", s.pid, s.start)] = true
		}
	}
	return seen
}

// find lists the attempt's living processes.
func (h hunter) find() []procStat {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	all := make(map[int]procStat, len(names))
	kids := make(map[int][]int, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, err := readStat(pid); err == nil {
			all[pid] = s
			kids[s.ppid] = append(kids[s.ppid], pid)
		}
	}
	// The number of a session isn't given to a new process while one is in the session. If somebody else
	// has it, there was none left.
	lead, there := all[h.leader]
	session := h.leader > 1 && (!there || lead.start == h.born)
	ours := make(map[int]bool)
	var found []procStat
	var take func(procStat)
	take = func(s procStat) {
		if ours[s.pid] || s.pid == os.Getpid() || s.start < h.born || h.spared(s) {
			return
		}
		ours[s.pid] = true
		if !s.ended {
			found = append(found, s)
		}
		for _, kid := range kids[s.pid] {
			take(all[kid])
		}
	}
	for _, s := range all {
		if s.ended {
			continue
		}
		nonce := h.nonceOf(s)
		if nonce == h.nonce || nonce == "" && session && s.session == h.leader {
			take(s)
		}
	}
	return found
}

// kill kills exactly the process that s describes, and reports whether it was there. The pidfd is taken
// first: what is then read in /proc is of the process it holds, or of nobody.
func kill(s procStat) bool {
	fd, err := unix.PidfdOpen(s.pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	if now, err := readStat(s.pid); err != nil || now.start != s.start || now.ended {
		return false
	}
	return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil
}

// nonceOf is the nonce in a process's first environment; empty if it has none or can't be asked.
func (h hunter) nonceOf(s procStat) string {
	f, err := os.Open(s.entry() + "/environ")
	if err != nil {
		return "" // another user's, or gone
	}
	defer f.Close()
	env, err := io.ReadAll(io.LimitReader(f, maxSpec))
	if err != nil {
		return ""
	}
	first := ""
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if n, ok := bytes.CutPrefix(v, []byte("PASAR_NONCE=")); ok && (first == "" || string(n) == h.nonce) {
			first = string(n)
		}
	}
	return first
}

// spared reports whether a process runs one of pasar's own programs, by the file and not by its name. One
// that was replaced meanwhile is told by where it was.
func (h hunter) spared(s procStat) bool {
	link := s.entry() + "/exe"
	runs, err := os.Stat(link)
	name, nerr := os.Readlink(link)
	for _, path := range h.spare {
		if fi, serr := os.Stat(path); err == nil && serr == nil && os.SameFile(runs, fi) {
			return true
		}
		if nerr == nil && name == path+" (deleted)" {
			return true
		}
	}
	return false
}
