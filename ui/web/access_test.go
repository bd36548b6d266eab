package web

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"pasar/ipc"
)

// ask makes a request as this user on this machine would, unless change says otherwise.
func ask(t *testing.T, s *Server, method, target, body string, change func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, "http://127.0.0.1:8750"+target, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	ctx := t.Context()
	r = r.WithContext(withPeer(ctx, &guest{peer: peer{ours: true, uid: 1000}}))
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// stranger makes a request one of another user's.
func stranger(r *http.Request) {
	*r = *r.WithContext(withPeer(r.Context(), &guest{peer: peer{uid: 1001}}))
}

func TestWhoMayNotIsRefusedWithTheRightStatusAndOneLine(t *testing.T) {
	s, d := newServer(t)
	token, err := s.Token(false)
	if err != nil {
		t.Fatal(err)
	}
	set := func(kv ...string) func(*http.Request) {
		return func(r *http.Request) {
			for i := 0; i < len(kv); i += 2 {
				if kv[i] == "Host" {
					r.Host = kv[i+1]
				} else {
					r.Header.Set(kv[i], kv[i+1])
				}
			}
		}
	}
	both := func(fs ...func(*http.Request)) func(*http.Request) {
		return func(r *http.Request) {
			for _, f := range fs {
				f(r)
			}
		}
	}
	large := func(r *http.Request) { r.ContentLength = 100 << 20 }
	for name, c := range map[string]struct {
		method, path, body string
		change             func(*http.Request)
		status             int
		says               string
	}{
		"this user":                       {"GET", "/api/status", "", nil, 200, `{"a":1}`},
		"another user":                    {"GET", "/api/status", "", stranger, 401, "needs the token"},
		"another user with the token":     {"GET", "/api/status", "", both(stranger, set("Authorization", "Bearer "+token)), 200, `{"a":1}`},
		"a wrong token":                   {"GET", "/api/status", "", both(stranger, set("Authorization", "Bearer x"+token)), 401, "isn't the token"},
		"a wrong token from this user":    {"GET", "/api/status", "", set("Authorization", "Basic "+token), 401, "isn't the token"},
		"a token in the address":          {"GET", "/api/status?token=" + token, "", stranger, 401, "needs the token"},
		"an unknown path of another user": {"GET", "/api/nothing", "", stranger, 401, "needs the token"},
		"an unknown path":                 {"GET", "/api/nothing", "", nil, 404, "there is nothing at"},
		"another method":                  {"DELETE", "/api/jobs/1", "", nil, 405, "takes GET"},
		"a foreign host":                  {"GET", "/api/status", "", set("Host", "evil.example:8750"), 403, "isn't asked as"},
		"a foreign host for the guide":    {"GET", "/llms.txt", "", set("Host", "evil.example"), 403, "isn't asked as"},
		"an allowed host":                 {"GET", "/api/status", "", set("Host", "box.lan:8750"), 200, `{"a":1}`},
		"a forwarded port":                {"GET", "/api/status", "", set("Host", "localhost:9000"), 200, `{"a":1}`},
		"localhost over IPv6":             {"GET", "/api/status", "", set("Host", "[::1]:8750"), 200, `{"a":1}`},
		"a page elsewhere that reads":     {"GET", "/api/status", "", set("Sec-Fetch-Site", "cross-site"), 403, "another origin"},
		"a page elsewhere that posts":     {"POST", "/api/jobs/1/cancel", `{}`, set("Origin", "http://evil.example"), 403, "evil.example"},
		"a page without an origin":        {"POST", "/api/jobs/1/cancel", `{}`, set("Origin", "null"), 403, "of the origin"},
		"a simple content type":           {"POST", "/api/jobs/1/cancel", `{}`, set("Content-Type", "text/plain"), 415, "only JSON"},
		"a simple type to be upgraded":    {"POST", "/api/jobs/1/cancel", `{}`, set("Content-Type", "text/plain", "Upgrade", "websocket"), 415, "only JSON"},
		"a job's number with a sign":      {"GET", "/api/jobs/+1", "", nil, 404, "no job"},
		"a job's number with zeros":       {"GET", "/api/jobs/01", "", nil, 404, "no job"},
		"an asset as a directory":         {"GET", "/assets/app.js/", "", nil, 404, "no such file"},
		"an asset that is a directory":    {"GET", "/assets/vendor", "", nil, 404, "no such file"},
		"a form":                          {"POST", "/api/jobs/1/cancel", `a=1`, set("Content-Type", "application/x-www-form-urlencoded"), 415, "only JSON"},
		"our own page":                    {"POST", "/api/jobs/1/cancel", `{}`, set("Origin", "http://127.0.0.1:8750", "Sec-Fetch-Site", "same-origin"), 200, `"id":1`},
		"a body that says it is large":    {"POST", "/api/jobs", "{", large, 413, "the body has 100 MiB"},
		"a body that is large":            {"POST", "/api/jobs", `{"name":"` + strings.Repeat("x", maxBody) + `"}`, func(r *http.Request) { r.ContentLength = -1 }, 413, "more than"},
		"garbage":                         {"POST", "/api/jobs", `{"command":`, nil, 400, "the body:"},
		"an unknown key":                  {"POST", "/api/jobs", `{"comand":["x"]}`, nil, 400, "comand"},
		"two values":                      {"POST", "/api/jobs/1/cancel", `{} {}`, nil, 400, "something follows the value"},
		"a path with dots":                {"GET", "/guide/..%2f..%2fetc%2fpasswd", "", nil, 404, "no guide"},
		"a job that is no number":         {"GET", "/api/jobs/x", "", nil, 404, "there is no job"},
		"approving without a person":      {"POST", "/api/jobs/1/approve", `{}`, nil, 403, "only a person"},
		"approving with the token":        {"POST", "/api/jobs/1/approve", `{}`, set("Authorization", "Bearer "+token), 403, "only a person"},
		"a forged cookie":                 {"POST", "/api/jobs/1/approve", `{}`, set("Cookie", cookieName(token)+"=99999999999.x.y"), 403, "only a person"},
	} {
		t.Run(name, func(t *testing.T) {
			w := ask(t, s, c.method, c.path, c.body, c.change)
			got := w.Body.String()
			if w.Code != c.status || !strings.Contains(got, c.says) || strings.Count(got, "\n") > 1 {
				t.Errorf("%d %q; want %d with %q in one line", w.Code, got, c.status, c.says)
			}
			for _, h := range []string{"Content-Security-Policy", "X-Content-Type-Options"} {
				if w.Header().Get(h) == "" {
					t.Errorf("no %s", h)
				}
			}
			if o := w.Header().Get("Access-Control-Allow-Origin"); o != "" {
				t.Errorf("it allows the origin %q", o)
			}
		})
	}
	if n := d.calls(ipc.VerbCancel); n != 1 {
		t.Errorf("%d cancels reached the daemon; want that of our own page alone", n)
	}
}

func TestALinkSignsInOneBrowserOnce(t *testing.T) {
	s, _ := newServer(t)
	s.served[s.Addresses[0]] = nil
	url, err := s.Link()
	if err != nil {
		t.Fatal(err)
	}
	path := strings.TrimPrefix(url, "http://"+s.Addresses[0])
	if w := ask(t, s, "HEAD", path, "", stranger); w.Code == 303 {
		t.Error("a look at the link's head used it up")
	}
	w := ask(t, s, "GET", path, "", stranger)
	cookies := w.Result().Cookies()
	if w.Code != 303 || len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode {
		t.Fatalf("%d %v", w.Code, cookies)
	}
	if w := ask(t, s, "GET", path, "", stranger); w.Code != 403 || !strings.Contains(w.Body.String(), "used already") {
		t.Errorf("the second time: %d %s", w.Code, w.Body)
	}
	key, ok := strings.CutPrefix(w.Header().Get("Location"), "/#key=")
	if !ok || len(key) != 64 {
		t.Fatalf("it goes to %q", w.Header().Get("Location"))
	}
	signed := func(r *http.Request) { stranger(r); r.AddCookie(cookies[0]); r.Header.Set("Pasar-Key", key) }
	if w := ask(t, s, "GET", "/api/status", "", signed); w.Code != 200 {
		t.Errorf("signed in: %d %s", w.Code, w.Body)
	}
	if w := ask(t, s, "POST", "/api/jobs/1/approve", `{"plan":"p"}`, signed); w.Code != 400 || !strings.Contains(w.Body.String(), "amount") {
		t.Errorf("approving, signed in: %d %s", w.Code, w.Body)
	}
	now := time.Now()
	s.Now = func() time.Time { return now.Add(cookieFor + time.Minute) }
	if w := ask(t, s, "GET", "/api/status", "", signed); w.Code != 401 {
		t.Errorf("after its time: %d %s", w.Code, w.Body)
	}
	s.Now = time.Now
	if _, err := s.Token(true); err != nil {
		t.Fatal(err)
	}
	if w := ask(t, s, "GET", "/api/status", "", signed); w.Code != 401 {
		t.Errorf("after a new token: %d %s", w.Code, w.Body)
	}
	url, _ = s.Link()
	s.Now = func() time.Time { return now.Add(linkFor + time.Minute) }
	if w := ask(t, s, "GET", strings.TrimPrefix(url, "http://"+s.Addresses[0]), "", stranger); w.Code != 403 {
		t.Errorf("an old link: %d", w.Code)
	}
}

func TestTheGuidesAndTheHealthArePublic(t *testing.T) {
	s, _ := newServer(t)
	for path, says := range map[string]string{"/healthz": "ok\n", "/llms.txt": "# ", "/agents.md": "pasar submit", "/llms-cloud.txt": "# Rented GPUs", "/guide/api": "--json"} {
		if w := ask(t, s, "GET", path, "", stranger); w.Code != 200 || !strings.Contains(w.Body.String(), says) {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	s.Dial = nobody
	if w := ask(t, s, "GET", "/healthz", "", stranger); w.Code != 503 {
		t.Errorf("without a daemon: %d %s", w.Code, w.Body)
	}
	if w := ask(t, s, "GET", "/api/status", "", nil); w.Code != 503 || !strings.Contains(w.Body.String(), "no_daemon") {
		t.Errorf("without a daemon: %d %s", w.Code, w.Body)
	}
}

func TestATokenThatOthersMayReadIsRefused(t *testing.T) {
	s, _ := newServer(t)
	if err := os.Chmod(s.TokenFile, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Token(false); err == nil || !strings.Contains(err.Error(), "0644") {
		t.Errorf("%v", err)
	}
	if _, err := New(s.Options); err == nil {
		t.Error("a server began with it")
	}
	if _, err := s.Token(true); err != nil {
		t.Error(err)
	}
	if fi, err := os.Stat(s.TokenFile); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", fi.Mode(), err)
	}
}

func TestAPathHasOneFormAndNoOtherAsksLess(t *testing.T) {
	s, d := newServer(t)
	elsewhere := func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }
	n := 0
	for _, list := range allRoutes() {
		for _, rt := range list {
			method, path, _ := strings.Cut(rt.pattern, " ")
			path = strings.NewReplacer("{$}", "", "{id}", "1", "{topic}", "api", "{file}", "busy.svg", "{file...}", "app.css").Replace(path)
			for _, form := range []string{"/" + path, "/." + path, "/x/.." + path, "/api/.." + path, "/%2e%2e" + path, path[:strings.LastIndexByte(path, '/')] + "//" + path[strings.LastIndexByte(path, '/')+1:]} {
				n++
				for name, c := range map[string]struct {
					change func(*http.Request)
					status int
				}{"this user": {nil, 404}, "a stranger": {stranger, 401}} {
					w := ask(t, s, method, form, "", c.change)
					if w.Code != c.status || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Location") != "" {
						t.Errorf("%s: %s %s: %d %s", name, method, form, w.Code, w.Body)
					}
				}
				if w := ask(t, s, method, form, "", elsewhere); w.Code != 404 && w.Code != 403 {
					t.Errorf("a page elsewhere: %s %s: %d %s", method, form, w.Code, w.Body)
				}
			}
		}
	}
	for _, path := range []string{"/assets", "/api/jobs/", "/jobs/1/", "/api%2fstatus"} {
		if w := ask(t, s, "GET", path, "", nil); w.Code != 404 || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.seen) > 0 || n < 100 {
		t.Errorf("of %d requests there reached the daemon %v", n, d.seen)
	}
}

func TestABrowserIsSentWhatItHeedsOfPagesThatOpenPages(t *testing.T) {
	s, _ := newServer(t)
	for host, sent := range map[string]bool{"127.0.0.1:8750": true, "localhost": true, "[::1]:9000": true, "box.lan:8750": false, "box.localhost": true, "127.0.0.9": true, "192.0.2.2:8750": false} {
		for _, site := range []string{"", "none"} {
			w := ask(t, s, "GET", "/", "", func(r *http.Request) {
				if r.Host = host; site != "" { // a browser's, which trusts the origin
					r.Header.Set("Sec-Fetch-Site", site)
				}
			})
			if got := w.Header().Get("Cross-Origin-Opener-Policy"); (got == "same-origin") != (sent || site != "") {
				t.Errorf("%s, Sec-Fetch-Site %q: %q", host, site, got)
			}
		}
	}
}
