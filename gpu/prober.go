package gpu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"pasar"
)

// Patience of the daemon with its probes.
const (
	openPatience   = 40 * time.Second // to open the driver: without persistence, many GPUs take seconds each
	answerPatience = 4 * time.Second  // for one look; the probe's own is less
	silentPatience = 10 * time.Second // with a probe that answers nothing, before another is tried
	partPatience   = time.Minute      // with a probe of which some GPUs hang
	firstPause     = time.Second      // before the next probe, after one failed to begin; doubles
	longestPause   = 30 * time.Second
	maxStuck       = 2
)

// A Prober has a probe running, asks it, and starts another when it is gone. It never waits for one without
// a deadline. A probe that hangs in the driver can't be killed by anything; at most two such are kept, and
// no third is started until one has ended.
type Prober struct {
	log   *slog.Logger
	spawn func() (spawned, error)

	mu     sync.Mutex // guards what follows
	now    *child     // nil: none
	stuck  int        // children that were given up and haven't ended
	pause  time.Duration
	next   time.Time // none is started before
	err    error     // why the last one ended
	closed bool
	events chan Event // dropped when nobody takes them
	work   sync.WaitGroup
}

// NewProber makes a prober of a command that runs a probe on its standard input and output. None is
// started before it is asked.
func NewProber(argv []string, log *slog.Logger) *Prober {
	return &Prober{log: log, spawn: func() (spawned, error) { return spawn(argv) }, events: make(chan Event, 256)}
}

// A spawned process is a probe as the system has it. Tests have their own.
type spawned struct {
	pid  int
	in   io.WriteCloser
	out  io.Reader
	kill func() error // SIGKILL: a process that hangs in the driver doesn't end by it
	wait func() error // for its end, once out has been read to its own; the error has what it said on standard error
}

// A child is one probe.
type child struct {
	spawned
	born time.Time

	ready  chan struct{} // closed when it has said hello
	closed chan struct{} // closed when it is gone

	// Written before ready and closed are, in this order.
	versions Versions
	err      error

	turn chan struct{} // held by the round that is asked; has room for one

	mu      sync.Mutex // guards what follows
	look    int64      // the newest request
	waiting chan []Sight
	next    *round    // the one that isn't asked yet; nil: none
	heard   time.Time // when it last answered
	partial time.Time // since when some GPU of its hangs; zero: none does
}

// A round is one look of a child for all who asked since the one before it was begun.
type round struct {
	done chan struct{} // closed when it is over

	// Written before done is closed.
	sights []Sight
	err    error
}

// A Look is what a prober saw of the driver at one time.
type Look struct {
	Versions
	Sights []Sight
}

// Look asks the probe, and starts one if there is none. An error is *Broken, or that of ctx.
func (p *Prober) Look(ctx context.Context) (Look, error) {
	for again := 0; ; again++ {
		c, err := p.current()
		if err != nil {
			return Look{}, err
		}
		sights, err := c.ask(ctx)
		if err == nil {
			p.judge(c, sights)
			return Look{c.versions, sights}, nil
		}
		if ctx.Err() != nil {
			return Look{}, context.Cause(ctx)
		}
		if p.fail(c, err) || again > 0 {
			return Look{}, err
		}
		// It had answered before: it was killed, or has seen that the driver is another now.
	}
}

// current is the child to be asked.
func (p *Prober) current() (*child, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return nil, &Broken{FaultOther, "the prober is closed"}
	case p.now != nil:
		return p.now, nil
	case p.stuck >= maxStuck:
		return nil, &Broken{FaultSilent, fmt.Sprintf("%d probes hang in the driver; no other is started until one ends", p.stuck)}
	case time.Now().Before(p.next):
		return nil, p.err
	}
	c, err := p.start()
	if err != nil {
		p.failed(err)
		return nil, err
	}
	p.now = c
	return c, nil
}

