package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"pasar/ipc"
)

// A posting is a POST whose body has been sent but for its end.
type posting struct {
	end    chan struct{} // closed to send that
	status chan int
}

func post(t *testing.T, url string, size int) *posting {
	t.Helper()
	r, w := io.Pipe()
	s := &posting{end: make(chan struct{}), status: make(chan int, 1)}
	req, err := http.NewRequestWithContext(t.Context(), "POST", url+"/api/jobs/1/cancel", r)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	go func() {
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			s.status <- -1
			return
		}
		_ = res.Body.Close()
		s.status <- res.StatusCode
	}()
	go func() {
		_, _ = fmt.Fprintf(w, `{"by":%q`, strings.Repeat("x", size)) // it may be taken late
		select {
		case <-s.end:
			_, _ = io.WriteString(w, "}")
		case <-t.Context().Done():
		}
		_ = w.Close()
	}()
	return s
}

func (s *posting) answered(t *testing.T) int {
	t.Helper()
	close(s.end)
	select {
	case status := <-s.status:
		return status
	case <-time.After(30 * time.Second):
		t.Fatal("no answer")
		return 0
	}
}

func TestFewLargeBodiesAreReadAtATimeAndHoldUpNoSmallOnes(t *testing.T) {
	s, d := newServer(t)
	d.reply[ipc.VerbCancel] = func(_ context.Context, c *ipc.Call) error {
		return c.Answer(ipc.JobsAnswer{Jobs: []ipc.JobOutcome{{Job: 1}}})
	}
	url := served(t, s)
	for range bulkPlace { // as many others have theirs
		s.bulk.ours <- struct{}{}
	}
	late := post(t, url, 4*smallBody)
	for range 5 {
		if status := post(t, url, smallBody/2).answered(t); status != 200 {
			t.Errorf("a small one: %d", status)
		}
	}
	select {
	case status := <-late.status:
		t.Errorf("one too many: %d", status)
	default:
	}
	if n := len(s.bulk.others); n != 0 {
		t.Errorf("%d places of others are taken", n)
	}
	for range bulkPlace {
		<-s.bulk.ours
	}
	if status := late.answered(t); status != 200 {
		t.Errorf("once there is room: %d", status)
	}
	if n := len(s.bulk.ours); n != 0 {
		t.Errorf("%d places are still taken", n)
	}
}

func TestABodyThatBreaksOffIsTheClientsFault(t *testing.T) {
	for _, err := range []error{io.ErrUnexpectedEOF, fmt.Errorf("invalid byte in chunk length")} {
		s, _ := newServer(t)
		w := ask(t, s, "POST", "/api/jobs/1/cancel", "{}", func(r *http.Request) {
			r.Body = io.NopCloser(io.MultiReader(strings.NewReader("{"), broken{err}))
		})
		if w.Code != 400 || !strings.Contains(w.Body.String(), "it ends too early, or its chunks are broken") {
			t.Errorf("%v: %d %s", err, w.Code, w.Body)
		}
	}
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }
