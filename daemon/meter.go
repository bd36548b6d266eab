package daemon

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pasar"
	"pasar/sched"
)

// A lookout takes the meter's readings: it publishes the latest for readers, who never wait, follows what
// lasts from one to the next, acts where waiting for the loop would be too late, and rouses the loop only
// when something has changed that a decision needs. So an idle daemon stays idle however often it looks.
type lookout struct {
	d      *Daemon
	latest atomic.Pointer[sight]
	read   broadcast     // fired by each reading
	rouse  chan struct{} // buffered: the loop is to look
	stale  *time.Timer   // rouses the loop when readings stop
	usages *usages

	mu      sync.Mutex // guards what follows
	due     []judgement
	wish    map[string]pasar.Pace // of each who has one
	told    pasar.Pace
	peaks   map[pasar.AttemptKey]peak
	starved map[string]time.Time // by GPU: when a job last ended for want of its memory
	xids    []metXid             // lately

	// Of the one goroutine that takes readings.
	health health
	dog    watchdog
	asked  inventoryAsk
	roused []room // as the loop was last roused for
}

// A judgement makes facts of something seen, given the state. It may be asked twice, if the first facts
// could not be kept.
type judgement func(s *state, now time.Time) []pasar.Fact

// maxDue bounds judgements that wait for the loop, which may be held up by a disk.
const maxDue = 1024

// peak is the most that an attempt was seen to have.
type peak struct {
	gpu  *pasar.Bytes // of all its GPUs together; nil: never looked
	host pasar.Bytes
	at   time.Time // when it was last seen

	from    time.Time // when it was first looked at
	touched bool      // a process of it was seen on one of its GPUs, with memory or not said how much
}

func newLookout(d *Daemon) *lookout {
	return &lookout{d: d, rouse: make(chan struct{}, 1), usages: newUsages(d.started), wish: map[string]pasar.Pace{}, peaks: map[pasar.AttemptKey]peak{},
		starved: map[string]time.Time{}, health: newHealth(), dog: newWatchdog()}
}

// run takes readings until ctx is done.
func (l *lookout) run(ctx context.Context) {
	l.stale = time.AfterFunc(staleAfter, l.wake)
	defer l.stale.Stop()
	l.d.Meter.Run(ctx, func(r pasar.Reading) {
		if ctx.Err() == nil {
			l.see(ctx, r)
		}
	})
}

// wake rouses the loop; it never waits.
func (l *lookout) wake() {
	select {
	case l.rouse <- struct{}{}:
	default:
	}
}

// roused is closed over by the loop's select; nil, which is never ready, without a meter.
func (d *Daemon) roused() <-chan struct{} {
	if d.lookout == nil {
		return nil
	}
	return d.lookout.rouse
}

// sight is the latest; nil before the first and without a meter.
func (d *Daemon) sight() *sight {
	if d.lookout == nil {
		return nil
	}
	return d.lookout.latest.Load()
}

// see takes one reading.
func (l *lookout) see(ctx context.Context, r pasar.Reading) {
	now := l.d.Clock.Now()
	p, set := l.d.pub.Load(), l.d.settings.Load()
	inv := p.machines[pasar.LocalMachine]
	old := l.latest.Load()
	s := newSight(old, r, now)
	v := l.d.seeing(inv, p.active, p.leaving, now)
	v.sight = s
	s.grow(old, v.tenants, set.Settle)
	l.keepPeaks(s, p.active)
	l.usages.see(s, p.active)
	l.meetXids(old, s, inv, p.active)
	l.latest.Store(s)
	if len(r.GPUs) > 0 || r.Trouble != "" {
		l.stale.Reset(staleAfter + time.Second)
	} else {
		l.stale.Stop() // of no GPUs the last word stays true
	}
	l.judgeLater(l.d.examine(&l.health, s, inv)...)
	urgent := l.guard(ctx, s, inv, p.active, now)
	l.want("watchdog", urgent)
	l.askInventory(ctx, s, inv)
	if l.changed(v, p) {
		l.wake()
	}
	l.read.fire() // last, so that who waited for a reading finds all that came of it
}

// judgeLater hands the loop what needs the state to be judged.
func (l *lookout) judgeLater(js ...judgement) {
	if len(js) == 0 {
		return
	}
	l.mu.Lock()
	l.due = append(l.due, js[:min(len(js), maxDue-len(l.due))]...)
	l.mu.Unlock()
	l.wake()
}

// seenBefore puts what readings showed before everything else that a turn takes, so that a fault is put down
// before the end that it brought.
func (d *Daemon) seenBefore(ms []message) []message {
	if d.lookout == nil {
		return ms
	}
	d.lookout.mu.Lock()
	due := d.lookout.due
	d.lookout.due = nil
	d.lookout.mu.Unlock()
	if len(due) == 0 {
		return ms
	}
	return slices.Insert(ms, 0, message{judge: func(s *state, now time.Time) []pasar.Fact {
		var facts []pasar.Fact
		for _, j := range due {
			facts = append(facts, j(s, now)...)
		}
		return facts
	}})
}

