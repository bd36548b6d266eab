package supervisor

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"pasar/attemptdir"
)

// isEnd reports whether a read of a PTY ended as it should: EIO says that no slave is open.
func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, syscall.EIO) }

// write is the writer's goroutine: it brings the log up to the ring's end, a batch at a time, until
// the stream is closed and all is written or given up.
func (o *output) write() {
	defer close(o.written)
	buf := make([]byte, 0, ringMin)
	for {
		<-o.kick
		for {
			o.mu.Lock()
			backlog, closed := o.ring.end-o.done, o.closed
			o.mu.Unlock()
			if backlog == 0 {
				o.noteSizes()
				if closed {
					return
				}
				break
			}
			var err error
			if buf, err = o.writeBatch(buf); err == nil {
				continue
			}
			if closed {
				o.giveUp()
				return
			}
			o.rest(retryEvery)
		}
	}
}

// rest waits before the log is tried again, but not once the stream has closed.
func (o *output) rest(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-o.ended:
	}
}

// writeBatch writes what the log lacks, at most batchSize bytes. Bytes that fell out of the ring
// before the log could take them become a gap.
func (o *output) writeBatch(buf []byte) ([]byte, error) {
	o.mu.Lock()
	o.done = max(o.done, o.ring.start())
	from := o.done
	want := int(min(batchSize, o.ring.end-from))
	if cap(buf) < want {
		buf = make([]byte, batchSize)
	}
	buf = buf[:want]
	o.ring.read(buf, from)
	marks := o.arrivals.take(from + int64(want))
	o.mu.Unlock()

	o.note(marks)
	n, err := o.disk.Write(buf, from)

	o.mu.Lock()
	o.done = from + int64(n)
	at, was := o.done, o.bad
	o.bad = err != nil
	o.mu.Unlock()
	o.stored.ring()
	switch {
	case err != nil && !was:
		o.log.Error("log degraded", "offset", at, "error", err)
		o.say(cause(err).Error())
	case err == nil && was:
		o.log.Info("log written again", "offset", from)
		o.say("")
	}
	return buf, err
}

// cause is the system error behind err, or else err.
func cause(err error) error {
	var no syscall.Errno
	if errors.As(err, &no) {
		return no
	}
	return err
}

// note writes to the index. What it can't take is lost, and said once.
func (o *output) note(marks []attemptdir.Mark) {
	if len(marks) == 0 {
		return
	}
	err := o.disk.Note(marks)
	if err != nil && !o.unnoted {
		o.log.Warn("times of the output not kept", "error", err)
	}
	o.unnoted = err != nil
}

// noteSizes notes sizes of the terminal for which nothing was written yet.
func (o *output) noteSizes() {
	o.mu.Lock()
	marks := o.arrivals.take(o.ring.end + 1)
	o.mu.Unlock()
	o.note(marks)
}

// giveUp notes that what is unwritten now never will be.
func (o *output) giveUp() {
	o.mu.Lock()
	end := o.ring.end
	o.mu.Unlock()
	o.disk.GiveUp(end)
}

// settle waits until the log has what it will ever have, but not beyond limit. Dropped counts the bytes
// that it never got.
func (o *output) settle(limit <-chan struct{}) (end, dropped int64) {
	select {
	case <-o.written:
	case <-limit:
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ring.end, o.disk.Lost()
}

// sync makes the settled log durable. A disk that hangs is not waited for beyond limit.
func (o *output) sync(limit <-chan struct{}) error {
	synced := make(chan error, 1)
	go func() {
		<-o.written
		synced <- o.disk.Sync()
	}()
	select {
	case err := <-synced:
		return err
	case <-limit:
		return fmt.Errorf("sync log: not done after %s", finishLimit)
	}
}
