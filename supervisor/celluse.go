package supervisor

import (
	"bytes"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"pasar"
)

// A tally is how often a cgroup's limit on memory was met; -1 where that isn't counted.
type tally struct {
	max, oom int64
}

// A use is what was counted up to a moment: in the job's part of the cell, and for each cgroup above it,
// innermost first, at that cgroup's own limit.
type use struct {
	job       tally
	oomKill   int64
	pidsMax   int64
	ancestors []tally
}

func isCgroup(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && st.Type == unix.CGROUP2_SUPER_MAGIC
}

// count reads the counters.
func (c *cell) count() use {
	events := readKeyed(c.job, "memory.events")
	u := use{job: tally{events.get("max"), events.get("oom")}, oomKill: events.get("oom_kill"),
		pidsMax: readKeyed(c.job, "pids.events").get("max")}
	for _, d := range c.above {
		// Its own events only: those of the job's part are counted there.
		e := readKeyed(d, "memory.events.local")
		u.ancestors = append(u.ancestors, tally{e.get("max"), e.get("oom")})
	}
	return u
}

// spent is what was used and counted since the fork. The limit that it names is the innermost one that left
// no memory, else the smallest: that is the one that counts.
func (c *cell) spent() *pasar.CgroupUse {
	now := c.count()
	u := &pasar.CgroupUse{
		MemoryMax:  readBytes(c.job, "memory.max"),
		MemoryPeak: readBytes(c.job, "memory.peak"),
		SwapPeak:   readBytes(c.job, "memory.swap.peak"),
		OOMKill:    since(c.before.oomKill, now.oomKill),
		PidsMax:    since(c.before.pidsMax, now.pidsMax),
		MaxEvents:  since(c.before.job.max, now.job.max),
		OOM:        since(c.before.job.oom, now.job.oom),
	}
	u.Oomd = c.oomd()
	u.OwnLimit = u.MemoryMax >= 0
	if u.OwnLimit && u.OOM > 0 {
		return u
	}
	for i, d := range c.above {
		limit := readBytes(d, "memory.max")
		if limit < 0 || i >= len(c.before.ancestors) || i >= len(now.ancestors) {
			continue
		}
		was, is := c.before.ancestors[i], now.ancestors[i]
		oom := since(was.oom, is.oom)
		if u.MemoryMax < 0 || limit < u.MemoryMax || oom > 0 {
			u.MemoryMax, u.OwnLimit = limit, false
			u.MaxEvents, u.OOM = since(was.max, is.max), oom
		}
		if oom > 0 {
			break
		}
	}
	return u
}

// since is how much a counter has grown; -1 if it isn't to be had.
func since(was, is int64) int64 {
	if is < 0 {
		return -1
	}
	return max(0, is-max(0, was))
}

// keyed is a file of lines of a name and a number.
type keyed []byte

func readKeyed(dir, name string) keyed {
	var buf [512]byte
	b, err := readProc(filepath.Join(dir, name), buf[:0], len(buf))
	if err != nil {
		return nil
	}
	return b
}

// get is the number of a name; -1 if it isn't there.
func (k keyed) get(name string) int64 {
	for line := range bytes.Lines(k) {
		if f := bytes.Fields(line); len(f) == 2 && string(f[0]) == name {
			if n, err := strconv.ParseInt(string(f[1]), 10, 64); err == nil {
				return n
			}
		}
	}
	return -1
}

// readBytes reads a file of one number; -1 if there is none, or it is "max".
func readBytes(dir, name string) pasar.Bytes {
	var buf [64]byte
	b, err := readProc(filepath.Join(dir, name), buf[:0], len(buf))
	if err != nil {
		return -1
	}
	n, err := strconv.ParseInt(string(trimNewline(b)), 10, 64)
	if err != nil {
		return -1
	}
	return pasar.Bytes(n)
}
