package supervisor

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"pasar"
)

// A death is the end of one child.
type death struct {
	pid    int
	status syscall.WaitStatus
}

// A reaper waits for every child there is, the job's main process and the orphans that come back to
// us. Nothing else in the process may wait for a child.
type reaper struct {
	sig  chan os.Signal
	quit chan struct{}
	done chan struct{}

	main  int
	ended chan death // the main process's end; one value
	any   *bell      // rung after each round that reaped something

	use usage // owned by the reaping goroutine until done is closed
}

// A usage sums what reaped processes took.
type usage struct {
	peak         pasar.Bytes // the largest of any
	user, system time.Duration
}

// newReaper starts to listen for SIGCHLD, which must come before the fork; reaping starts with start.
func newReaper() *reaper {
	r := &reaper{sig: make(chan os.Signal, 1), quit: make(chan struct{}), done: make(chan struct{}),
		ended: make(chan death, 1), any: new(bell)}
	signal.Notify(r.sig, syscall.SIGCHLD)
	return r
}

// start begins to reap. The main process can't have been reaped before: nobody else waits.
func (r *reaper) start(main int) {
	r.main = main
	go func() {
		defer close(r.done)
		for {
			r.round()
			select {
			case <-r.sig:
			case <-r.quit:
				r.round()
				return
			}
		}
	}()
}

// stop ends the reaping goroutine and returns what all the reaped processes used.
func (r *reaper) stop() usage {
	signal.Stop(r.sig)
	close(r.quit)
	<-r.done
	return r.use
}

// round reaps every child that is dead now.
func (r *reaper) round() {
	some := false
	for {
		var ws syscall.WaitStatus
		var ru syscall.Rusage
		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG|syscall.WUNTRACED, &ru)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			break
		}
		if ws.Stopped() {
			r.resume(pid, ws.StopSignal())
			continue
		}
		some = true
		r.use.add(&ru)
		if pid == r.main {
			r.ended <- death{pid, ws}
			r.main = 0
		}
	}
	if some {
		r.any.ring()
	}
}

// resume undoes a stop that came from the terminal: there is no shell that could, so that Ctrl-Z
// would leave the job holding its GPUs and doing nothing. A SIGSTOP is meant, and stays.
func (r *reaper) resume(pid int, sig syscall.Signal) {
	if pid == r.main && (sig == syscall.SIGTSTP || sig == syscall.SIGTTIN || sig == syscall.SIGTTOU) {
		_ = syscall.Kill(-pid, syscall.SIGCONT)
	}
}

func (u *usage) add(ru *syscall.Rusage) {
	u.peak = max(u.peak, pasar.Bytes(ru.Maxrss)*pasar.KiB)
	u.user += time.Duration(ru.Utime.Nano())
	u.system += time.Duration(ru.Stime.Nano())
}

func exitOf(ws syscall.WaitStatus) pasar.Exit {
	if ws.Signaled() {
		return pasar.Exit{Signal: int(ws.Signal()), Core: ws.CoreDump()}
	}
	return pasar.Exit{Code: ws.ExitStatus()}
}
