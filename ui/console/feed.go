package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"reflect"
	"slices"
	"sync"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/ui"
)

// Paces of asking the daemon.
const (
	askLively = time.Second            // while something runs
	askIdle   = 10 * time.Second       // else: nobody tells what strangers do on a GPU
	askSoon   = 100 * time.Millisecond // after a change, at the soonest; and
	askShare  = 20                     // so many times as long as the last answer took to have: a twentieth of a core at most,
	askMost   = 5 * time.Second        // but no longer
	askTime   = 10 * time.Second       // for one answer
	retryMin  = 50 * time.Millisecond
	retryMax  = time.Second
	reviveAt  = time.Second // without a daemon for so long, one is started
)

// afarWait is between tries to reach another machine: each is a login.
const afarWait = 2 * time.Second

// A feed keeps in touch with the daemon, and hands over a snapshot whenever something has changed. It alone knows of
// the connection that snapshots come by.
type feed struct {
	dial    func(ctx context.Context) (*ipc.Client, error)
	revive  func(ctx context.Context) error // starts a daemon; nil: never
	publish func(*ui.Snapshot)
	now     func() time.Time // that snapshots are of
	afar    bool             // the daemon is another machine's, and the way to it may fail
	idle    time.Duration    // between answers while nothing runs
	nudged  chan struct{}    // signalled when something was changed from here; buffered
	asked   chan struct{}    // signalled when a person asks for a daemon to be started; buffered

	mu     sync.Mutex // guards client
	client *ipc.Client

	last  *ui.Snapshot
	seen  [2]uint64 // sums of the answers that last was made of
	seed  maphash.Seed
	views map[uint64]*pasar.JobView // by the sum of the line that each was decoded from
}

// errShutDown: the daemon was told to end, so it isn't started again behind anybody's back.
var errShutDown = errors.New("the daemon was shut down")

// run serves until ctx is done.
func (f *feed) run(ctx context.Context) {
	f.seed = maphash.MakeSeed()
	f.last = &ui.Snapshot{}
	wait, since, told := retryMin, time.Now(), false
	for ctx.Err() == nil {
		client, err := f.dial(ctx)
		if err == nil {
			f.use(client)
			before := f.last.At
			err = f.follow(ctx, client)
			f.use(nil)
			_ = client.Close()
			if f.last.At != before {
				wait, since, told = retryMin, time.Now(), false
			}
		}
		if ctx.Err() != nil {
			return
		}
		ended := endedInOrder(err)
		told = told || ended
		words := lostWords(err, told, f.revive != nil)
		var e *ipc.Error
		if f.afar && !told && errors.As(err, &e) && e.Code == ipc.CodeNoDaemon {
			words = pasar.Clean(e.Message) + "; connecting again …"
			wait = max(wait, afarWait)
		}
		f.lose(words)
		revive := f.revives(told, time.Since(since))
		select {
		case <-ctx.Done():
			return
		case <-f.asked:
			revive = f.revive != nil
		case <-time.After(wait):
		}
		wait = min(2*wait, retryMax)
		if revive {
			since, told = time.Now(), false
			if err := f.revive(ctx); err != nil && ctx.Err() == nil {
				f.lose("no daemon: " + pasar.Clean(err.Error()))
			}
		}
	}
}

// revives reports whether a daemon is started without being asked for: one that has been away for so long, unless it was
// told to end.
func (f *feed) revives(told bool, away time.Duration) bool {
	return f.revive != nil && !told && away >= reviveAt
}

// endedInOrder reports whether a daemon said that it ends.
func endedInOrder(err error) bool {
	var e *ipc.Error
	return errors.As(err, &e) && e.Code == ipc.CodeInterrupted
}

// lostWords says why there is no connection, in a clause.
func lostWords(err error, told, revives bool) string {
	var e *ipc.Error
	switch {
	case told && revives:
		return "the daemon was shut down; jobs go on. R starts it again"
	case told:
		return "the daemon was shut down; jobs go on"
	case errors.As(err, &e) && e.Code == ipc.CodeVersion:
		return pasar.Clean(e.Message)
	case errors.As(err, &e) && e.Code == ipc.CodeNoDaemon:
		return "no daemon answers; jobs go on. Connecting again …"
	case err != nil:
		return "lost the daemon: " + pasar.Clean(err.Error())
	}
	return "lost the daemon"
}

// lose publishes that there is no connection, with what was known last.
func (f *feed) lose(why string) {
	if f.last.Lost == why {
		return
	}
	s := *f.last
	s.Lost = why
	f.last = &s
	f.publish(f.last)
}

func (f *feed) use(c *ipc.Client) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.client = c
}

// errNoConnection: what was asked for can't be had now.
var errNoConnection = errors.New("there is no connection to the daemon just now")

// call has something asked on the present connection.
func (f *feed) call(ctx context.Context, do func(ctx context.Context, c *ipc.Client) error) error {
	f.mu.Lock()
	c := f.client
	f.mu.Unlock()
	if c == nil {
		return errNoConnection
	}
	return do(ctx, c)
}

// nudge has the feed look at once.
func (f *feed) nudge() { ring(f.nudged) }

