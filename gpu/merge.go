package gpu

import (
	"time"

	"pasar"
)

// The same Xid comes from the driver's library, which is sure to tell it, and from the kernel's log, which
// names the process. Whichever comes first waits for the other for mergeFor; after that the other is
// dropped, up to forgetAfter.
const (
	mergeFor    = 500 * time.Millisecond
	forgetAfter = 10 * time.Second
	maxPending  = 256
)

// A merger tells each Xid once. Its clock is its caller's.
type merger struct {
	pairs bool // both sources are there; else nothing waits
	notes []*note
}

// A note is an Xid that came, and what came of it.
type note struct {
	xid             pasar.Xid
	bus             string
	at              time.Time
	library, kernel int // how often each source told it
	told            bool
}

// add takes an Xid, and reports whether there was room for it.
func (m *merger) add(x pasar.Xid, bus string, now time.Time) bool {
	m.forget(now)
	library := x.Source == "nvml"
	for _, n := range m.notes {
		if n.bus != bus || n.xid.Code != x.Code {
			continue
		}
		switch {
		case library && n.kernel > n.library, library && n.library > 0 && !n.told:
			// The log told it already, or a flood of the same goes on.
			if n.library++; x.UUID != n.xid.UUID && x.UUID != "" {
				n.xid.UUID = x.UUID // it knows the instance
			}
			return true
		case !library && n.library > n.kernel && n.xid.Pid == nil:
			n.kernel++
			n.xid.Source = x.Source
			n.xid.Pid, n.xid.Name, n.xid.Job = x.Pid, x.Name, x.Job
			return true
		case !library && samePid(n.xid.Pid, x.Pid):
			n.kernel++
			return true
		}
	}
	if len(m.notes) >= maxPending {
		return false
	}
	n := &note{xid: x, bus: bus, at: now}
	if n.xid.At = now; library {
		n.library = 1
	} else {
		n.kernel = 1
	}
	m.notes = append(m.notes, n)
	return true
}

func samePid(a, b *int) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// take is what is to be told now, in the order in which it came.
func (m *merger) take(now time.Time) []pasar.Xid {
	m.forget(now)
	var out []pasar.Xid
	for _, n := range m.notes {
		if !n.told && !now.Before(n.due(m.pairs)) {
			n.told = true
			out = append(out, n.xid)
		}
	}
	return out
}

// next is when something is to be told; zero: nothing is.
func (m *merger) next() (at time.Time) {
	for _, n := range m.notes {
		if due := n.due(m.pairs); !n.told && (at.IsZero() || due.Before(at)) {
			at = due
		}
	}
	return at
}

func (n *note) due(pairs bool) time.Time {
	if !pairs || n.library > 0 && n.kernel > 0 {
		return n.at
	}
	return n.at.Add(mergeFor)
}

func (m *merger) forget(now time.Time) {
	keep := m.notes[:0]
	for _, n := range m.notes {
		if !n.told || now.Sub(n.at) < forgetAfter {
			keep = append(keep, n)
		}
	}
	clear(m.notes[len(keep):])
	m.notes = keep
}
