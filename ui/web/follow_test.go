package web

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/ipc"
)

// A tape stands for the daemon, with a job whose attempts wrote so much. What follows the text that is there comes from
// more, until it is closed.
type tape struct {
	attempts []string
	more     chan string // of the last attempt; nil: it has ended
	noPTY    bool
	at       func() time.Time // when what comes from more was written; nil: nobody knows
	waits    int              // attempts that have yet to start
	starts   chan struct{}    // received from when one is waited for
	asked    []ipc.LogsRequest
	fails    map[int]*ipc.Error // of an attempt
	failShow error
}

func (d *tape) show(context.Context) (*pasar.JobView, error) {
	v := &pasar.JobView{State: pasar.Completed}
	for i := range d.attempts {
		at := time.Unix(1, 0)
		v.Attempts = append(v.Attempts, pasar.AttemptView{Attempt: i + 1, StartedAt: &at})
	}
	switch {
	case d.waits > 0:
		v.State = pasar.Queued
		v.Attempts = v.Attempts[:len(v.Attempts)-d.waits]
	case d.more != nil:
		v.State = pasar.Running
	}
	return v, d.failShow
}

func (d *tape) logs(ctx context.Context, r ipc.LogsRequest, to ipc.LogsReader) (ipc.LogsAnswer, error) {
	d.asked = append(d.asked, r)
	n := r.Attempt
	if n == 0 {
		n = len(d.attempts) - d.waits
	}
	if d.waits > 0 && n > len(d.attempts)-d.waits || n == 0 {
		if !r.Follow {
			return ipc.LogsAnswer{}, &ipc.Error{Code: ipc.CodeWrongState, Message: "never started"}
		}
		select {
		case <-d.starts:
			d.waits--
			n = max(n, 1)
		case <-ctx.Done():
			return ipc.LogsAnswer{}, ctx.Err()
		}
	}
	if n > len(d.attempts) {
		return ipc.LogsAnswer{Ended: true, Over: true}, nil
	}
	if e := d.fails[n]; e != nil {
		return ipc.LogsAnswer{}, e
	}
	text, off := d.attempts[n-1], int(r.Offset)
	if off < 0 {
		off = max(0, len(text)+off)
	}
	if err := to.Head(ipc.LogsHead{Attempt: n, Offset: int64(off), NoPTY: d.noPTY}); err != nil {
		return ipc.LogsAnswer{}, err
	}
	for rest := text[min(off, len(text)):]; rest != ""; {
		m := min(len(rest), 8<<10)
		if err := to.Bytes([]byte(rest[:m])); err != nil {
			return ipc.LogsAnswer{}, err
		}
		rest = rest[m:]
	}
	off = len(text)
	last := n == len(d.attempts)
	for last && r.Follow && d.more != nil {
		select {
		case more, ok := <-d.more:
			if !ok {
				d.more = nil
				continue
			}
			d.attempts[n-1] += more
			if d.at != nil {
				at := d.at()
				if err := to.Mark(ipc.LogsMark{Offset: int64(off), At: &at}); err != nil {
					return ipc.LogsAnswer{}, err
				}
			}
			if err := to.Bytes([]byte(more)); err != nil {
				return ipc.LogsAnswer{}, err
			}
			off += len(more)
		case <-ctx.Done():
			return ipc.LogsAnswer{}, context.Cause(ctx)
		}
	}
	ended := !last || d.more == nil
	return ipc.LogsAnswer{Attempt: n, Offset: int64(off), Ended: ended, Over: ended && last && d.waits == 0}, nil
}

// follows sends what a query of job 1 asks for to a browser, until it ends.
func (d *tape) follows(t *testing.T, b *browser, query, lastID string) error {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/api/jobs/1/logs?follow&"+query, nil)
	r.SetPathValue("id", "1")
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	q, err := (&Server{Options: Options{Now: time.Now}}).logsQuery(r)
	if err != nil {
		t.Fatal(err)
	}
	e := newEvents(b, r)
	defer e.end()
	return e.broken((&follower{logsQuery: q, e: e, logs: d.logs, show: d.show}).run(r.Context()))
}

