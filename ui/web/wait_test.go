package web

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pasar/ipc"
)

// served is a server on a port of its own, asked as by this user.
func served(t *testing.T, s *Server) string {
	t.Helper()
	return servedUntil(t, t.Context(), s)
}

// servedUntil is served whose requests end with ctx.
func servedUntil(t *testing.T, ctx context.Context, s *Server) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		within, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		r.Host = "127.0.0.1"
		s.ServeHTTP(w, r.WithContext(withPeer(within, &guest{peer: peer{ours: true}})))
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// A deadlined answer keeps what is set for it.
type deadlined struct {
	*httptest.ResponseRecorder
	read, write []time.Time
}

func (d *deadlined) SetReadDeadline(t time.Time) error  { d.read = append(d.read, t); return nil }
func (d *deadlined) SetWriteDeadline(t time.Time) error { d.write = append(d.write, t); return nil }

func TestARequestWithoutABodyIsNotEndedByTheTimeForOne(t *testing.T) {
	s, _ := newServer(t)
	asked := func(method, target, body string) *deadlined {
		w := &deadlined{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequest(method, "http://127.0.0.1:8750"+target, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		s.ServeHTTP(w, r.WithContext(withPeer(t.Context(), &guest{peer: peer{ours: true}})))
		return w
	}
	if w := asked("GET", "/api/jobs/1/wait?timeout=5m", ""); len(w.read) > 0 || !w.write[len(w.write)-1].After(time.Now().Add(5*time.Minute)) {
		t.Errorf("a wait: read until %v, write until %v", w.read, w.write)
	}
	if w := asked("POST", "/api/jobs/1/cancel", "{}"); len(w.read) != 1 || w.read[0].After(time.Now().Add(bodyTime)) {
		t.Errorf("a body: read until %v", w.read)
	}
}

func TestAWaitIsAnsweredOnceTheJobHasEnded(t *testing.T) {
	s, d := newServer(t)
	began, end := make(chan struct{}), make(chan struct{})
	d.reply[ipc.VerbWait] = func(ctx context.Context, c *ipc.Call) error {
		close(began)
		select {
		case <-end:
			return c.Chunk([]byte(`{"id":1,"state":"completed"}`))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	go func() {
		<-began
		close(end)
	}()
	res, err := http.Get(served(t, s) + "/api/jobs/1/wait?for=started&through_pauses=1")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || string(b) != "{\"id\":1,\"state\":\"completed\"}\n" {
		t.Errorf("%d %q %v", res.StatusCode, b, err)
	}
	var r ipc.WaitRequest
	d.bound(t, ipc.VerbWait, &r)
	if len(r.Jobs) != 1 || r.Jobs[0] != 1 || !r.Started || !r.ThroughPauses || r.Any {
		t.Errorf("%+v", r)
	}
}

func TestAWaitEndsWithItsTimeAndWithItsRequest(t *testing.T) {
	s, d := newServer(t)
	began, left := make(chan struct{}, 2), make(chan struct{}, 2)
	d.reply[ipc.VerbWait] = func(ctx context.Context, _ *ipc.Call) error {
		began <- struct{}{}
		<-ctx.Done()
		left <- struct{}{}
		return context.Cause(ctx)
	}
	if w := ask(t, s, "GET", "/api/jobs/1/wait?timeout=1s", "", nil); w.Code != http.StatusAccepted || w.Body.String() != "{\"schema\":1,\"timed_out\":true,\"left\":[1]}\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	<-began
	<-left
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", served(t, s)+"/api/jobs/1/wait", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-began
		cancel()
	}()
	if res, err := http.DefaultClient.Do(r); err == nil {
		_ = res.Body.Close()
		t.Errorf("%d", res.StatusCode)
	}
	<-left // the daemon is told, and holds nothing for it
}

func TestAWaitThatCannotBeIsRefused(t *testing.T) {
	s, d := newServer(t)
	d.reply[ipc.VerbWait] = func(context.Context, *ipc.Call) error {
		return &ipc.Error{Code: ipc.CodeUnknownJob, Message: "no job 1"}
	}
	for query, status := range map[string]int{"": 404, "?timeout=90": 400, "?timeout=11m": 422, "?timeout=0s": 422, "?for=ever": 400, "?until=then": 400, "?through_pauses=perhaps": 400} {
		if w := ask(t, s, "GET", "/api/jobs/1/wait"+query, "", nil); w.Code != status {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
	if w := ask(t, s, "POST", "/api/jobs/1/pull", "", nil); w.Code != http.StatusNotImplemented {
		t.Errorf("pull: %d %s", w.Code, w.Body)
	}
	if w := ask(t, s, "POST", "/api/jobs/x/pull", "", nil); w.Code != http.StatusNotFound {
		t.Errorf("pull: %d %s", w.Code, w.Body)
	}
}