// failed puts off the next start.
func (p *Prober) failed(err error) {
	p.pause = min(max(2*p.pause, firstPause), longestPause)
	p.next, p.err = time.Now().Add(p.pause), err
}

// spawn runs a probe.
func spawn(argv []string) (spawned, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Args[0] = "pasard" // for people who look at processes
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ^C at the daemon's terminal isn't for it
	in, err := cmd.StdinPipe()
	if err != nil {
		return spawned{}, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return spawned{}, err
	}
	cmd.WaitDelay = time.Second // should anything else hold its standard error
	said := &tail{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		return spawned{}, err
	}
	return spawned{
		pid: cmd.Process.Pid, in: in, out: out, kill: cmd.Process.Kill,
		wait: func() error {
			if err := cmd.Wait(); err != nil {
				return fmt.Errorf("%w%s", err, said.clause())
			}
			return nil
		},
	}, nil
}

// start runs a probe. The caller has the lock.
func (p *Prober) start() (*child, error) {
	s, err := p.spawn()
	if err != nil {
		return nil, &Broken{FaultOther, fmt.Sprintf("start probe: %v", err)}
	}
	c := &child{spawned: s, born: time.Now(), ready: make(chan struct{}), closed: make(chan struct{}), turn: make(chan struct{}, 1)}
	p.work.Go(func() { p.listen(c) })
	return c, nil
}

// listen takes what a child says until it has ended.
func (p *Prober) listen(c *child) {
	err := c.read(p.event)
	_ = c.in.Close()
	if err != nil {
		_ = c.kill() // what it would say next isn't worth more
	}
	waited := c.wait()
	switch b := (*Broken)(nil); {
	case errors.As(err, &b):
		c.err = b
	case err != nil:
		c.err = &Broken{FaultOther, "the probe talks nonsense: " + tidy(err.Error())}
	case waited != nil:
		c.err = &Broken{FaultOther, fmt.Sprintf("the probe ended: %v", waited)}
	default:
		c.err = &Broken{FaultOther, "the probe ended"}
	}
	close(c.closed)
}

// read takes messages until there are no more.
func (c *child) read(event func(Event)) error {
	s := lines(c.out)
	for s.Scan() {
		m, err := decodeMessage(s.Bytes())
		if err != nil {
			return err
		}
		switch {
		case m.Bye != nil:
			return m.Bye
		case m.Hello != nil:
			select {
			case <-c.ready:
				return errors.New("a second hello")
			default:
			}
			c.versions = m.Hello.Versions
			close(c.ready)
		case m.Xid != nil:
			event(*m.Xid)
		case m.Seen != nil:
			c.answer(m.Seen)
		}
	}
	return s.Err()
}

func (c *child) answer(s *seen) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = time.Now()
	if s.Look != c.look || c.waiting == nil {
		return // of a look that was given up
	}
	c.waiting <- s.Sights
	c.waiting = nil
}

