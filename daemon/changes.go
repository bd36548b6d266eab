package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"time"

	"pasar"
	"pasar/ipc"
)

// How often a stream of changes looks for them. It looks when something happens; usage, progress and what GPUs do
// don't happen, so it also looks from time to time.
const (
	changesEvery = 2 * time.Second        // while there is work
	changesPause = 100 * time.Millisecond // at least between two looks,
	changesShare = 20                     // and so many times what the last one took, so that a long queue costs a part of one processor,
	changesMost  = 5 * time.Second        // but no longer: a look that had much to send is followed by one that hasn't
)

// changesChunk is how many bytes of a view are sent at once: less than may be, since some of it waits at both ends for a
// client that doesn't read, of which there may be many.
const changesChunk = 64 << 10

// serveChanges sends the jobs that match and the status, and then what changes of them.
func (d *Daemon) serveChanges(ctx context.Context, c *ipc.Call) error {
	var r ipc.ChangesRequest
	if err := errors.Join(c.Bind(&r), checkList(&r.List)); err != nil {
		return err
	}
	return d.newFollower(r.List, c.Turn, c.Chunk).run(ctx)
}

// A follower is one stream of changes. Between two looks it keeps of each job what tells whether it has changed, and
// nothing that waits to be sent: the next view is what differs by then, however long the client took for the last.
type follower struct {
	d     *Daemon
	list  ipc.ListRequest
	turn  func(context.Context) (end func(), err error)
	chunk func([]byte) error
	seed  maphash.Seed

	begun  bool // the first view has been sent
	sent   sentList
	status uint64 // hash of the one that was sent
	more   int

	buf     []byte         // made and not sent yet; a chunk and a job at most
	scratch []byte         // for hashing
	since   pasar.Duration // when views began to be made, or were again after a chunk was sent
	took    pasar.Duration // to make them in this look, without what the client took
}

func (d *Daemon) newFollower(list ipc.ListRequest, turn func(context.Context) (func(), error), chunk func([]byte) error) *follower {
	var named []pasar.JobID // each once
	for _, id := range list.Jobs {
		if !slices.Contains(named, id) {
			named = append(named, id)
		}
	}
	list.Jobs = named
	return &follower{d: d, list: list, turn: turn, chunk: chunk, seed: maphash.MakeSeed()}
}

func (s *follower) run(ctx context.Context) error {
	for _, id := range s.list.Jobs {
		if _, err := s.d.find(id); err != nil {
			return err
		}
	}
	s.d.awaitMachines(ctx)
	s.d.lookFirst(ctx)
	for {
		next := s.d.changed.next() // before the look, so that no change falls between
		first := !s.begun
		busy, err := s.look(ctx)
		if err != nil {
			return err
		}
		pause := pauseAfter(s.took, first)
		if err := await(ctx, nil, pause); err != nil {
			return err
		}
		again := max(changesEvery-pause, 0)
		if !busy {
			again = math.MaxInt64
		}
		if err := await(ctx, next, again); err != nil {
			return err
		}
	}
}

// pauseAfter is how long nothing is looked at after a look that took so long. The first doesn't count: it makes every
// view, which none after it does.
func pauseAfter(took pasar.Duration, first bool) time.Duration {
	if first {
		return changesPause
	}
	return min(max(changesPause, changesShare*time.Duration(took)), changesMost)
}

