package local

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	sdbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"

	"pasar"
	"pasar/target"
)

// Times of looking for a better place. Nothing looks without cause: it is when a supervisor is started,
// or when somebody asks.
const (
	lookAgain   = 10 * time.Second // after the last look, where a better place may have come to be
	firstShun   = 30 * time.Second // for how long a place that failed is left alone, doubling each time
	longestShun = 30 * time.Minute
)

// places are all there are, best first.
var places = []pasar.Place{pasar.PlaceUnit, pasar.PlaceCgroup, pasar.PlaceSession}

// A ladder knows where supervisors can be put, best first. What was found is kept, and looked for again
// after a failure, after a while if it wasn't the best, and when told to.
type ladder struct {
	best pasar.Place // no better one is used; empty: any
	host host
	log  *slog.Logger
	now  func() time.Time
	last atomic.Pointer[target.Standing] // what was found last

	mu       sync.Mutex // guards what follows
	looked   time.Time
	escaped  bool // we have seen to it that we aren't in a job's cgroup
	units    units
	nursery  *nursery
	shunned  map[pasar.Place]*shun
	standing target.Standing
}

// A shun is why and until when a place isn't used, though it looks usable.
type shun struct {
	why   error
	until time.Time
	next  time.Duration // if it fails again
}

func newLadder(best pasar.Place, h host, log *slog.Logger) *ladder {
	return &ladder{best: best, host: h, log: log, now: time.Now, shunned: map[pasar.Place]*shun{}}
}

// Probe looks where supervisors of a daemon in place of this process would be put. Of the options only
// Place counts.
func Probe(ctx context.Context, o Options) target.Standing {
	l := newLadder(o.Place, thisHost(), slog.New(slog.DiscardHandler))
	l.escaped = true // that is for the daemon to do
	defer l.close()
	return l.look(ctx)
}

// Standing implements target.Placed. A refusal is looked at again, since people mend what it names and
// submit again.
func (m *Machine) Standing() target.Standing {
	if s := m.ladder.last.Load(); s != nil && s.Refusal == nil {
		return *s
	}
	ctx, cancel := context.WithTimeout(context.Background(), busTimeout)
	defer cancel()
	return m.ladder.look(ctx)
}

// Replace has the next supervisor's place looked for anew, for when something was changed about the
// machine or the configuration.
func (m *Machine) Replace() { m.ladder.reset() }

func (l *ladder) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outdated()
	clear(l.shunned)
}

// outdated has the next who asks look anew. The lock is held.
func (l *ladder) outdated() {
	l.looked = time.Time{}
	l.last.Store(nil)
}

func (l *ladder) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.units != nil {
		l.units.close()
		l.units = nil
	}
}

// A rung is one place with what it takes to use it.
type rung struct {
	place   pasar.Place
	units   units
	nursery *nursery
}

// rungs are the places to try for the next supervisor, best first. The last one is always to be had.
func (l *ladder) rungs(ctx context.Context) []rung {
	l.look(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	var r []rung
	for _, p := range places {
		if s := l.shunned[p]; s != nil && l.now().Before(s.until) {
			continue
		}
		switch {
		case p == pasar.PlaceUnit && l.units != nil:
			r = append(r, rung{place: p, units: l.units})
		case p == pasar.PlaceCgroup && l.nursery != nil:
			r = append(r, rung{place: p, nursery: l.nursery})
		case p == pasar.PlaceSession:
			r = append(r, rung{place: p})
		}
	}
	return r
}

// fell says that a supervisor couldn't be started in a place, though it could in a worse one.
func (l *ladder) fell(p pasar.Place, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.shunned[p]
	if s == nil {
		s = &shun{next: firstShun}
		l.shunned[p] = s
	}
	s.why, s.until = why, l.now().Add(s.next)
	l.log.Warn("supervisors can't be started in the best place for now", "place", string(p), keyError, why, "again_in", s.next)
	s.next = min(2*s.next, longestShun)
	l.outdated()
}

// stood says that a supervisor was started in a place.
func (l *ladder) stood(p pasar.Place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shunned[p] != nil {
		delete(l.shunned, p)
		l.outdated()
	}
}

// look finds out what can be had, unless that was done not long ago.
func (l *ladder) look(ctx context.Context) target.Standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	settled := l.standing.Refusal == nil && (len(l.standing.Lacks) == 0 || now.Sub(l.looked) < lookAgain)
	if !l.looked.IsZero() && settled && (l.units == nil || l.units.alive()) {
		return l.standing
	}
	l.looked = now
	s := target.Standing{Place: pasar.PlaceSession}
	if !l.escaped {
		l.escaped = true
		l.escape(ctx)
	}
	for _, p := range places {
		lack := l.lack(ctx, p)
		if lack == nil {
			s.Place = p
			break
		}
		lack.Place = p
		s.Lacks = append(s.Lacks, *lack)
	}
	s.Memory = s.Place == pasar.PlaceUnit
	if s.Place == pasar.PlaceCgroup {
		s.Cgroup, s.Memory = l.nursery.dir, l.nursery.memory
	}
	s.Warning, s.Refusal = l.host.logins(ctx)
	l.standing = s
	l.last.Store(&s)
	return s
}