// ask takes part in the next look: one that is under way may have passed what the caller wants to see. What
// it gives is shared with all who asked at the same time.
func (c *child) ask(ctx context.Context) ([]Sight, error) {
	opening := time.NewTimer(answerPatience)
	defer opening.Stop()
	select {
	case <-c.ready:
	case <-c.closed:
		return nil, c.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-opening.C:
		return nil, &Broken{FaultSilent, "the driver doesn't answer: opening it takes long, or hangs"}
	}
	c.mu.Lock()
	r := c.next
	if r == nil {
		r = &round{done: make(chan struct{})}
		c.next = r
		go c.run(r)
	}
	c.mu.Unlock()
	select {
	case <-r.done:
		return r.sights, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// run makes a round's look once the one before it is over, whoever still waits for it.
func (c *child) run(r *round) {
	defer close(r.done)
	c.turn <- struct{}{} // each that has it gives it back within the patience with a look
	defer func() { <-c.turn }()
	c.mu.Lock()
	c.next = nil
	c.look++
	n, got := c.look, make(chan []Sight, 1)
	c.waiting = got
	c.mu.Unlock()
	r.sights, r.err = c.await(n, got)
}

// await asks for a look and waits for it.
func (c *child) await(n int64, got <-chan []Sight) ([]Sight, error) {
	patience := time.NewTimer(answerPatience)
	defer patience.Stop()
	// A pipe takes far more than the requests that fit into the patience with a silent probe.
	if err := writeLine(c.in, request{n}); err != nil {
		select {
		case <-c.closed:
			return nil, c.err
		case <-patience.C:
			return nil, &Broken{FaultSilent, "the probe takes no requests"}
		}
	}
	select {
	case s := <-got:
		return s, nil
	case <-c.closed:
		return nil, c.err
	case <-patience.C:
		return nil, &Broken{FaultSilent, "the driver doesn't answer: a call on it hangs"}
	}
}

// judge notes that a child answered, and gives it up if too little came of it for too long.
func (p *Prober) judge(c *child, sights []Sight) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pause, p.err = 0, nil
	hang := 0
	for _, s := range sights {
		if s.hangs() {
			hang++
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	switch {
	case hang == 0:
		c.partial = time.Time{}
	case c.partial.IsZero():
		c.partial = now
	case hang == len(sights) && now.Sub(c.partial) > silentPatience,
		// Another may get through where this one can't. If that hangs as well it is kept, since it
		// still tells of the other GPUs.
		now.Sub(c.partial) > partPatience && p.stuck == 0:
		p.giveUp(c)
	}
}

// fail notes that a child didn't answer, and reports whether that is to be told: not of one that had
// answered before and has ended.
func (p *Prober) fail(c *child, err error) (tell bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.closed:
		first := p.now == c // of all who asked it
		if first {
			p.now = nil
		}
		switch {
		case c.heard.IsZero() && first:
			p.failed(err)
		case first:
			p.log.Info("the probe of the GPUs' driver ended; another is started", "error", err)
		}
		return c.heard.IsZero()
	default:
	}
	since, patience := c.heard, silentPatience
	if c.heard.IsZero() {
		since, patience = c.born, openPatience
	}
	if time.Since(since) > patience {
		p.giveUp(c)
	}
	return true
}

// giveUp kills a child that hangs, and counts it until it has ended. The caller has both locks.
func (p *Prober) giveUp(c *child) {
	if p.now != c {
		return
	}
	p.now = nil
	p.stuck++
	p.log.Warn("a probe of the GPUs' driver hangs and is given up", "pid", c.pid, "given up", p.stuck)
	_ = c.kill()
	_ = c.in.Close()
	p.work.Go(func() {
		<-c.closed
		p.mu.Lock()
		defer p.mu.Unlock()
		p.stuck--
	})
}

func (p *Prober) event(e Event) {
	select {
	case p.events <- e:
	default:
		p.log.Warn("an Xid was dropped: too many at a time", "xid", e.Code, "gpu", e.Index)
	}
}

// Close ends the probe. One that hangs in the driver is left behind.
func (p *Prober) Close() {
	p.mu.Lock()
	p.closed = true
	c := p.now
	p.now = nil
	p.mu.Unlock()
	if c == nil {
		return
	}
	_ = c.in.Close() // it ends by itself then
	patience := time.NewTimer(time.Second)
	defer patience.Stop()
	select {
	case <-c.closed:
		return
	case <-patience.C:
	}
	_ = c.kill()
}

// hangs reports whether a call on the GPU hangs.
func (s Sight) hangs() bool { return s.Now.Status == pasar.GPUUnresponsive && !s.odd }

// tail keeps the end of what is written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	if more := len(t.b) - maxField; more > 0 {
		t.b = append(t.b[:0], t.b[more:]...)
	}
	return len(b), nil
}

// clause is ": " and the text, if there is any.
func (t *tail) clause() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.b) == 0 {
		return ""
	}
	return ": " + excerpt(t.b)
}
