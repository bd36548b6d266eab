package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"

	"pasar/daemon"
)

// statusPause is the shortest time between two STATUS= messages: what changes more often than that is
// told late, and what doesn't change costs nothing.
const statusPause = 5 * time.Second

// A notifier tells the service manager how the daemon is (sd_notify(3)). One without a socket says nothing
// and costs nothing.
type notifier struct {
	socket string        // empty: nobody listens
	every  time.Duration // the watchdog's patience; 0: there is none
	log    *slog.Logger
	once   sync.Once // guards stopping
}

// serviceVars are the variables by which systemd speaks to a service (systemd.exec(5)). They are meant for
// one process, so they are taken out of the environment before anything can inherit them.
var serviceVars = []string{
	"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PIDFDID",
	"INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "MANAGERPID", "MANAGERPIDFDID",
	"MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE", "FDSTORE",
}

// forgetService takes what systemd said out of the environment.
func forgetService() {
	for _, v := range serviceVars {
		_ = os.Unsetenv(v)
	}
}

// newNotifier reads the environment of a service. A daemon that a client started may have inherited that
// of the client's service, so it must not speak there.
func newNotifier(autostart bool, log *slog.Logger) *notifier {
	n := &notifier{log: log}
	if autostart || !meantForUs(os.Getenv("SYSTEMD_EXEC_PID")) {
		return n
	}
	n.socket = os.Getenv("NOTIFY_SOCKET")
	every, err := sd.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("the watchdog's settings are no numbers; it is not fed", "error", err)
	}
	if n.socket != "" {
		n.every = every
	}
	return n
}

// meantForUs is whether a variable that names a process names this one, or isn't there.
func meantForUs(pid string) bool { return pid == "" || pid == strconv.Itoa(os.Getpid()) }

// tell sends lines of state.
func (n *notifier) tell(state string) {
	if n.socket == "" {
		return
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: n.socket, Net: "unixgram"})
	if err == nil {
		_, err = c.Write([]byte(state))
		_ = c.Close()
	}
	if err != nil {
		n.log.Warn("can't tell the service manager", "state", state, "error", err)
	}
}

// A servant is what a notifier tells of.
type servant interface {
	Beat(context.Context) error
	Load() (daemon.Load, <-chan struct{})
}

// run says READY once the daemon answers, its numbers when they change, and WATCHDOG for as long as its
// loop proves that it isn't stuck. It returns when ctx is done.
func (n *notifier) run(ctx context.Context, d servant) {
	if n.socket == "" || d.Beat(ctx) != nil {
		return
	}
	load, changed := d.Load()
	n.tell(sd.SdNotifyReady + "\nSTATUS=" + statusLine(load))
	var wg sync.WaitGroup
	defer wg.Wait()
	if n.every > 0 {
		wg.Go(func() { n.feed(ctx, d) })
	}
	pause := time.NewTimer(statusPause)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		last := load
		if load, changed = d.Load(); load != last {
			n.tell("STATUS=" + statusLine(load))
		}
		pause.Reset(statusPause)
	}
}

// feed feeds the watchdog, twice in the time that it waits. A loop that is stuck holds this up, and then
// systemd ends the process.
func (n *notifier) feed(ctx context.Context, d servant) {
	t := time.NewTicker(n.every / 2)
	defer t.Stop()
	for {
		if d.Beat(ctx) != nil {
			return
		}
		n.tell(sd.SdNotifyWatchdog)
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// reloading says that the configuration is read anew; the returned function says that it was.
func (n *notifier) reloading() (done func()) {
	n.tell(fmt.Sprintf("%s\nMONOTONIC_USEC=%d", sd.SdNotifyReloading, monotonic().Microseconds()))
	return func() { n.tell(sd.SdNotifyReady) }
}

// stopping says, once, that the daemon is on its way out.
func (n *notifier) stopping() {
	n.once.Do(func() { n.tell(sd.SdNotifyStopping + "\nSTATUS=going down; jobs go on") })
}

// statusLine is the queue in a line, as `systemctl status` shows it.
func statusLine(l daemon.Load) string {
	s := fmt.Sprintf("%s running, %d waiting", some(l.Running, "job"), l.Waiting)
	if l.Problem != "" {
		s += "; " + l.Problem
	}
	return s
}

// ownStream is whether JOURNAL_STREAM names the file that f is, so that lines written to it go to the
// journal (systemd.exec(5)).
func ownStream(stream string, f *os.File) bool {
	fi, err := f.Stat()
	if err != nil || stream == "" {
		return false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && stream == fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}
