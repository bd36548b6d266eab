package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"pasar"
	"pasar/answer"
	"pasar/attemptdir"
	"pasar/ipc"
)

func logsCommand() *command {
	return &command{
		name: "logs", section: sectionJobs, args: "[JOB…]", brief: "a job's output", takes: takesJobs,
		long: `Off a terminal, and in JSON, it is text: escape sequences are gone and a progress bar is its last state. On a
terminal colours pass, and nothing else that a terminal would obey. --raw is every byte as it was written.
Several jobs have their number before each line. -f goes on with the job's next attempt, if it has one, until the job is over.
Where no daemon runs and none can be started, what is on the disk is shown.`,
		examples: []example{
			{"pasar logs -f", "your last job, as it runs"},
			{"pasar logs -n 50 42", "the last 50 lines"},
			{"pasar logs --since 10m --timestamps 42", "what came in the last ten minutes, and when"},
			{"pasar logs --raw --attempt 1 42 > log", "the bytes of its first attempt"},
		},
		setup: func(f *flags) action {
			l := &logs{}
			f.BoolVarP(&l.follow, "follow", "f", false, "go on until the job ends, or the attempt that is named; wait for it if it hasn't started")
			l.lines = f.number("lines", "n", "only the last N lines, and what follows with -f", 0, 10_000_000)
			l.since = define(f, "since", "", "TIME", "only lines that began to come since: 10m (ago), 14:30, 2026-01-31, or RFC 3339", parseSince)
			f.BoolVarP(&l.stamps, "timestamps", "t", false, "put before each line when it began to come, to the second")
			l.attempt = f.number("attempt", "", "of this attempt, from 1; else the latest", 1, 1<<31)
			f.BoolVar(&l.stdout, "stdout", false, "only standard output, of a job submitted with --no-pty")
			f.BoolVar(&l.stderr, "stderr", false, "only standard error, of a job submitted with --no-pty")
			f.BoolVar(&l.raw, "raw", false, "bytes as they were written")
			return func(ctx context.Context, c *call) error {
				l.tail = f.given("lines")
				return l.run(ctx, c)
			}
		},
	}
}

// logs is what the flags of the command say.
type logs struct {
	follow, raw, tail      bool
	stamps, stdout, stderr bool
	lines, attempt         *int64
	since                  *time.Time
}

func (l *logs) run(ctx context.Context, c *call) error {
	switch {
	case l.raw && c.json:
		return usagef("--raw and --json exclude each other")
	case l.raw && l.stamps:
		return usagef("--raw and --timestamps exclude each other: times aren't among the bytes that were written")
	case l.stdout && l.stderr:
		return usagef("--stdout and --stderr exclude each other").hint("without either both are shown, in the order in which they came")
	}
	var ids []pasar.JobID
	var err error
	if len(c.args) == 0 {
		var id pasar.JobID
		id, err = c.lastJob(ctx)
		ids = []pasar.JobID{id}
	} else {
		ids, err = c.jobs(ctx, c.args, allJobs)
	}
	if err != nil {
		return err
	}
	return l.show(ctx, c, ids)
}

// newLogs is what no flag changes.
func newLogs(follow bool) *logs {
	return &logs{follow: follow, lines: new(int64), attempt: new(int64), since: new(time.Time)}
}

// show shows the output of jobs, one after the other or, with follow, as it comes.
func (l *logs) show(ctx context.Context, c *call, ids []pasar.JobID) (err error) {
	mu := &sync.Mutex{}
	if len(ids) == 1 || !l.follow {
		for _, id := range ids {
			if err := l.one(ctx, c, id, len(ids) > 1, mu); err != nil {
				return err
			}
		}
		return nil
	}
	// Each stream has a connection of its own, so that a reconnect is its own affair.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make(chan error, len(ids))
	for _, id := range ids {
		own := *c.app
		own.client = nil
		go func() {
			errs <- l.one(ctx, &call{app: &own, args: c.args, flags: c.flags}, id, true, mu)
			if own.client != nil {
				_ = own.client.Close()
			}
		}()
	}
	for range ids {
		if e := <-errs; e != nil && err == nil {
			err = e
			cancel()
		}
	}
	return err
}

