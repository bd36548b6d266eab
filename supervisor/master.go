package supervisor

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// A master is the supervisor's end of a PTY. It stays out of the runtime's poller, which would be
// woken by every single write of the job even while the reader gathers: its descriptor is
// non-blocking, and waiting is a poll(2) on a thread of the waiter's.
type master struct {
	fd   int
	stop int // an eventfd; once it is readable nothing waits any more
}

// openMaster opens a new PTY.
func openMaster() (*master, error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: "/dev/ptmx", Err: err}
	}
	stop, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("make eventfd: %w", err)
	}
	return &master{fd: fd, stop: stop}, nil
}

// cut ends every wait, now and later. Reads still give what is there.
func (m *master) cut() {
	_, _ = unix.Write(m.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
}

// close may be called once nobody uses the master any more.
func (m *master) close() {
	_ = unix.Close(m.fd)
	_ = unix.Close(m.stop)
}

// wait returns when an event has come, or with io.EOF after cut.
func (m *master) wait(events int16) error {
	for {
		p := []unix.PollFd{{Fd: int32(m.fd), Events: events}, {Fd: int32(m.stop), Events: unix.POLLIN}}
		_, err := unix.Poll(p, -1)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return fmt.Errorf("poll pty: %w", err)
		case p[1].Revents != 0:
			return io.EOF
		case p[0].Revents&(events|unix.POLLERR|unix.POLLNVAL) != 0:
			return nil
		case p[0].Revents != 0: // POLLHUP: every slave is closed, and nobody will read what we write
			if events&unix.POLLIN == 0 {
				return io.EOF
			}
			return nil // a read tells what is left, then EIO
		}
	}
}

// drain reads what can be read without waiting, up to len(p). The error is EIO when no slave is open
// any more and all is read.
func (m *master) drain(p []byte) (n int, err error) {
	for n < len(p) {
		k, err := unix.Read(m.fd, p[n:])
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			return n, nil
		case err != nil:
			return n, err
		case k == 0:
			return n, io.EOF
		default:
			n += k
		}
	}
	return n, nil
}

// Write writes all of p, waiting while the job doesn't read.
func (m *master) Write(p []byte) (n int, err error) {
	for n < len(p) {
		k, err := unix.Write(m.fd, p[n:])
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			if err := m.wait(unix.POLLOUT); err != nil {
				return n, err
			}
		case err != nil:
			return n, err
		default:
			n += k
		}
	}
	return n, nil
}
