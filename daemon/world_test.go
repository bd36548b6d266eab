package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/target"
	"pasar/target/targettest"
)

// errDisk is what a failing journal says.
var errDisk = errors.New("no space left on device")

// memJournal is a journal and history that keep encoded records, as a disk does, over any number of
// daemons' lives.
type memJournal struct {
	mu       sync.Mutex // guards all
	lines    [][]byte
	specs    map[pasar.JobID]pasar.Surroundings
	specRows int // how often surroundings were written
	finished map[pasar.JobID]HistoryRow
	snapSeq  int64
	snap     []byte
	appends  int
	fail     bool
}

func newMemJournal() *memJournal {
	return &memJournal{specs: map[pasar.JobID]pasar.Surroundings{}, finished: map[pasar.JobID]HistoryRow{}}
}

func (m *memJournal) Append(b Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail {
		return errDisk
	}
	m.appends++
	for _, r := range b.Records {
		if r.Seq != int64(len(m.lines))+1 {
			return fmt.Errorf("record %d after %d", r.Seq, len(m.lines))
		}
		l, err := json.Marshal(r)
		if err != nil {
			return err
		}
		m.lines = append(m.lines, l)
	}
	for _, s := range b.Specs {
		m.specRows++
		for _, id := range s.Jobs {
			m.specs[id] = s.Surroundings
		}
	}
	for _, id := range b.Unfinished {
		delete(m.finished, id)
	}
	for _, r := range b.Finished {
		m.finished[r.Job] = r
	}
	return nil
}

func (m *memJournal) setFail(fail bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = fail
}

func (m *memJournal) Facts(_ context.Context, after int64, f func(pasar.Record) error) error {
	m.mu.Lock()
	lines := slices.Clone(m.lines[after:])
	m.mu.Unlock()
	for _, l := range lines {
		var r pasar.Record
		if err := json.Unmarshal(l, &r); err != nil {
			return err
		}
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

func (m *memJournal) RawFacts(_ context.Context, after int64, limit int) ([][]byte, int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	end := min(int64(len(m.lines)), after+int64(limit))
	return slices.Clone(m.lines[after:end]), end, nil
}

func (m *memJournal) Snapshot() (int64, []byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.snapSeq, m.snap, nil
}

func (m *memJournal) SaveSnapshot(seq int64, body []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.snapSeq, m.snap = seq, body
	return nil
}

func (m *memJournal) Prune(int64) error { return nil }

func (m *memJournal) Surroundings(id pasar.JobID) (pasar.Surroundings, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.specs[id]
	if !ok {
		return s, fmt.Errorf("job %d has no surroundings", id)
	}
	return s, nil
}

func (m *memJournal) FinishedJob(id pasar.JobID) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.finished[id]
	return r.Body, ok, nil
}

func (m *memJournal) JobByKey(key string) (pasar.JobID, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, r := range m.finished {
		if r.Key == key {
			return id, true, nil
		}
	}
	return 0, false, nil
}

func (m *memJournal) FinishedJobs(q HistoryQuery) ([]HistoryRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var rows []HistoryRow
	for _, r := range m.finished {
		in := func(at time.Time) bool { return !at.Before(q.Since) && (q.Until.IsZero() || at.Before(q.Until)) }
		if (in(r.Created) || in(r.Finished)) && (len(q.States) == 0 || slices.Contains(q.States, r.State)) && (q.ToJob == 0 || q.FromJob <= r.Job && r.Job <= q.ToJob) {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b HistoryRow) int { return int(b.Job - a.Job) })
	return rows[:min(len(rows), max(q.Limit, 1))], nil
}

// life is a journal as one daemon's life sees it: dead once the daemon has died.
type life struct {
	*memJournal
	mu    sync.Mutex // guards the rest
	dead  bool
	crash func(b Batch, done bool) bool // asked before and after each append; true: die here
	died  chan struct{}
}

func (l *life) Append(b Batch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead || l.crash != nil && l.crash(b, false) {
		l.die()
		return errDead
	}
	err := l.memJournal.Append(b)
	if err == nil && l.crash != nil && l.crash(b, true) {
		l.die()
		return errDead
	}
	return err
}

func (l *life) SaveSnapshot(seq int64, body []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return errDead
	}
	return l.memJournal.SaveSnapshot(seq, body)
}

var errDead = errors.New("the daemon is dead")

func (l *life) die() {
	if !l.dead {
		l.dead = true
		close(l.died)
	}
}

func (l *life) kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.die()
}

