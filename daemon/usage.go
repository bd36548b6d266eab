package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/target"
)

// UsageFiles keep what attempts used, each beside its output, so that it goes when that does.
type UsageFiles interface {
	// Read is the file of an attempt. fs.ErrNotExist: it has none; target.ErrRemoved: the attempt's directory is gone.
	Read(key pasar.AttemptKey) ([]byte, error)
	// Write replaces it, whole or not at all. target.ErrRemoved: the directory is gone, and isn't made again.
	Write(key pasar.AttemptKey, body []byte) error
}

const (
	// usageEvery is how often what a running attempt used is written: so much a daemon that is killed forgets.
	usageEvery = 2 * time.Minute
	// usageAgain is how soon that is tried again which could not be read or written.
	usageAgain = 30 * time.Second
	// usagePatience is how long a read or a write is waited for.
	usagePatience = 5 * time.Second
	// maxUnwritten bounds the attempts that are over and wait for a disk that takes nothing; the oldest go.
	maxUnwritten = 256
)

// usages is what running attempts used, and those that have ended but whose files aren't written yet. Readings come
// from one goroutine, which never waits for a disk; another one writes.
type usages struct {
	due chan struct{} // signalled when there is something to write; buffered

	since time.Time // when this daemon began

	mu  sync.Mutex // guards all
	all map[pasar.AttemptKey]*used
}

// A used is what one attempt used.
type used struct {
	course *course
	next   time.Time // when it is to be written
	read   bool      // what an earlier daemon wrote is in it
	new    bool      // something was added since it was written
	over   bool
	failed bool // the last try to write
}

func newUsages(since time.Time) *usages {
	return &usages{since: since, due: make(chan struct{}, 1), all: map[pasar.AttemptKey]*used{}}
}

// see takes a reading of the attempts that run.
func (u *usages) see(s *sight, active []*job) {
	u.mu.Lock()
	defer u.mu.Unlock()
	running := make(map[pasar.AttemptKey]bool, len(active))
	for _, j := range active {
		a := j.current()
		if a.StartedAt.IsZero() || !j.holds() || a.Grant.Machine != pasar.LocalMachine {
			continue
		}
		key := pasar.AttemptKey{Job: j.ID, Attempt: a.Attempt}
		running[key] = true
		p := s.used(key, &a.Grant)
		if p == (coursePoint{}) {
			continue
		}
		v := u.all[key]
		if v == nil {
			v = &used{course: newCourse(a.StartedAt), next: s.at.Add(usageEvery)}
			if a.StartedAt.Before(u.since) { // an earlier daemon saw what peaks it had
				v.next = s.at
			}
			u.all[key] = v
		}
		v.course.add(s.at, p)
		v.new = true
	}
	for key, v := range u.all {
		if !running[key] && !v.over {
			v.over, v.next = true, s.at
		}
		if !v.next.After(s.at) {
			u.wake()
		}
	}
}

// ended has an attempt that is over written at once, whether or not there are more readings.
func (u *usages) ended(key pasar.AttemptKey, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if v := u.all[key]; v != nil && !v.over {
		v.over, v.next = true, now
		u.wake()
	}
}

func (u *usages) wake() {
	select {
	case u.due <- struct{}{}:
	default:
	}
}

// used is what one reading saw of an attempt.
func (s *sight) used(key pasar.AttemptKey, grant *pasar.Grant) (p coursePoint) {
	if host, ok := s.reading.Host.Use[key]; ok {
		p.host = knownBytes(&host)
	}
	if !s.good.Equal(s.at) {
		return p
	}
	p.gpu = knownBytes(s.use(key, grant))
	util, said := 0.0, 0
	for _, ref := range grant.GPUs {
		g := s.gpu(ref.UUID)
		if g == nil {
			continue
		}
		for i := range g.Processes {
			if g.Processes[i].Job == key && g.Processes[i].Used == nil {
				p.gpu = 0 // the driver doesn't say
			}
		}
		if g.Util != nil {
			util, said = util+min(max(*g.Util/100, 0), 1), said+1
		}
	}
	if said > 0 {
		p.use, p.looks = util/float64(said), 1
	}
	return p
}

