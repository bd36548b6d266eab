package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/attemptdir"
	"pasar/ipc"
	"pasar/target"
)

// Pauses between failed attempts to keep a supervisor warm: doubled from the first to the last.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 30 * time.Second
	livedWell  = 10 * time.Second // one that lived so long before it died is no storm
)

// warmLog holds what supervisors said before they had an attempt.
const (
	warmLog    = "supervisors.log"
	maxWarmLog = 256 << 10 // cut when one more is started beyond it
)

// A pool keeps one supervisor warm: started, idle, waiting for a LAUNCH on its control connection. When
// one is taken the next is started, which no launch waits for unless the next launch is there already.
// While launches come quickly there are two.
type pool struct {
	o      Options
	log    *slog.Logger
	ladder *ladder
	reaper *reaper
	ready  chan *warm
	failed chan error    // why there is none, to launches that wait
	wanted chan struct{} // a launch waits
	stop   chan struct{}
	done   chan struct{}

	mu       sync.Mutex    // guards what follows
	failures int           // supervisors in a row that came to nothing
	why      error         // the last one did
	well     chan struct{} // closed when one took an attempt after failures
}

// A warm supervisor has no attempt yet. It exits when conn is closed.
type warm struct {
	pid    int
	conn   *ipc.AttachConn
	exited <-chan syscall.WaitStatus // closed after its status, which is 0 if it isn't our child
	born   time.Time
	place  pasar.Place
	cgroup string // to be removed if it comes to nothing; empty: none, or systemd does
	kill   func() // unless it has ended
	forget func() // no more is to be known of its end; may be nil
}

func newPool(o Options, l *ladder) *pool {
	p := &pool{
		o: o, log: o.Log, ladder: l, reaper: newReaper(),
		ready: make(chan *warm), failed: make(chan error), wanted: make(chan struct{}),
		stop: make(chan struct{}), done: make(chan struct{}), well: make(chan struct{}),
	}
	go p.keep()
	return p
}

// close lets the warm supervisor go and stops reaping.
func (p *pool) close() {
	close(p.stop)
	<-p.done
	p.reaper.close()
}

// A start is what came of starting a supervisor.
type start struct {
	warm *warm
	err  error
}

// keep is the pool's goroutine. A start is made beside it, since one by way of systemd takes its time:
// another that is warm can be taken meanwhile.
func (p *pool) keep() {
	defer close(p.done)
	var idle stock
	ctx, cancel := context.WithCancel(context.Background())
	started := make(chan start)
	defer func() {
		cancel()
		for ; idle.coming > 0; idle.coming-- {
			if s := <-started; s.err == nil {
				idle.warm = append(idle.warm, s.warm)
			}
		}
		for _, w := range idle.warm {
			p.letGo(w)
		}
	}()
	for {
		n, why := p.troubled()
		if n > 0 && len(idle.warm)+idle.coming == 0 && !p.pause(n, why) {
			return
		}
		for idle.short(n > 0) {
			idle.coming++
			go func() {
				w, err := p.start(ctx)
				started <- start{w, err}
			}()
		}
		var ready chan<- *warm
		var wanted <-chan struct{}
		var first *warm
		var exited [most]<-chan syscall.WaitStatus
		for i, w := range idle.warm {
			exited[i] = w.exited
		}
		if len(idle.warm) > 0 {
			ready, first = p.ready, idle.warm[0]
		} else {
			wanted = p.wanted
		}
		select {
		case s := <-started:
			idle.coming--
			if s.err != nil {
				p.spoilt(s.err)
			} else {
				idle.warm = append(idle.warm, s.warm)
			}
		case ready <- first:
			idle.took(time.Now())
		case status := <-exited[0]:
			p.lost(idle.remove(0), status)
		case status := <-exited[1]:
			p.lost(idle.remove(1), status)
		case <-wanted:
			idle.resting = false
		case <-idle.due():
			if idle.resting {
				idle.resting = false
			} else {
				idle.quick = false
				p.letGo(idle.remove(len(idle.warm) - 1))
			}
		case <-p.stop:
			return
		}
	}
}

// lost counts a supervisor that ended while it was idle.
func (p *pool) lost(w *warm, status syscall.WaitStatus) {
	w.end()
	if time.Since(w.born) >= livedWell {
		p.mended()
	}
	p.spoilt(p.died(w, status))
}

// end cleans up after a supervisor that has ended without an attempt.
func (w *warm) end() {
	_ = w.conn.Close()
	if w.forget != nil {
		w.forget()
	}
	if w.cgroup != "" {
		_ = removeCgroup(w.cgroup) // it removes it itself, unless it was killed
	}
}

// take is the warm supervisor. While there is none it waits, and for how long is the pool's affair.
func (p *pool) take(ctx context.Context) (*warm, error) {
	for {
		select {
		case w := <-p.ready:
			return w, nil
		case p.wanted <- struct{}{}: // ends a rest
		case err := <-p.failed:
			return nil, err
		case <-p.stop:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// spoilt counts a supervisor that came to nothing. Once may be chance; the second in a row it won't
// mend by itself, and launches are told so.
func (p *pool) spoilt(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failures++; p.failures > 1 && !passing(why) {
		why = target.Never(why)
	}
	p.why = why
	p.log.Warn("a supervisor came to nothing", keyError, why, "in_a_row", p.failures)
}

// mended says that a supervisor took an attempt.
func (p *pool) mended() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failures > 0 {
		p.failures = 0
		close(p.well)
		p.well = make(chan struct{})
	}
}

// troubled is how many supervisors in a row came to nothing, and why the last one did.
func (p *pool) troubled() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failures, p.why
}

// pause waits before the next start: the longer, the more came to nothing. Launches that wait are
// told why there is none, unless the first may have been chance. It is false when the pool is closed.
func (p *pool) pause(n int, why error) bool {
	p.mu.Lock()
	well := p.well
	p.mu.Unlock()
	var failed chan<- error
	if n > 1 || target.IsNever(why) {
		failed = p.failed
	}
	timer := time.NewTimer(min(firstPause<<min(n-1, 20), lastPause))
	defer timer.Stop()
	for {
		select {
		case failed <- why:
		case <-timer.C:
			return true
		case <-well:
			return true
		case <-p.stop:
			return false
		}
	}
}

// letGo lets a warm supervisor leave, and makes it if it doesn't within a second.
func (p *pool) letGo(w *warm) {
	_ = w.conn.Close()
	defer w.end()
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-w.exited:
	case <-t.C:
		w.kill()
		<-w.exited
	}
}

