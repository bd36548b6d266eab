package prometheus

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pasar"
)

// A double stands for a Prometheus: it answers with a value for each point of a GPU, by the query's metric.
type double struct {
	t       *testing.T
	asked   chan string // queries
	values  map[string]func(uuid string, at time.Time) string
	instead func(w http.ResponseWriter, r *http.Request) // of an answer
}

func (d *double) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if d.instead != nil {
		_ = r.ParseForm() // a request that has been read is known to end
		d.instead(w, r)
		return
	}
	if r.URL.Path != "/prefix/api/v1/query_range" || r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	number := func(key string) int64 {
		n, err := strconv.ParseInt(strings.TrimSuffix(r.FormValue(key), ".999"), 10, 64)
		if err != nil || n <= 0 {
			d.t.Errorf("%s: %q", key, r.FormValue(key))
		}
		return n
	}
	query := r.FormValue("query")
	d.asked <- query
	start, end, step := number("start"), number("end"), number("step")
	if (end-start)/step > 11_000 {
		d.t.Errorf("%d points, which no Prometheus gives", (end-start)/step)
	}
	var b strings.Builder
	b.WriteString(`{"status":"success","data":{"resultType":"matrix","result":[`)
	first := true
	for name, f := range d.values {
		if !strings.Contains(query, name+"{") {
			continue
		}
		for _, uuid := range []string{"GPU-a", "GPU-b", "GPU-other"} {
			if !first {
				b.WriteByte(',')
			}
			first = false
			fmt.Fprintf(&b, `{"metric":{"uuid":%q},"values":[`, uuid)
			comma := ""
			for at := start; at <= end; at += step {
				if v := f(uuid, time.Unix(at+1-step, 0)); v != "" {
					fmt.Fprintf(&b, `%s[%d.999,"%s"]`, comma, at, v)
					comma = ","
				}
			}
			b.WriteString(`]}`)
		}
	}
	b.WriteString(`]}}`)
	_, _ = w.Write([]byte(b.String()))
}

func newDouble(t *testing.T) (*double, string) {
	d := &double{t: t, asked: make(chan string, 100)}
	s := httptest.NewServer(d)
	t.Cleanup(s.Close)
	return d, s.URL + "/prefix/"
}

var (
	noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	both = []string{"GPU-b", "GPU-a"}
)

func TestAHistoryIsMadeOfWhatPrometheusKnows(t *testing.T) {
	d, url := newDouble(t)
	since, until := noon.Add(-7*24*time.Hour+5*time.Second), noon
	d.values = map[string]func(string, time.Time) string{
		"pasar_gpu_memory_used_bytes": func(uuid string, at time.Time) string {
			if uuid == "GPU-a" {
				return strconv.FormatInt(at.Unix(), 10)
			}
			return ""
		},
		"pasar_gpu_utilization_ratio": func(uuid string, at time.Time) string {
			switch {
			case uuid != "GPU-a" || at.Hour() == 3: // nobody looked
				return ""
			case at.Hour() == 4:
				return "NaN"
			case at.Hour() == 5:
				return "-3"
			}
			return "49.96"
		},
		"pasar_gpu_power_watts": func(uuid string, _ time.Time) string { return map[string]string{"GPU-b": "1e300"}[uuid] },
	}
	v, err := NewClient().View(t.Context(), url, both, since, until, 720)
	if err != nil {
		t.Fatal(err)
	}
	if v.Source != "prometheus" || v.Schema != pasar.Schema || time.Duration(v.Step) != 14*time.Minute || v.From.Before(since) || v.From.Sub(since) > 14*time.Minute || v.From.Unix()%(14*60) != 0 || !v.Until.Equal(until) {
		t.Errorf("%+v", v)
	}
	if len(v.GPUs) != 1 || v.GPUs[0].UUID != "GPU-a" { // of the other no value can be, and a third wasn't asked for
		t.Fatalf("%d GPUs", len(v.GPUs))
	}
	points := v.GPUs[0].Points
	if len(points) < 715 || len(points) > 720 {
		t.Errorf("%d points", len(points))
	}
	for i, p := range points {
		if want := v.From.Add(time.Duration(i) * time.Duration(v.Step)); !p.At.Equal(want) || p.At.Location() != time.UTC || !p.At.Before(until) {
			t.Fatalf("point %d is of %s, want %s", i, p.At, want)
		}
		if p.Used == nil || int64(*p.Used) != p.At.Unix() || p.TempC != nil || p.PowerW != nil {
			t.Fatalf("%+v", p)
		}
		if h := p.At.Hour(); (p.Util == nil) != (h >= 3 && h <= 5) || p.Util != nil && *p.Util != 50 {
			t.Fatalf("use at %s: %v", p.At, p.Util)
		}
	}
	for range quantities {
		if q := <-d.asked; !strings.Contains(q, `{uuid=~"GPU-b|GPU-a"}[840s]`) || !strings.Contains(q, `{UUID=~"GPU-b|GPU-a",GPU_I_ID=""}[840s]`) || !strings.Contains(q, "DCGM_FI_DEV_") {
			t.Error(q)
		}
	}
}

