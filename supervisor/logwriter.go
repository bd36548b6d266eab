package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
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
	from, start := o.done, o.ring.start()
	if start > from {
		o.addGap(from, start)
		from = start
		o.done = start
	}
	want := int(min(batchSize, o.ring.end-from))
	if cap(buf) < want {
		buf = make([]byte, batchSize)
	}
	buf = buf[:want]
	o.ring.read(buf, from)
	o.mu.Unlock()

	n, err := o.file.WriteAt(buf, from)

	o.mu.Lock()
	o.done = from + int64(n)
	was := o.bad
	o.bad = err != nil
	o.mu.Unlock()
	if (err != nil) != was {
		if err != nil {
			o.log.Error("log degraded", "offset", o.done, "error", err)
		} else {
			o.log.Info("log written again", "offset", from)
		}
	}
	o.stored.ring()
	return buf, err
}

// addGap notes missing output; the caller holds mu.
func (o *output) addGap(from, to int64) {
	if n := len(o.gaps); n > 0 && o.gaps[n-1].to == from {
		o.gaps[n-1].to = to
		return
	}
	o.gaps = append(o.gaps, gap{from, to})
}

// giveUp notes that what is unwritten now never will be.
func (o *output) giveUp() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done < o.ring.end {
		o.addGap(o.done, o.ring.end)
		o.lost = true
	}
}

// settle waits until the log has what it will ever have, but not beyond limit. Dropped counts the bytes
// in gaps.
func (o *output) settle(limit <-chan struct{}) (end, dropped int64) {
	select {
	case <-o.written:
	case <-limit:
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, g := range o.gaps {
		dropped += g.to - g.from
	}
	return o.ring.end, dropped
}

// sync makes the settled log durable. A disk that hangs is not waited for beyond limit.
func (o *output) sync(limit <-chan struct{}) error {
	synced := make(chan error, 1)
	go func() {
		<-o.written
		synced <- o.file.Sync()
	}()
	select {
	case err := <-synced:
		return err
	case <-limit:
		return fmt.Errorf("sync log: not done after %s", finishLimit)
	}
}

// A gapNote is a line of the index: output in [From, To) is not in the log, which has a hole there.
type gapNote struct {
	From int64 `json:"gap_from"`
	To   int64 `json:"gap_to"`
}

// IndexFile holds one JSON object a line about the log: its gaps.
const IndexFile = "index"

// writeIndex writes down the gaps, if there are any, for readers that come after us.
func (o *output) writeIndex(dir string) error {
	o.mu.Lock()
	gaps := append([]gap(nil), o.gaps...)
	o.mu.Unlock()
	if len(gaps) == 0 {
		return nil
	}
	var b []byte
	for _, g := range gaps {
		line, err := json.Marshal(gapNote{g.from, g.to})
		if err != nil {
			return fmt.Errorf("encode index: %w", err)
		}
		b = append(append(b, line...), '\n')
	}
	if err := os.WriteFile(filepath.Join(dir, IndexFile), b, 0o600); err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	return nil
}
