package main

import (
	"bufio"
	"io"
	"sync"
	"time"
)

// An outlet writes to standard output on its own, so that a terminal or a pipe that takes nothing keeps nobody
// from leaving. It has standard output to itself until it is closed.
type outlet struct {
	w    *bufio.Writer
	some chan struct{} // there is something to write
	idle chan struct{} // all has been written, or writing failed; one signal for any number of times

	mu     sync.Mutex // guards what follows
	queue  []byte
	wrote  int // of the queue that is being written: it counts as waiting
	closed bool
	err    error
	done   chan struct{} // the goroutine has ended
}

func newOutlet(w *bufio.Writer) *outlet {
	o := &outlet{w: w, some: make(chan struct{}, 1), idle: make(chan struct{}, 1), done: make(chan struct{})}
	go o.run()
	return o
}

func (o *outlet) run() {
	defer close(o.done)
	for range o.some {
		for {
			o.mu.Lock()
			p := o.queue
			o.queue, o.wrote = nil, len(p)
			end := o.closed || o.err != nil
			o.mu.Unlock()
			if len(p) == 0 {
				signalOne(o.idle)
				if end {
					return
				}
				break
			}
			_, err := o.w.Write(p)
			if err == nil {
				err = o.w.Flush()
			}
			o.mu.Lock()
			o.wrote = 0
			if err != nil {
				o.err, o.queue = err, nil
			}
			o.mu.Unlock()
		}
	}
}

func signalOne(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// put adds to what is written; p isn't kept.
func (o *outlet) put(p []byte) {
	o.mu.Lock()
	if !o.closed && o.err == nil {
		o.queue = append(o.queue, p...)
	}
	o.mu.Unlock()
	signalOne(o.some)
}

// backlog is how many bytes have not been taken yet.
func (o *outlet) backlog() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.queue) + o.wrote
}

func (o *outlet) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// close waits until everything has been written, for so long or until gone, and reports whether it has. If not,
// standard output can't be used any more.
func (o *outlet) close(limit time.Duration, gone <-chan struct{}) bool {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	signalOne(o.some)
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-o.done:
		return true
	case <-t.C:
	case <-gone:
	}
	return false
}

// A slowPipe writes to an outlet and waits while too much is on the way, unless it is told to stop.
type slowPipe struct {
	o    *outlet
	stop <-chan struct{}
}

// maxOnTheWay bounds what an outlet holds of output that must not be lost.
const maxOnTheWay = 256 << 10

func (s slowPipe) Write(p []byte) (int, error) {
	s.o.put(p)
	for s.o.backlog() > maxOnTheWay && s.o.failure() == nil {
		select {
		case <-s.o.idle:
		case <-s.stop:
			return 0, errInterrupted
		}
	}
	return len(p), s.o.failure()
}

// discard is standard output after an outlet that couldn't be closed.
func discard() *bufio.Writer { return bufio.NewWriter(io.Discard) }
