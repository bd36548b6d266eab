// Package local is this machine as a target: attempts run under supervisors of their own, which need
// nothing of the process that launched them.
//
// All that is known about an attempt lies in its directory, so that any later Machine on the same
// data directory finds, watches and stops what an earlier one launched. The claim file decides who
// runs an attempt: a supervisor creates it exclusively and holds a lock on it for life. Without a
// claim, and with an empty one whose lock is free, nothing was launched; a filled one whose lock is
// free is an attempt that is over, seen (exit record) or unseen (gone).
package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"pasar"
	"pasar/gpu"
	"pasar/ipc"
	"pasar/target"
)

// Keys of log records.
const (
	keyAttempt = "attempt"
	keyError   = "error"
)

// Times that bound what is waited for.
const (
	launchTimeout = 10 * time.Second // for a supervisor to take a claim; local disks do it in under a millisecond
	answerTimeout = 2 * time.Second  // for the first status on a control connection
	settleTimeout = 3 * time.Second  // for a supervisor that doesn't answer to be seen dead or alive
)

// Options are what a Machine needs.
type Options struct {
	DataDir       string      // absolute; attempts are in its folder jobs
	RunDir        string      // absolute, private; for sockets and the log of supervisors kept warm
	Supervisor    string      // path of pasar-supervisor
	Socket        string      // the daemon's socket, for PASAR_SOCKET of jobs; empty: left as submitted
	SystemReserve pasar.Bytes // of RAM, never given out; 0: 16 GiB, at most a quarter of RAM
	CPUJobs       int         // jobs without a GPU at a time; 0: as many as cores
	Log           *slog.Logger
	Place         pasar.Place // the best place to put supervisors in; empty: whatever this machine offers

	// Discover finds the GPUs; nil is gpu.Discover.
	Discover func(context.Context) ([]gpu.Device, error)
}

// A Machine is this machine. It implements every interface of package target.
type Machine struct {
	o      Options
	log    *slog.Logger
	boot   string
	ladder *ladder
	pool   *pool
	roster *roster
	keys   keyLocks
	work   sync.WaitGroup // goroutines of ours

	mu      sync.Mutex // guards what follows
	links   map[target.Handle]*link
	cleared map[target.Handle]string // gone, and surely nothing of it is left; what became of its unit
	closed  bool

	// Only tests set what follows.
	launchTimeout time.Duration
	journal       func(ctx context.Context, unit string) ([]byte, error) // what the journal has of a unit
	step          func(step string) error                                // called at each step of a launch; an error ends it there, as a crash would
}

var (
	_ target.Target       = (*Machine)(nil)
	_ target.Watcher      = (*Machine)(nil)
	_ target.Acknowledger = (*Machine)(nil)
	_ target.Attacher     = (*Machine)(nil)
	_ target.Placed       = (*Machine)(nil)
)

// ErrClosed is returned by methods of a Machine that was closed.
var ErrClosed = errors.New("this machine is closed")

// New makes a Machine and begins to keep a supervisor warm. It makes the directories it needs and
// fails if it can't. A supervisor that can't be started is told by Launch, not here.
func New(o Options) (*Machine, error) { return newOn(o, thisHost()) }

// newOn is New on a host of a test's.
func newOn(o Options, h host) (*Machine, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if o.Discover == nil {
		o.Discover = gpu.Discover
	}
	for _, p := range []string{o.DataDir, o.RunDir, o.Supervisor} {
		if !filepath.IsAbs(p) {
			return nil, fmt.Errorf("local machine: %q is not an absolute path", p)
		}
	}
	if o.Place != "" && !slices.Contains(places, o.Place) {
		return nil, fmt.Errorf("local machine: %q is no place for supervisors: systemd, cgroup or session is", pasar.Clean(string(o.Place)))
	}
	for _, dir := range []string{filepath.Join(o.DataDir, jobsDir), o.RunDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("local machine: %w", err)
		}
	}
	// A supervisor would refuse it too, and has nobody to tell.
	if err := ipc.CheckPrivateDir(o.RunDir); err != nil {
		return nil, fmt.Errorf("local machine: %w", err)
	}
	boot, err := bootID()
	if err != nil {
		return nil, fmt.Errorf("local machine: %w", err)
	}
	m := &Machine{
		o: o, log: o.Log, boot: boot,
		links:   map[target.Handle]*link{},
		cleared: map[target.Handle]string{},
		journal: readUnitJournal,
		roster:  newRoster(),
		step:    func(string) error { return nil },

		launchTimeout: launchTimeout,
	}
	m.ladder = newLadder(o.Place, h, o.Log)
	m.pool = newPool(o, m.ladder)
	m.work.Go(func() { m.sweep(time.Now()) })
	return m, nil
}

// Close lets the warm supervisor go and closes every connection. Attempts run on.
func (m *Machine) Close() error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil
	}
	m.closed = true
	links := m.links
	m.links = map[target.Handle]*link{}
	m.mu.Unlock()
	for _, l := range links {
		_ = l.conn.Close()
	}
	m.pool.close()
	m.work.Wait()
	m.ladder.close()
	return nil
}

func (m *Machine) isClosed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}

// AttachSocket is the path of the socket where the attempt's supervisor listens.
func (m *Machine) AttachSocket(ctx context.Context, h target.Handle) (string, error) {
	c, err := lookAt(m.attemptDir(h.Key))
	switch {
	case err != nil:
		return "", err
	case c.state == claimNone:
		held, ok := m.bySocket(ctx, h)
		if !ok {
			return "", fmt.Errorf("attempt %s has no supervisor any more", h.Key)
		}
		return held.Socket, nil
	case c.state != claimHeld || c.holding.Nonce != h.Nonce:
		return "", fmt.Errorf("attempt %s has no supervisor any more", h.Key)
	}
	return c.holding.Socket, nil
}

// keyLocks serialises work on one attempt within this process.
type keyLocks struct {
	mu   sync.Mutex // guards held
	held map[pasar.AttemptKey]*keyLock
}

type keyLock struct {
	mu   sync.Mutex
	uses int
}

func (k *keyLocks) lock(key pasar.AttemptKey) (unlock func()) {
	k.mu.Lock()
	if k.held == nil {
		k.held = map[pasar.AttemptKey]*keyLock{}
	}
	l := k.held[key]
	if l == nil {
		l = &keyLock{}
		k.held[key] = l
	}
	l.uses++
	k.mu.Unlock()
	l.mu.Lock()
	return func() {
		l.mu.Unlock()
		k.mu.Lock()
		defer k.mu.Unlock()
		if l.uses--; l.uses == 0 {
			delete(k.held, key)
		}
	}
}
