package local

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"pasar"
)

// Times of measuring host memory.
const (
	scanEvery = time.Second      // /proc isn't gone through more often
	pssEvery  = 30 * time.Second // the kernel walks all pages of a process for its share of shared ones
)

// A usage is what was measured last, of attempts whose host memory no cgroup counts. It is the roster's.
type usage struct {
	at  time.Time
	by  map[*enrolled]pasar.Bytes
	pss map[identity]share
}

// A share is the part of a process's resident memory that is its own, with what it shares split evenly.
type share struct {
	part float64
	at   time.Time
}

// HostUse is how much host memory each attempt that has processes uses. Where the attempt's cgroup counts
// memory it is that, less what the kernel can take back at once (file pages not used lately); else it is
// what its processes have resident, memory that several share counted once (as of the last half minute).
// It costs a read or two for an attempt with a cgroup, and one look through /proc, at most once a second, for
// all others together.
func (m *Machine) HostUse() map[pasar.AttemptKey]pasar.Bytes {
	r := m.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	m.learn()
	out := map[pasar.AttemptKey]pasar.Bytes{}
	var uncounted []*enrolled
	for _, e := range r.order {
		if e.over {
			continue
		}
		if n, ok := cgroupUse(e.holding.Cgroup); ok {
			if n > 0 {
				out[e.h.Key] = n
			}
			continue
		}
		uncounted = append(uncounted, e)
	}
	if len(uncounted) == 0 {
		return out
	}
	if now := time.Now(); r.use.at.IsZero() || now.Sub(r.use.at) >= scanEvery {
		m.scanUse(now)
	}
	for _, e := range uncounted {
		if n := r.use.by[e]; n > 0 {
			out[e.h.Key] = n
		}
	}
	return out
}

// cgroupUse is what an attempt's own cgroup counts; false if it counts no memory.
func cgroupUse(dir string) (pasar.Bytes, bool) {
	if dir == "" {
		return 0, false
	}
	job := filepath.Join(dir, jobDir)
	b, err := os.ReadFile(filepath.Join(job, "memory.current"))
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
	if err != nil {
		return 0, false
	}
	b, _ = os.ReadFile(filepath.Join(job, "memory.stat"))
	return pasar.Bytes(max(0, n-field(b, "inactive_file "))), true
}

// field is the number after a key that begins a line; 0 if there is none.
func field(b []byte, key string) int64 {
	for line := range bytes.Lines(b) {
		if rest, ok := bytes.CutPrefix(line, []byte(key)); ok {
			if f := bytes.Fields(rest); len(f) > 0 {
				n, _ := strconv.ParseInt(string(f[0]), 10, 64)
				return n
			}
		}
	}
	return 0
}

// scanUse goes through all processes and adds up those of each attempt. What descends from no supervisor is
// looked at once for its nonce, as by AttemptOf.
func (m *Machine) scanUse(now time.Time) {
	u := &m.roster.use
	all := map[int]procStat{}
	for _, pid := range everyPid() {
		if s, err := readStat(pid); err == nil && !s.ended {
			all[pid] = s
		}
	}
	stat := func(pid int) (procStat, error) {
		if s, ok := all[pid]; ok {
			return s, nil
		}
		return procStat{}, os.ErrNotExist
	}
	members := map[*enrolled][]procStat{}
	for _, s := range all {
		if e := m.ownerOf(s, stat, now); e != nil {
			members[e] = append(members[e], s)
		}
	}
	u.at, u.by = now, map[*enrolled]pasar.Bytes{}
	kept := map[identity]share{}
	for e, ms := range members {
		for _, s := range ms {
			n := resident(s)
			if len(ms) > 1 {
				id := identity{s.pid, s.start}
				sh, ok := u.pss[id]
				if !ok || now.Sub(sh.at) >= pssEvery {
					sh = share{ownPart(s, n), now}
				}
				kept[id] = sh
				n = pasar.Bytes(float64(n) * sh.part)
			}
			u.by[e] += n
		}
	}
	u.pss = kept
}

// everyPid lists the processes of this machine.
func everyPid() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// resident is the physical memory that a process has mapped.
func resident(s procStat) pasar.Bytes {
	b, err := os.ReadFile(s.entry() + "/statm")
	if err != nil {
		return 0
	}
	f := bytes.Fields(b)
	if len(f) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(f[1]), 10, 64)
	return pasar.Bytes(pages) * pasar.Bytes(os.Getpagesize())
}

// ownPart is the share of a process's n resident bytes that is its own; 1 where it can't be told.
func ownPart(s procStat, n pasar.Bytes) float64 {
	b, err := os.ReadFile(s.entry() + "/smaps_rollup")
	if err != nil || n <= 0 {
		return 1
	}
	pss := pasar.Bytes(field(b, "Pss:")) * pasar.KiB
	if pss <= 0 {
		return 1
	}
	return min(1, float64(pss)/float64(n))
}