// want sets how soon somebody wants readings, and tells the meter the soonest of all wishes.
func (l *lookout) want(who string, pace pasar.Pace) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wish[who] = pace
	most := pasar.PaceIdle
	for _, p := range l.wish {
		if p == pasar.PaceUrgent || p == pasar.PaceSteady && most == pasar.PaceIdle {
			most = p
		}
	}
	if most != l.told {
		l.told = most
		l.d.Meter.Pace(most)
	}
}

// setPace tells how soon the loop wants readings after a turn: soon while something leaves and somebody
// waits for it.
func (d *Daemon) setPace() {
	if d.lookout == nil {
		return
	}
	pace := pasar.PaceIdle
	if len(d.state.active) > 0 || len(d.leaving) > 0 || slices.ContainsFunc(d.state.queue, func(j sched.Job) bool { return !j.Held }) {
		pace = pasar.PaceSteady
	}
	if len(d.state.queue) > 0 && slices.ContainsFunc(d.leaving, func(l *leaver) bool { return !l.leaked && !l.untold }) {
		pace = pasar.PaceUrgent
	}
	d.lookout.want("loop", pace)
}

const (
	// freshFor is how old a reading may be when somebody asks for GPUs, or about them: a little more than the
	// steady pace, so that only a daemon that was idle has to look first.
	freshFor = 2500 * time.Millisecond
	// freshPatience is how long a request waits for a fresh reading. Past it the old one has to do.
	freshPatience = 1500 * time.Millisecond
)

