package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"pasar/ipc"
)

// A told is an event as a browser is told of it.
type told struct{ name, id, data string }

// toldIn are the events of a stream, without its comments.
func toldIn(t *testing.T, text string) []told {
	t.Helper()
	var all []told
	for block := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		var e told
		for line := range strings.SplitSeq(block, "\n") {
			key, value, ok := strings.Cut(line, ": ")
			switch {
			case !ok:
				t.Fatalf("a line %.80q", line)
			case key == "event":
				e.name = value
			case key == "id":
				e.id = value
			case key == "data":
				e.data = value
			}
		}
		if e.name != "" {
			all = append(all, e)
		}
	}
	return all
}

// A changing stands for the daemon's changes: each subscription is given one view after another.
type changing struct {
	views func(ctx context.Context, tag string, n int, send func(seq, size int) error) error // of the n-th subscription with a tag, from 1

	mu sync.Mutex // guards n
	n  map[string]int
}

func (c *changing) serve(ctx context.Context, call *ipc.Call) error {
	var r ipc.ChangesRequest
	if err := call.Bind(&r); err != nil {
		return err
	}
	c.mu.Lock()
	c.n[r.List.Tag]++
	n := c.n[r.List.Tag]
	c.mu.Unlock()
	return c.views(ctx, r.List.Tag, n, func(seq, size int) error {
		v := fmt.Appendf(nil, `{"schema":1,"seq":%d,"x":"%s"}`+"\n", seq, strings.Repeat("x", size))
		for len(v) > 0 {
			m := min(len(v), 100_000)
			if err := call.Chunk(v[:m]); err != nil {
				return err
			}
			v = v[m:]
		}
		return nil
	})
}

func (c *changing) times(tag string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[tag]
}

// watch lets a browser ask for a stream. The channel is closed when its request has ended.
func watch(ctx context.Context, s *Server, b *browser, target string) <-chan struct{} {
	done := make(chan struct{})
	r := httptest.NewRequestWithContext(withPeer(ctx, &guest{peer: peer{ours: true}}), "GET", "http://127.0.0.1:8750"+target, nil)
	go func() {
		defer close(done)
		defer func() { _ = recover() }() // the connection is to end
		s.ServeHTTP(b, r)
	}()
	return done
}

func TestAStreamIsASnapshotAndThenItsChanges(t *testing.T) {
	s, d := newServer(t)
	over := make(chan struct{})
	c := &changing{n: map[string]int{}, views: func(ctx context.Context, _ string, _ int, send func(int, int) error) error {
		for i, size := range []int{3 << 20, 0, 250_000, 1} { // of many pieces, and of one
			if err := send(40+i, size); err != nil {
				return err
			}
		}
		close(over)
		<-ctx.Done()
		return context.Cause(ctx)
	}}
	d.reply[ipc.VerbChanges] = c.serve
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := newBrowser()
	done := watch(ctx, s, b, "/api/stream?tag=a,b&limit=500&state=running")
	b.await(t, "\nid: 43\n", "\n\n")
	cancel()
	<-over
	<-done
	got := toldIn(t, b.text())
	if len(got) != 4 {
		t.Fatalf("%d events", len(got))
	}
	for i, size := range []int{3 << 20, 0, 250_000, 1} {
		want := told{"change", fmt.Sprint(40 + i), fmt.Sprintf(`{"schema":1,"seq":%d,"x":"%s"}`, 40+i, strings.Repeat("x", size))}
		if i == 0 {
			want.name = "snapshot"
		}
		if got[i] != want {
			t.Errorf("event %d: %.80v, want %.80v", i, got[i], want)
		}
	}
	var r ipc.ChangesRequest
	d.bound(t, ipc.VerbChanges, &r)
	if r.List.Tag != "a,b" || r.List.Limit != 500 || len(r.List.States) != 1 {
		t.Errorf("asked for %+v", r.List)
	}
}

