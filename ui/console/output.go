package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/vt"
)

// An output is the last lines of what a job has written.
type output struct {
	feed  *feed
	id    pasar.JobID
	stop  context.CancelFunc
	moved chan struct{} // signalled when there is more; buffered

	text *vt.Colours // what lines come out of; read's own, as are the next two
	upto int64       // offset up to which this attempt's output is here
	of   int         // attempt that text and upto are of

	mu      sync.Mutex // guards what follows
	lines   []string   // that have ended, with colours, oldest first
	dropped int        // lines that were there before the first one
	open    []byte     // what was written of a line that hasn't ended
	plain   bool       // the job has no terminal
	attempt int        // that the last line is of; 0: not known yet
	last    bool       // it is the latest
	note    string     // how it goes, if there is anything to say
}

// Bounds of an output.
const (
	outBack  = 1 << 20                // bytes before the end that it begins with
	outMost  = 20_000                 // lines that are kept
	outOpen  = 64 << 10               // bytes of a line that hasn't ended
	outSpeed = 512 << 10              // bytes that are taken a second: it is read by a person
	outLate  = 3 * time.Second        // when it is behind for so long, what lies between is left out
	outPause = 100 * time.Millisecond // between looks at how fast it comes
)

// lines is an output as it is at one time.
type lines struct {
	list    []string
	dropped int
	attempt int
	last    bool
	note    string
}

func (l lines) n() int             { return len(l.list) }
func (l lines) past() int          { return l.dropped + len(l.list) }
func (l lines) at(line int) string { return l.list[line-l.dropped] }

// within is the nearest spot that there is.
func (l lines) within(s spot) spot {
	switch {
	case s.line < l.dropped:
		return spot{l.dropped, 0}
	case s.line >= l.past():
		return spot{max(l.dropped, l.past()-1), 0}
	}
	return s
}

// look is the output as it is now: with the line that hasn't ended.
func (o *output) look() lines {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := o.lines[:len(o.lines):len(o.lines)]
	if len(o.open) > 0 {
		var unended []string
		text := vt.NewColours(func(line string) { unended = append(unended, line) })
		_, _ = text.Write(o.open)
		text.Close()
		if unended = slices.DeleteFunc(unended, func(s string) bool { return s == "" }); len(unended) > 0 {
			list = append(list, unended...)
		}
	}
	return lines{list, o.dropped, o.attempt, o.last, o.note}
}

// errLate: it comes faster than it can be read.
var errLate = errors.New("it writes faster than this is read")

// read follows the output until the page is left, over the loss of the daemon too.
func (o *output) read(ctx context.Context, attempt int) {
	r := ipc.LogsRequest{Job: o.id, Attempt: attempt, Offset: -outBack, Follow: true, Next: attempt == 0}
	for ctx.Err() == nil {
		answer, err := o.take(ctx, &r)
		var e *ipc.Error
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errLate):
			r.Offset = -outBack
			continue
		case err == nil && answer.Attempt == 0:
			o.say("it has ended without another attempt", true)
			return
		case err == nil && (answer.Over || attempt > 0):
			o.say("ended", answer.Over)
			return
		case err == nil:
			o.line(faint(fmt.Sprintf("── attempt %d has ended ──", answer.Attempt)))
			r.Attempt, r.Offset = answer.Attempt+1, 0
			continue
		case errors.As(err, &e) && e.Code != ipc.CodeNoDaemon && e.Code != ipc.CodeInterrupted:
			o.say(problem(err), true)
			return
		}
		o.say("no connection", false)
		select {
		case <-ctx.Done():
		case <-time.After(liveAgain):
		}
	}
}

func faint(text string) string { return "\x1b[2m" + text + "\x1b[m" }

