package web

import (
	"net/http"
	"strings"
	"testing"
)

func TestThePageIsMadeOfEmbeddedFilesAndNothingElse(t *testing.T) {
	s, _ := newServer(t)
	for file, kind := range map[string]string{"/": "text/html", "/jobs/1": "text/html", "/assets/base.css": "text/css", "/assets/app.js": "text/javascript", "/assets/vendor/xterm.js": "text/javascript"} {
		w := ask(t, s, "GET", file, "", nil)
		if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), kind) {
			t.Errorf("%s: %d %s", file, w.Code, w.Header().Get("Content-Type"))
		}
		tag := w.Header().Get("ETag")
		if w := ask(t, s, "GET", file, "", func(r *http.Request) { r.Header.Set("If-None-Match", tag) }); w.Code != 304 || w.Body.Len() > 0 {
			t.Errorf("%s again: %d", file, w.Code)
		}
		if w := ask(t, s, "GET", file, "", stranger); w.Code != 401 {
			t.Errorf("%s for another user: %d", file, w.Code)
		}
	}
	for _, file := range []string{"/assets/..%2fpages.go", "/assets/..", "/assets/%2e%2e%2fkeys.go", "/assets/", "/assets/index.html%00.css", "/assets/..%5cpages.go", "//etc/passwd", "/assets//etc/passwd"} {
		if w := ask(t, s, "GET", file, "", nil); w.Code == 200 || strings.Contains(w.Body.String(), "package web") {
			t.Errorf("%s: %d %.80s", file, w.Code, w.Body)
		}
	}
	if strings.Contains(csp, "unsafe") {
		t.Error("the policy lets in what it is there to keep out")
	}
}