// short is events in short: names, ids and lines.
func short(t *testing.T, text string) (all []string) {
	t.Helper()
	for _, e := range toldIn(t, text) {
		s := e.name
		if e.id != "" {
			s += " " + e.id
		}
		if _, line, ok := strings.Cut(e.data, `"line":"`); ok {
			s += " " + strings.TrimSuffix(line, `"}`)
		}
		if e.name == "end" {
			s += e.data[strings.Index(e.data, `,"attempt"`):]
		}
		all = append(all, s)
	}
	return all
}

func wantEvents(t *testing.T, b *browser, want ...string) {
	t.Helper()
	if got := short(t, b.text()); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const over = `end,"attempt":2,"state":"completed","error":null}`

func TestAFollowedJobIsSentLineByLineOverItsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		job := func() *tape { return &tape{attempts: []string{"one\r\n 1%\r100%\r\n<b>\x1b[31m\r\nno end", "again\n"}} }
		d, b := job(), newBrowser()
		if err := d.follows(t, b, "attempt=1", ""); err != nil {
			t.Fatal(err)
		}
		wantEvents(t, b, "attempt 1:0", "line 1:5 one", "line 1:15 100%", `line 1:25 \u003cb\u003e`, "line 1:31 no end", `end,"attempt":1,"state":"completed","error":null}`)

		d, b = job(), newBrowser()
		d.attempts = d.attempts[:1]
		d.attempts = append(d.attempts, "again\n")
		d.waits, d.starts = 1, make(chan struct{}, 1)
		go func() { time.Sleep(time.Hour); d.starts <- struct{}{} }()
		if err := d.follows(t, b, "", ""); err != nil {
			t.Fatal(err)
		}
		all := []string{"attempt 1:0", "line 1:5 one", "line 1:15 100%", `line 1:25 \u003cb\u003e`, "line 1:31 no end", "attempt 2:0", "line 2:6 again", over}
		wantEvents(t, b, all...)

		for i, from := range toldIn(t, b.text()) {
			if from.id == "" {
				continue
			}
			again := newBrowser()
			if err := job().follows(t, again, "", from.id); err != nil {
				t.Fatal(err)
			}
			wantEvents(t, again, all[i+1:]...)
		}
	})
}

func TestAJobThatWaitsIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, b := &tape{attempts: []string{"x\n"}, waits: 1, starts: make(chan struct{})}, newBrowser()
		done := make(chan error)
		go func() { done <- d.follows(t, b, "lines=5", "") }()
		synctest.Wait()
		if b.head.Get("Content-Type") != "text/event-stream" || b.text() == "" {
			t.Error("it isn't told that it was let in")
		}
		d.starts <- struct{}{}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		wantEvents(t, b, "attempt 1:0", "line 1:2 x", `end,"attempt":1,"state":"completed","error":null}`)
	})
}

func TestAProgressBarIsSentAsItIsNowAtMostTenTimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, b := &tape{attempts: []string{"start\n"}, more: make(chan string)}, newBrowser()
		done := make(chan error)
		go func() { done <- d.follows(t, b, "", "") }()
		for i := range 200 { // two seconds
			d.more <- fmt.Sprintf("\r%d%%", i/2)
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		partials := 0
		last := ""
		for _, e := range short(t, b.text()) {
			if strings.HasPrefix(e, "partial") {
				partials, last = partials+1, e
			}
		}
		if partials < 15 || partials > 22 || last != "partial 99%" {
			t.Errorf("%d partials, %q the last", partials, last)
		}
		d.more <- "\r100%"
		time.Sleep(time.Second)
		d.more <- "\r\nprompt> "
		time.Sleep(time.Second)
		d.more <- "\r\x1b[K"
		time.Sleep(time.Second)
		close(d.more)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		all := short(t, b.text())
		got := strings.Join(all[len(all)-5:], "|")
		if want := `partial 100%|line 1:793 100%|partial prompt\u003e |partial |end,"attempt":1,"state":"completed","error":null}`; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	})
}

func TestTheLastLinesAreSentAndThenWhatFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		for i := range 50_000 {
			fmt.Fprintf(&text, "line %d\n", i)
		}
		d, b := &tape{attempts: []string{"first\n", text.String() + "under w"}, more: make(chan string)}, newBrowser()
		done := make(chan error)
		go func() { done <- d.follows(t, b, "lines=2", "") }()
		time.Sleep(time.Second)
		d.more <- "ay\n"
		time.Sleep(time.Second)
		close(d.more)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		n := text.Len()
		all := []string{"attempt", fmt.Sprintf("line 2:%d line 49998", n-11), fmt.Sprintf("line 2:%d line 49999", n), "partial under w", fmt.Sprintf("line 2:%d under way", n+10), "partial ", over}
		wantEvents(t, b, all...)

		d, b = &tape{attempts: d.attempts}, newBrowser()
		if err := d.follows(t, b, "lines=2", ""); err != nil {
			t.Fatal(err)
		}
		wantEvents(t, b, "attempt", all[2], all[4], over)
		d, b = &tape{attempts: d.attempts}, newBrowser()
		if err := d.follows(t, b, "", fmt.Sprintf("2:%d", n)); err != nil {
			t.Fatal(err)
		}
		wantEvents(t, b, all[4], over)
	})
}

func TestWhoIsTooSlowIsToldAndGoesOnWithTheLastLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		for i := range 50_000 {
			fmt.Fprintf(&text, "line %d\n", i)
		}
		d, b := &tape{attempts: []string{text.String()}}, newBrowser()
		b.stop, b.once = make(chan struct{}), "line 100\"" // it takes nothing more then, for a while
		go func() {
			time.Sleep(slowTime + time.Second)
			close(b.stop)
		}()
		if err := d.follows(t, b, "", ""); err != nil {
			t.Fatal(err)
		}
		all := short(t, b.text())
		if got := all[len(all)-2]; got != fmt.Sprintf("line 1:%d line 49999", text.Len()) {
			t.Errorf("the last line is %q", got)
		}
		at := 0
		for at < len(all) && all[at] != "lagged" {
			at++
		}
		if after := len(all) - at - 2; at == len(all) || after != lagLines || strings.HasPrefix(all[at+1], "attempt") {
			t.Errorf("%d events, then lagged, then %d lines, of which the first is %q", at, after, all[min(at+1, len(all)-1)])
		}
	})
}

func TestWhoFallsBehindWhatAJobWritesIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ago atomic.Int64
		d, b := &tape{attempts: []string{""}, more: make(chan string), at: func() time.Time { return time.Now().Add(-time.Duration(ago.Load())) }}, newBrowser()
		done := make(chan error)
		go func() { done <- d.follows(t, b, "", "") }()
		for _, far := range []time.Duration{time.Hour, time.Minute, 0, lagTime} { // old output comes faster than it was written
			ago.Store(int64(far))
			d.more <- far.String() + "\n"
			time.Sleep(time.Second)
		}
		if strings.Contains(b.text(), "lagged") {
			t.Error(b.text())
		}
		ago.Store(int64(lagTime + time.Second))
		d.more <- "late\n"
		time.Sleep(time.Second)
		close(d.more)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		wantEvents(t, b, "attempt 1:0", "line 1:7 1h0m0s", "line 1:12 1m0s", "line 1:15 0s", "line 1:19 10s", "lagged",
			"line 1:7 1h0m0s", "line 1:12 1m0s", "line 1:15 0s", "line 1:19 10s", "line 1:24 late", `end,"attempt":1,"state":"completed","error":null}`)
	})
}