// lack is why a place can't be had; nil if it can.
func (l *ladder) lack(ctx context.Context, p pasar.Place) *target.Lack {
	if l.best != "" && slices.Index(places, p) < slices.Index(places, l.best) {
		return &target.Lack{Why: "it is not to be used"}
	}
	if s := l.shunned[p]; s != nil && l.now().Before(s.until) {
		return &target.Lack{Why: "it failed: " + s.why.Error()}
	}
	switch p {
	case pasar.PlaceUnit:
		return l.lackOfUnits(ctx)
	case pasar.PlaceCgroup:
		if l.nursery == nil {
			n, err := findNursery(&l.host)
			if err != nil {
				return &target.Lack{Why: err.Error(), Fix: "start pasard alone in a cgroup v2 that is delegated to you"}
			}
			l.nursery = n
			n.sweep()
		}
	}
	return nil
}

// lackOfUnits is why systemd can't hold supervisors. Units of a user's manager end with it, so they
// must not be used for jobs unless it outlives the last logout.
func (l *ladder) lackOfUnits(ctx context.Context) *target.Lack {
	h := &l.host
	var why, fix string
	switch {
	case !h.systemd():
		why = "systemd is not in charge of this machine"
	case h.uid != 0 && !h.lingers():
		why, fix = "linger is off for "+h.user+", so that units of that user end at the last logout", enableLinger
	}
	if why == "" && (l.units == nil || !l.units.alive()) {
		if l.units != nil {
			l.units.close()
			l.units = nil
		}
		u, err := h.dial(ctx)
		if err == nil {
			l.units = u
			return nil
		}
		why = err.Error()
		if h.uid != 0 {
			fix = "start the user's service manager: loginctl enable-linger, or systemctl start user@UID.service as root"
		}
	}
	if why == "" {
		return nil
	}
	if l.units != nil {
		l.units.close()
		l.units = nil
	}
	return &target.Lack{Why: why, Fix: fix}
}

// escape leaves the cgroup of a job that started this daemon: it would be killed with the job.
func (l *ladder) escape(ctx context.Context) {
	h := &l.host
	dir, err := h.ownCgroup()
	if err != nil {
		return
	}
	above, ok := aboveJob(dir)
	if !ok {
		return
	}
	if err = moveTo(filepath.Join(above, daemonLeaf), h.pid); err != nil {
		err = moveTo(above, h.pid)
	}
	if err != nil && h.systemd() {
		err = l.ownScope(ctx)
	}
	if err != nil {
		l.log.Warn("pasard was started by a job, and ends with it", keyError, err)
	}
}

// aboveJob is the cgroup that holds the cgroup of the attempt in whose job part dir is.
func aboveJob(dir string) (string, bool) {
	for d, below := filepath.Dir(dir), filepath.Base(dir); d != "/" && d != "."; d, below = filepath.Dir(d), filepath.Base(d) {
		if below == jobDir && ownName.MatchString(filepath.Base(d)) {
			return filepath.Dir(d), true
		}
	}
	return "", false
}

// ownScope asks the service manager for a unit of our own.
func (l *ladder) ownScope(ctx context.Context) error {
	u, err := l.host.dial(ctx)
	if err != nil {
		return err
	}
	defer u.close()
	ctx, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	before := l.host.cgroup("")
	err = u.start(ctx, daemonLeaf+"-"+newNonce()+".scope", []sdbus.Property{
		sdbus.PropDescription("pasar: daemon started by a job"),
		{Name: "PIDs", Value: dbus.MakeVariant([]uint32{uint32(l.host.pid)})},
		{Name: "CollectMode", Value: dbus.MakeVariant("inactive-or-failed")},
	})
	for err == nil && l.host.cgroup("") == before { // it is done a moment after it was accepted
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return errors.New("the service manager didn't move it")
		}
	}
	return err
}

func moveTo(dir string, pid int) error {
	return writeCgroup(dir, "cgroup.procs", strconv.Itoa(pid))
}
