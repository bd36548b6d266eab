package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/sched"
)

// A message is what the loop takes: a command to check, or facts that happened.
type message struct {
	command *command
	facts   []pasar.Fact
	judge   judgement // what readings showed, for the state to be judged by
}

// A command is a mutating request. check sees the state with everything before it applied and
// returns what is to be done, or an error for the client; it changes nothing itself.
type command struct {
	verb    ipc.Verb
	request string        // the client's random id; a repeat gets the first answer
	asked   string        // what a repeat is known by, beside verb and id
	names   []pasar.JobID // the jobs that the request names
	check   func(s *state, now time.Time) (change, error)
	reply   chan outcome // buffered
	looks   bool         // a job may start on a GPU upon it, so that those are looked at before
}

// A change is a command that was accepted.
type change struct {
	facts      []pasar.Fact
	jobs       []pasar.JobID // what the answer is about
	existing   bool          // submit: the key was known
	specs      []SpecRow
	unfinished []pasar.JobID
}

// An outcome answers a command once its facts are durable.
type outcome struct {
	jobs     []pasar.JobID
	existing bool // submit: the key was known
	err      error
}

// do hands a command to the loop and waits until it is durable.
func (d *Daemon) do(ctx context.Context, c *command) (outcome, error) {
	if c.looks {
		d.lookFirst(ctx)
	}
	c.reply = make(chan outcome, 1)
	select {
	case d.inbox <- message{command: c}:
	case <-ctx.Done():
		return outcome{}, context.Cause(ctx)
	}
	select {
	case o := <-c.reply:
		return o, o.err
	case <-ctx.Done():
		return outcome{}, context.Cause(ctx)
	}
}

// report hands the loop facts that happened.
func (d *Daemon) report(ctx context.Context, facts ...pasar.Fact) {
	select {
	case d.inbox <- message{facts: facts}:
	case <-ctx.Done():
	}
}

// quietAfter is how long nothing must have happened for Quiet to be called.
const quietAfter = 5 * time.Second

// maxBatch bounds how many messages one turn takes, and so how long the first waits for its answer.
const maxBatch = 512

// loop owns the state until ctx is done.
func (d *Daemon) loop(ctx context.Context) error {
	start := []pasar.Fact{pasar.DaemonStarted{Pid: d.Pid, Version: pasar.Version}}
	old, known := d.state.machines[pasar.LocalMachine]
	inv, err := d.Target.Inventory(ctx)
	switch {
	case err == nil && !(known && sameInventory(old, inv)):
		start = append(start, pasar.MachineSeen{Inventory: inv})
	case err != nil && ctx.Err() != nil:
		return nil
	case err != nil && !known && d.Meter == nil:
		return fmt.Errorf("look at this machine: %w", err)
	case err != nil: // a hung driver, say: what was there before is a better guess than nothing
		d.Log.Warn("can't look at this machine; going by what it had before", "error", err)
		if !known { // nothing: it is asked again once the meter sees GPUs
			start = append(start, pasar.Incident{Machine: pasar.LocalMachine, What: "gpu", Detail: fmt.Sprintf("can't look at this machine: %v", err)})
			if inv.Machine != "" {
				start = append(start, pasar.MachineSeen{Inventory: inv}) // jobs without a GPU can run
			}
		}
	}
	pending := []message{{facts: append(start, d.mended()...)}}
	for _, j := range d.state.active {
		d.tend(ctx, j)
	}
	d.leaveAgain(d.Clock.Now(), d.Clock.Mono())
	wake := time.NewTimer(time.Hour)
	defer wake.Stop()
	wake.Stop()
	quiet := time.NewTimer(quietAfter)
	defer quiet.Stop()
	for {
		b := d.turn(ctx, pending)
		quiet.Reset(quietAfter)
		pending = pending[:0]
		if b.failed != nil {
			kept, ok := d.degraded(ctx, b)
			if !ok {
				return nil
			}
			pending = kept
			continue
		}
		if d.state.seq-d.saved >= snapshotEvery && d.saveSnapshot() {
			d.saved = d.state.seq
		}
		if wake.Stop(); b.wake > 0 {
			wake.Reset(b.wake)
		}
		for len(pending) == 0 {
			select {
			case <-ctx.Done():
				d.rejectWaiting()
				return nil
			case m := <-d.inbox:
				pending = append(pending, m)
			case <-d.beats:
			case l := <-d.looks:
				d.looked(l, nil)
			case <-d.roused():
				pending = append(pending, message{})
			case <-wake.C:
				pending = append(pending, message{})
			case <-quiet.C:
				if d.Quiet != nil {
					d.effects.Go(d.Quiet)
				}
			}
		}
		pending = d.seenBefore(d.drain(pending))
	}
}

// drain takes what else is waiting, so that it shares one sync.
func (d *Daemon) drain(ms []message) []message {
	for len(ms) < maxBatch {
		select {
		case m := <-d.inbox:
			ms = append(ms, m)
		default:
			return ms
		}
	}
	return ms
}

