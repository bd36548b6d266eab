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
		pause := changesPause
		if !first { // which makes every view, and is made once
			pause = min(max(pause, changesShare*time.Duration(s.took)), changesMost)
		}
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
	if err := s.send(&g, &v, status, &c, jobs); err != nil {
		return false, err
	}
	s.begun, s.status, s.more = true, sum, more
	return busy, nil
}

// send sends a view, piece by piece as it is made. The marks that are kept are those of what is sent: what moves
// without a fact may have moved since the look.
func (s *follower) send(g *glance, v *pasar.ChangesView, status []byte, c *difference, jobs []found) error {
	s.buf = fmt.Appendf(s.buf, `{"schema":%d,"seq":%d,"at":"`, v.Schema, v.Seq)
	s.buf = v.At.AppendFormat(s.buf, time.RFC3339Nano)
	s.buf = fmt.Appendf(s.buf, `","whole":%t,"status":%s,"jobs":[`, v.Whole, status)
	for n, i := range c.jobs {
		j, l := &jobs[i], &s.sent.lines[i]
		reason := g.reason(j)
		jv := s.d.view(j.j, reason, g.f)
		if err := s.mark(l, j.j, reason, &jv); err != nil {
			return err
		}
		if err := s.piece(n, jv.AppendJSON); err != nil {
			return fmt.Errorf("encode job %d: %w", jv.ID, err)
		}
	}
	s.buf = append(s.buf, `],"outlooks":[`...)
	for n, i := range c.outlooks {
		j := &jobs[i]
		reason := g.reason(j)
		jv := s.glimpse(g, j.j, reason)
		s.markOutlook(&s.sent.lines[i].mark, reason, &jv.Projected)
		o := jv.Outlook()
		if err := s.piece(n, o.AppendJSON); err != nil {
			return fmt.Errorf("encode outlook of job %d: %w", jv.ID, err)
		}
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

// piece appends the n-th of a list, and sends what has become a chunk.
func (s *follower) piece(n int, encode func([]byte) ([]byte, error)) (err error) {
	if n > 0 {
		s.buf = append(s.buf, ',')
	}
	if s.buf, err = encode(s.buf); err != nil {
		return err
	}
	return s.flush(ipc.MaxChunk)
}

// flush sends what is made while it is at least so many bytes. What the client takes for it isn't reckoned.
func (s *follower) flush(least int) error {
	for len(s.buf) >= least {
		n := min(len(s.buf), ipc.MaxChunk)
		s.took += s.d.Clock.Mono() - s.since
		if err := s.chunk(s.buf[:n]); err != nil {
			return err
		}
		s.since = s.d.Clock.Mono()
		s.buf = append(s.buf[:0], s.buf[n:]...)
	}
	return nil
}

// plain reports whether all of a job's view but its outlook follows from the job, which is never changed itself, and
// from what is usual: so it is for most of a long queue.
func plain(j *job) bool { return j.Phase == phaseWaiting && len(j.Attempts) == 0 }

// measure sets a line to a job as it is now. Of a plain one that takes no view, which costs ten times as much.
func (s *follower) measure(g *glance, n *found, l *line) error {
	reason := g.reason(n)
	if !plain(n.j) {
		v := s.d.view(n.j, reason, g.f)
		return s.mark(l, n.j, reason, &v)
	}
	v := pasar.JobView{Projected: pasar.ProjectedView{}}
	v.Projected.Start = inUTC(reason.Start)
	s.d.project(&v, n.j, 0, g.now, g.f)
	return s.mark(l, n.j, reason, &v)
}

// glimpse is a view of which the outlook alone is asked for.
func (s *follower) glimpse(g *glance, j *job, reason *pasar.Reason) pasar.JobView {
	if !plain(j) {
		return s.d.view(j, reason, g.f)
	}
	v := pasar.JobView{ID: j.ID, Projected: pasar.ProjectedView{GPUs: []pasar.GPURef{}}}
	waits(&v, j, reason)
	s.d.project(&v, j, 0, g.now, g.f)
	return v
}

// mark sets a line to what a view says.
func (s *follower) mark(l *line, j *job, reason *pasar.Reason, v *pasar.JobView) (err error) {
	l.waits = reason != nil
	s.markOutlook(&l.mark, reason, &v.Projected)
	if plain(j) {
		l.facts, l.of, l.usual = 0, j, usualIn(v)
		return nil
	}
	l.of, l.usual = nil, 0
	l.facts, err = s.factsIn(*v)
	return err
}

// usualIn is what a plain job is expected to take, in steps if that is by history: or each end of an array's jobs would
// change all that wait, a little.
func usualIn(v *pasar.JobView) pasar.Duration {
	switch {
	case v.EstRuntime == nil:
		return 0
	case *v.EstSource == "history":
		return pasar.Duration(math.Round(math.Log(float64(*v.EstRuntime)) * 10))
	}
	return *v.EstRuntime
}

// factsIn is the hash of what of a view moves neither with time nor with the queue: those parts are cleared.
func (s *follower) factsIn(v pasar.JobView) (uint64, error) {
	v.RunTime, v.Remaining, v.Projected = nil, nil, pasar.ProjectedView{}
	if v.Waiting != nil {
		v.Waiting, v.Reason, v.Summary, v.Lost.QueueWait = nil, nil, nil, 0
	}
	if v.EstSource != nil && *v.EstSource == "progress" { // then it follows from the progress, but for the time it was reckoned
		v.EstRuntime = nil
	}
	if v.EstSource != nil && *v.EstSource == "history" {
		steps := usualIn(&v)
		v.EstRuntime = &steps
	}
	if n := len(v.Attempts); n > 0 && v.Attempts[n-1].EndedAt == nil {
		v.Attempts = slices.Clone(v.Attempts)
		v.Attempts[n-1].RunTime = nil
	}
	return s.hash(v.AppendJSON)
}

// markOutlook sets the part of a mark that is the outlook's. All of an outlook follows from these, but for what is left
// over of the time.
func (s *follower) markOutlook(m *mark, r *pasar.Reason, p *pasar.ProjectedView) {
	m.why, m.rest, m.ahead, m.reserve = 0, 0, 0, 0
	m.start, m.finish = nanos(p.Start), nanos(p.Finish)
	var h maphash.Hash
	h.SetSeed(s.seed)
	if r != nil {
		m.ahead, m.reserve = r.Ahead, nanos(r.Reserved)
		maphash.WriteComparable(&h, why{r.Why, r.Detail, nanos(r.Until)})
		m.why = h.Sum64()
		h.Reset()
		maphash.WriteComparable(&h, holding{r.Need, r.Free, r.Behind, bidIn(r.BidNeeded), len(r.Holders)})
		for _, id := range r.Holders {
			maphash.WriteComparable(&h, id)
		}
	}
	if p.Machine != nil {
		h.WriteString(*p.Machine)
	}
	for i := range p.GPUs {
		maphash.WriteComparable(&h, p.GPUs[i])
	}
	m.rest = h.Sum64()
}

// A why is what a job waits for.
type why struct {
	why    pasar.WaitWhy
	detail string
	until  int64
}

// A holding is what it lacks, and who has it.
type holding struct {
	need, free pasar.Bytes
	behind     pasar.JobID
	bid        pasar.Bid
	holders    int
}

func bidIn(b *pasar.Bid) pasar.Bid {
	if b == nil {
		return -1
	}
	return *b
}

func nanos(t *time.Time) int64 {
	if t == nil {
		return 0
	}
	return t.UnixNano()
}

func (s *follower) hash(encode func([]byte) ([]byte, error)) (uint64, error) {
	b, err := encode(s.scratch[:0])
	s.scratch = b
	return maphash.Bytes(s.seed, b), err
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
