package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A browser takes an answer, and stops taking it when it is told to.
type browser struct {
	head http.Header
	stop chan struct{} // nil: it takes everything; else what it takes next,
	once string        // once it has this

	mu       sync.Mutex // guards the rest
	got      bytes.Buffer
	writes   int
	flushed  int           // bytes that were sent on
	deadline chan struct{} // closed once the time of what is being written is over
	late     func()        // closes it
	timer    *time.Timer
	more     chan struct{} // has one when more has been sent on
}

func newBrowser() *browser {
	return &browser{head: http.Header{}, deadline: make(chan struct{}), late: func() {}, more: make(chan struct{}, 1)}
}

func (b *browser) Header() http.Header { return b.head }
func (b *browser) WriteHeader(int)     {}

func (b *browser) Write(p []byte) (int, error) {
	b.mu.Lock()
	late, stops := b.deadline, b.stop != nil && strings.Contains(b.got.String(), b.once)
	b.mu.Unlock()
	select { // what is too late already is not written
	case <-late:
		return 0, os.ErrDeadlineExceeded
	default:
	}
	if stops {
		select {
		case <-b.stop:
		case <-late:
			return 0, os.ErrDeadlineExceeded
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writes++
	return b.got.Write(p)
}

func (b *browser) FlushError() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flushed = b.got.Len()
	select {
	case b.more <- struct{}{}:
	default:
	}
	return nil
}

// SetWriteDeadline moves the time from which on a write fails that begins later. One in the past ends that under way.
func (b *browser) SetWriteDeadline(t time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := time.Until(t)
	if left <= 0 {
		b.late()
		return nil
	}
	if b.timer != nil {
		b.timer.Stop()
	}
	d := make(chan struct{})
	b.deadline, b.late = d, sync.OnceFunc(func() { close(d) })
	b.timer = time.AfterFunc(left, b.late)
	return nil
}

// text is what has been sent on.
func (b *browser) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.got.String()[:b.flushed]
}

// await waits until words, one behind the other, have been sent on.
func (b *browser) await(t *testing.T, words ...string) {
	t.Helper()
	for ctx := t.Context(); ; {
		rest, all := b.text(), true
		for _, w := range words {
			var ok bool
			_, rest, ok = strings.Cut(rest, w)
			all = all && ok
		}
		if all {
			return
		}
		select {
		case <-b.more:
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		case <-time.After(30 * time.Second):
			t.Fatalf("%q didn't come; there is %.200q", words, b.text())
		}
	}
}

// stream is a stream of events to a browser; cancel ends its request.
func stream(t *testing.T, b *browser) (e *events, cancel func()) {
	ctx, cancel := context.WithCancel(t.Context())
	return newEvents(b, httptest.NewRequestWithContext(ctx, "GET", "/", nil)), cancel
}

func TestEventsAreWrittenAsTheStandardSays(t *testing.T) {
	b := newBrowser()
	e, cancel := stream(t, b)
	defer cancel()
	if err := e.broken(errors.New("refused")); err.Error() != "refused" || errors.As(err, new(*begunError)) || b.text() != "" {
		t.Errorf("before the first event: %v, %q", err, b.text())
	}
	for _, err := range []error{
		e.send("line", "1:20", []byte("{\"a\":1}\n")),
		e.send("end", "", []byte("{}")),
		e.start("big", "7"), e.piece([]byte("{")), e.piece([]byte("}")), e.finish(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	e.end()
	want := "retry: 2000\n\nevent: line\nid: 1:20\ndata: {\"a\":1}\n\nevent: end\ndata: {}\n\nevent: big\nid: 7\ndata: {}\n\n"
	if b.text() != want || b.head.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%q, want %q; %v", b.text(), want, b.head)
	}
	if err := e.broken(errors.New("lost")); !errors.As(err, new(*begunError)) {
		t.Errorf("%v isn't known to have come within an answer", err)
	}
}

func TestAQuietStreamSaysThatItIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBrowser()
		e, cancel := stream(t, b)
		defer cancel()
		time.Sleep(time.Hour)
		if b.text() != "" {
			t.Fatalf("%q before it began", b.text())
		}
		if err := e.begin(); err != nil {
			t.Fatal(err)
		}
		const head = "retry: 2000\n\n"
		if b.text() != head {
			t.Fatalf("%q", b.text())
		}
		time.Sleep(time.Minute + time.Second) // not when one is due
		if n := strings.Count(b.text(), "\n: \n"); n < int(time.Minute/(15*time.Second)) || b.text() != head+strings.Repeat(": \n\n", n) {
			t.Errorf("in a minute: %q", b.text())
		}
		was := b.text()
		if err := e.start("big", ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // nothing may come between the pieces
		if err := errors.Join(e.piece([]byte("{}")), e.finish()); err != nil || b.text() != was+"event: big\ndata: {}\n\n" {
			t.Errorf("%v %q", err, b.text()[len(was):])
		}
		was = b.text()
		time.Sleep(15 * time.Second)
		if b.text() != was+": \n\n" {
			t.Errorf("after an event: %q", b.text()[len(was):])
		}
		was = b.text()
		e.end()
		time.Sleep(time.Hour)
		if b.text() != was {
			t.Errorf("after its end: %q", b.text()[len(was):])
		}
	})
}

func TestAStreamOfWhichNothingIsTakenIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBrowser()
		b.stop = make(chan struct{})
		e, cancel := stream(t, b)
		defer cancel()
		defer e.end()
		go func() { // it is slow, but takes something now and then
			for range 20 {
				time.Sleep(sendTime - time.Second)
				b.stop <- struct{}{}
			}
		}()
		at := time.Now()
		err := e.send("snapshot", "1", bytes.Repeat([]byte("x"), 100*eventPiece))
		if took := time.Since(at); !errors.Is(err, os.ErrDeadlineExceeded) || took != 20*(sendTime-time.Second)+sendTime {
			t.Errorf("%v after %v", err, took)
		}
		if err := e.send("change", "2", []byte("{}")); !errors.Is(err, os.ErrDeadlineExceeded) || strings.Contains(b.got.String(), "change") {
			t.Errorf("behind half an event: %v", err)
		}
	})
}

func TestAStreamEndsAtOnceWithItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBrowser()
		b.stop = make(chan struct{})
		e, cancel := stream(t, b)
		defer e.end()
		done := make(chan error)
		go func() { done <- e.send("snapshot", "1", []byte("{}")) }()
		synctest.Wait() // it waits for a client that takes nothing
		at := time.Now()
		cancel()
		if err := <-done; err == nil || time.Since(at) > 0 {
			t.Errorf("%v after %v", err, time.Since(at))
		}
		if err := e.send("change", "2", []byte("{}")); err == nil {
			t.Error("it goes on")
		}
	})
}
