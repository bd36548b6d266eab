package local

import (
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// A reaper waits for the children it forked, whatever their number, in one goroutine, and for no
// other child of this process.
type reaper struct {
	signals chan os.Signal
	done    chan struct{}

	mu       sync.Mutex // guards children; held over fork, so that no status comes before its entry
	children map[int]chan syscall.WaitStatus
}

func newReaper() *reaper {
	r := &reaper{
		signals:  make(chan os.Signal, 1), // one is enough: each wakes a look at all children
		done:     make(chan struct{}),
		children: map[int]chan syscall.WaitStatus{},
	}
	signal.Notify(r.signals, syscall.SIGCHLD)
	go func() {
		defer close(r.done)
		for range r.signals {
			r.reap()
		}
	}()
	return r
}

// close stops reaping. Children that live on are adopted by init once this process ends.
func (r *reaper) close() {
	signal.Stop(r.signals)
	close(r.signals)
	<-r.done
	r.reap()
}

// fork starts a child; its status comes on the channel, which is then closed.
func (r *reaper) fork(path string, argv []string, attr *syscall.ProcAttr) (int, <-chan syscall.WaitStatus, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		return 0, nil, err
	}
	c := make(chan syscall.WaitStatus, 1)
	r.children[pid] = c
	return pid, c, nil
}

func (r *reaper) reap() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for pid, c := range r.children {
		var s syscall.WaitStatus
		switch got, err := syscall.Wait4(pid, &s, syscall.WNOHANG, nil); {
		case got == pid:
		case errors.Is(err, syscall.ECHILD): // somebody else took its status
		default:
			continue
		}
		c <- s
		close(c)
		delete(r.children, pid)
	}
}

// kill kills a child that hasn't been reaped: until then its pid is nobody else's.
func (r *reaper) kill(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ours := r.children[pid]; ours {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