// keepUsage writes what attempts used until ctx is done, and then what is left.
func (d *Daemon) keepUsage(ctx context.Context) {
	u := d.lookout.usages
	for {
		select {
		case <-u.due:
			d.writeUsage(ctx, d.Clock.Now())
		case <-ctx.Done():
			d.writeUsage(context.WithoutCancel(ctx), time.Time{})
			return
		}
	}
}

// writeUsage writes what is due by now, or with no time all that isn't written.
func (d *Daemon) writeUsage(ctx context.Context, now time.Time) {
	u := d.lookout.usages
	began := d.Clock.Mono()
	for _, key := range u.dueBy(now) {
		if d.Clock.Mono()-began > pasar.Duration(usagePatience) {
			break // the disk hangs; the rest stays due
		}
		if err := d.writeOne(ctx, key); err != nil && u.postpone(key, d.Clock.Now().Add(usageAgain)) {
			d.Log.Warn("what attempts used is not kept just now", "job", key.Job, "attempt", key.Attempt, "error", err)
		}
	}
	u.drop()
}

func (u *usages) dueBy(now time.Time) (keys []pasar.AttemptKey) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for key, v := range u.all {
		if now.IsZero() || !v.next.After(now) {
			keys = append(keys, key)
		}
	}
	return keys
}

// postpone puts one off that could not be written. It reports whether that is news: none could before.
func (u *usages) postpone(key pasar.AttemptKey, next time.Time) (news bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	news = true
	for _, v := range u.all {
		news = news && !v.failed
	}
	if v := u.all[key]; v != nil {
		v.next, v.failed = next, true
	}
	return news
}

// drop forgets the oldest of too many that are over and can't be written.
func (u *usages) drop() {
	u.mu.Lock()
	defer u.mu.Unlock()
	var over []pasar.AttemptKey
	for key, v := range u.all {
		if v.over {
			over = append(over, key)
		}
	}
	if len(over) <= maxUnwritten {
		return
	}
	slices.SortFunc(over, func(a, b pasar.AttemptKey) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Attempt, b.Attempt))
	})
	for _, key := range over[:len(over)-maxUnwritten] {
		delete(u.all, key)
	}
}

