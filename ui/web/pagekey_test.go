package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// signIn signs a stranger's browser in: its cookie, and its page's key.
func signIn(t *testing.T, s *Server) (*http.Cookie, string) {
	t.Helper()
	s.note(s.Addresses[0], nil)
	url, err := s.Link()
	if err != nil {
		t.Fatal(err)
	}
	w := ask(t, s, "GET", strings.TrimPrefix(url, "http://"+s.Addresses[0]), "", stranger)
	key, ok := strings.CutPrefix(w.Header().Get("Location"), "/#key=")
	if !ok || len(w.Result().Cookies()) != 1 {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	return w.Result().Cookies()[0], key
}

// with changes a request: its headers, and cookies.
func with(cookies []*http.Cookie, kv ...string) func(*http.Request) {
	return func(r *http.Request) {
		stranger(r)
		for _, c := range cookies {
			r.AddCookie(c)
		}
		for i := 0; i < len(kv); i += 2 {
			r.Header.Set(kv[i], kv[i+1])
		}
	}
}

func TestACookieAloneIsEnoughForNothingOfAJob(t *testing.T) {
	s, d := newServer(t)
	cookie, key := signIn(t, s)
	other, otherKey := signIn(t, s)
	alone, both := with([]*http.Cookie{cookie}), with([]*http.Cookie{cookie}, "Pasar-Key", key)
	const body = `{"plan":"p"}`
	for _, list := range allRoutes() {
		for _, rt := range list {
			method, path, _ := strings.Cut(rt.pattern, " ")
			path = strings.NewReplacer("{$}", "", "{id}", "1", "{file...}", "app.js", "{file}", "happy.svg", "{topic}", "api").Replace(path)
			open := rt.who == anybody || rt.who == visitors
			if inner := strings.HasPrefix(path, "/api/") || path == "/ipc" || path == "/metrics"; inner && open {
				t.Errorf("%s needs no key", rt.pattern)
			}
			w := ask(t, s, method, path, map[string]string{"POST": body, "PATCH": body}[method], alone)
			if path != "/login" && (w.Code == 401 || w.Code == 403) == open {
				t.Errorf("%s with the cookie alone: %d %s", rt.pattern, w.Code, w.Body)
			}
		}
	}
	if len(d.seen) > 0 {
		t.Errorf("%v reached the daemon", d.seen)
	}
	for name, c := range map[string]struct {
		method, path string
		change       func(*http.Request)
		status       int
	}{
		"cookie and key":                  {"GET", "/api/status", both, 200},
		"cookie and key, approving":       {"POST", "/api/jobs/1/approve", both, 400}, // the amount is missing
		"an unknown path":                 {"GET", "/api/nothing", alone, 401},
		"the key alone":                   {"GET", "/api/status", with(nil, "Pasar-Key", key), 401},
		"another cookie's key":            {"GET", "/api/status", with([]*http.Cookie{cookie}, "Pasar-Key", otherKey), 401},
		"among others of its name":        {"GET", "/api/status", with([]*http.Cookie{{Name: cookie.Name, Value: "x"}, other, cookie}, "Pasar-Key", key), 200},
		"only the others":                 {"GET", "/api/status", with([]*http.Cookie{{Name: cookie.Name, Value: "x"}, other}, "Pasar-Key", key), 401},
		"as a subprotocol":                {"GET", "/api/status", with([]*http.Cookie{cookie}, "Sec-WebSocket-Protocol", "pasar-attach, key."+key), 200},
		"another subprotocol":             {"GET", "/api/status", with([]*http.Cookie{cookie}, "Sec-WebSocket-Protocol", "pasar-attach, key."), 401},
		"this user, without a key":        {"GET", "/api/status", func(r *http.Request) { r.AddCookie(cookie) }, 200},
		"this user approves without":      {"POST", "/api/jobs/1/approve", func(r *http.Request) { r.AddCookie(cookie) }, 403},
		"this user approves with the key": {"POST", "/api/jobs/1/approve", func(r *http.Request) { r.AddCookie(cookie); r.Header.Set("Pasar-Key", key) }, 400},
	} {
		if w := ask(t, s, c.method, c.path, map[string]string{"POST": body}[c.method], c.change); w.Code != c.status {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	if w := ask(t, s, "GET", "/api/status", "", alone); !strings.Contains(w.Body.String(), "`pasar web` opens one") {
		t.Errorf("a page that lost its key is told %s", w.Body)
	}
}

func TestACodeSavesAFileOnceForABrowserWithTheCookie(t *testing.T) {
	s, _ := newServer(t)
	cookie, key := signIn(t, s)
	alone := with([]*http.Cookie{cookie})
	code := func() string {
		t.Helper()
		var v struct{ Code string }
		w := ask(t, s, "POST", "/api/code", "{}", with([]*http.Cookie{cookie}, "Pasar-Key", key))
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || len(v.Code) < 20 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return v.Code
	}
	if w := ask(t, s, "POST", "/api/code", "{}", alone); w.Code != 401 {
		t.Errorf("a code without the key: %d %s", w.Code, w.Body)
	}
	for path, status := range map[string]int{
		"/api/jobs/1/logs?raw&code=":    200,
		"/api/jobs/1/diff?code=":        200,
		"/api/jobs/1/logs?follow&code=": 400, // it is for what is saved
		"/api/status?code=":             401,
		"/api/jobs/1?code=":             401,
	} {
		c := code()
		if w := ask(t, s, "GET", path+c, "", stranger); w.Code != 401 {
			t.Errorf("%s without the cookie: %d %s", path, w.Code, w.Body)
		}
		if w := ask(t, s, "GET", path+c, "", alone); w.Code != status {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		if w := ask(t, s, "GET", path+c, "", alone); w.Code != 401 {
			t.Errorf("%s a second time: %d %s", path, w.Code, w.Body)
		}
	}
	c, now := code(), time.Now()
	s.Now = func() time.Time { return now.Add(2 * time.Minute) }
	if w := ask(t, s, "GET", "/api/jobs/1/logs?raw&code="+c, "", alone); w.Code != 401 {
		t.Errorf("too late: %d %s", w.Code, w.Body)
	}
	if w := ask(t, s, "GET", "/api/jobs/1/logs?raw&code="+c, "", nil); w.Code == 401 || w.Code == 400 {
		t.Errorf("this user needs none: %d %s", w.Code, w.Body)
	}
}

func TestALinkIsUsedUpByWhoOpensItAlone(t *testing.T) {
	s, _ := newServer(t)
	s.note(s.Addresses[0], nil)
	url, err := s.Link()
	if err != nil {
		t.Fatal(err)
	}
	path := strings.TrimPrefix(url, "http://"+s.Addresses[0])
	for _, kv := range [][]string{
		{"Sec-Purpose", "prefetch"}, {"Sec-Purpose", "prefetch;prerender"}, {"Purpose", "prefetch"}, {"Sec-Fetch-Dest", "image"}, {"Sec-Fetch-Dest", "empty"}, {"Sec-Fetch-Dest", "iframe"},
	} {
		if w := ask(t, s, "GET", path, "", with(nil, kv...)); w.Code != 403 || len(w.Result().Cookies()) > 0 {
			t.Errorf("%v: %d %v", kv, w.Code, w.Header())
		}
	}
	if w := ask(t, s, "GET", path, "", with(nil, "Sec-Fetch-Dest", "document")); w.Code != 303 || len(w.Result().Cookies()) != 1 {
		t.Errorf("opened: %d %s", w.Code, w.Body)
	}
	if url, err = s.Link(); err != nil {
		t.Fatal(err)
	}
	path = strings.TrimPrefix(url, "http://"+s.Addresses[0])
	w := ask(t, s, "GET", path, "", with(nil, "Sec-Fetch-Dest", "document", "Sec-Fetch-Site", "cross-site"))
	if w.Code != 200 || len(w.Result().Cookies()) != 1 || !strings.Contains(w.Body.String(), `content="0; url=/#key=`) {
		t.Errorf("opened from a page elsewhere: %d %s", w.Code, w.Body)
	}
}