// await returns when next is closed, or after some time. An error is ctx's cause.
func await(ctx context.Context, next <-chan struct{}, atMost time.Duration) error {
	late := time.NewTimer(atMost)
	defer late.Stop()
	select {
	case <-next:
	case <-late.C:
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}

// A found job is one of the list, and its place in the queue or -1.
type found struct {
	j     *job
	place int
}

// A glance is what one look goes by.
type glance struct {
	p   *published
	f   *forecast
	now time.Time
}

func (g *glance) reason(j *found) *pasar.Reason {
	if j.place >= 0 {
		return g.p.reasonAt(j.place)
	}
	return g.p.reasonFor(j.j)
}

// look sends a view if anything has changed. Busy says that something may change without a fact.
func (s *follower) look(ctx context.Context) (busy bool, err error) {
	end, err := s.turn(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	g := glance{p: s.d.pub.Load()}
	if len(g.p.waiting) > 0 {
		g.f = s.d.forecastOf(ctx, g.p)
	}
	busy = len(g.p.active)+len(g.p.waiting)+len(g.p.leaving) > 0
	g.now = s.d.Clock.Now()
	s.took, s.since = 0, s.d.Clock.Mono()
	defer func() {
		s.took += s.d.Clock.Mono() - s.since
		s.buf, s.scratch = nil, nil
	}()

	var jobs []found
	var lines []line
	var was []int // places in what was sent; -1: new
	places := s.sent.places()
	ended := map[pasar.JobID]bool{} // the history is read page by page while jobs go on ending
	more, err := s.d.selectJobs(ctx, &s.list, g.p, func(j *job, place int) error {
		if j.Phase == phaseFinished {
			if ended[j.ID] {
				return nil
			}
			ended[j.ID] = true
		}
		n, k := found{j, place}, places.of(j.ID)
		l := line{id: j.ID}
		if k >= 0 { // of a new one it is made when it is sent
			if err := s.measure(&g, &n, &l); err != nil {
				return err
			}
		}
		jobs, lines, was = append(jobs, n), append(lines, l), append(was, k)
		return nil
	})
	if err != nil {
		return false, err
	}
	status, sum, err := s.statusNow()
	if err != nil {
		return false, err
	}
	v := pasar.ChangesView{Schema: pasar.Schema, Seq: g.p.seq, At: g.now.UTC(), Whole: !s.begun, More: more}
	c := s.sent.become(g.now, s.d.Clock.Mono(), was, lines)
	if s.begun && c.empty() && sum == s.status && more == s.more {
		return busy, nil
	}
	if sum == s.status {
		status = []byte("null")
	}
	if v.Whole {
		c.moved = nil // they are in their order
	}
	if err := s.send(ctx, &g, &v, status, &c, jobs); err != nil {
		return false, err
	}
	s.begun, s.status, s.more = true, sum, more
	return busy, nil
}

// send sends a view, piece by piece as it is made. The marks that are kept are those of what is sent: what moves
// without a fact may have moved since the look.
func (s *follower) send(ctx context.Context, g *glance, v *pasar.ChangesView, status []byte, c *difference, jobs []found) error {
	s.buf = fmt.Appendf(s.buf, `{"schema":%d,"seq":%d,"at":"`, v.Schema, v.Seq)
	s.buf = v.At.AppendFormat(s.buf, time.RFC3339Nano)
	s.buf = fmt.Appendf(s.buf, `","whole":%t,"status":%s,"jobs":[`, v.Whole, status)
	if err := s.inBlocks(ctx, len(c.jobs), func(dst []byte, n int) ([]byte, error) {
		j := &jobs[c.jobs[n]]
		reason := g.reason(j)
		jv := s.d.view(j.j, reason, g.f)
		dst, err := s.mark(dst, &s.sent.lines[c.jobs[n]], j.j, reason, &jv)
		if err == nil {
			dst, err = jv.AppendJSON(dst)
		}
		if err != nil {
			return dst, fmt.Errorf("encode job %d: %w", jv.ID, err)
		}
		return dst, nil
	}); err != nil {
		return err
	}
	s.buf = append(s.buf, `],"outlooks":[`...)
	if err := s.inBlocks(ctx, len(c.outlooks), func(dst []byte, n int) ([]byte, error) {
		j := &jobs[c.outlooks[n]]
		reason := g.reason(j)
		jv := s.glimpse(g, j.j, reason)
		s.markOutlook(&s.sent.lines[c.outlooks[n]].mark, reason, &jv.Projected)
		o := jv.Outlook()
		dst, err := o.AppendJSON(dst)
		if err != nil {
			return dst, fmt.Errorf("encode outlook of job %d: %w", jv.ID, err)
		}
		return dst, nil
	}); err != nil {
		return err
	}
	s.buf = append(s.buf, `],"gone":[`...)
	for n, id := range c.gone {
		if err := s.piece(n, func(b []byte) ([]byte, error) { return strconv.AppendInt(b, int64(id), 10), nil }); err != nil {
			return err
		}
	}
	s.buf = append(s.buf, `],"moved":[`...)
	for n, m := range c.moved {
		if err := s.piece(n, func(b []byte) ([]byte, error) {
			return fmt.Appendf(b, `{"id":%d,"after":%d}`, m.ID, m.After), nil
		}); err != nil {
			return err
		}
	}
	s.buf = fmt.Appendf(s.buf, "],\"more\":%d}\n", v.More)
	return s.flush(1)
}

// inBlocks makes the n objects of a list on all processors, and sends what has become a chunk.
func (s *follower) inBlocks(ctx context.Context, n int, encode func(dst []byte, n int) ([]byte, error)) error {
	return inBlocks(ctx, n, func(b []byte) error {
		s.buf = append(s.buf, b...)
		return s.flush(changesChunk)
	}, func(dst []byte, i int) ([]byte, error) {
		if i > 0 {
			dst = append(dst, ',')
		}
		return encode(dst, i)
	})
}

// piece appends the n-th of a list, and sends what has become a chunk.
func (s *follower) piece(n int, encode func([]byte) ([]byte, error)) (err error) {
	if n > 0 {
		s.buf = append(s.buf, ',')
	}
	if s.buf, err = encode(s.buf); err != nil {
		return err
	}
	return s.flush(changesChunk)
}

// flush sends what is made while it is at least so many bytes. What the client takes for it isn't reckoned.
func (s *follower) flush(least int) error {
	for len(s.buf) >= least {
		n := min(len(s.buf), changesChunk)
		s.took += s.d.Clock.Mono() - s.since
		if err := s.chunk(s.buf[:n]); err != nil {
			return err
		}
		s.since = s.d.Clock.Mono()
		s.buf = append(s.buf[:0], s.buf[n:]...)
	}
	return nil
}

// statusNow is the status and a hash of it without what is never twice the same.
func (s *follower) statusNow() ([]byte, uint64, error) {
	v := s.d.status()
	b, err := json.Marshal(v)
	if err != nil {
		return nil, 0, fmt.Errorf("encode status: %w", err)
	}
	for i := range v.Machines {
		calm(&v.Machines[i])
	}
	still, err := json.Marshal(v)
	if err != nil {
		return nil, 0, fmt.Errorf("encode status: %w", err)
	}
	return b, maphash.Bytes(s.seed, still), nil
}

// calm takes out of a machine's view what is never twice the same and rounds what trembles.
func calm(m *pasar.MachineView) {
	m.LookedAt = nil
	if m.Available != nil {
		m.Available = inSteps(*m.Available, max(m.RAM/128, 1))
	}
	if m.Pressure != nil {
		m.Pressure = inSteps(*m.Pressure, 0.01)
	}
	for i := range m.GPUs {
		g := &m.GPUs[i]
		g.ClockMHz = nil
		if g.PowerW != nil {
			g.PowerW = inSteps(*g.PowerW, 10)
		}
	}
}

func inSteps[T pasar.Bytes | float64](x, step T) *T {
	r := T(math.Round(float64(x) / float64(step)))
	return &r
}