// rejectWaiting answers the commands that no turn will take any more.
func (d *Daemon) rejectWaiting() {
	for _, m := range d.drain(nil) {
		if m.command != nil {
			m.command.reply <- outcome{err: errGoing}
		}
	}
}

var errGoing = &ipc.Error{Code: ipc.CodeInterrupted, Message: "the daemon is going down", Hint: "jobs go on; ask again"}

// A turned batch is what one turn of the loop did.
type turned struct {
	batch   Batch
	replies []func()
	before  []message // as given, for when the append fails
	plan    sched.Plan
	wake    time.Duration // take the next turn by then, even if nothing happens; 0: never
	woken   bool          // time itself, or what was seen, was a reason for this one
	failed  error
}

// turn is one pass of the core loop: check, apply, decide, append, publish, answer, start effects.
func (d *Daemon) turn(ctx context.Context, ms []message) turned {
	now, mono := d.Clock.Now(), d.Clock.Mono()
	b := turned{before: ms}
	tell := func(facts ...pasar.Fact) {
		for _, f := range facts {
			r := pasar.Record{Seq: d.state.seq + 1, At: now, Mono: mono, Boot: d.Boot, Fact: d.withSequel(f, now)}
			d.state.apply(r)
			b.batch.Records = append(b.batch.Records, r)
			d.leave(f, now, mono)
			d.starve(f, now)
		}
	}
	record := func(facts ...pasar.Fact) {
		for len(facts) > 0 { // an end may end jobs that wait for it, and so on
			tell(facts...)
			facts = d.state.takeStranded()
		}
	}
	for _, m := range ms {
		b.woken = b.woken || m.command == nil && len(m.facts) == 0
		record(m.facts...)
		if m.judge != nil {
			record(m.judge(d.state, now)...)
		}
		if m.command != nil {
			b.replies = append(b.replies, d.command(m.command, now, &b.batch, record))
		}
	}
	record(d.overLimit(now, mono)...)
	b.woken = d.release(now, mono, record) || b.woken
	plan := sched.Decide(d.input(d.state, ""), now)
	for _, st := range plan.Starts {
		j := d.state.jobs[st.ID]
		st.Grant.At = now
		record(pasar.Launched{Job: j.ID, Attempt: len(j.Attempts) + 1, Nonce: d.Random(), Grant: st.Grant})
	}
	for _, st := range plan.Stops {
		record(d.preemption(st)...)
	}
	b.plan, b.wake = plan, d.nextWake(earliest(plan.WakeAt, d.releaseBy(now, mono)), now, mono)
	if len(b.batch.Records) > 0 {
		d.addFinished(&b.batch)
		if b.failed = d.Journal.Append(b.batch); b.failed != nil {
			return b
		}
	}
	d.publish(b)
	d.setPace()
	for _, reply := range b.replies {
		reply()
	}
	d.startEffects(ctx, b.batch.Records)
	return b
}

// command checks one command, records its facts and returns the function that answers it.
func (d *Daemon) command(c *command, now time.Time, batch *Batch, record func(...pasar.Fact)) func() {
	if a, ok := d.state.answers[c.request]; ok && c.request != "" {
		if !c.repeats(a) {
			err := &ipc.Error{Code: ipc.CodeBadRequest, Message: "this request id was used for another request",
				Hint: "take a new random id for each change, and the same only to send the same again"}
			return func() { c.reply <- outcome{err: err} }
		}
		jobs := a.Jobs
		if a.Count > 0 {
			jobs = span(jobs[0], a.Count)
		}
		return func() { c.reply <- outcome{jobs: jobs, existing: a.Existing} }
	}
	ch, err := c.check(d.state, now)
	if err != nil {
		return func() { c.reply <- outcome{err: err} }
	}
	record(ch.facts...)
	batch.Specs = append(batch.Specs, ch.specs...)
	batch.Unfinished = append(batch.Unfinished, ch.unfinished...)
	if c.request != "" {
		a := pasar.Answered{Request: c.request, Verb: string(c.verb), Asked: c.asked, Jobs: ch.jobs, Existing: ch.existing}
		if n := len(ch.jobs); c.verb == ipc.VerbSubmit && n > 1 { // their ids follow each other
			a.Jobs, a.Count = ch.jobs[:1], n
		}
		record(a)
	}
	return func() { c.reply <- outcome{jobs: ch.jobs, existing: ch.existing} }
}

// repeats reports whether a command asks the same as the one with its id that was answered. Of one that an older version
// answered it is known only to which jobs something was done.
func (c *command) repeats(a pasar.Answered) bool {
	if a.Verb != string(c.verb) {
		return false
	}
	if a.Asked != "" {
		return a.Asked == c.asked
	}
	return c.names == nil || !slices.ContainsFunc(a.Jobs, func(id pasar.JobID) bool { return !slices.Contains(c.names, id) })
}

