package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"pasar"
	"pasar/config"
	"pasar/ipc"
)

// An attachment is one stay at a job's terminal. Everything but reading and writing is done by one goroutine, so
// that the terminal is put back in one place.
type attachment struct {
	*call
	at       place
	leaveBy  []config.Key // while typing
	history  int          // lines wanted above the screen
	readOnly bool         // nobody types from here

	link   *link
	out    *outlet
	show   *display
	typing bool   // keys go to the job
	who    string // who else holds the keyboard, as far as is known
	wants  bool   // the person knows that somebody else holds it: pressing i takes it
	asked  bool   // the keyboard was asked for on this connection
	mine   bool   // this connection holds the keyboard, but the person has not asked for it again
	keys   detachKeys

	mu   sync.Mutex  // guards keep
	keep *term.State // of the terminal before; nil: it isn't changed
}

// errLeft is how a person leaves.
var errLeft = errors.New("left")

// run shows the job's screen until the job has ended or the person leaves.
func (a *attachment) run(ctx context.Context, typing, take bool) error {
	cols, rows := a.size()
	l, err := a.dial(typing, take)
	if err != nil {
		return err
	}
	if l.welcome.NoPTY {
		l.close()
		if typing {
			return problemf(ipc.CodeWrongState, "job #%d has no terminal, so there is nothing to type into", a.at.job).hint("it was submitted with --no-pty; `pasar attach " + a.at.job.String() + "` follows its output")
		}
		return (&follower{attachment: a, why: fmt.Sprintf("job #%d has no terminal", a.at.job), offset: -backlog - 1}).run(ctx)
	}
	a.link = l
	defer func() { a.link.close() }()

	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGWINCH, syscall.SIGCONT, syscall.SIGTSTP)
	defer signal.Stop(signals)
	if err := a.raw(); err != nil {
		return err
	}
	a.out = newOutlet(a.stdout)
	a.show = newDisplay(a.out, cols, rows, a.history)
	defer a.leave(false) // also on a panic; after it has been called, this does nothing
	a.arrive(typing)
	end, err := a.loop(ctx, signals)
	a.leave(err == nil)
	switch {
	case errors.Is(err, errLeft), errors.Is(err, errInterrupted):
		a.note(fmt.Sprintf("left; job #%d goes on", a.at.job))
		if err != errLeft {
			return exit(exitInterrupted)
		}
		return nil
	case err != nil:
		return err
	}
	return a.verdict(ctx, end)
}

// arrive takes up a connection's welcome, and greets. Who came to type while somebody else holds the keyboard
// watches, and is in line for it.
func (a *attachment) arrive(typing bool) {
	w := a.link.welcome
	a.who = w.Who
	a.show.begin(w.Cols, w.Rows)
	if w.Version < 2 {
		a.show.ready = true // it sends no screen, only what comes after the backlog
	}
	switch {
	case w.Holder:
		a.types(true)
		a.show.say(a.attached())
	case typing:
		a.types(false)
		a.wants = true
		a.show.say(heldBy(w.Who) + "; q leaves, i takes it from there")
	default:
		a.types(false)
		a.show.say(a.watching())
	}
	a.show.soon()
}

func (a *attachment) attached() string {
	return "attached to " + a.at.String() + "; " + config.SayKeys(a.leaveBy) + " leaves"
}

// watching is what somebody who watches should know.
func (a *attachment) watching() string {
	s := "watching " + a.at.String() + "; q leaves"
	if !a.readOnly {
		s += ", i takes the keyboard"
	}
	if a.show.larger() {
		s += ", arrows show the rest"
	}
	return s
}

// heldBy says who holds the keyboard.
func heldBy(who string) string {
	if who == "" {
		who = "someone else"
	}
	return who + " holds the keyboard"
}

// types makes keys go to the job, or not.
func (a *attachment) types(typing bool) {
	a.typing, a.wants, a.asked, a.mine, a.keys = typing, false, false, false, detachKeys{want: a.leaveBy}
	a.show.typing(typing)
}

// size is the user's terminal's.
func (a *attachment) size() (cols, rows int) {
	if cols, rows, err := term.GetSize(int(a.stdin.Fd())); err == nil {
		return cols, rows
	}
	return 0, 0
}

// raw makes the terminal pass keys as they are.
func (a *attachment) raw() error {
	old, err := term.MakeRaw(int(a.stdin.Fd()))
	if err != nil {
		return fmt.Errorf("prepare the terminal: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.keep == nil {
		a.keep = old
	}
	return nil
}

// leaveTime is how long a terminal is waited for that doesn't take what puts it back.
const leaveTime = time.Second

// leave puts the terminal back as it was, whichever way the client leaves.
func (a *attachment) leave(ended bool) {
	if a.out != nil {
		a.out.put(a.show.leave(ended))
		if !a.out.close(leaveTime, nil) {
			a.stdout = discard()
		}
		a.out = nil
	}
	a.cook()
}

// cook gives the terminal's modes back.
func (a *attachment) cook() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.keep != nil {
		_ = term.Restore(int(a.stdin.Fd()), a.keep)
		a.keep = nil
	}
}

// stopTime is how long a stop is waited for that never comes: some parents have it ignored, or are gone.
const stopTime = time.Second

// suspend stops this program with the terminal as it was, by a signal that stops nobody whose shell has gone and whom none
// would wake any more, as SIGSTOP would; SIGTSTP does nothing by itself once it is heeded.
func (a *attachment) suspend() error {
	a.out.put(a.show.leave(false))
	for stop := time.After(leaveTime); a.out.backlog() > 0 && a.out.failure() == nil; {
		select {
		case <-a.out.idle:
			continue
		case <-stop:
		}
		break
	}
	a.mu.Lock()
	_ = term.Restore(int(a.stdin.Fd()), a.keep)
	a.mu.Unlock()
	a.show.shown = true // what follows paints it anew
	on := make(chan os.Signal, 1)
	signal.Notify(on, syscall.SIGCONT)
	defer signal.Stop(on)
	_ = syscall.Kill(os.Getpid(), syscall.SIGTTIN)
	select {
	case <-on: // the loop hears it, too
		return nil
	case <-time.After(stopTime):
		return a.goOn()
	}
}

// goOn takes the terminal after a stop.
func (a *attachment) goOn() error {
	if err := a.raw(); err != nil {
		return err
	}
	a.show.again()
	a.resized()
	return nil
}

// verdict says how the job ended, and exits as wait does: with the daemon's words, or where there is none with the
// supervisor's.
func (a *attachment) verdict(ctx context.Context, end ipc.ExitFrame) error {
	if a.client != nil {
		_ = a.client.Close()
		a.client = nil // it is as old as this stay
	}
	err := a.connectOnly(ctx)
	if err == nil {
		var v *view
		if v, err = a.waitOne(ctx, ipc.WaitRequest{Jobs: []pasar.JobID{a.at.job}}); err == nil {
			a.reportEnd(v)
			if code := exitOf(&v.JobView); code != exitCompleted {
				return exit(code)
			}
			return nil
		}
	}
	if !isNoDaemon(err) {
		return err
	}
	_ = a.stdout.Flush()
	a.note(pasar.Clean(a.at.String() + " " + endOf(end)))
	if end.Exit.Shell() != 0 || end.Error != "" {
		return exit(exitFailed)
	}
	return nil
}