func TestAClientThatStopsReadingIsToldSoAndThenHowAllIs(t *testing.T) {
	const many = 5000
	s, d := newServer(t)
	ended := make(chan string, 10) // tags of subscriptions that have
	c := &changing{n: map[string]int{}, views: func(ctx context.Context, tag string, n int, send func(int, int) error) error {
		defer func() { ended <- tag }()
		seq := 1
		if n > 1 { // by then
			seq = many
		}
		for ; seq <= many+1; seq++ {
			if err := send(seq, 10_000); err != nil {
				return err
			}
			if ctx.Err() != nil {
				break
			}
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}}
	d.reply[ipc.VerbChanges] = c.serve
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	slow, quick := newBrowser(), newBrowser()
	slow.stop, slow.once = make(chan struct{}), "event: change\n"
	slowDone := watch(ctx, s, slow, "/api/stream?tag=slow")
	if tag := <-ended; tag != "slow" { // it takes nothing, and the daemon is rid of it
		t.Fatal(tag)
	}
	quickDone := watch(ctx, s, quick, "/api/stream?tag=quick")
	quick.await(t, fmt.Sprintf("\nid: %d\n", many+1), "\n\n")
	if strings.Contains(slow.text(), "lagged") || c.times("slow") != 1 {
		t.Error("it was told before it took anything")
	}
	close(slow.stop)
	slow.await(t, fmt.Sprintf("\nid: %d\n", many+1), "\n\n")
	cancel()
	<-slowDone
	<-quickDone
	got := toldIn(t, slow.text())
	lag := 0
	for i, e := range got { // a beginning without a gap, then lagged, then from the newest state on
		want := told{"change", fmt.Sprint(i + 1), ""}
		switch {
		case i == 0:
			want.name = "snapshot"
		case e.name == "lagged" && lag == 0:
			lag = i
			want = told{"lagged", "", ""}
		case lag > 0:
			want.id = fmt.Sprint(many + i - lag - 1)
			if i == lag+1 {
				want.name = "snapshot"
			}
		}
		if e.data = ""; e != want {
			t.Fatalf("event %d is %v, want %v", i, e, want)
		}
	}
	if lag == 0 || len(got) != lag+3 {
		t.Errorf("%d events, lagged is the %d.", len(got), lag)
	}
}

func TestWhatWaitsForAClientIsBounded(t *testing.T) {
	for _, c := range []struct{ piece, pieces, views int }{
		{piece: 100, pieces: 1, views: maxViews},
		{piece: 1 << 20, pieces: 1, views: 8},
		{piece: 256 << 10, pieces: 8, views: 4},
		{piece: 256 << 10, pieces: 33, views: 0}, // one that is too large in itself
	} {
		f := &feed{whole: true, views: make(chan []byte, maxViews)}
		p := bytes.Repeat([]byte("x"), c.piece)
		views := 0
		var err error
		for n := 1; err == nil; n++ {
			if n > 1000 {
				t.Fatal("there is no end to it")
			}
			if err = f.take(p, n%c.pieces == 0); err == nil && n%c.pieces == 0 {
				views++
			}
		}
		held := len(f.part)
		for range len(f.views) {
			held += len(<-f.views)
		}
		if !errors.Is(err, errLagged) || views != c.views || held > maxBehind {
			t.Errorf("%+v: %v after %d views, of which %d bytes are kept", c, err, views, held)
		}
	}
}

func TestAStreamThatTheDaemonRefusesHasAStatusAndOneThatBreaksOffDoesNotEndWell(t *testing.T) {
	s, d := newServer(t)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = "127.0.0.1"
		s.ServeHTTP(w, r.WithContext(withPeer(r.Context(), &guest{peer: peer{ours: true}})))
	}))
	defer web.Close()
	for _, begun := range []bool{false, true} {
		d.reply[ipc.VerbChanges] = func(_ context.Context, c *ipc.Call) error {
			if begun {
				_ = c.Chunk([]byte("{\"schema\":1,\"seq\":7}\n"))
			}
			return &ipc.Error{Code: ipc.CodeUnavailable, Message: "the daemon is going down"}
		}
		res, err := http.Get(web.URL + "/api/stream")
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if begun {
			if err == nil || !strings.HasPrefix(string(b), "retry: 2000\n\nevent: snapshot\nid: 7\ndata: {") {
				t.Errorf("%v %q", err, b)
			}
		} else if err != nil || res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(b), "going down") || res.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%v %d %q", err, res.StatusCode, b)
		}
	}
	if res, err := http.Head(web.URL + "/api/stream"); err != nil || res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD: %v %v", res, err)
	}
}
