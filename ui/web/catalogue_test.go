package web

import (
	"encoding/json"
	"strings"
	"testing"

	"pasar/ipc"
)

func TestTheCatalogueHasWhatCanBeAsked(t *testing.T) {
	s, _ := newServer(t)
	var v struct {
		Schema   int
		Requests []request
	}
	w := ask(t, s, "GET", "/api", "", nil)
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || w.Code != 200 || v.Schema != 1 {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	as := map[string]string{}
	for _, r := range v.Requests {
		as[r.Method+" "+r.Path] = ""
		if r.As != nil {
			as[r.Method+" "+r.Path] = *r.As
		}
		method := r.Method
		path := strings.NewReplacer("{id}", "1", "{topic}", "api", "{file}", "busy.svg", "{file...}", "app.css").Replace(r.Path)
		if w := ask(t, s, method, path, "{}", nil); w.Code == 405 || strings.Contains(w.Body.String(), "there is nothing at") {
			t.Errorf("%s %s isn't there: %d %s", method, path, w.Code, w.Body)
		}
	}
	n := 0
	for _, list := range allRoutes() {
		n += len(list)
	}
	if len(as) != n || as["GET /api/jobs"] != "ls" || as["PATCH /api/jobs/{id}"] != "edit, bid" || as["GET /api/mascot"] != "" {
		t.Errorf("of %d routes: %v", n, as)
	}
	for pattern := range commands {
		if as[pattern] == "" {
			t.Errorf("no route is %q", pattern)
		}
	}
}

func TestAQueryThatIsNotUnderstoodIsRefused(t *testing.T) {
	s, d := newServer(t)
	for _, list := range allRoutes() {
		for _, rt := range list {
			method, path, _ := strings.Cut(rt.pattern, " ")
			if strings.Contains(path, "{$}") || strings.HasPrefix(path, "/jobs/") || strings.HasPrefix(path, "/assets/") || path == "/login" || path == "/healthz" {
				continue // the pages' scripts read theirs
			}
			path = strings.NewReplacer("{id}", "1", "{topic}", "api", "{file}", "busy.svg").Replace(path)
			for query, says := range map[string]string{"nonsense=1": `"nonsense"`, "a;b": "can't be read", "%zz": "can't be read", "attempt=1&attempt=2": "attempt"} {
				if rt.who == person {
					continue
				}
				if status, e := refusal(t, s, method, path+"?"+query, ""); status != 400 || !strings.Contains(e.Message, says) {
					t.Errorf("%s %s?%s: %d %+v", method, path, query, status, e)
				}
			}
		}
	}
	if status, e := refusal(t, s, "POST", "/api/jobs?dry_run=1", `{"command":["true"]}`); status != 400 || e.Message != `POST takes no query, and this has a "dry_run"` || e.Hint == "" {
		t.Errorf("%d %+v", status, e)
	}
	if _, e := refusal(t, s, "GET", "/api/gpu?until=1h&sinse=2h", ""); e.Hint != "it takes since, until, points" {
		t.Errorf("%+v", e)
	}
	if _, e := refusal(t, s, "GET", "/api/status?x", ""); e.Hint != "it takes none" {
		t.Errorf("%+v", e)
	}
	if n := d.calls(ipc.VerbSubmit) + d.calls(ipc.VerbCancel) + d.calls(ipc.VerbStatus); n != 0 {
		t.Errorf("%d requests reached the daemon", n)
	}
	for _, path := range []string{"/api/jobs?state=queued&state=running", "/?state=queued", "/jobs/1?a;b"} {
		if w := ask(t, s, "GET", path, "", nil); w.Code != 200 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestAnotherMethodIsToldAllThereAre(t *testing.T) {
	s, _ := newServer(t)
	w := ask(t, s, "DELETE", "/api/jobs/1", "", nil)
	if w.Code != 405 || !strings.Contains(w.Body.String(), "/api/jobs/1 takes GET and PATCH, not DELETE") || strings.Join(w.Header()["Allow"], ",") != "GET,PATCH" {
		t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
	}
}

func TestABrowsersIconIsTheHappyMascot(t *testing.T) {
	s, _ := newServer(t)
	want, err := assets.ReadFile("assets/mascot/happy.svg")
	if err != nil {
		t.Fatal(err)
	}
	if w := ask(t, s, "GET", "/favicon.ico", "", stranger); w.Code != 200 || w.Body.String() != string(want) || w.Header().Get("Content-Type") != "image/svg+xml" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}
