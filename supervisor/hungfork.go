package supervisor

import (
	"time"

	"golang.org/x/sys/unix"

	"pasar"
)

// hungAfter is for how long a start may go on once a stop was asked for. It takes a millisecond, unless the
// program's file server hangs.
const hungAfter = 250 * time.Millisecond

// fork starts the main process. A start that hangs ends as a stop wants it, and so does one that was asked for
// meanwhile by a signal; a.early has the stops for the ending, which takes them up.
func (a *attempt) fork(w wire) (pid int, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		pid, err = a.kit.forker.fork(a.log, &a.spec, w)
	}()
	var seq sequence
	var term, kill <-chan time.Time
	asked := func(s pasar.Stop) {
		now := time.Now()
		seq.take(s, now)
		if !seq.term.IsZero() && seq.kill.After(seq.term) && term == nil {
			term = time.After(max(hungAfter, seq.term.Sub(now)))
		}
		if !seq.kill.IsZero() {
			kill = time.After(seq.kill.Sub(now))
		}
	}
	ended := false // the supervisor was asked to end
	defer func() {
		if ended {
			nudge(a.term)
		}
	}()
	for {
		select {
		case <-done:
			if n := len(a.early); n > 0 && err != nil {
				a.record.Stop = &a.early[n-1]
			}
			return pid, err
		case s := <-a.stops:
			a.early = append(a.early, s)
			asked(s)
		case <-a.term:
			ended = true
			asked(pasar.Stop{Grace: a.spec.Grace})
		case <-term:
			signalChildren(unix.SIGTERM)
		case <-kill:
			signalChildren(unix.SIGKILL)
			kill = time.After(killLast) // if it wasn't there yet, or can't die yet
		}
	}
}

// signalChildren signals every child of this process.
func signalChildren(sig unix.Signal) {
	self := unix.Getpid()
	for _, s := range listProcesses(0) {
		if s.ppid == self && !s.zombie {
			_ = signalProcess(s, sig)
		}
	}
}

// takeUp carries out the stops that came before there was anything to stop.
func (e *ending) takeUp(early []pasar.Stop) {
	for _, s := range early {
		e.request(s, time.Now())
	}
}
