// Package daemon is the owner of all jobs: a fold over facts with one goroutine that owns the state.
//
// Facts and commands come in; the loop checks commands against the state, applies facts, asks the
// scheduler, appends the whole batch to the journal in one transaction, and only then answers
// clients, publishes an immutable snapshot and starts effects. Effects run outside, each with an
// owner, and report back as facts; each is safe to begin again.
package daemon

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"pasar"
	"pasar/sched"
	"pasar/target"
)

// A Journal keeps facts: what Append accepted is there after any crash.
type Journal interface {
	// Append writes a batch in one transaction with one sync: all of it or nothing.
	Append(Batch) error
	// Facts calls f with every record after a sequence number, in order.
	Facts(ctx context.Context, after int64, f func(pasar.Record) error) error
	// RawFacts is up to limit encoded records after a sequence number.
	RawFacts(ctx context.Context, after int64, limit int) (lines [][]byte, last int64, err error)
	// Snapshot is the newest saved state; sequence 0 when there is none.
	Snapshot() (seq int64, body []byte, err error)
	SaveSnapshot(seq int64, body []byte) error
	// Prune drops facts before a sequence number, but none that recovery may need.
	Prune(before int64) error
	// Surroundings is what a job's submit recorded beside the facts.
	Surroundings(pasar.JobID) (pasar.Surroundings, error)
}

// History is where finished jobs are once they have left memory.
type History interface {
	FinishedJob(pasar.JobID) (body []byte, ok bool, err error)
	JobByKey(key string) (pasar.JobID, bool, error)
	FinishedJobs(HistoryQuery) ([]HistoryRow, error)
}

// A Batch is what one turn of the loop makes durable together.
type Batch struct {
	Records    []pasar.Record
	Specs      []SpecRow
	Finished   []HistoryRow  // jobs that ended in this batch
	Unfinished []pasar.JobID // finished jobs that were requeued
}

// A SpecRow is the private part of a submit: what its jobs inherit.
type SpecRow struct {
	Jobs         []pasar.JobID
	Surroundings pasar.Surroundings
}

// A HistoryRow is a finished job: its encoding, and what it is searched by.
type HistoryRow struct {
	Job       pasar.JobID
	State     pasar.State
	Created   time.Time
	Finished  time.Time
	Submitter string
	By        string
	Name      string
	Key       string
	Machine   string
	Tags      []string
	Body      []byte
}

// A HistoryQuery selects finished jobs, newest first. Zero fields select everything.
type HistoryQuery struct {
	Limit      int
	BeforeTime time.Time // for paging: rows after (in the listing) this finish time and id
	BeforeJob  pasar.JobID
	States     []pasar.State
	Tag        string
	By         string
	Submitter  string
	Machine    string
	Since      time.Time   // finished then or later
	Until      time.Time   // finished before that, or created before it and not before Since
	FromJob    pasar.JobID // ids from one to another; 0: any
	ToJob      pasar.JobID
}

// A Clock tells the time by the wall and by CLOCK_BOOTTIME.
type Clock interface {
	Now() time.Time
	Mono() pasar.Duration
}

// A Meter looks at the machine's GPUs and memory while the daemon runs.
type Meter interface {
	// Run calls see with each reading, from one goroutine, until ctx is done.
	Run(ctx context.Context, see func(pasar.Reading))
	// Pace says how soon readings are wanted from now on. It never waits.
	Pace(pasar.Pace)
}

// A KernelReader is a meter that also follows the kernel's log.
type KernelReader interface {
	// Said is what the log said of an attempt's processes since a time, in order, a bounded number of lines. Pid is
	// that of its main process; 0: not known. Whole says that all that came since then was read.
	Said(key pasar.AttemptKey, pid int, since time.Time) (lines []string, whole bool)
	// Search is the same of a log that can't be followed but may be asked for; it takes a few seconds at most.
	Search(ctx context.Context, key pasar.AttemptKey, pid int, since time.Time) []string
}

// A GPUHistory is how GPUs were used lately.
type GPUHistory interface {
	// View is the history between two times, by UUID, of each GPU at most so many points, and of many GPUs no more
	// than fit into an answer. It has no index, name or size of GPUs.
	View(since, until time.Time, points int) pasar.GPUHistoryView
}

// A LongHistory is how GPUs were used, as somebody else knows it who keeps it for longer.
type LongHistory interface {
	// View is the history between two times of the GPUs with these UUIDs, as the one at a URL knows it: as that of a
	// GPUHistory. An error is one line.
	View(ctx context.Context, url string, uuids []string, since, until time.Time, points int) (pasar.GPUHistoryView, error)
}

// Deps is what the daemon is made of.
type Deps struct {
	Journal Journal
	History History
	Target  target.Target // the local machine
	Meter   Meter         // nil: nobody looks, and the ledger is all there is
	Past    GPUHistory    // of the meter's readings; nil: none is kept
	Longer  LongHistory   // asked for times that Past doesn't go back to, if a URL is set; nil: nobody is
	Clock   Clock
	Boot    string                               // boot id, for durations over restarts
	Random  func() string                        // a fresh random word, for nonces and stop ids
	ReadGit GitReader                            // nil: no git is read
	Certify func(pasar.AttemptKey, []byte) error // keeps the certificate of an attempt's end; nil: none is kept
	Reports ReportReader                         // nil: only what running attempts report is known
	Usage   UsageFiles                           // nil: what ended attempts used isn't known
	Log     *slog.Logger
	Reload  func() (changed, restart []string, err error)
	Web     WebAccess // nil: no HTTP is served
	Quiet   func()    // called beside the loop once nothing has happened for a while; may be nil

	Surround Surrounder // of jobs from afar; nil: none are taken

	User    string // name of the one user this daemon serves
	UID     int
	Pid     int
	DataDir string
	Socket  string
}

