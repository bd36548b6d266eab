package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

func TestASubmitIsUnderstoodAsOnTheCommandLine(t *testing.T) {
	s, d := newServer(t)
	w := ask(t, s, "POST", "/api/jobs", `{"command":"echo hi | wc","time":"2h","mem":"24G","bid":1500,"tags":["a"],"env":{"K":"v"},"cwd":"/tmp",
		"grace":30,"retries":2,"after":[{"job":3,"on":"ok"}],"key":"k","request":"mine"}`, nil)
	if w.Code != 201 || w.Body.String() != "{\"id\":7}\n" || w.Header().Get("Location") != "/api/jobs/7" {
		t.Fatalf("%d %s %s", w.Code, w.Body, w.Header())
	}
	var r ipc.SubmitRequest
	d.bound(t, ipc.VerbSubmit, &r)
	p := r.Spec
	if r.Request != "mine" || p.Bid != 1500 || p.Time != 7200e9 || p.Grace != 30e9 || p.Claim.Mem != 24*pasar.GiB || p.Cwd != "/tmp" || p.Retries != 2 ||
		len(p.Argv) < 3 || p.Key != "k" || len(p.After) != 1 || p.After[0].Job != 3 || len(r.Surroundings.Env) != 1 || r.Surroundings.Env[0] != "K=v" || *r.Afar != (ipc.Afar{}) {
		t.Errorf("%+v", r)
	}
	if w := ask(t, s, "POST", "/api/jobs", `{"command":["python","train.py"]}`, nil); w.Code != 201 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	d.bound(t, ipc.VerbSubmit, &r)
	if r.Spec.Name != "train" || r.Spec.Claim.Kind != pasar.Whole || *r.Afar != (ipc.Afar{Bid: true, Grace: true}) { // the daemon knows the rest
		t.Errorf("%+v", r.Spec)
	}
	for body, says := range map[string]string{
		`{}`:                                               "command",
		`{"command":[]}`:                                   "command",
		`{"command":["x"],"time":"soon"}`:                  "soon",
		`{"command":["x"],"mem":"much"}`:                   "much",
		`{"command":["x"],"env":{"A=B":"c"}}`:              "env",
		`{"command":["x"],"gpus":-1}`:                      "negative",
		`{"command":["x"],"retry_on":["exit","nonsense"]}`: "nonsense",
	} {
		w := ask(t, s, "POST", "/api/jobs", body, nil)
		var v struct {
			Error struct{ Code, Message string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || w.Code != 400 || !strings.Contains(v.Error.Message, says) {
			t.Errorf("%s: %d %s; want 400 with %q", body, w.Code, w.Body, says)
		}
	}
	if n := d.calls(ipc.VerbSubmit); n != 2 {
		t.Errorf("%d submits", n)
	}
}

func TestADryRunChangesNothing(t *testing.T) {
	s, d := newServer(t)
	for _, c := range [][3]string{
		{"POST", "/api/jobs", `{"command":["x"],"dry_run":true}`},
		{"GET", "/api/plan?time=2h&mem=24G&bid=1500", ""},
		{"PATCH", "/api/jobs/1", `{"bid":1500,"dry_run":true}`},
		{"POST", "/api/jobs/1/promote", `{"dry_run":true}`},
	} {
		if w := ask(t, s, c[0], c[1], c[2], nil); w.Code != 200 || w.Body.String() != "{\"a\":1}\n" {
			t.Errorf("%s: %d %s", c, w.Code, w.Body)
		}
	}
	if d.calls(ipc.VerbPlanSubmit) != 2 || d.calls(ipc.VerbPlanBid) != 2 || d.calls(ipc.VerbSubmit)+d.calls(ipc.VerbBid) != 0 {
		t.Errorf("%v", d.seen)
	}
}

func TestWhateverIsAskedOfAJobThatIsNotThereIsNotFound(t *testing.T) {
	s, d := newServer(t)
	unknown := &ipc.Error{Code: ipc.CodeUnknownJob, Message: "there is no job #99"}
	for _, v := range ipc.Requests {
		d.reply[v.Verb] = func(context.Context, *ipc.Call) error { return unknown }
	}
	s.Attach = func(context.Context, pasar.JobID, int) (net.Conn, error) { return nil, unknown }
	bodies := map[string]string{"PATCH": `{"bid":1500}`}
	n := 0
	for _, list := range allRoutes() {
		for _, rt := range list {
			method, path, _ := strings.Cut(rt.pattern, " ")
			if !strings.HasPrefix(path, "/api/jobs/{id}") || rt.who == person || strings.HasSuffix(path, "/attach") { // no request like others
				continue
			}
			n++
			for _, id := range []string{"99", "x"} {
				status, e := refusal(t, s, method, strings.Replace(path, "{id}", id, 1), bodies[method])
				if status != http.StatusNotFound || e.Code != ipc.CodeUnknownJob {
					t.Errorf("%s of %s: %d %+v", rt.pattern, id, status, e)
				}
			}
		}
	}
	if n < 15 {
		t.Errorf("only %d paths were found", n)
	}
}

// TestARepeatIsKnownThoughTimeHasPassed: what the daemon is asked depends on when it is, and on what a job has by then; what
// somebody wrote doesn't.
func TestARepeatIsKnownThoughTimeHasPassed(t *testing.T) {
	s, d := newServer(t)
	now := time.Now()
	s.Now = func() time.Time { now = now.Add(time.Minute); return now }
	asked := func(verb ipc.Verb, method, path, body string) string {
		t.Helper()
		if w := ask(t, s, method, path, body, nil); w.Code/100 != 2 {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		var r struct {
			Asked string `msgpack:"asked"`
		}
		d.bound(t, verb, &r)
		if r.Asked == "" || ipc.CheckAsked(r.Asked) != nil {
			t.Errorf("%s says %q of what it asks", verb, r.Asked)
		}
		return r.Asked
	}
	for _, c := range []struct {
		verb                      ipc.Verb
		method, path, other, body string
	}{
		{ipc.VerbSubmit, "POST", "/api/jobs", "", `{"command":["a"],"begin":"+2h","env":{"a":"b","c":"d"}%s}`},
		{ipc.VerbEdit, "PATCH", "/api/jobs/1", "/api/jobs/2", `{"begin":"+2h","mem":"2G"%s}`},
		{ipc.VerbRestart, "POST", "/api/jobs/1/restart", "/api/jobs/2/restart", `{"begin":"+2h","mem":"2G"%s}`},
	} {
		plain := fmt.Sprintf(c.body, "")
		first := asked(c.verb, c.method, c.path, plain)
		if again := asked(c.verb, c.method, c.path, plain); again != first {
			t.Errorf("%s: a repeat isn't known", c.verb)
		}
		for _, more := range []string{`,"note":"x"`, `,"note":""`, `,"retries":3`, `,"grace":7`, `,"after":[1]`, `,"by":"ada"`} {
			if asked(c.verb, c.method, c.path, fmt.Sprintf(c.body, more)) == first {
				t.Errorf("%s: with %s it is taken for the first", c.verb, more)
			}
		}
		if c.other != "" && asked(c.verb, c.method, c.other, plain) == first {
			t.Errorf("%s of another job is taken for the first", c.verb)
		}
	}
}

func TestChangesReachTheDaemonAsTheyWereMeant(t *testing.T) {
	s, d := newServer(t)
	for _, c := range []struct{ path, body string }{
		{"/api/jobs/1/cancel", `{"now":true,"by":"ada"}`}, {"/api/jobs/1/hold", ""}, {"/api/jobs/1/release", "{}"},
		{"/api/jobs/1/pause", `{"kill_after":"10m"}`}, {"/api/jobs/1/resume", ""}, {"/api/jobs/1/promote", ""}, {"/api/jobs/1/restart", `{"mem":"2G"}`},
	} {
		if w := ask(t, s, "POST", c.path, c.body, nil); w.Code != 200 {
			t.Errorf("%s: %d %s", c.path, w.Code, w.Body)
		}
	}
	var jobs ipc.JobsRequest
	d.bound(t, ipc.VerbCancel, &jobs)
	if !jobs.Now || jobs.By != "ada" || len(jobs.Jobs) != 1 || jobs.Jobs[0] != 1 || jobs.Request == "" {
		t.Errorf("%+v", jobs)
	}
	d.bound(t, ipc.VerbPause, &jobs)
	if jobs.KillAfter == nil || *jobs.KillAfter != 600e9 {
		t.Errorf("%+v", jobs)
	}
	var again ipc.RestartRequest
	d.bound(t, ipc.VerbRestart, &again)
	if again.Claim == nil || again.Claim.Mem != 2*pasar.GiB {
		t.Errorf("%+v", again)
	}
	var bid ipc.BidRequest
	d.bound(t, ipc.VerbBid, &bid)
	if !bid.Promote {
		t.Errorf("%+v", bid)
	}
	if w := ask(t, s, "PATCH", "/api/jobs/1", `{"time":"3h","tags":["x"]}`, nil); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, body := range []string{`{}`, `{"preempt":true}`, `{"bid":1,"name":"x"}`} {
		if w := ask(t, s, "PATCH", "/api/jobs/1", body, nil); w.Code != 400 {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
}

func TestEachRefusalOfTheDaemonsHasItsStatus(t *testing.T) {
	s, d := newServer(t)
	for code, status := range statuses {
		d.reply[ipc.VerbShow] = func(context.Context, *ipc.Call) error {
			return &ipc.Error{Code: code, Message: "no \x1b[31m", Hint: "do"}
		}
		w := ask(t, s, "GET", "/api/jobs/1", "", nil)
		if want := `{"schema":1,"error":{"code":"` + string(code) + `"`; w.Code != status || !strings.HasPrefix(w.Body.String(), want) || strings.Contains(w.Body.String(), "\x1b") {
			t.Errorf("%s: %d %q", code, w.Code, w.Body)
		}
	}
}

func TestAHistoryOfGPUsIsAskedForAsItWasMeant(t *testing.T) {
	s, d := newServer(t)
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	s.Now = func() time.Time { return now }
	var r ipc.GPUHistoryRequest
	for query, want := range map[string]ipc.GPUHistoryRequest{
		"":                    {},
		"?since=6h&points=10": {Since: now.Add(-6 * time.Hour), Points: 10},
		"?since=2026-01-30&until=2026-01-31T08:00:00%2B02:00": {Since: now.Add(-36 * time.Hour), Until: now.Add(-6 * time.Hour)},
	} {
		r = ipc.GPUHistoryRequest{}
		if w := ask(t, s, "GET", "/api/gpu"+query, "", nil); w.Code != 200 || w.Body.String() != "{\"a\":1}\n" {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
		d.bound(t, ipc.VerbGPUHistory, &r)
		if !r.Since.Equal(want.Since) || !r.Until.Equal(want.Until) || r.Points != want.Points {
			t.Errorf("%s: %+v", query, r)
		}
	}
}

func TestAPanicIsThatRequestsError(t *testing.T) {
	s, _ := newServer(t)
	s.Dial = func(context.Context) (*ipc.Client, error) { panic("oh") }
	if w := ask(t, s, "GET", "/api/status", "", nil); w.Code != 500 || !strings.Contains(w.Body.String(), "fault in pasard") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestOutputIsGivenOutAsBytesThatNoBrowserShows(t *testing.T) {
	s, d := newServer(t)
	const hostile = "<script>alert(1)</script>\x1b]52;c;aGk=\x07\r\n\xff"
	d.reply[ipc.VerbLogs] = func(_ context.Context, c *ipc.Call) error {
		_ = c.Chunk([]byte(`{"attempt":1,"offset":0}`))
		_ = c.Chunk([]byte(hostile))
		return c.Answer(ipc.LogsAnswer{Attempt: 1, Ended: true})
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = "127.0.0.1"
		s.ServeHTTP(w, r.WithContext(withPeer(r.Context(), &guest{peer: peer{ours: true}})))
	}))
	defer web.Close()
	res, err := http.Get(web.URL + "/api/jobs/1/logs?raw&follow=1")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || string(b) != hostile || res.Header.Get("Content-Type") != "application/octet-stream" || res.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%q %v %v", b, err, res.Header)
	}
}

func TestADifferenceIsPlainText(t *testing.T) {
	s, d := newServer(t)
	d.reply[ipc.VerbDiff] = func(_ context.Context, c *ipc.Call) error {
		return c.Chunk([]byte("+<script>alert(1)</script>\n"))
	}
	w := ask(t, s, "GET", "/api/jobs/1/diff", "", nil)
	if w.Code != 200 || w.Body.String() != "+<script>alert(1)</script>\n" || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %q %v", w.Code, w.Body, w.Header())
	}
	d.reply[ipc.VerbDiff] = func(context.Context, *ipc.Call) error {
		return &ipc.Error{Code: ipc.CodeWrongState, Message: "not kept"}
	}
	if w := ask(t, s, "GET", "/api/jobs/1/diff", "", nil); w.Code != 409 || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %q %v", w.Code, w.Body, w.Header())
	}
}

func TestQueriesThatMeanNothingAreRefused(t *testing.T) {
	s, _ := newServer(t)
	for _, path := range []string{
		"/api/jobs?stat=running",
		"/api/jobs?state=busy",
		"/api/jobs?limit=-1",
		"/api/jobs?since=once",
		"/api/jobs?all=maybe",
		"/api/stream?follow",
		"/api/stream?limit=-1",
		"/api/stats?for=ever",
		"/api/jobs?until=then",
		"/api/gpu?span=6h",
		"/api/gpu?since=once",
		"/api/gpu?points=many",
		"/api/plan?command=x",
		"/api/jobs/1/logs?tail=3",
		"/api/jobs/1/logs?last=3",
		"/api/jobs/1/logs?raw&lines=3",
		"/api/jobs/1/logs?stdout&stderr",
		"/api/jobs/1/logs?lines=100001",
		"/api/jobs/1/screen?cols=3",
		"/api/jobs/1/diff?attempt=1",
		"/api/jobs/1/metrics?attempt=x",
		"/api/jobs/1/events?attempt=x",
		"/api/jobs/1/events?kind=note",
		"/api/jobs/1/usage?points=many",
		"/api/jobs/1/usage?since=1h",
	} {
		if w := ask(t, s, "GET", path, "", nil); w.Code != 400 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := ask(t, s, "GET", "/api/jobs/99999999999999999999", "", nil); w.Code != 404 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestAListMayNameItsJobs(t *testing.T) {
	s, d := newServer(t)
	ask(t, s, "GET", "/api/jobs?job=42&job=7,3", "", nil)
	var r ipc.ListRequest
	d.bound(t, ipc.VerbList, &r)
	if !slices.Equal(r.Jobs, []pasar.JobID{42, 7, 3}) {
		t.Errorf("%v", r.Jobs)
	}
	r = ipc.ListRequest{}
	ask(t, s, "GET", "/api/jobs?job=42,7,42&tag=@a&state=Failed", "", nil)
	d.bound(t, ipc.VerbList, &r)
	if !slices.Equal(r.Jobs, []pasar.JobID{42, 7}) || r.Tag != "a" || !slices.Equal(r.States, []pasar.State{pasar.Failed}) {
		t.Errorf("%+v", r)
	}
	for _, word := range []string{"x", "0", "-1", "1,", ""} {
		if w := ask(t, s, "GET", "/api/jobs?job="+word, "", nil); w.Code != 400 {
			t.Errorf("job=%s: %d %s", word, w.Code, w.Body)
		}
	}
}

func TestEveryStatusOfARouteIsJSON(t *testing.T) {
	s, _ := newServer(t)
	s.Dial = nobody
	s.Attach = func(context.Context, pasar.JobID, int) (net.Conn, error) {
		return nil, &ipc.Error{Code: ipc.CodeNoDaemon, Message: "no daemon"}
	}
	for _, list := range [][]route{apiRoutes, changeRoutes, streamRoutes, attachRoutes, prometheusRoutes} {
		for _, rt := range list {
			method, path, _ := strings.Cut(rt.pattern, " ")
			w := ask(t, s, method, strings.ReplaceAll(path, "{id}", "1"), "", nil)
			if !json.Valid(w.Body.Bytes()) || w.Header().Get("Content-Type") != "application/json" || w.Code < 400 {
				t.Errorf("%s: %d %s", rt.pattern, w.Code, w.Body)
			}
		}
	}
}

func TestAListThatBreaksOffIsNotTakenForTheWhole(t *testing.T) {
	s, d := newServer(t)
	lost := &ipc.Error{Code: ipc.CodeInternal, Message: "the history can't be read"}
	for _, begun := range []bool{false, true} {
		d.reply[ipc.VerbList] = func(_ context.Context, c *ipc.Call) error {
			if begun {
				_ = c.Chunk([]byte("{\"id\":1}\n"))
			}
			return lost
		}
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Host = "127.0.0.1"
			s.ServeHTTP(w, r.WithContext(withPeer(r.Context(), &guest{peer: peer{ours: true}})))
		}))
		res, err := http.Get(web.URL + "/api/jobs")
		var b []byte
		if err == nil {
			b, err = io.ReadAll(res.Body)
			_ = res.Body.Close()
		}
		switch {
		case begun && err == nil:
			t.Errorf("it looks whole: %s", b)
		case !begun && (err != nil || res.StatusCode != http.StatusInternalServerError || !strings.Contains(string(b), lost.Message)):
			t.Errorf("%v %s", err, b)
		}
		web.Close()
	}
}

func TestWhatARequestNamesIsRepeatedAsItCanBeRead(t *testing.T) {
	const large = "99999999999999999999"
	for what, c := range map[string]struct {
		method, path, body string
		says               string
	}{
		"a path":            {"GET", "/api/jobs/a%00b", "", `there is no job \"a\\x00b\"`},
		"another path":      {"GET", "/a%00b", "", `there is nothing at \"/a\\x00b\"`},
		"a state":           {"GET", "/api/jobs?state=a%00b", "", `there is no \"a\\x00b\"`},
		"a key":             {"GET", "/api/jobs?a%00b=1", "", `a \"a\\x00b\", which`},
		"a key twice":       {"GET", "/api/jobs?a%00b=1&a%00b=2", "", `\"a\\x00b\" twice`},
		"a flag":            {"GET", "/api/jobs?all=%00", "", `all: \"\\x00\" is neither`},
		"a job":             {"GET", "/api/jobs?job=%00", "", `job: \"\\x00\" is no number of a job`},
		"a number":          {"GET", "/api/jobs?limit=%00", "", `limit: \"\\x00\" is no number`},
		"a span":            {"GET", "/api/jobs/1/wait?timeout=%00", "", `bad time \"\\x00\"`},
		"an event":          {"GET", "/api/jobs/1/logs?follow&last_event_id=%00", "", `\"\\x00\" isn't one of these events`},
		"a key of a plan":   {"GET", "/api/plan?%00=1", "", `no \"\\x00\"`},
		"a variable":        {"POST", "/api/jobs", `{"command":["true"],"env":{"a\u0000":"b"}}`, `env: \"a\\x00\" can't be`},
		"a large number":    {"GET", "/api/jobs?limit=" + large, "", `limit: at most 1073741823, not ` + large},
		"a large group":     {"GET", "/api/jobs?group=" + large, "", `group: at most 1073741823, not ` + large},
		"a large job":       {"GET", "/api/jobs?job=" + large, "", `there is no job ` + large},
		"a negative number": {"GET", "/api/jobs?limit=-1", "", `limit: 0 or more, not -1`},
		"one far below":     {"GET", "/api/jobs?limit=-" + large, "", `limit: 0 or more, not -` + large},
		"a negative job":    {"GET", "/api/jobs?job=-" + large, "", `is no number of a job`},
		"no points":         {"GET", "/api/gpu?points=0", "", `points: 1 or more, not 0`},
		"none of use":       {"GET", "/api/jobs/1/usage?points=0", "", `points: 1 or more, not 0`},
	} {
		s, d := newServer(t)
		w := ask(t, s, c.method, c.path, c.body, nil)
		if w.Code/100 != 4 || !strings.Contains(w.Body.String(), c.says) || d.calls(ipc.VerbList)+d.calls(ipc.VerbGPUHistory)+d.calls(ipc.VerbUsage) > 0 {
			t.Errorf("%s: %d %s", what, w.Code, w.Body)
		}
	}
	s, _ := newServer(t)
	w := ask(t, s, "POST", "/api/jobs/1/cancel", "", func(r *http.Request) {
		r.Header["Origin"] = []string{"http://127.0.0.1:8750", "http://evil.example"}
	})
	if w.Code != 403 || !strings.Contains(w.Body.String(), "2 headers Origin") || strings.Contains(w.Body.String(), "127.0.0.1") {
		t.Errorf("two origins: %d %s", w.Code, w.Body)
	}
	w = ask(t, s, "POST", "/api/jobs/1/cancel", "", func(r *http.Request) { r.Header.Set("Origin", "http://\x00") })
	if w.Code != 403 || !strings.Contains(w.Body.String(), `\"http://\\x00\"`) {
		t.Errorf("an odd origin: %d %s", w.Code, w.Body)
	}
}
