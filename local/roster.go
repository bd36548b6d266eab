package local

import (
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/target"
)

// Bounds of what a roster remembers.
const (
	rosterKept = 256              // attempts that are over: a process stuck in a driver may still be theirs
	seenKept   = 1024             // processes
	seenNot    = 10 * time.Second // for how long a process that is nobody's isn't looked at again, once it is as old
)

// A roster knows the attempts that this Machine launched or found running, and which processes are theirs.
type roster struct {
	mu      sync.Mutex // guards all below and what it points to
	all     map[target.Handle]*enrolled
	order   []*enrolled // of all, in order of arrival
	nonces  map[string]*enrolled
	cgroups map[string]*enrolled // by the name of the attempt's own cgroup
	sups    map[int]*enrolled    // by the supervisor's pid
	seen    map[identity]finding
	full    int // how many of them there may be before those that are gone are forgotten
	use     usage
}

// An enrolled attempt is one that a process may belong to.
type enrolled struct {
	h       target.Handle
	holding pasar.Holding // zero until its claim could be read
	over    bool          // its end is journaled
}

// An identity is a pid that can't be mistaken for a later one.
type identity struct {
	pid   int
	start uint64
}

// A finding is whose a process was found to be. That it is an attempt's is never taken back; that it is
// nobody's may be: it was seen too early.
type finding struct {
	of *enrolled // nil: nobody's
	at time.Time
}

func newRoster() *roster {
	return &roster{all: map[target.Handle]*enrolled{}, nonces: map[string]*enrolled{}, cgroups: map[string]*enrolled{},
		sups: map[int]*enrolled{}, seen: map[identity]finding{}, full: seenKept, use: usage{pss: map[identity]share{}}}
}

// enrol makes an attempt known; its holding may be zero.
func (r *roster) enrol(h target.Handle, holding pasar.Holding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.all[h]
	if e == nil {
		e = &enrolled{h: h}
		r.all[h] = e
		r.order = append(r.order, e)
		r.nonces[h.Nonce] = e
		r.forget()
	}
	e.over = false
	r.identify(e, holding)
}

// identify takes in what an attempt's claim says.
func (r *roster) identify(e *enrolled, holding pasar.Holding) {
	if e.holding.Pid != 0 || holding.Nonce != e.h.Nonce || holding.Boot != thisBoot() {
		return
	}
	e.holding = holding
	r.sups[holding.Pid] = e
	if name := filepath.Base(holding.Cgroup); ownName.MatchString(name) {
		r.cgroups[name] = e
	}
}

// dismiss notes that an attempt's end is journaled. What is left of it is still told to be its own.
func (r *roster) dismiss(h target.Handle) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.all[h]; e != nil {
		e.over = true
	}
}

// forget lets go of the attempts that were over the longest, if there are too many.
func (r *roster) forget() {
	if len(r.order) < 2*rosterKept {
		return
	}
	over := 0
	for _, e := range r.order {
		if e.over {
			over++
		}
	}
	kept := r.order[:0]
	for _, e := range r.order {
		if !e.over || over <= rosterKept {
			kept = append(kept, e)
			continue
		}
		over--
		delete(r.all, e.h)
		if r.nonces[e.h.Nonce] == e {
			delete(r.nonces, e.h.Nonce)
		}
		if r.sups[e.holding.Pid] == e {
			delete(r.sups, e.holding.Pid)
		}
		delete(r.cgroups, filepath.Base(e.holding.Cgroup))
	}
	clear(r.order[len(kept):])
	r.order = kept
}

// learn reads the claims that weren't there to be read when their attempts became known.
func (m *Machine) learn() {
	r := m.roster
	for _, e := range r.order {
		if e.holding.Pid != 0 || e.over {
			continue
		}
		b, err := readBounded(filepath.Join(m.attemptDir(e.h.Key), pasar.ClaimFile), maxHolding)
		if err != nil {
			continue
		}
		if holding, whole := decodeHolding(b); whole {
			r.identify(e, holding)
		}
	}
}

// remember keeps a finding. That a young process is nobody's isn't kept: it may still be what its parent was,
// before it runs a program of its own.
func (r *roster) remember(id identity, f finding) {
	if f.of == nil && age(id) < seenNot {
		return
	}
	if len(r.seen) >= r.full {
		for id := range r.seen {
			if s, err := readStat(id.pid); err != nil || s.start != id.start {
				delete(r.seen, id)
			}
		}
		r.full = max(seenKept, 2*len(r.seen))
	}
	r.seen[id] = f
}

// lastWith is whose the last process with a pid was found to be; nil if that isn't known.
func (r *roster) lastWith(pid int) *enrolled {
	var last identity
	for id := range r.seen {
		if id.pid == pid && id.start >= last.start {
			last = id
		}
	}
	return r.seen[last].of
}

// ticks is how many of the clock ticks in /proc a second has: 100 on every Linux that Go runs on.
const ticks = 100

// age is for how long a process has been there.
func age(id identity) time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0
	}
	return time.Duration(now.Nano()) - time.Duration(id.start)*(time.Second/ticks)
}
