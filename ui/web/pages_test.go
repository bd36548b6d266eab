package web

import (
	"io/fs"
	"net/http"
	"path"
	"regexp"
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

// embedded calls each with the assets and their bytes.
func embedded(t *testing.T, each func(name string, b []byte)) {
	t.Helper()
	if err := fs.WalkDir(assets, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := assets.ReadFile(name)
		each(name, b)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func TestThePagesAreLightAndCarryTheLicencesOfOthers(t *testing.T) {
	total, vendored, licences := 0, 0, 0
	embedded(t, func(name string, b []byte) {
		total += len(b)
		if strings.HasPrefix(name, "assets/vendor/") {
			switch path.Ext(name) {
			case ".js":
				vendored++
			case ".LICENSE":
				licences++
				if !strings.Contains(string(b), "Copyright") {
					t.Errorf("%s is no licence", name)
				}
			}
		}
	})
	if total > 700_000 {
		t.Errorf("the pages are made of %d bytes", total)
	}
	if vendored == 0 || vendored != licences {
		t.Errorf("%d libraries, %d licences", vendored, licences)
	}
}

func TestEveryModuleImportsWhatIsThere(t *testing.T) {
	imports := regexp.MustCompile(`(?m)^(?:import|export) (?:\{([^}]*)\}|\* as \w+) from "\./([^"]+)";`)
	seen := 0
	embedded(t, func(name string, b []byte) {
		if path.Ext(name) != ".js" || strings.HasPrefix(name, "assets/vendor/") {
			return
		}
		if n := strings.Count(string(b), ` from "`); n != len(imports.FindAllSubmatch(b, -1)) {
			t.Errorf("%s imports in a way that isn't looked at here", name)
		}
		for _, m := range imports.FindAllSubmatch(b, -1) {
			other, err := assets.ReadFile("assets/" + string(m[2]))
			if err != nil {
				t.Errorf("%s imports %s, which isn't there", name, m[2])
				continue
			}
			for word := range strings.SplitSeq(string(m[1]), ",") {
				word, _, _ = strings.Cut(strings.TrimSpace(word), " ")
				if word == "" {
					continue
				}
				seen++
				if !regexp.MustCompile(`(?m)^export (async )?(function|const|let|class) ` + word + `\b`).Match(other) {
					t.Errorf("%s imports %s of %s, which has none", name, word, m[2])
				}
			}
		}
	})
	if seen < 50 {
		t.Errorf("only %d imports were seen", seen)
	}
}