func TestAnAnswerFitsAndItsStepsAreNotTooSmall(t *testing.T) {
	d, url := newDouble(t)
	d.values = map[string]func(string, time.Time) string{}
	for _, q := range quantities {
		d.values[q.own] = func(string, time.Time) string { return "12.5" }
	}
	many := make([]string, 64)
	for i := range many {
		many[i] = fmt.Sprint("GPU-", i)
	}
	many[0], many[1] = "GPU-a", "GPU-b"
	for _, c := range []struct {
		span   time.Duration
		points int
		uuids  []string
		step   time.Duration
		most   int
	}{
		{25 * time.Hour, 720, both, 130 * time.Second, 692},
		{25 * time.Hour, 8640, both, 2 * time.Minute, 750},
		{30 * 24 * time.Hour, 8640, both, 5 * time.Minute, 8640},
		{30 * 24 * time.Hour, 8640, many, 6750 * time.Second, 384},
		{30 * 24 * time.Hour, 1, both, 30 * 24 * time.Hour, 1},
		{30 * 24 * time.Hour, 0, both, 30 * 24 * time.Hour, 1},
		{0, 10, both, 2 * time.Minute, 0},
		{-time.Hour, 10, both, 2 * time.Minute, 0},
	} {
		v, err := NewClient().View(t.Context(), url, c.uuids, noon.Add(-c.span), noon, c.points)
		if err != nil || time.Duration(v.Step) != c.step {
			t.Errorf("%+v: %v, a step of %s", c, err, v.Step)
			continue
		}
		for _, g := range v.GPUs {
			if n := len(g.Points); n > c.most || n < c.most-2 {
				t.Errorf("%+v: %d points", c, n)
			}
		}
		if b, err := json.Marshal(v); err != nil || len(b) > 4<<20-1000 {
			t.Errorf("%+v: %d bytes, %v", c, len(b), err)
		}
	}
	v, err := NewClient().View(t.Context(), "http://127.0.0.1:1", nil, noon.Add(-time.Hour), noon, 10) // nobody is asked
	if err != nil || v.GPUs == nil || len(v.GPUs) != 0 {
		t.Errorf("of no GPU: %+v, %v", v, err)
	}
}