func (l *logs) one(ctx context.Context, c *call, id pasar.JobID, several bool, mu *sync.Mutex) error {
	o := &outputStream{answer.Output{Job: id, Attempt: int(*l.attempt), Follow: l.follow, Since: *l.since}}
	switch {
	case l.stdout:
		o.Only = attemptdir.Stdout
	case l.stderr:
		o.Only = attemptdir.Stderr
	}
	if l.follow && o.Attempt == 0 {
		if started, err := c.untilStarted(ctx, id); err != nil || !started {
			return err
		}
	}
	var to sink = &plainSink{a: c.app}
	switch {
	case c.json:
		to = jsonLines(c.app, mu, o)
	case several:
		to = prefixed(c.app, mu, id)
	}
	var r answer.Renderer
	if l.tail {
		var last []byte
		var err error
		if r, last, err = c.lastLines(ctx, o, int(*l.lines), l.renderer); err != nil {
			return err
		}
		if err := to.put(last); err != nil {
			return err
		}
		if r == nil && (!l.follow || *l.attempt > 0) {
			return to.close()
		}
	}
	if *l.attempt > 0 || !l.follow {
		if r == nil {
			r = l.renderer(c)
		}
		return o.copy(ctx, c.app, r, to)
	}
	if err := c.followAttempts(ctx, o, r, l.renderer, to); err != nil {
		return err
	}
	return c.footer(ctx, id)
}

// footer says, after all output of a job was followed to its end, how it ended unless it completed.
func (c *call) footer(ctx context.Context, id pasar.JobID) error {
	if c.json {
		return nil
	}
	b, err := c.fetch(ctx, id)
	if err != nil {
		return err
	}
	v, err := parseView(b)
	if err != nil {
		return err
	}
	if v.State.Finished() && v.State != pasar.Completed {
		c.reportEnd(v)
	}
	return nil
}

// renderer is what the flags ask for.
func (l *logs) renderer(c *call) answer.Renderer {
	switch {
	case l.raw:
		return asIs{}
	case c.json:
		return c.newLines(answer.RawStamp)
	case l.stamps:
		return c.newLines(timeStamp)
	}
	return c.newLines(nil)
}

// followAttempts shows output until the job is over, one attempt after the other; r is the renderer to
// begin with, nil for a new one.
func (c *call) followAttempts(ctx context.Context, o *outputStream, r answer.Renderer, renderers func(*call) answer.Renderer, to sink) error {
	for {
		if r == nil {
			r = renderers(c)
		}
		if err := o.copy(ctx, c.app, r, to); err != nil || o.Over {
			return err
		}
		b, err := c.fetch(ctx, o.Job)
		if err != nil {
			return err
		}
		v, err := parseView(b)
		if err != nil {
			return err
		}
		if v.State.Finished() && len(v.Attempts) <= o.Attempt {
			return nil
		}
		c.note(goesOn(v, o.Attempt))
		*o = outputStream{answer.Output{Job: o.Job, Attempt: o.Attempt + 1, Follow: true, Next: true, Only: o.Only}}
		r = nil
	}
}

// goesOn says that an attempt is over and the job is not.
func goesOn(v *view, attempt int) string {
	s := fmt.Sprintf("attempt %d of job #%d is over", attempt, v.ID)
	if attempt <= len(v.Attempts) {
		if d := v.Attempts[attempt-1].Verdict; d != nil && d.Summary != "" {
			s += " (" + pasar.Clean(d.Summary) + ")"
		}
	}
	if v.State.Active() || len(v.Attempts) > attempt {
		return s + fmt.Sprintf("; this is attempt %d", attempt+1)
	}
	s += "; the job is " + string(v.State)
	if v.Waiting != nil {
		s += ": " + pasar.Clean(v.Waiting.Sentence)
	}
	return s
}

// untilStarted waits for a job's first attempt; false if it ended without one.
func (c *call) untilStarted(ctx context.Context, id pasar.JobID) (bool, error) {
	b, err := c.fetch(ctx, id)
	if err != nil {
		return false, err
	}
	v, err := parseView(b)
	if err != nil {
		return false, err
	}
	if v.State.Active() || len(v.Attempts) > 0 && v.State.Finished() {
		return true, nil
	}
	if v.Waiting != nil {
		c.note(fmt.Sprintf("job #%d %s", id, pasar.Clean(v.Waiting.Sentence)))
	}
	v, err = c.waitOne(ctx, ipc.WaitRequest{Jobs: []pasar.JobID{id}, Started: true})
	if err != nil {
		return false, err
	}
	if len(v.Attempts) == 0 {
		c.reportEnd(v)
		return false, nil
	}
	return true, nil
}

// lastLines finds the last n rendered lines of what there is now (see answer.Output's Tail).
func (c *call) lastLines(ctx context.Context, o *outputStream, n int, renderers func(*call) answer.Renderer) (answer.Renderer, []byte, error) {
	o.tell(c.app)
	return o.Tail(n, func() answer.Renderer { return renderers(c) }, func(part *answer.Output, each func(answer.Piece) error) error {
		s := outputStream{*part}
		err := s.read(ctx, c.app, each)
		*part = s.Output
		return err
	})
}