// writeOne writes what an attempt used, with what an earlier daemon wrote of it.
func (d *Daemon) writeOne(ctx context.Context, key pasar.AttemptKey) error {
	u := d.lookout.usages
	u.mu.Lock()
	v := u.all[key]
	if v == nil {
		u.mu.Unlock()
		return nil
	}
	read := v.read || d.Usage == nil
	u.mu.Unlock()
	if !read {
		old, err := d.readUsage(ctx, key)
		if err != nil && !errors.Is(err, target.ErrRemoved) {
			return err
		}
		u.mu.Lock()
		same := old != nil && old.start.Equal(v.course.start)
		if v.read = true; same {
			v.course.merge(old)
		}
		u.mu.Unlock()
		if same {
			d.lookout.raise(key, old, d.Clock.Now())
		}
	}
	u.mu.Lock()
	v.next = d.Clock.Now().Add(usageEvery)
	isNew, over := v.new, v.over
	v.new = false
	c := v.course.clone()
	u.mu.Unlock()
	var err error
	brief := over && len(c.points) <= 1 // a chart of one point tells nothing
	if isNew && !brief && d.Usage != nil {
		var body []byte
		if body, err = c.encode(); err == nil {
			err = d.courses.do(ctx, func(context.Context) error { return d.Usage.Write(key, body) })
		}
		if errors.Is(err, target.ErrRemoved) {
			err = nil // nobody will ask
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case err != nil:
		v.new = true
		return fmt.Errorf("write usage of attempt %s: %w", key, err)
	case over:
		delete(u.all, key)
	}
	v.failed = false
	return nil
}

// recallPeaks has what an earlier daemon saw an attempt to have count, where this one may never have looked at it.
func (d *Daemon) recallPeaks(ctx context.Context, key pasar.AttemptKey, a *pasar.AttemptRecord) {
	if d.lookout == nil || a.StartedAt.IsZero() || !a.StartedAt.Before(d.started) {
		return
	}
	c, err := d.readUsage(ctx, key)
	if err != nil || c == nil || !c.start.Equal(a.StartedAt) {
		return // a peak that is too low is better than an end that waits for a disk
	}
	d.lookout.raise(key, c, d.Clock.Now())
}

// readUsage is what the file of an attempt has; nil: there is none, or nothing that can be understood.
func (d *Daemon) readUsage(ctx context.Context, key pasar.AttemptKey) (*course, error) {
	if d.Usage == nil {
		return nil, nil
	}
	read := make(chan []byte, 1)
	err := d.courses.do(ctx, func(context.Context) error {
		b, err := d.Usage.Read(key)
		read <- b
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read usage of attempt %s: %w", key, err)
	}
	c, err := decodeCourse(<-read)
	if err != nil {
		d.Log.Info("what an attempt used can't be read", "job", key.Job, "attempt", key.Attempt, "error", err)
		return nil, nil
	}
	return c, nil
}

// serveUsage answers with what an attempt used over its life.
func (d *Daemon) serveUsage(ctx context.Context, c *ipc.Call) error {
	var r ipc.UsageRequest
	if err := c.Bind(&r); err != nil {
		return err
	}
	v, err := d.usage(ctx, r)
	if err != nil {
		return err
	}
	return answerView(c, v)
}

func (d *Daemon) usage(ctx context.Context, r ipc.UsageRequest) (*pasar.AttemptUsageView, error) {
	j, err := d.find(r.Job)
	if err != nil {
		return nil, err
	}
	if r.Points == 0 {
		r.Points = pasar.MaxUsagePoints
	}
	if r.Points < 1 || r.Points > pasar.MaxUsagePoints {
		return nil, &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("%d points: it is 1 to %d", r.Points, pasar.MaxUsagePoints)}
	}
	if len(j.Attempts) == 0 {
		return nil, &ipc.Error{Code: ipc.CodeWrongState, Message: fmt.Sprintf("job %d has used nothing: it is %s and never started", j.ID, j.state())}
	}
	a, err := attemptForMetrics(j, r.Attempt)
	if err != nil {
		return nil, err
	}
	key := pasar.AttemptKey{Job: j.ID, Attempt: a.Attempt}
	c, whole := d.usedBy(key)
	if !whole {
		switch old, err := d.readUsage(ctx, key); {
		case errors.Is(err, target.ErrRemoved):
			if c == nil && !a.EndedAt.IsZero() {
				return nil, removed(j, a.Attempt)
			}
		case err != nil && c == nil:
			return nil, err
		case err != nil: // what is in memory is told whatever ails the disk
		case c == nil:
			c = old
		case old != nil:
			c.merge(old)
		}
	}
	if c == nil {
		c = newCourse(a.StartedAt)
	}
	v := &pasar.AttemptUsageView{Schema: pasar.Schema, ID: j.ID, Attempt: a.Attempt}
	v.Step, v.Points = c.view(r.Points)
	return v, nil
}

// usedBy is a copy of what is in memory of an attempt, and whether that is all.
func (d *Daemon) usedBy(key pasar.AttemptKey) (c *course, whole bool) {
	if d.lookout == nil {
		return nil, false
	}
	u := d.lookout.usages
	u.mu.Lock()
	defer u.mu.Unlock()
	v := u.all[key]
	if v == nil {
		return nil, false
	}
	return v.course.clone(), v.read
}