// lookFirst waits for a fresh reading where the latest is an idle daemon's: what strangers took since then must
// not be given out, nor shown as free.
func (d *Daemon) lookFirst(ctx context.Context) {
	l := d.lookout
	p := d.pub.Load()
	if l == nil || p == nil || !slices.ContainsFunc(p.machines[pasar.LocalMachine].GPUs, func(g pasar.GPU) bool { return !g.Virtual }) {
		return
	}
	fresh := func() bool {
		s := l.latest.Load()
		return s != nil && d.Clock.Now().Sub(s.at) < freshFor
	}
	if fresh() {
		return
	}
	patience := time.NewTimer(freshPatience)
	defer patience.Stop()
	l.want("ask", pasar.PaceUrgent)
	defer l.want("ask", pasar.PaceIdle)
	for {
		next := l.read.next()
		if fresh() {
			return
		}
		select {
		case <-next:
		case <-patience.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// A room is what a decision needs to know of a GPU.
type room struct {
	uuid, unwell    string
	exclusive, idle bool
	settling        pasar.JobID
	free            pasar.Bytes // what a slice could have; -1 when the device doesn't say
	strangers       pasar.Bytes
}

// stirs is by how much free memory must change for the loop to decide again.
const stirs = 16 * pasar.MiB

// changed reports whether anything that a decision needs is otherwise than when the loop was last roused for
// it. While nobody waits and nothing leaves, no decision needs anything: the next submit looks by itself.
func (l *lookout) changed(v *seeing, p *published) bool {
	for _, lv := range p.leaving {
		if v.gone(lv) || v.told(lv) {
			return true
		}
	}
	if len(p.waiting) == 0 {
		l.roused = nil
		return false
	}
	rooms := v.rooms()
	if slices.EqualFunc(rooms, l.roused, room.like) {
		return false
	}
	l.roused = rooms
	return true
}

func (r room) like(o room) bool {
	near := func(a, b pasar.Bytes) bool { return max(a-b, b-a) < stirs && (a < 0) == (b < 0) }
	return r.uuid == o.uuid && r.unwell == o.unwell && r.exclusive == o.exclusive && r.idle == o.idle &&
		r.settling == o.settling && near(r.free, o.free) && near(r.strangers, o.strangers)
}

// rooms is what the GPUs have by a sight.
func (v *seeing) rooms() []room {
	var rooms []room
	for i := range v.inv.GPUs {
		g := &v.inv.GPUs[i]
		seen, ok := v.gpu(g)
		if !ok {
			continue
		}
		r := room{uuid: g.UUID, unwell: seen.Unhealthy, exclusive: seen.Exclusive, idle: seen.Idle, settling: seen.SettleFor, strangers: seen.Strangers, free: -1}
		if seen.Free != nil {
			r.free = max(0, v.room(g, &seen))
		}
		rooms = append(rooms, r)
	}
	return rooms
}

// keepPeaks follows the most that each attempt had. One that is over is forgotten a while after.
func (l *lookout) keepPeaks(s *sight, active []*job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, j := range active {
		a := j.current()
		key := pasar.AttemptKey{Job: j.ID, Attempt: a.Attempt}
		p := l.peaks[key]
		if p.at = s.at; p.from.IsZero() && s.good.Equal(s.at) {
			p.from = s.at
		}
		p.touched = p.touched || s.touches(key, &a.Grant)
		if gpu := s.use(key, &a.Grant); gpu != nil && s.good.Equal(s.at) && (p.gpu == nil || *gpu > *p.gpu) {
			p.gpu = gpu
		}
		p.host = max(p.host, s.reading.Host.Use[key])
		l.peaks[key] = p
	}
	for key, p := range l.peaks {
		if s.at.Sub(p.at) > keepPeak {
			delete(l.peaks, key)
		}
	}
}

// keepPeak is how long the peaks of an attempt that is over stay known, for its record.
const keepPeak = 10 * time.Minute

// raise makes the peaks of an attempt at least those of a course, which an earlier daemon saw.
func (l *lookout) raise(key pasar.AttemptKey, c *course, now time.Time) {
	most := coursePoint{}
	for _, p := range c.points {
		most = most.and(p)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.peaks[key]
	if p.at.IsZero() {
		p.at = now
	}
	p.gpu, p.host = larger(p.gpu, most.gpu.bytes()), max(p.host, orZero(most.host.bytes()))
	l.peaks[key] = p
}

func (l *lookout) peak(key pasar.AttemptKey) peak {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.peaks[key]
}

// peakGPU is the most GPU memory that an attempt was seen to have; nil if nobody looked.
func (d *Daemon) peakGPU(key pasar.AttemptKey) *pasar.Bytes {
	if d.lookout == nil {
		return nil
	}
	return d.lookout.peak(key).gpu
}

// use is what an attempt has of its GPUs together; nil when none of them was seen.
func (s *sight) use(key pasar.AttemptKey, grant *pasar.Grant) *pasar.Bytes {
	var sum pasar.Bytes
	known := false
	for _, ref := range grant.GPUs {
		if g := s.gpu(ref.UUID); g != nil {
			sum, known = sum+g.use[key], true
		}
	}
	if !known {
		return nil
	}
	return &sum
}

// awaitReading waits for a reading that was begun after the call and came so much later at least, but at most so
// long, and has the meter hurry.
func (l *lookout) awaitReading(ctx context.Context, who string, least, atMost time.Duration, done <-chan struct{}) {
	began, from := l.d.Clock.Now(), int64(0)
	if s := l.latest.Load(); s != nil {
		from = s.seq
	}
	l.want(who, pasar.PaceUrgent)
	defer func() {
		l.want(who, pasar.PaceIdle)
		l.mu.Lock()
		delete(l.wish, who)
		l.mu.Unlock()
	}()
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	for {
		next := l.read.next()
		if s := l.latest.Load(); s != nil && s.seq > from+1 && s.at.Sub(began) >= least {
			return
		}
		select {
		case <-next:
		case <-timer.C:
			return
		case <-done:
			return
		case <-ctx.Done():
			return
		}
	}
}

// inventoryAsk is when the inventory was last asked for because readings had other GPUs, and which.
type inventoryAsk struct {
	gpus string
	at   time.Time
	busy atomic.Bool
}

// askAgainAfter is how soon the inventory is asked for again when it doesn't come to have the GPUs that
// readings have.
const askAgainAfter = time.Minute

// askInventory has the machine's inventory taken anew when readings have other GPUs than it: a device was
// added or has gone, MIG was set up otherwise, or a driver that was broken answers.
func (l *lookout) askInventory(ctx context.Context, s *sight, inv pasar.Inventory) {
	if s.reading.Trouble != "" {
		return
	}
	gpus, differs := deviceSet(s, inv)
	if !differs {
		l.asked.at = time.Time{} // what differs next differs anew
		return
	}
	if gpus == l.asked.gpus && s.at.Sub(l.asked.at) < askAgainAfter || !l.asked.busy.CompareAndSwap(false, true) {
		return
	}
	l.asked.gpus, l.asked.at = gpus, s.at
	l.d.effects.Go(func() {
		defer l.asked.busy.Store(false)
		now, err := l.d.Target.Inventory(ctx)
		if err != nil {
			l.d.Log.Warn("can't look at this machine again", "error", err)
			return
		}
		l.judgeLater(func(st *state, _ time.Time) []pasar.Fact {
			if old, known := st.machines[now.Machine]; known && sameInventory(old, now) {
				return nil
			}
			return []pasar.Fact{pasar.MachineSeen{Inventory: now}}
		})
	})
}

// deviceSet is the GPUs of a reading, in one string, and whether they are others than the inventory's. A
// GPU that is split into instances is not in the inventory, and may be in the reading.
func deviceSet(s *sight, inv pasar.Inventory) (string, bool) {
	var there []string
	known, parents := map[string]bool{}, map[string]bool{}
	for _, g := range inv.GPUs {
		if !g.Virtual {
			known[g.UUID] = true
		}
		parents[g.Parent] = true
	}
	differs := false
	for i := range s.reading.GPUs {
		uuid := s.reading.GPUs[i].UUID
		if s.gpus[uuid] == nil {
			continue
		}
		there = append(there, uuid)
		differs = differs || !known[uuid] && !parents[uuid]
	}
	slices.Sort(there)
	for uuid := range known {
		if _, found := slices.BinarySearch(there, uuid); !found {
			differs = true
		}
	}
	return strings.Join(there, " "), differs
}
