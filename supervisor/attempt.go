package supervisor

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/attemptdir"
	"pasar/ipc"
)

// An attempt is one launch of a job in the hands of this process. One goroutine, in run, takes it
// through its states; everyone else looks at history, output and events, and asks by way of stops.
type attempt struct {
	log   *slog.Logger
	dir   string
	spec  pasar.AttemptSpec
	sock  string
	place pasar.Place

	changed bell // anything that peers are told, but output
	history history
	clients atomic.Pointer[server] // nil before there can be any
	output  *output
	events  *events
	keys    *keyboard
	display *display // nil for a job without a terminal

	kit   *kit
	stops chan pasar.Stop
	early []pasar.Stop  // asked for while the main process was being started
	over  chan struct{} // closed when no stop will be taken any more
	term  chan struct{} // closed when the supervisor itself is asked to end

	wire     wire
	startAt  time.Time
	startUp  time.Duration // by the boot-time clock
	oomKills int64         // of the machine, when the attempt began; -1: not counted
	pid      int
	record   pasar.ExitRecord
}

// newAttempt opens what an attempt needs before its claim says that a fork may have happened.
func newAttempt(log *slog.Logger, k *kit, dir, sock string, spec pasar.AttemptSpec) (*attempt, error) {
	disk, err := attemptdir.Create(dir, spec.LogMax)
	if err != nil {
		return nil, err
	}
	a := &attempt{log: log, dir: dir, spec: spec, sock: sock,
		kit: k, stops: make(chan pasar.Stop), over: make(chan struct{}), term: make(chan struct{}, 1)}
	a.output = newOutput(log, disk, a.logState)
	a.history.bell = &a.changed
	a.keys = newKeyboard(a)
	if !spec.NoPTY {
		a.display = newDisplay(log, a.output, a.keys.size.Cols, a.keys.size.Rows, a.keys.in.answer)
		a.output.display = a.display
	}
	a.events, err = watchEvents(log, k.notify, filepath.Join(dir, pasar.EventsFile), &a.changed)
	if err != nil {
		a.output.close()
		return nil, err
	}
	return a, nil
}

// status is a state with what goes with it.
func (a *attempt) status(s ipc.AttemptState) ipc.Status {
	st := ipc.Status{State: s, Key: a.spec.Key.String(), Pid: a.pid, Socket: a.sock, SupPid: os.Getpid()}
	if !a.startAt.IsZero() {
		st.StartedAt = a.startAt.UnixNano()
	}
	return st
}

// run takes the attempt from its claim to its record. It returns when nothing of the job is left and
// the record is as safe as it can be made.
func (a *attempt) run() {
	a.record = pasar.ExitRecord{Schema: pasar.Schema, Key: a.spec.Key, Nonce: a.spec.Nonce}
	reap := a.kit.reap
	if err := a.launch(); err != nil {
		a.log.Error("launch", "error", err)
		a.record.LaunchError = err.Error()
		a.record.LaunchStep, a.record.Errno = "pty", errno(err)
		if le, ok := err.(*launchError); ok {
			a.record.LaunchStep = le.step
		}
		reap.start(0)
		close(a.over)
		a.keys.close()
		a.record.ExitedAt = time.Now()
		a.finish(reap)
		return
	}
	reap.start(a.pid)
	a.history.add(a.status(ipc.AttemptRunning))
	a.oomKills = -1
	if !a.kit.cell.countsOOM() { // nobody waits for it any more
		a.oomKills = oomKills()
	}

	pumped := make(chan struct{})
	go func() {
		defer close(pumped)
		a.wire.pump(a.output)
	}()
	end := newEnding(a, reap, pumped)
	end.takeUp(a.early)
	end.run() // until nothing that descends from us is left
	a.record.ExitedAt = time.Now()
	a.record.RunTime = pasar.Duration(bootTime() - a.startUp)
	st := a.status(ipc.AttemptExited)
	exit := a.record.Exit
	st.Exit = &exit
	a.history.add(st)
	runtime.Gosched() // to those who tell it: the next job waits for that word

	// A stray was started by somebody else for the job, so it is rare, and to find it every process of
	// the machine must be looked at: the next job doesn't wait for that.
	end.strays = true
	end.run()
	end.hearOut()
	close(a.over)

	end.drain()
	a.keys.close()
	a.wire.close()
	a.finish(reap)
}

// launch makes the terminal, or the pipes, and forks.
func (a *attempt) launch() error {
	t, err := a.kit.wire(&a.spec)
	if err != nil {
		a.output.close()
		return err
	}
	if c := a.kit.cell; c != nil {
		c.hold(a.spec.RAM)
	}
	pid, err := a.fork(t)
	if err != nil {
		t.close()
		a.output.close()
		return err
	}
	a.startAt, a.startUp = time.Now(), bootTime()
	a.wire, a.pid = t, pid
	if t, ok := t.(*terminal); ok {
		a.keys.start(t)
	} else {
		a.keys.shutdown() // nobody reads it
	}
	return nil
}

// finish syncs the log, writes the record and announces the end.
func (a *attempt) finish(reap *reaper) {
	use := reap.stop()
	r := &a.record
	r.Pid, r.StartedAt = a.pid, a.startAt
	r.Place = a.place
	if a.pid != 0 {
		r.Marker = a.marker()
	}
	if c := a.kit.cell; c != nil && a.pid != 0 {
		r.Cgroup = c.spent()
	}
	if r.Exit != (pasar.Exit{}) && a.pid != 0 {
		r.OOMKills = oomKillsSince(a.oomKills)
	}
	r.Typed = a.keys.lastKey()
	r.PeakHost, r.UserTime, r.SystemTime = use.peak, pasar.Duration(use.user), pasar.Duration(use.system)
	r.Checkpoint, r.Progress, r.BadEvents = a.events.finish()
	limit, cancel := context.WithTimeout(context.Background(), finishLimit)
	defer cancel()
	r.Output, r.Dropped = a.output.settle(limit.Done())
	r.Lines = a.output.lineEnds()
	synced := make(chan struct{})
	go func() {
		defer close(synced)
		if err := a.output.sync(limit.Done()); err != nil {
			a.log.Error("finish log", "error", err)
		}
	}()
	r.Tail = a.output.tail()
	r.Screen = a.display.last()
	r.EndedAt = time.Now()

	st := a.status(ipc.AttemptEnded)
	exit := r.Exit
	st.Exit = &exit
	if err := writeRecord(a.dir, r, synced); err != nil {
		a.log.Error("write exit record", "error", err)
		st.Error = err.Error()
	}
	st.Record = wireRecord(r)
	a.history.add(st)
}

// wireRecord encodes a record so that its status fits in a frame: the tail gives way.
func wireRecord(r *pasar.ExitRecord) []byte {
	const room = ipc.MaxAttachFrame - 4<<10
	short := *r
	for {
		b, err := json.Marshal(&short)
		if err == nil && len(b) <= room {
			return b
		}
		if len(short.Screen) > 0 {
			short.Screen = nil
			continue
		}
		if len(short.Tail) == 0 {
			return b // only a huge event could be at fault, and those are bounded
		}
		short.Tail = short.Tail[(len(short.Tail)+1)/2:]
	}
}

// bootTime is the time since boot, suspended or not: no clock change touches it.
func bootTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
