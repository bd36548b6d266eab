package web

import (
	"net/http"
	"strings"
	"testing"
)

func TestABrowserThatIsNotSignedInIsToldHowInAPage(t *testing.T) {
	s, _ := newServer(t)
	s.Addresses = []string{"[::1]:8751", "192.0.2.2:8750"}
	accept := func(kind string) func(*http.Request) {
		return func(r *http.Request) {
			stranger(r)
			if kind != "" {
				r.Header.Set("Accept", kind)
			}
		}
	}
	const browser = "text/html,application/xhtml+xml,*/*;q=0.8"
	for path, status := range map[string]int{"/": 401, "/jobs/7": 401, "/login?code=old": 403} {
		w := ask(t, s, "GET", path, "", accept(browser))
		got := w.Body.String()
		if w.Code != status || w.Header().Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(got, "<code>pasar web</code>") {
			t.Errorf("%s: %d %s %q", path, w.Code, w.Header().Get("Content-Type"), got)
		}
		if !strings.Contains(got, "<code>ssh -L 8751:[::1]:8751 that-machine</code>") || !strings.Contains(got, `<link rel="stylesheet" href="/assets/signin.css">`) {
			t.Errorf("%s: %q", path, got)
		}
		if strings.Contains(got, "<script") || strings.Contains(got, "<style") || strings.Contains(got, "style=") {
			t.Errorf("%s: the page asks for what its policy refuses: %q", path, got)
		}
		for _, kind := range []string{"", "*/*", "application/json"} {
			if w := ask(t, s, "GET", path, "", accept(kind)); w.Code != status || w.Header().Get("Content-Type") != "application/json" {
				t.Errorf("%s for a program that accepts %q: %d %s", path, kind, w.Code, w.Header().Get("Content-Type"))
			}
		}
	}
	if w := ask(t, s, "GET", "/assets/signin.css", "", stranger); w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/css") {
		t.Errorf("its style sheet: %d %s", w.Code, w.Header().Get("Content-Type"))
	}
	for _, path := range []string{"/assets/base.css", "/api/status", "/assets/app.js", "/nothing"} {
		if w := ask(t, s, "GET", path, "", accept(browser)); w.Code != 401 || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s", path, w.Code, w.Header().Get("Content-Type"))
		}
	}
	if w := ask(t, s, "GET", "/login?code=old", "", accept(browser)); !strings.Contains(w.Body.String(), "This link was used already") {
		t.Errorf("an old link: %q", w.Body)
	}
}

// A step back, or a second click, leads to a used link: whoever is signed in has what it gave.
func TestAUsedLinkLeadsABrowserThatIsSignedInToThePages(t *testing.T) {
	s, _ := newServer(t)
	cookie, _ := signIn(t, s)
	const browser = "text/html,application/xhtml+xml,*/*;q=0.8"
	for _, c := range []struct {
		what   string
		change func(*http.Request)
		status int
	}{
		{"signed in", with([]*http.Cookie{cookie}, "Accept", browser), 303},
		{"not signed in", with(nil, "Accept", browser), 403},
		{"with another's cookie", with([]*http.Cookie{{Name: cookie.Name, Value: "00" + cookie.Value[2:]}}, "Accept", browser), 403},
		{"a program", with([]*http.Cookie{cookie}), 403},
		{"by a script of a page", with([]*http.Cookie{cookie}, "Accept", browser, "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"), 403},
	} {
		w := ask(t, s, "GET", "/login?code=used", "", c.change)
		if w.Code != c.status || (w.Header().Get("Location") == "/") != (c.status == 303) || len(w.Result().Cookies()) > 0 {
			t.Errorf("%s: %d %v", c.what, w.Code, w.Header())
		}
	}
}
