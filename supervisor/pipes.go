package supervisor

import (
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pasar/attemptdir"
)

// alone is for how long one stream must have been the only one before it is gathered as a terminal's
// output is: while both come, each is taken at once, so that their order is that of arrival.
const alone = time.Second

// Pipes are what a job without a terminal has: standard input from /dev/null, and a pipe each for
// standard output and standard error.
type pipes struct {
	read [2]int // standard output, standard error; non-blocking
	far  [2]int // the job's ends; -1 once let go
	null int
	stop int // an eventfd, as a master has
}

func openPipes() (*pipes, error) {
	p := &pipes{read: [2]int{-1, -1}, far: [2]int{-1, -1}, null: -1, stop: -1}
	if err := p.open(); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *pipes) open() (err error) {
	for i := range p.read {
		var fds [2]int
		if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
			return fmt.Errorf("make pipe: %w", err)
		}
		p.read[i], p.far[i] = fds[0], fds[1]
		if err := unix.SetNonblock(fds[0], true); err != nil { // the job's end blocks, as it expects
			return fmt.Errorf("make pipe: %w", err)
		}
	}
	if p.null, err = unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return fmt.Errorf("open /dev/null: %w", err)
	}
	if p.stop, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return fmt.Errorf("make eventfd: %w", err)
	}
	return nil
}

// child gives the main process a session of its own, without a terminal: its group is what a stop signals
// first.
func (p *pipes) child(sys *syscall.SysProcAttr) []uintptr {
	sys.Setsid = true
	return []uintptr{uintptr(p.null), uintptr(p.far[0]), uintptr(p.far[1])}
}

func (p *pipes) letGo() {
	for i := range p.far {
		shut(&p.far[i])
	}
	shut(&p.null)
}

func (p *pipes) cut() { _, _ = unix.Write(p.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }

func (p *pipes) close() {
	p.letGo()
	for i := range p.read {
		shut(&p.read[i])
	}
	shut(&p.stop)
}

func shut(fd *int) {
	if *fd >= 0 {
		_ = unix.Close(*fd)
		*fd = -1
	}
}

// pump reads both pipes into the output until nobody can write to either, or it is cut and they are
// empty.
func (p *pipes) pump(o *output) {
	defer o.close()
	buf := make([]byte, batchSize)
	open := [2]bool{true, true}
	var came [2]time.Time // when something last came on each
	for cut := false; open[0] || open[1]; {
		ready, stopped, err := p.poll(open, cut)
		if err != nil {
			o.log.Error("read pipes", "error", err)
			return
		}
		cut = cut || stopped
		some, full := false, false
		now := time.Now()
		gathered := now
		for i := range ready {
			if !ready[i] {
				continue
			}
			n, err := unix.Read(p.read[i], buf)
			switch {
			case err == unix.EINTR || err == unix.EAGAIN:
			case err != nil || n == 0:
				if err != nil {
					o.log.Error("read pipe", "stream", attemptdir.Stdout+i, "error", err)
				}
				open[i] = false
			default:
				gathered = came[i]
				came[i], some, full = now, true, n == len(buf)
				o.add(buf[:n], attemptdir.Stdout+i, now)
			}
		}
		if !some {
			if cut {
				return
			}
			continue
		}
		o.waitForDisk()
		other := came[0]
		if came[0].Equal(now) {
			other = came[1]
		}
		if !cut && !full && now.Sub(gathered) < 2*gather && now.Sub(other) > alone {
			time.Sleep(gather)
		}
	}
}

// poll waits until something can be read, or the wire is cut; once it is, it doesn't wait.
func (p *pipes) poll(open [2]bool, cut bool) (ready [2]bool, stopped bool, err error) {
	fds := [3]unix.PollFd{{Fd: -1}, {Fd: -1}, {Fd: int32(p.stop), Events: unix.POLLIN}}
	for i := range open {
		if open[i] {
			fds[i] = unix.PollFd{Fd: int32(p.read[i]), Events: unix.POLLIN}
		}
	}
	wait := -1
	if cut {
		wait, fds[2].Fd = 0, -1
	}
	for {
		_, err := unix.Poll(fds[:], wait)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return ready, false, fmt.Errorf("poll pipes: %w", err)
		}
		return [2]bool{fds[0].Revents != 0, fds[1].Revents != 0}, fds[2].Revents != 0, nil
	}
}
