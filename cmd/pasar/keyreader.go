package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// A keyReader reads what is typed at a terminal. What is typed after it was stopped is left to whoever reads next: a person
// who leaves may go on typing, to the shell.
type keyReader struct {
	typed <-chan []byte // closed when the terminal is gone
	quit  chan struct{}
	wake  *os.File // closed to end a wait for keys
	done  chan struct{}
}

// readKeys begins to read. A panic meanwhile calls rescue first.
func readKeys(in *os.File, rescue func()) (*keyReader, error) {
	woken, wake, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	typed := make(chan []byte)
	k := &keyReader{typed: typed, quit: make(chan struct{}), wake: wake, done: make(chan struct{})}
	go func() {
		defer close(k.done)
		defer guarded(rescue)
		defer woken.Close()
		k.read(in, woken, typed)
	}()
	return k, nil
}

// stop ends the reading.
func (k *keyReader) stop() {
	close(k.quit)
	_ = k.wake.Close()
	<-k.done
}

func (k *keyReader) read(in, woken *os.File, to chan<- []byte) {
	for {
		fds := []unix.PollFd{{Fd: int32(in.Fd()), Events: unix.POLLIN}, {Fd: int32(woken.Fd()), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); err == unix.EINTR {
			continue
		}
		if fds[1].Revents != 0 {
			return
		}
		b := make([]byte, 32<<10)
		n, err := in.Read(b)
		if n > 0 {
			select {
			case to <- b[:n]:
			case <-k.quit:
				return
			}
		}
		if err != nil {
			close(to)
			return
		}
	}
}