func TestWhatFailsIsRefusedAtFirstAndTheLastEventLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := &ipc.Error{Code: ipc.CodeWrongState, Message: "the output was removed"}
		d, b := &tape{attempts: []string{"x\n", "y\n"}, fails: map[int]*ipc.Error{1: gone}}, newBrowser()
		if err := d.follows(t, b, "attempt=1", ""); !errors.Is(err, gone) || b.text() != "" {
			t.Errorf("%v %q", err, b.text())
		}
		if err := d.follows(t, b, "attempt=1&lines=3", ""); !errors.Is(err, gone) || b.text() != "" {
			t.Errorf("%v %q", err, b.text())
		}
		d = &tape{failShow: &ipc.Error{Code: ipc.CodeUnknownJob, Message: "there is no job 1"}}
		if err := d.follows(t, b, "", ""); !errors.Is(err, d.failShow) || b.text() != "" {
			t.Errorf("%v %q", err, b.text())
		}
		d = &tape{attempts: []string{"x\n"}}
		if err := d.follows(t, b, "stderr", ""); err == nil || !strings.Contains(err.Error(), "one stream") || b.text() != "" {
			t.Errorf("%v %q", err, b.text())
		}
		d = &tape{attempts: []string{"x\n", "y\n"}, fails: map[int]*ipc.Error{2: gone}}
		if err := d.follows(t, b, "", "1:0"); err != nil {
			t.Fatal(err)
		}
		wantEvents(t, b, "line 1:2 x", `end,"attempt":2,"state":"completed","error":{"code":"wrong_state","message":"the output was removed","hint":null}}`)

		// A daemon that ends isn't the end of the job: the stream breaks off, to be asked for again.
		b = newBrowser()
		d.fails[2] = &ipc.Error{Code: ipc.CodeInterrupted, Message: "the daemon is going down"}
		if err := d.follows(t, b, "", "1:0"); !errors.As(err, new(*begunError)) {
			t.Errorf("%v", err)
		}
		wantEvents(t, b, "line 1:2 x")
	})
}

func TestAStreamThatCannotGoOnFromWhereItIsAskedToBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		whole := []string{"attempt 1:0", "line 1:2 a", "line 1:4 b", `end,"attempt":1,"state":"completed","error":null}`}
		last := []string{"attempt", whole[2], whole[3]}
		for _, c := range []struct {
			query, id string
			want      []string
		}{
			{"", "99:0", whole},
			{"", "2:0", whole},
			{"", "1:5", whole},
			{"", "1:999999999999", whole},
			{"attempt=1", "1:5", whole},
			{"lines=1", "99:0", last},
			{"lines=1", "1:5", last},
			{"lines=1", "1:4", whole[3:]},
			{"lines=1", "1:0", whole[1:]},
		} {
			b := newBrowser()
			if err := (&tape{attempts: []string{"a\nb\n"}}).follows(t, b, c.query, c.id); err != nil {
				t.Errorf("%+v: %v", c, err)
			}
			wantEvents(t, b, c.want...)
		}

		// Nor does it wait for what was written elsewhere.
		d, b := &tape{attempts: []string{"a\n"}, more: make(chan string)}, newBrowser()
		done := make(chan error)
		go func() { done <- d.follows(t, b, "", "1:9") }()
		d.more <- "b\n"
		close(d.more)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		wantEvents(t, b, whole...)
	})
}

func TestAnIDThatIsNoneOfTheseIsRefused(t *testing.T) {
	s := &Server{Options: Options{Now: time.Now}}
	for id, query := range map[string]string{"x": "", "1": "", "1:": "", "0:5": "", "1:-5": "", "1:5 ": "", "2:5": "attempt=1", "99999999999:1": ""} {
		r := httptest.NewRequest("GET", "/api/jobs/1/logs?follow&"+query, nil)
		r.SetPathValue("id", "1")
		r.Header.Set("Last-Event-ID", id)
		if _, err := s.logsQuery(r); err == nil || !strings.Contains(err.Error(), "Last-Event-ID") {
			t.Errorf("%q: %v", id, err)
		}
	}
}