// take reads one attempt's output from an offset on, which it keeps up to date.
func (o *output) take(ctx context.Context, r *ipc.LogsRequest) (ipc.LogsAnswer, error) {
	var answer ipc.LogsAnswer
	speed := pace{since: time.Now(), most: outSpeed, free: 2 * outBack}
	var skip int64 // bytes that are here already
	err := o.feed.call(ctx, func(ctx context.Context, d *ipc.Client) error {
		var err error
		answer, err = d.Logs(ctx, *r, ipc.LogsReader{
			Head: func(h ipc.LogsHead) error {
				skip = o.begin(h)
				r.Attempt, r.Offset = h.Attempt, h.Offset
				return nil
			},
			Mark: func(m ipc.LogsMark) error {
				if m.Gap > 0 {
					o.line(faint(fmt.Sprintf("── %s are not to be had ──", pasar.Bytes(m.Gap))))
				}
				return nil
			},
			Bytes: func(b []byte) error {
				n := len(b)
				r.Offset += int64(n)
				drop := min(skip, int64(n))
				skip -= drop
				o.write(b[drop:])
				o.upto = max(o.upto, r.Offset)
				if speed.late > outLate {
					return errLate
				}
				return speed.hold(ctx, n)
			},
		})
		return err
	})
	if err == nil { // the attempt has ended: its last line with it
		o.close()
	}
	ring(o.moved)
	return answer, err
}

// A pace holds back whoever takes bytes faster than is of use.
type pace struct {
	most  int       // bytes a second
	free  int       // bytes that don't count yet
	since time.Time // of bytes
	bytes int
	late  time.Duration // for how long it was held back without a rest
}

// hold waits if so many bytes more are too many.
func (p *pace) hold(ctx context.Context, n int) error {
	if p.free > 0 {
		p.free, p.since = p.free-n, time.Now()
		return nil
	}
	p.bytes += n
	wait := time.Duration(p.bytes)*time.Second/time.Duration(p.most) - time.Since(p.since)
	if wait < outPause {
		if wait < 0 {
			p.since, p.bytes, p.late = time.Now(), 0, 0
		}
		return nil
	}
	p.late += wait
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(wait):
		return nil
	}
}

// begin takes up where a stream starts: where this left off, or elsewhere. It returns how many bytes are here already.
func (o *output) begin(h ipc.LogsHead) (known int64) {
	same := o.text != nil && o.of == h.Attempt
	gap := h.Offset - o.upto
	switch {
	case same && gap > 0: // it wrote faster than this read
		o.close()
		o.line(faint(fmt.Sprintf("── %s between aren't shown here: `pasar logs %d` has all ──", pasar.Bytes(gap), o.id)))
	case same:
		known = -gap
	case h.Offset > 0:
		o.line(faint(fmt.Sprintf("── %s before this aren't shown here: `pasar logs %d` has all ──", pasar.Bytes(h.Offset), o.id)))
	}
	if o.text == nil {
		o.text = vt.NewColours(o.line)
	}
	if !same || gap > 0 {
		o.of, o.upto = h.Attempt, h.Offset
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note, o.plain, o.attempt, o.last = "", h.NoPTY, h.Attempt, false
	ring(o.moved)
	return known
}

// close ends the line that hasn't ended.
func (o *output) close() {
	if o.text == nil {
		return
	}
	o.text.Close()
	o.text = nil
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open = nil
}

// write takes output: lines that have ended come out of text, and of the one that hasn't what there is of it is kept.
func (o *output) write(b []byte) {
	o.mu.Lock()
	if o.plain {
		b = bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))
	}
	o.mu.Unlock()
	_, _ = o.text.Write(b)
	o.text.Flush()
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		o.open, b = o.open[:0], b[i+1:]
	}
	o.open = append(o.open, b...)
	o.open = o.open[max(0, len(o.open)-outOpen):]
	ring(o.moved)
}

func (o *output) say(text string, last bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note, o.last = text, last
	ring(o.moved)
}

func (o *output) line(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.lines) >= outMost {
		n := outMost / 10
		o.lines = slices.Clone(o.lines[n:]) // whoever looks may still have the old ones
		o.dropped += n
	}
	o.lines = append(o.lines, strings.TrimRight(text, " "))
}
