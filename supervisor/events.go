package supervisor

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/attemptdir"
	"pasar/jobproto"
)

// Bounds on what a job can make us do by reporting.
const (
	eventLine  = jobproto.MaxLine
	eventBurst = 8                      // events of one kind passed on at once
	eventEvery = 250 * time.Millisecond // and then one in so long, always the latest
	eventLog   = 128                    // events kept for peers that fall behind
	eventRead  = 32 << 10
	eventMost  = 1 << 20       // bytes read of what is new at one look; of more,
	eventKeep  = 4 * eventLine // the last so many bytes too, and what lies between is left out
	eventSpeed = 4 << 20       // bytes a second, on average, while the job runs
	eventLast  = time.Second   // at the end: for what is new, and for the last of it
)

// Events are what the job reported, numbered from 1. A flood of one kind is thinned out: the latest
// is always passed on, those between may not be.
type events struct {
	log     *slog.Logger
	path    string
	changed *bell

	mu     sync.Mutex // guards what follows
	last   int        // number of the newest
	recent []numbered // the newest, in order
	latest map[pasar.EventKind]numbered
	rates  map[pasar.EventKind]*rate
	bad    int

	reader eventReader
	notify *notifier
}

type numbered struct {
	number int
	event  pasar.Event
}

// A rate thins out one kind of event.
type rate struct {
	tokens  float64
	at      time.Time    // when tokens was right
	pending *pasar.Event // the latest that was held back
	timer   *time.Timer  // while something is pending
}

// watchEvents creates the events file, if need be, and follows it.
func watchEvents(log *slog.Logger, n *notifier, path string, changed *bell) (*events, error) {
	f, err := attemptdir.OpenFile(path, os.O_CREATE|os.O_RDONLY|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open events: %w", err)
	}
	e := &events{log: log, path: path, changed: changed, latest: make(map[pasar.EventKind]numbered),
		rates: make(map[pasar.EventKind]*rate), reader: eventReader{file: f}, notify: n}
	if err := e.notify.add(path, unix.IN_MODIFY|unix.IN_CLOSE_WRITE, e.take); err != nil {
		log.Warn("events are read only at the end", "error", err)
	}
	return e, nil
}

// take reads what is new, and then rests for as long as that would have taken at eventSpeed: a job that
// does nothing but report must not keep a processor busy here. Only the notifier calls it.
func (e *events) take() {
	read := e.read(eventMost, func() bool {
		select {
		case <-e.notify.quit:
			return true
		default:
			return false
		}
	})
	if read == 0 {
		return
	}
	rest := time.NewTimer(time.Duration(read) * time.Second / eventSpeed)
	defer rest.Stop()
	select {
	case <-rest.C:
	case <-e.notify.quit:
	}
}

// read reads what is new until halt says so, up to most bytes and then the last. One goroutine at a
// time calls it: the notifier's, and finish once that has ended.
func (e *events) read(most int64, halt func() bool) int64 {
	n, err := e.reader.lines(most, eventKeep, halt, e.line)
	if err != nil {
		e.log.Error("read events", "error", err)
	}
	return n
}

// line decodes one line and passes it on, or counts it as bad; unread is why there is none.
func (e *events) line(line []byte, unread error) {
	var ev pasar.Event
	err := unread
	if err == nil {
		ev, err = jobproto.Decode(line)
	}
	now := time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		if e.bad++; e.bad == 1 {
			e.log.Warn("bad event line", "error", err)
		}
		return
	}
	ev.At = now
	e.admit(ev, now)
}

// admit passes an event on, or holds it back as the latest of its kind; the caller holds mu.
func (e *events) admit(ev pasar.Event, now time.Time) {
	r := e.rates[ev.Kind]
	if r == nil {
		r = &rate{tokens: eventBurst, at: now}
		e.rates[ev.Kind] = r
	}
	r.tokens = min(eventBurst, r.tokens+float64(now.Sub(r.at))/float64(eventEvery))
	r.at = now
	if r.tokens >= 1 && r.pending == nil {
		r.tokens--
		e.append(ev)
		return
	}
	first := r.pending == nil
	r.pending = &ev
	if first {
		wait := time.Duration((1 - r.tokens) * float64(eventEvery))
		r.timer = time.AfterFunc(max(wait, 0), func() { e.release(r) })
	}
}

// release passes on what a rate held back.
func (e *events) release(r *rate) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r.pending == nil {
		return
	}
	ev := *r.pending
	r.pending = nil
	r.tokens, r.at = 0, time.Now()
	e.append(ev)
}

// append numbers an event and shows it to the peers; the caller holds mu.
func (e *events) append(ev pasar.Event) {
	e.last++
	n := numbered{e.last, ev}
	e.latest[ev.Kind] = n
	if len(e.recent) == eventLog {
		e.recent = append(e.recent[:0], e.recent[eventLog/2:]...)
	}
	e.recent = append(e.recent, n)
	e.changed.ring()
}

// since returns events with a number above n, in order. Someone who has fallen behind gets the latest of
// each kind.
func (e *events) since(n int) []numbered {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []numbered
	if len(e.recent) == 0 || e.recent[0].number <= n+1 {
		for _, ev := range e.recent {
			if ev.number > n {
				out = append(out, ev)
			}
		}
		return out
	}
	for _, kind := range []pasar.EventKind{pasar.EventCheckpoint, pasar.EventResumed, pasar.EventProgress, pasar.EventNote} {
		if ev, ok := e.latest[kind]; ok && ev.number > n {
			out = append(out, ev)
		}
	}
	for i := 1; i < len(out); i++ { // four at most
		for j := i; j > 0 && out[j].number < out[j-1].number; j-- {
			out[j], out[j-1] = out[j-1], out[j]
		}
	}
	return out
}

// finish reads the last events, which a job may have written just before it ended, for at most
// twice eventLast, and returns the last checkpoint and progress and the number of bad lines.
func (e *events) finish() (checkpoint, progress *pasar.Event, bad int) {
	e.notify.close()
	for _, most := range []int64{eventMost, 0} { // the last lines, which count most, have time of their own
		limit := time.Now().Add(eventLast)
		e.read(most, func() bool { return time.Now().After(limit) })
	}
	e.reader.rest(e.line)
	_ = e.reader.file.Close()
	e.mu.Lock()
	rates := make([]*rate, 0, len(e.rates))
	for _, r := range e.rates {
		if r.timer != nil {
			r.timer.Stop()
		}
		rates = append(rates, r)
	}
	e.mu.Unlock()
	for _, r := range rates {
		e.release(r)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if ev, ok := e.latest[pasar.EventCheckpoint]; ok {
		checkpoint = &ev.event
	}
	if ev, ok := e.latest[pasar.EventProgress]; ok {
		progress = &ev.event
	}
	return checkpoint, progress, e.bad
}