// A Surrounder says what surrounds a job whose client is on another machine: what surrounds this process, of the
// environment all or the bare minimum, and what is added. Dir is made absolute. An error is an *ipc.Error.
type Surrounder func(dir string, noEnv bool, add []pasar.Arg) (s pasar.Surroundings, cwd string, err error)

// Settings are the parts of the configuration that the daemon itself acts on; they may be replaced
// while it runs.
type Settings struct {
	Margin      pasar.Margin
	RequireTime bool
	Bid         pasar.Bid      // of a submit from afar that says nothing
	Grace       pasar.Duration // its grace
	LogMax      pasar.Bytes
	RetainAge   time.Duration // of attempts that are over; 0: no bound
	RetainSize  pasar.Bytes   // of all of them together; 0: no bound

	External       pasar.External // what whole claims that say nothing make of strangers
	IdleMem        pasar.Bytes    // a GPU with at most this in use, and no compute process, is as good as unused
	Prefer         []string       // GPUs, by index or UUID, in the order in which they are given out
	ByIndex        bool           // CUDA_VISIBLE_DEVICES has indices
	ReleaseTimeout time.Duration  // how long the memory of an ended job may take to be free
	Settle         time.Duration  // how long a new slice's memory must have been flat for the next to start beside it
	PressureSome   float64        // memory pressure (PSI some avg10) that is too much, as a part of 1
	PressureFree   float64        // the part of RAM that must stay available
	PressureFor    time.Duration  // how long pressure must last
	HotC           float64        // degrees from which a GPU is shown as hot, if the driver names none that are fewer

	PrometheusURL string // where Longer asks; empty: nowhere
}

// A Daemon owns the state of all jobs. Make one with New, then Run it.
type Daemon struct {
	Deps
	settings atomic.Pointer[Settings]

	inbox chan message
	beats chan struct{} // unbuffered: taken up by the loop alone
	state *state        // owned by the loop

	pub     atomic.Pointer[published]
	index   sync.Map // pasar.JobID → *job, as committed; unfinished and recently finished ones
	latest  sync.Map // pasar.JobID → *progress of running attempts
	usuals  sync.Map // fingerprint → usual, as committed
	changed broadcast
	said    atomic.Pointer[string] // what was wrong when Longer was asked last; nil: nothing

	looks    chan looking  // unbuffered: taken up by the loop alone
	asks     chan struct{} // for a forecast; buffered
	outlook  atomic.Pointer[forecast]
	foreseen broadcast // a new forecast
	reach    reach     // of forecasts

	tenders map[pasar.JobID]*tender // owned by the loop
	leaving []*leaver               // owned by the loop
	lookout *lookout                // nil without a meter
	effects sync.WaitGroup
	saving  atomic.Bool
	saved   int64 // sequence of the newest snapshot; owned by the loop

	started time.Time
	stopReq context.CancelFunc
	gits    chan gitRequest
	readers *turnstile // of outputs for verdicts
	writers *turnstile // of certificates
	reports *turnstile // readers of events files
	courses *turnstile // readers and the writer of usage files
}

// ErrShutdown is the cause with which the daemon's context ends when a client asked for it.
var ErrShutdown = fmt.Errorf("shutdown asked for")

// New recovers the state from the journal. Nothing is started yet.
func New(ctx context.Context, deps Deps, settings Settings) (*Daemon, error) {
	if deps.Log == nil {
		deps.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	d := &Daemon{
		Deps:    deps,
		inbox:   make(chan message, 256),
		beats:   make(chan struct{}),
		looks:   make(chan looking),
		asks:    make(chan struct{}, 1),
		tenders: map[pasar.JobID]*tender{},
		gits:    make(chan gitRequest, 64),
		readers: newTurnstile(outputReaders, outputPatience),
		writers: newTurnstile(certificateWriters, certificatePatience),
		reports: newTurnstile(reportReaders, reportPatience),
		courses: newTurnstile(reportReaders, usagePatience),
		started: deps.Clock.Now(),
	}
	d.settings.Store(&settings)
	if deps.Meter != nil {
		d.lookout = newLookout(d)
	}
	s, err := d.fold(ctx)
	if err != nil {
		return nil, err
	}
	d.state = s
	d.reindex()
	d.pub.Store(d.snapshotOf(sched.Reasons{})) // readers see what was recovered; reasons come with the first turn
	return d, nil
}

// SetSettings replaces the settings; they count from the next request on.
func (d *Daemon) SetSettings(s Settings) { d.settings.Store(&s) }

// Run does the daemon's work until ctx is done or Shutdown is called; jobs go on after it. It
// returns when every effect has ended.
func (d *Daemon) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.stopReq = cancel
	d.effects.Go(func() { d.readGits(ctx) })
	d.effects.Go(func() { d.retain(ctx) })
	d.effects.Go(func() { d.foresee(ctx) })
	if d.lookout != nil {
		d.effects.Go(func() { d.lookout.run(ctx) })
		d.effects.Go(func() { d.keepUsage(ctx) })
	}
	err := d.loop(ctx)
	cancel()
	d.effects.Wait()
	if d.state.seq > d.saved { // so that the next start has little to fold
		if err := d.saveFrozen(d.state.freeze()); err != nil {
			d.Log.Warn("snapshot not saved", "error", err)
		}
	}
	return err
}