// world is everything that outlives a daemon.
type world struct {
	t       *testing.T
	journal *memJournal
	machine *targettest.World
	nonces  int
	boot    string
	wall    atomic.Int64                         // by how much the wall clock was set
	up      time.Time                            // since when the machine has been up
	wrap    func(*targettest.Fake) target.Target // what the daemon sees of the machine

	certify  func(pasar.AttemptKey, []byte) error // nil: no certificates
	usage    UsageFiles                           // nil: what was used isn't kept
	reports  ReportReader                         // nil: no events files
	dataDir  string
	meter    Meter // nil: none
	settings Settings
}

func newWorld(t *testing.T, gpus int) *world {
	return &world{t: t, journal: newMemJournal(), machine: targettest.NewWorld(targettest.Machine(gpus, 80*pasar.GiB)),
		boot: "boot-1", dataDir: "/data", up: time.Now().Add(-time.Hour), wrap: func(f *targettest.Fake) target.Target { return f },
		settings: Settings{Margin: pasar.Margin{Min: 2 * pasar.GiB, Frac: 0.1}}}
}

// A fakeClock's wall clock can be set; the clock that counts from boot can't.
type fakeClock struct {
	start time.Time
	set   *atomic.Int64 // by how much, in nanoseconds; nil: never
}

func (c fakeClock) Now() time.Time {
	if c.set == nil {
		return time.Now()
	}
	return time.Now().Add(time.Duration(c.set.Load()))
}
func (c fakeClock) Mono() pasar.Duration { return pasar.Duration(time.Since(c.start)) + 1 }

// running is one daemon's life.
type running struct {
	*Daemon
	w    *world
	life *life
	fake *targettest.Fake
	stop func()
}

// start begins a life. It ends with the test, or before by stop (orderly) or kill.
func (w *world) start(crash func(b Batch, done bool) bool) *running {
	w.t.Helper()
	r := w.begin(crash)
	synctest.Wait()
	return r
}

// begin is start where time passes.
func (w *world) begin(crash func(b Batch, done bool) bool) *running {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &life{memJournal: w.journal, died: make(chan struct{}), crash: crash}
	f := w.machine.View()
	var mu sync.Mutex
	d, err := New(ctx, Deps{
		Journal: l, History: l, Target: w.wrap(f), Clock: fakeClock{w.up, &w.wall}, Boot: w.boot,
		Random: func() string {
			mu.Lock()
			defer mu.Unlock()
			w.nonces++
			return fmt.Sprintf("nonce-%d", w.nonces)
		},
		User: "ada", UID: 1000, Pid: 7, DataDir: w.dataDir, Certify: w.certify, Reports: w.reports, Usage: w.usage, Socket: "/run/pasard.sock",
		Meter: w.meter,
	}, w.settings)
	if err != nil {
		w.t.Fatalf("new daemon: %v", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := d.Run(ctx); err != nil {
			w.t.Errorf("run: %v", err)
		}
	}()
	r := &running{Daemon: d, w: w, life: l, fake: f}
	r.stop = func() { cancel(); <-done }
	w.t.Cleanup(r.stop)
	return r
}

// kill ends the life as kill -9 does: nothing more of it reaches the disk or the machine.
func (r *running) kill() {
	r.life.kill()
	r.fake.Kill()
	r.stop()
}

func spec(name string, bid pasar.Bid) pasar.Spec {
	return pasar.Spec{Name: name, Argv: pasar.Args([]string{name}), Cwd: "/", Bid: bid,
		Claim: pasar.Claim{Kind: pasar.Whole, GPUs: 1}, Grace: pasar.Duration(time.Minute), Submitter: "ada"}
}

func (r *running) submit(s pasar.Spec) pasar.JobID {
	r.w.t.Helper()
	o, err := r.do(context.Background(), r.Daemon.submit(ipc.SubmitRequest{Request: ipc.NewRequest(), Spec: s}))
	if err != nil {
		r.w.t.Fatalf("submit %s: %v", s.Name, err)
	}
	synctest.Wait()
	return o.jobs[0]
}

func (r *running) state(id pasar.JobID) pasar.State {
	r.w.t.Helper()
	j, err := r.find(id)
	if err != nil {
		r.w.t.Fatalf("find job %d: %v", id, err)
	}
	return j.state()
}

func (r *running) expect(id pasar.JobID, want pasar.State) {
	r.w.t.Helper()
	synctest.Wait()
	if got := r.state(id); got != want {
		r.w.t.Fatalf("job %d is %s, want %s", id, got, want)
	}
}

func key(id pasar.JobID, attempt int) pasar.AttemptKey {
	return pasar.AttemptKey{Job: id, Attempt: attempt}
}

func (w *world) check() {
	w.t.Helper()
	for _, v := range w.machine.Violations() {
		w.t.Errorf("violation: %s", v)
	}
	for _, k := range w.machine.Attempts() {
		if n := w.machine.Runs(k); n > 1 {
			w.t.Errorf("attempt %s ran %d times", k, n)
		}
	}
}
