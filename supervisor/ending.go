package supervisor

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"pasar"

	"golang.org/x/sys/unix"
)

// Times of a job's end. Leftovers are processes that outlive the main one without a stop under way.
const (
	leftoverTerm = 250 * time.Millisecond // after the main process: SIGTERM to what is left
	leftoverKill = 2 * time.Second        // after the main process: SIGKILL
	drainLimit   = 2 * time.Second        // for output, once nothing of the job is left
	lookEvery    = 100 * time.Millisecond // strays are nobody's children of ours, so no signal tells of their end
	killFirst    = 2 * time.Millisecond   // from one SIGKILL round to the next, doubling while nothing new is seen
	killLast     = time.Second
	holdMost     = 100         // rounds of SIGSTOP before SIGKILL comes anyway
	holdFrom     = 8           // processes from which on a job is held before it is killed
	wordLimit    = time.Second // for the stop whose pause file a job has obeyed already
)

// An identity is a pid that can't be mistaken for a later one.
type identity struct {
	pid   int
	start uint64
}

// An ending waits for the main process, carries out stops, and sees that nothing of the job is left.
// It is the only one that signals the job, and runs on one goroutine.
type ending struct {
	a      *attempt
	reap   *reaper
	pumped <-chan struct{}
	family *family

	stop *pasar.Stop // the one in effect
	seq  sequence    // of all that came, and of the supervisor's own end

	strays   bool // what doesn't descend from us is waited for too
	reaped   bool // the main process
	reapedAt time.Time
	left     map[identity]bool // leftovers seen
	swept    bool              // leftovers got their SIGTERM
	killed   map[identity]bool // members sent SIGKILL in the last round
	stroke   bool              // its cgroup was killed
	killGap  time.Duration     // to the next SIGKILL round
}

func newEnding(a *attempt, reap *reaper, pumped <-chan struct{}) *ending {
	main, err := readStat(a.pid)
	if err != nil {
		main = stat{pid: a.pid, session: a.pid}
	}
	return &ending{a: a, reap: reap, pumped: pumped, family: newFamily(main, a.startUp, a.spec.Nonce, a.kit.cell),
		left: make(map[identity]bool), killGap: killFirst}
}

// run returns once the main process is reaped and no process of the job is left; strays count only
// once e.strays is set.
func (e *ending) run() {
	for {
		reaped := e.reap.any.wait()
		if e.reaped {
			e.a.wire.letGo()
		}
		next, gone := e.step(time.Now())
		if gone {
			return
		}
		timer, stop := after(next)
		if !e.reaped {
			reaped = nil // the end of some orphan changes nothing
		}
		select {
		case d := <-e.reap.ended:
			e.reaped, e.reapedAt = true, time.Now()
			e.a.record.Exit = exitOf(d.status)
		case s := <-e.a.stops:
			e.request(s, time.Now())
		case <-e.a.term:
			e.a.record.Asked = e.a.record.Asked || !e.reaped
			e.seq.take(pasar.Stop{Grace: e.a.spec.Grace}, time.Now())
		case <-reaped:
		case <-timer:
		}
		stop()
	}
}

// after is a channel that delivers once in d, or never if d is 0, and a function that ends it.
func after(d time.Duration) (<-chan time.Time, func() bool) {
	if d <= 0 {
		return nil, func() bool { return true }
	}
	t := time.NewTimer(d)
	return t.C, t.Stop
}

// request takes a stop into account: the first one begins the sequence, a repeated one changes
// nothing, and a later one takes its place, and brings the end nearer or leaves it where it is.
func (e *ending) request(s pasar.Stop, now time.Time) {
	if e.stop != nil && e.stop.ID == s.ID && !s.Now {
		return
	}
	if s.Wait < 0 && !s.Now && e.seq.begun() {
		return // it asks for less than what is under way
	}
	e.stop = &s
	e.a.record.Stop = &s
	if s.PauseFile {
		e.note(pasar.StepFile) // whoever passed the stop on has made it
	}
	e.seq.take(s, now)
}

// hearOut waits for the stop that the job has obeyed before it was heard of here: whoever passes a stop on makes the
// pause file first, and a job that looks for it often may be gone by the time that the stop itself arrives.
func (e *ending) hearOut() {
	if e.stop != nil {
		return
	}
	if _, err := os.Lstat(filepath.Join(e.a.dir, pasar.PauseFile)); err != nil {
		return
	}
	limit, stop := after(wordLimit)
	defer stop()
	select {
	case s := <-e.a.stops:
		e.request(s, time.Now())
	case <-limit:
	}
}

// terminate sends SIGTERM to all of the job.
func (e *ending) terminate() {
	e.seq.sent, e.seq.term, e.seq.wake = true, time.Time{}, time.Time{}
	e.note(pasar.StepTerm)
	e.signal(unix.SIGTERM, unix.SIGCONT)
}

// signal signals all of the job, and wakes it if somebody froze it: what is asked to end must be able to obey.
func (e *ending) signal(sigs ...unix.Signal) {
	if c := e.family.cell; c != nil {
		c.freeze(false)
	}
	if !e.reaped {
		// The main process's group needs no search.
		for _, sig := range sigs {
			_ = unix.Kill(-e.a.pid, sig)
		}
	}
	var others []member
	for _, m := range e.family.everyone() {
		if e.reaped || m.pgrp != e.a.pid || m.stray {
			others = append(others, m)
		}
	}
	signalAll(others, sigs...)
}