// refusedWith refuses a command for what its handler has found, unless it is a repeat: that gets the first answer.
func (c *command) refusedWith(err error) {
	c.looks = false
	c.check = func(*state, time.Time) (change, error) { return change{}, err }
}

// addFinished adds the rows of the jobs that ended in a batch, and still are at its end.
func (d *Daemon) addFinished(b *Batch) {
	for _, j := range d.state.ended {
		if now := d.state.jobs[j.ID]; now == nil || now == j {
			b.Finished = append(b.Finished, j.row())
		}
	}
	d.state.ended = nil
}

// startEffects begins what the durable facts call for.
func (d *Daemon) startEffects(ctx context.Context, records []pasar.Record) {
	var group *gitRequest
	for _, r := range records {
		switch f := r.Fact.(type) {
		case pasar.Launched:
			if j := d.state.jobs[f.Job]; j != nil && j.underWay() && j.current().Attempt == f.Attempt {
				d.tend(ctx, j)
			}
		case pasar.StopAsked:
			if t := d.tenders[f.Job]; t != nil && t.attempt == f.Attempt {
				t.stop(f.Stop)
			}
		case pasar.Ended:
			d.settle(f.Job, f.Attempt)
		case pasar.Lost:
			d.settle(f.Job, f.Attempt)
		case pasar.Submitted:
			if r := (gitRequest{job: f.Job, dir: string(f.Spec.Cwd)}); f.Spec.Group == 0 {
				d.askGit(r)
			} else if f.Job == f.Spec.Group {
				group = &r
			} else if group != nil { // they come together
				group.more++
			}
		}
	}
	if group != nil {
		d.askGit(*group)
	}
}

// settle lets the tender of an ended attempt go.
func (d *Daemon) settle(id pasar.JobID, attempt int) {
	if t := d.tenders[id]; t != nil && t.attempt == attempt {
		t.settled()
		delete(d.tenders, id)
	}
}

// retryAppend is how long a journal that failed is left alone.
const retryAppend = time.Second

// degraded answers for a batch that could not be appended and waits until the journal works again.
// The state is folded anew from disk, since memory must not be ahead of it. Commands are refused with
// the reason; facts are kept, since what happened can't be refused. It returns those facts, or false
// when ctx is done.
func (d *Daemon) degraded(ctx context.Context, b turned) ([]message, bool) {
	problem := fmt.Sprintf("can't write the journal in %s: %v", d.DataDir, b.failed)
	d.Log.Error("journal failed", "error", b.failed)
	refuse := func(c *command) {
		c.reply <- outcome{err: refusal(problem)}
	}
	var kept []message
	keep := func(ms []message) {
		for _, m := range ms {
			if m.command != nil {
				refuse(m.command)
			}
			if len(m.facts) > 0 || m.judge != nil {
				kept = append(kept, message{facts: m.facts, judge: m.judge})
			}
		}
	}
	d.setProblem(problem)
	keep(b.before)
	var refolded bool
	for {
		if !refolded {
			s, err := d.fold(ctx)
			if err == nil {
				d.state, refolded = s, true
				d.reindex()
			} else if ctx.Err() == nil {
				d.Log.Error("can't read the journal", "error", err)
			}
		}
		again := time.NewTimer(retryAppend)
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				again.Stop()
				d.rejectWaiting()
				return nil, false
			case m := <-d.inbox:
				keep([]message{m})
			case <-d.beats:
			case l := <-d.looks:
				d.looked(l, refusal(problem))
			case <-again.C:
				waiting = false
			}
		}
		if !refolded {
			continue
		}
		r := pasar.Record{Seq: d.state.seq + 1, At: d.Clock.Now(), Mono: d.Clock.Mono(), Boot: d.Boot,
			Fact: pasar.Incident{Machine: pasar.LocalMachine, What: "journal", Detail: problem}}
		if err := d.Journal.Append(Batch{Records: []pasar.Record{r}}); err != nil {
			problem = fmt.Sprintf("can't write the journal in %s: %v", d.DataDir, err)
			continue
		}
		d.state.apply(r)
		d.Log.Info("journal works again")
		// Effects of the lost batch never began; launches that are in the state have their tenders.
		return kept, true
	}
}

func refusal(problem string) error {
	return &ipc.Error{Code: ipc.CodeUnavailable, Message: problem,
		Hint: "running jobs go on and nothing that was answered is lost; free the disk, and pasar goes on by itself"}
}

// saveSnapshot encodes and saves the state beside the loop. It reports false when the last one is
// still being saved.
func (d *Daemon) saveSnapshot() bool {
	if !d.saving.CompareAndSwap(false, true) {
		return false
	}
	sv := d.state.freeze()
	d.effects.Go(func() {
		defer d.saving.Store(false)
		if err := d.saveFrozen(sv); err != nil {
			d.Log.Warn("snapshot not saved", "error", err)
		}
	})
	return true
}

func sameInventory(a, b pasar.Inventory) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return errors.Join(err1, err2) == nil && string(x) == string(y)
}