func ring(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// follow asks again and again on one connection until that is lost.
func (f *feed) follow(ctx context.Context, c *ipc.Client) error {
	ctx, cancel := context.WithCancelCause(ctx)
	changed, done := make(chan struct{}, 1), make(chan struct{})
	defer func() { cancel(nil); <-done }()
	go func() {
		defer close(done)
		err := c.Facts(ctx, ipc.FactsRequest{Since: -1, Follow: true}, func([]byte) error { ring(changed); return nil })
		if err == nil {
			err = errShutDown
		}
		cancel(err)
	}()
	for {
		began := time.Now()
		if err := f.ask(ctx, c); err != nil {
			return cause(ctx, err)
		}
		rest := min(max(askSoon, askShare*time.Since(began)), askMost)
		pace := f.idle
		if lively(f.last) {
			pace = askLively
		}
		soon := time.NewTimer(rest)
		late := time.NewTimer(max(rest, pace))
		var err error
		select {
		case <-changed:
		case <-f.nudged:
		case <-late.C:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if err == nil {
			select {
			case <-soon.C:
			case <-ctx.Done():
				err = context.Cause(ctx)
			}
		}
		soon.Stop()
		late.Stop()
		if err != nil {
			return err
		}
	}
}

// cause prefers why a connection ended to what failed by it.
func cause(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil {
		return c
	}
	return err
}

// lively reports whether there are jobs whose numbers change by themselves.
func lively(s *ui.Snapshot) bool {
	for _, v := range s.Jobs {
		if v.State.Active() {
			return true
		}
	}
	return false
}

// ask fetches everything once, and publishes it if it is not what is known already.
func (f *feed) ask(ctx context.Context, c *ipc.Client) error {
	ctx, cancel := context.WithTimeoutCause(ctx, askTime, errors.New("the daemon doesn't answer"))
	defer cancel()
	now := f.now()
	views, jobs, sum, err := f.list(ctx, c)
	if err != nil {
		return err
	}
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	var approvals []byte
	if awaits(jobs) {
		if approvals, err = c.Approvals(ctx); err != nil && !unsupported(err) {
			return err
		}
	}
	s := &ui.Snapshot{At: now, Jobs: jobs}
	if err := decode(status, &s.Status); err != nil {
		return err
	}
	seen := [2]uint64{sum, maphash.Bytes(f.seed, approvals)}
	if seen == f.seen && f.last.Lost == "" && f.last.Status != nil && sameStatus(f.last.Status, s.Status) {
		return nil
	}
	if len(approvals) > 0 {
		if err := decode(approvals, &s.Approvals); err != nil {
			return err
		}
	}
	s.GPUs = &pasar.GPUsView{Schema: s.Status.Schema, Machines: s.Status.Machines}
	f.views, f.seen, f.last = views, seen, s
	f.publish(s)
	return nil
}

// sameStatus reports whether two say the same, but for when the machines were looked at.
func sameStatus(a, b *pasar.StatusView) bool {
	timeless := func(v *pasar.StatusView) pasar.StatusView {
		c := *v
		c.Machines = slices.Clone(v.Machines)
		for i := range c.Machines {
			c.Machines[i].LookedAt = nil
		}
		return c
	}
	return reflect.DeepEqual(timeless(a), timeless(b))
}

// list fetches the jobs. What is the same as the last time isn't decoded again.
func (f *feed) list(ctx context.Context, c *ipc.Client) (map[uint64]*pasar.JobView, []*pasar.JobView, uint64, error) {
	views := make(map[uint64]*pasar.JobView, len(f.views))
	var jobs []*pasar.JobView
	var all maphash.Hash
	all.SetSeed(f.seed)
	err := c.List(ctx, ipc.ListRequest{}, func(lines []byte) error {
		for line := range bytes.Lines(lines) {
			before, after := timeless(line)
			var one maphash.Hash
			one.SetSeed(f.seed)
			for _, h := range []*maphash.Hash{&one, &all} {
				_, _ = h.Write(before)
				_, _ = h.Write(after)
			}
			sum := one.Sum64()
			v := f.views[sum]
			if v == nil {
				if err := decode(line, &v); err != nil {
					return err
				}
			}
			views[sum] = v
			jobs = append(jobs, v)
		}
		return nil
	})
	return views, jobs, all.Sum64(), err
}

var queueWait = []byte(`"queue_wait":`)

// timeless is a view without how long its job has waited, which grows by itself: whoever shows that adds the time since.
func timeless(line []byte) (before, after []byte) {
	i := bytes.LastIndex(line, queueWait)
	if i < 0 {
		return line, nil
	}
	i += len(queueWait)
	n := bytes.IndexAny(line[i:], ",}")
	return line[:i], line[i+max(n, 0):]
}

// decode reads a view.
func decode[T any](b []byte, to **T) error {
	v := new(T)
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("read the daemon's answer: %w", err)
	}
	*to = v
	return nil
}

// awaits reports whether anything may await approval.
func awaits(jobs []*pasar.JobView) bool {
	for _, v := range jobs {
		if v.State == pasar.Awaiting || v.Cloud != nil && v.State.Active() {
			return true
		}
	}
	return false
}

func unsupported(err error) bool {
	var e *ipc.Error
	return errors.As(err, &e) && e.Code == ipc.CodeUnsupported
}