func TestWhatIsNoAnswerIsOneLineThatNamesWhoWasAsked(t *testing.T) {
	ctx := t.Context()
	for name, c := range map[string]struct {
		instead func(w http.ResponseWriter, r *http.Request)
		says    string
	}{
		"refused": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = w.Write([]byte(`{"status":"error","errorType":"execution","error":"query timed out\n\u001b[2Jnow"}`))
		}, `it says: query timed out`},
		"not there": {func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }, "it answers 404"},
		"a page":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, "isn't that of a Prometheus"},
		"a vector": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"vector","result":[]}}`))
		}, "isn't that of a Prometheus"},
		"bad values": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"uuid":"GPU-a"},"values":[[1,"x"]]}]}}`))
		}, "isn't that of a Prometheus"},
		"three": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"uuid":"GPU-a"},"values":[[1,"2","3"]]}]}}`))
		}, "isn't that of a Prometheus"},
		"without end": {func(w http.ResponseWriter, r *http.Request) { endless(w, r) }, "too long"},
		"broken off":  {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "it broke the connection off"},
		"broken off within": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("{"))
		}, "it broke the connection off"},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/prefix/other", http.StatusFound)
		}, "it answers 302 Found, which isn't followed"},
		"a status of its own": {func(w http.ResponseWriter, _ *http.Request) {
			raw(w, "HTTP/1.1 599 "+strings.Repeat("\xff", 2000)+"\r\nContent-Length: 2\r\n\r\n{}")
		}, "it answers 599"},
		"garbage": {func(w http.ResponseWriter, _ *http.Request) { raw(w, strings.Repeat("\x00\xff\x1b", 1000)+"\r\n") }, "it answers no HTTP"},
		"ssh":     {func(w http.ResponseWriter, _ *http.Request) { raw(w, "SSH-2.0-OpenSSH_9.2\r\n") }, "it answers no HTTP"},
		"endless head": {func(w http.ResponseWriter, _ *http.Request) {
			raw(w, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 1<<20)+"\r\n\r\n{}")
		}, "it answers no HTTP"},
		"bad chunks": {func(w http.ResponseWriter, _ *http.Request) {
			raw(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
		}, "it answers no HTTP"},
		"much to say": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"status":"error","error":"` + strings.Repeat(`\u0000`, 3000) + `"}`))
		}, `it says: \x00`},
	} {
		d, url := newDouble(t) // whose answers may go on for a while after the client has left
		d.instead = c.instead
		_, err := NewClient().View(ctx, url, both, noon.Add(-48*time.Hour), noon, 100)
		if err == nil || !strings.HasPrefix(err.Error(), url+": ") || !strings.Contains(err.Error(), c.says) || strings.ContainsAny(err.Error(), "\n\x1b") || !utf8.ValidString(err.Error()) || len(err.Error()) > 400 || goWords.MatchString(err.Error()) {
			t.Errorf("%s: %v; want %q", name, err, c.says)
		}
	}
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	_, plain := newDouble(t)
	for url, says := range map[string]string{
		"http://127.0.0.1:1": "it refused the connection",
		secure.URL:           "its certificate can't be trusted",
		strings.Replace(plain, "http:", "https:", 1): "it answers HTTP, not HTTPS",
		"http://127.0.0.1:99999":                     "it can't be reached",
	} {
		if _, err := NewClient().View(ctx, url, both, noon.Add(-48*time.Hour), noon, 100); err == nil || err.Error() != url+": "+says {
			t.Errorf("%v; want %q", err, says)
		}
	}
	if err := inWords(&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "nobody"}}); err.Error() != "there is no address for its name" {
		t.Error(err)
	}
	for _, bad := range []string{"", "http://a b", "ftp://x"} {
		if _, err := NewClient().View(ctx, bad, both, noon.Add(-48*time.Hour), noon, 100); err == nil || !strings.HasSuffix(err.Error(), ": that is no address that can be asked") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// goWords are what Go says of a connection, which is for nobody else.
var goWords = regexp.MustCompile(`(?i)net/http|dial|tcp|EOF|tls:|malformed|transport|lookup|syscall`)

// raw answers with bytes in place of HTTP.
func raw(w http.ResponseWriter, bytes string) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(c, bytes)
	_ = c.Close()
}

// endless answers with more than anybody asked for.
func endless(w http.ResponseWriter, r *http.Request) {
	spaces := []byte(strings.Repeat(" ", 1<<16))
	for n := 0; n < 2*maxAnswer && r.Context().Err() == nil; n += len(spaces) {
		if _, err := w.Write(spaces); err != nil {
			return
		}
	}
}

func TestASlowPrometheusIsGivenUp(t *testing.T) {
	d, url := newDouble(t)
	d.instead = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	cause := fmt.Errorf("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, cause)
	defer cancel()
	c := NewClient()
	done := make(chan error, 5)
	for range cap(done) { // more than are asked for at once: those that wait for their turn end as well
		go func() {
			_, err := c.View(ctx, url, both, noon.Add(-48*time.Hour), noon, 100)
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; err == nil || !strings.Contains(err.Error(), "enough") {
			t.Error(err)
		}
	}
}

func TestNamesOfGPUsAreQuoted(t *testing.T) {
	q := quantities[0].query([]string{`GPU-1.2`, `x"}|y`}, time.Minute)
	if !strings.Contains(q, `{uuid=~"GPU-1\\.2|x\"\\}\\|y"}[60s]`) {
		t.Error(q)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"uuid":"a"},"values":[[1435781430.781,"1"],[2,"NaN"]]}]}}`, `{"status":"error","error":"x"}`, `[]`, `{"status":"success","data":{"resultType":"matrix","result":[{"values":[[null,"1"],["1",2],[]]}]}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := decode(b)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%q", err)
			}
			return
		}
		g := gridOf(time.Unix(1_435_780_000, 0), time.Unix(1_435_790_000, 0), 10)
		points := make([]pasar.GPUSampleView, g.n)
		for _, s := range all {
			for i := range quantities {
				g.fill(points, s.Values, &quantities[i])
			}
		}
		if _, err := json.Marshal(points); err != nil {
			t.Error(err)
		}
	})
}
