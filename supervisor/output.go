package supervisor

import (
	"bytes"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pasar/attemptdir"
)

// Sizes and times of the way from the PTY to the log.
const (
	batchSize   = 64 << 10             // bytes of one read and one write
	gather      = 2 * time.Millisecond // how long a stream is gathered for one batch
	backlogMax  = 512 << 10            // unwritten bytes at which the PTY waits for the disk
	stallAfter  = 5 * time.Second      // a write under way for so long no longer holds up the PTY
	retryEvery  = time.Second          // tries to write again while the log is degraded
	finishLimit = 10 * time.Second     // for the last writes and the sync of a job that has ended
)

// Output is everything the job wrote: an endless stream of bytes addressed by absolute offset. One
// goroutine reads the PTY into the ring, one writes the ring to the log; readers are offsets and are
// never waited for.
type output struct {
	log     *slog.Logger
	display *display // told of all output; nil: there is no terminal

	tell func(why string) // told of trouble with the log, and with "" of its end; nil: nobody

	mu       sync.Mutex // guards what follows; never held over a read or write
	ring     ring
	arrivals arrivals
	lines    int64 // line ends that came
	closed   bool  // no more will come
	done     int64 // what is below is in the log, or never will be
	bad      bool  // the log can't be written just now

	grown  bell // rung when something came, or the stream closed
	stored bell // rung when the log got further, or became bad
	kick   chan struct{}
	ended  chan struct{} // closed with the stream

	disk    *attemptdir.Writer
	unnoted bool          // of the writer: the index can't be written just now
	written chan struct{} // closed when the writer has ended
}

// newOutput begins to write what comes to a log; tell is as in output.
func newOutput(log *slog.Logger, disk *attemptdir.Writer, tell func(string)) *output {
	o := &output{log: log, disk: disk, tell: tell, kick: make(chan struct{}, 1), ended: make(chan struct{}),
		written: make(chan struct{})}
	go o.write()
	return o
}

// pump copies the master to the ring until it ends, which for a PTY is EIO once every slave is
// closed and all is read, or until it is cut. What comes after a pause is passed on at once; a stream
// is gathered, since a wake-up for each line a job writes would cost more than all the rest.
func (o *output) pump(m *master) {
	defer o.close()
	buf := make([]byte, batchSize)
	for last := time.Now(); ; {
		n, err := m.drain(buf)
		now := time.Now()
		if n > 0 {
			o.add(buf[:n], attemptdir.Unknown, now)
			o.waitForDisk()
		}
		if err == nil && n == 0 {
			if err = m.wait(unix.POLLIN); err == nil {
				continue
			}
		}
		if err != nil {
			if !isEnd(err) {
				o.log.Error("read pty", "error", err)
			}
			return
		}
		if now.Sub(last) < 2*gather && n < len(buf) {
			time.Sleep(gather)
			now = now.Add(gather)
		}
		last = now
	}
}

// add appends bytes of a stream, which came just now, and wakes readers and the writer.
func (o *output) add(p []byte, stream int, now time.Time) {
	lines := int64(bytes.Count(p, []byte{'\n'}))
	o.mu.Lock()
	o.lines += lines
	o.arrivals.came(o.ring.end, stream, now)
	o.ring.append(p)
	o.arrivals.trim(o.ring.start())
	end := o.ring.end
	o.mu.Unlock()
	nudge(o.kick)
	o.display.pass(p, end)
	o.grown.ring()
}

func (o *output) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	close(o.ended)
	nudge(o.kick)
	o.grown.ring()
}

// waitForDisk holds up the PTY while the disk is slow, but not while it is broken or hung.
func (o *output) waitForDisk() {
	var limit *time.Timer
	for {
		stored := o.stored.wait()
		o.mu.Lock()
		wait := !o.bad && o.ring.end-o.done > backlogMax
		o.mu.Unlock()
		if !wait {
			break
		}
		if limit == nil {
			limit = time.NewTimer(stallAfter)
			defer limit.Stop()
		}
		select {
		case <-stored:
		case <-limit.C:
			o.mu.Lock()
			o.bad = true // until the write under way comes back
			at := o.done
			o.mu.Unlock()
			o.log.Error("log degraded: a write hangs, and output goes on without it", "offset", at)
			o.say("a write hangs")
			return
		}
	}
}

// nudge makes a receiver of a one-place channel run once more.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// extent is where the stream ends now, and whether that is final.
func (o *output) extent() (end int64, closed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ring.end, o.closed
}

// lineEnds is how many line ends have come.
func (o *output) lineEnds() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lines
}

// sized notes that the terminal has another size for what comes from an offset on.
func (o *output) sized(cols, rows int, at int64) {
	o.mu.Lock()
	o.arrivals.sized(at, cols, rows, time.Now())
	o.mu.Unlock()
	nudge(o.kick)
}

// came is when the byte at an offset came and which stream it is of; at is zero if that is no longer known
// here.
func (o *output) came(off int64) (at time.Time, stream int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.arrivals.at(off)
}

// say tells whom it may concern of the log's state.
func (o *output) say(why string) {
	if o.tell != nil {
		o.tell(why)
	}
}

// read copies output from an offset on into p, of one time and one stream. If nothing is to be had at
// that offset because it is in a gap, n is 0 and to is where output goes on; at the end of the stream both
// are as if nothing was there: n is 0 and to is off.
func (o *output) read(p []byte, off int64) (n int, to int64) {
	o.mu.Lock()
	if next := o.arrivals.next(off); int64(len(p)) > next-off {
		p = p[:next-off]
	}
	start := o.ring.start()
	if off >= start {
		n = o.ring.read(p, off)
		o.mu.Unlock()
		return n, off + int64(n)
	}
	limit := min(o.done, start) // the log has this much
	o.mu.Unlock()
	if off >= limit { // not stored yet, and no longer in the ring
		return 0, start
	}
	return o.disk.Read(p, off, limit)
}