// start starts a supervisor with nothing to do, in the best place that takes one. An error that IsNever
// won't mend by itself; one for want of memory, processes or descriptors may.
func (p *pool) start(ctx context.Context) (*warm, error) {
	var fell []start
	var err error
	for _, r := range p.ladder.rungs(ctx) {
		var w *warm
		if w, err = p.startIn(ctx, r); err == nil {
			for _, f := range fell { // the place is to blame only if another will do
				p.ladder.fell(f.warm.place, f.err)
			}
			p.ladder.stood(r.place)
			return w, nil
		}
		if ctx.Err() != nil {
			break
		}
		fell = append(fell, start{&warm{place: r.place}, err})
	}
	err = fmt.Errorf("start %s: %w", p.o.Supervisor, err)
	if passing(err) {
		return nil, err
	}
	return nil, target.Never(err)
}

func (p *pool) startIn(ctx context.Context, r rung) (*warm, error) {
	switch r.place {
	case pasar.PlaceUnit:
		return p.spawnUnit(ctx, r.units)
	case pasar.PlaceCgroup:
		return p.spawn(r.nursery)
	}
	return p.spawn(nil)
}

// passing reports whether an error is of the kind that other processes' ends may mend.
func passing(err error) bool {
	for _, e := range []error{unix.EAGAIN, unix.ENOMEM, unix.EMFILE, unix.ENFILE, unix.EINTR, unix.ETXTBSY} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// spawn forks and executes, in a cgroup made for it if there is a place for one. The child leads a session
// of its own and has four descriptors: its streams on /dev/null and the log, and the control connection.
// Its environment is clean: whatever variables this process carries (it may have been started by a job) are
// not the supervisor's.
func (p *pool) spawn(n *nursery) (*warm, error) {
	null, err := attemptdir.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	c, err := p.newChannel()
	if err != nil {
		return nil, err
	}
	defer c.close()
	w := &warm{born: time.Now(), place: pasar.PlaceSession}
	argv := []string{filepath.Base(p.o.Supervisor), "warm", "--run", p.o.RunDir}
	sys := &syscall.SysProcAttr{Setsid: true}
	if n != nil {
		made, err := n.make()
		if err != nil {
			return nil, err
		}
		defer func() {
			if w.pid == 0 {
				made.abandon()
			} else {
				made.settle()
			}
		}()
		w.place, w.cgroup = pasar.PlaceCgroup, made.dir
		argv = append(argv, "--place", string(pasar.PlaceCgroup))
		sys.UseCgroupFD, sys.CgroupFD = true, int(made.sup.Fd())
	}
	pid, exited, err := p.reaper.fork(p.o.Supervisor, argv, &syscall.ProcAttr{
		Dir:   "/",
		Env:   supervisorEnv(),
		Files: []uintptr{null.Fd(), null.Fd(), c.log.Fd(), c.theirs.Fd()},
		Sys:   sys,
	})
	if err != nil {
		return nil, err
	}
	w.pid, w.exited, w.conn = pid, exited, ipc.NewAttachConn(c.ours)
	w.kill = func() { p.reaper.kill(pid) }
	c.ours = nil // kept
	return w, nil
}

// supervisorEnv is what a supervisor is started with; its job's environment is in the spec.
func supervisorEnv() []string {
	env := []string{"GOMAXPROCS=2"}
	for _, k := range []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "XDG_RUNTIME_DIR"} {
		if v, ok := os.LookupEnv(k); ok {
			env = append(env, k+"="+v)
		}
	}
	return env
}

func (p *pool) openLog() (*os.File, error) {
	path := filepath.Join(p.o.RunDir, warmLog)
	flags := os.O_APPEND | os.O_CREATE | os.O_WRONLY
	if fi, err := os.Stat(path); err == nil && fi.Size() > maxWarmLog {
		flags |= os.O_TRUNC
	}
	return attemptdir.OpenFile(path, flags, 0o600)
}

// died says how a supervisor ended that never had an attempt, with the last line it logged.
func (p *pool) died(w *warm, s syscall.WaitStatus) error {
	how := "by exit status " + strconv.Itoa(s.ExitStatus())
	switch {
	case w.place == pasar.PlaceUnit:
		how = "in its unit"
	case s.Signaled():
		how = "by signal " + s.Signal().String()
	}
	last := ""
	if b, err := readBounded(filepath.Join(p.o.RunDir, warmLog), 2*maxWarmLog); err == nil {
		lines := strings.Split(strings.TrimSpace(string(b)), "\n")
		if last = pasar.Clean(lines[len(lines)-1]); last != "" {
			last = ": " + last[:min(len(last), 400)]
		}
	}
	return fmt.Errorf("%s ended before it had an attempt, %s%s", p.o.Supervisor, how, last)
}