// note records how far stops got.
func (e *ending) note(s pasar.StopStep) {
	if s == pasar.StepFile && e.a.record.StopStep != pasar.StepNone {
		return // it got there, or further
	}
	e.a.record.StopStep = s
}

// step does what is due now. It returns when to look again, 0 for only when something happens, and
// whether nothing of the job is left.
func (e *ending) step(now time.Time) (next time.Duration, gone bool) {
	kill := due(e.seq.kill, now)
	switch {
	case kill:
		defer hasten()()
	case due(e.seq.term, now):
		e.terminate()
	case due(e.seq.wake, now):
		e.seq.wake = time.Time{}
		e.signal(unix.SIGCONT)
	}
	if !e.reaped {
		if kill {
			return e.kill(), false
		}
		return e.seq.next(now), false
	}

	if !e.strays && !anyChild() && !e.family.populated() {
		return 0, true
	}
	members := e.family.members()
	if len(members) == 0 {
		return 0, true
	}
	age := now.Sub(e.reapedAt)
	if age >= leftoverTerm {
		for _, m := range members {
			e.left[identity{m.pid, m.start}] = true
		}
		e.a.record.Leftovers = len(e.left)
	}
	// Without SIGTERM of a stop's they are leftovers like any, also if the job saw its pause file and went.
	wait := lookEvery
	if d := e.seq.next(now); d > 0 {
		wait = min(wait, d)
	}
	switch {
	case kill, !e.seq.sent && age >= leftoverKill:
		return e.kill(), false
	case e.seq.sent: // they have the grace that the stop gave
		return wait, false
	case age < leftoverTerm:
		return min(wait, leftoverTerm-age), false
	case !e.swept:
		e.swept = true
		signalAll(e.family.everyone(), unix.SIGTERM, unix.SIGCONT)
	}
	return min(wait, leftoverKill-age), false
}

// kill sends SIGKILL to every member and returns when to try again: what can't die yet, for instance
// in a driver, is tried less and less often, but never given up, since its memory is still claimed.
// While members appear that the last round didn't see, rounds follow each other at once. What is in a cgroup
// of the job's own goes at one stroke.
func (e *ending) kill() time.Duration {
	if due(e.seq.kill, time.Now()) {
		e.note(pasar.StepKill)
	}
	var members []member
	switch killed := e.family.kill(); {
	case killed && !e.stroke:
		e.stroke = true // most likely that was all
	case killed: // something in it can't die yet; who left it can
		members = slices.DeleteFunc(e.family.everyone(), func(m member) bool { return m.celled })
	default:
		members = e.family.members()
	}
	if len(members) > holdFrom || e.killed != nil && e.breeding(members) {
		members = e.hold(members)
	}
	signalAll(members, unix.SIGKILL)
	if e.breeding(members) {
		e.killGap = killFirst
	}
	e.killed = make(map[identity]bool, len(members))
	for _, m := range members {
		e.killed[identity{m.pid, m.start}] = true
	}
	gap := e.killGap
	e.killGap = min(2*gap, killLast)
	return gap
}

// breeding reports whether there is a member that the last round of SIGKILL didn't see.
func (e *ending) breeding(members []member) bool {
	for _, m := range members {
		if !e.killed[identity{m.pid, m.start}] {
			return true
		}
	}
	return false
}

// hold stops members until a look finds none that runs, and returns all. A job that forks as fast as it
// can, up to a limit on processes, gets room for a new one with each that is killed: one that is
// stopped keeps its place.
func (e *ending) hold(members []member) []member {
	sent := make(map[identity]bool)
	for range holdMost {
		var run []member
		for _, m := range members {
			if id := (identity{m.pid, m.start}); !m.stopped && !sent[id] {
				run = append(run, m)
				sent[id] = true
			}
		}
		if len(run) == 0 {
			break
		}
		signalAll(run, unix.SIGSTOP)
		members = e.family.members()
	}
	return members
}

// drain waits for the end of the output, for at most drainLimit; then something that isn't the job's
// holds the terminal, and what can be read now is all.
func (e *ending) drain() {
	t := time.NewTimer(drainLimit)
	defer t.Stop()
	select {
	case <-e.pumped:
		return
	case <-t.C:
	}
	e.a.record.TailForced = true
	e.a.wire.cut()
	<-e.pumped
}

// signalAll signals members and, so that nothing just forked is missed, their process groups.
func signalAll(members []member, sigs ...unix.Signal) {
	own := unix.Getpgrp()
	for _, sig := range sigs {
		groups := make(map[int]bool)
		for _, m := range members {
			if m.stray || m.pgrp <= 1 || m.pgrp == own {
				_ = signalProcess(m.stat, sig)
				continue
			}
			if groups[m.pgrp] {
				continue
			}
			groups[m.pgrp] = true
			_ = unix.Kill(-m.pgrp, sig)
		}
	}
}
