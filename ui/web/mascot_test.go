package web

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	goflag "flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"text/template"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/ui"
)

var update = goflag.Bool("update", false, "make assets/mascot anew")

// TestMascotsAreMadeOfTheirTemplate holds that the pictures that are embedded are those of the template.
func TestMascotsAreMadeOfTheirTemplate(t *testing.T) {
	all := template.Must(template.ParseFiles("testdata/mascot.svg.tmpl"))
	for _, m := range ui.Moods {
		var want bytes.Buffer
		if err := all.ExecuteTemplate(&want, string(m), nil); err != nil {
			t.Fatal(err)
		}
		want.WriteByte('\n')
		file := filepath.Join("assets", "mascot", string(m)+".svg")
		if *update {
			if err := os.WriteFile(file, want.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s isn't what its template makes (%v): go test ./ui/web -run Mascot -update", file, err)
		}
	}
}

func TestTheGuideNamesEveryMood(t *testing.T) {
	text, err := os.ReadFile("../../docs/guide/config.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range ui.Moods {
		if !bytes.Contains(text, []byte("`"+string(m)+"`")) {
			t.Errorf("docs/guide/config.md doesn't name %s", m)
		}
	}
	for _, p := range pictures {
		if !bytes.Contains(text, []byte("`"+p.ext+"`")) {
			t.Errorf("docs/guide/config.md doesn't name %s", p.ext)
		}
	}
}

// TestMascotsAreDrawingsAndNothingElse: what a picture could do harm with isn't in it.
func TestMascotsAreDrawingsAndNothingElse(t *testing.T) {
	drawing := []string{"svg", "g", "path", "rect", "circle", "ellipse"}
	seen := map[string]ui.Mood{}
	for _, m := range ui.Moods {
		b, err := assets.ReadFile("assets/mascot/" + string(m) + ".svg")
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := seen[string(b)]; twice || len(b) > 6000 {
			t.Errorf("%s: %d bytes; the same as %q", m, len(b), other)
		}
		seen[string(b)] = m
		for dec := xml.NewDecoder(bytes.NewReader(b)); ; {
			tok, err := dec.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", m, err)
			}
			e, ok := tok.(xml.StartElement)
			if !ok {
				continue
			}
			if !slices.Contains(drawing, e.Name.Local) {
				t.Errorf("%s has a <%s>", m, e.Name.Local)
			}
			for _, a := range e.Attr {
				if n := a.Name.Local; n == "style" || n == "href" || strings.HasPrefix(n, "on") || n != "xmlns" && strings.Contains(a.Value, ":") {
					t.Errorf("%s: <%s %s=%q>", m, e.Name.Local, n, a.Value)
				}
			}
		}
	}
}

// market has the double answer for a market of many jobs, of which it gives out only what is asked for.
func market(d *double, status pasar.StatusView, lately, queued []pasar.JobView) {
	answer := func(c *ipc.Call, views []pasar.JobView, limit int) error {
		var out []byte
		for i := range views[:min(len(views), limit)] {
			b, err := views[i].AppendJSON(nil)
			if err != nil {
				return err
			}
			out = append(append(out, b...), '\n')
		}
		if err := c.Chunk(out); len(out) > 0 && err != nil {
			return err
		}
		return c.Answer(ipc.Empty{})
	}
	d.reply[ipc.VerbStatus] = func(_ context.Context, c *ipc.Call) error {
		b, err := json.Marshal(status)
		if err != nil {
			return err
		}
		return c.Answer(ipc.ViewAnswer{JSON: b})
	}
	d.reply[ipc.VerbList] = func(_ context.Context, c *ipc.Call) error {
		var r ipc.ListRequest
		if err := c.Bind(&r); err != nil {
			return err
		}
		switch {
		case r.Limit < 1 || r.Limit > 500 || r.All:
			return fmt.Errorf("so many jobs for a mood: %+v", r)
		case r.Lately.IsZero():
			return answer(c, queued, r.Limit)
		}
		return answer(c, lately, r.Limit)
	}
	d.reply[ipc.VerbApprovals] = func(context.Context, *ipc.Call) error {
		return &ipc.Error{Code: ipc.CodeUnsupported, Message: "no cloud"}
	}
}

func moodNow(t *testing.T, s *Server) (v pasar.MascotView) {
	t.Helper()
	w := ask(t, s, "GET", "/api/mascot", "", nil)
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || w.Code != 200 || v.Schema != 1 {
		t.Fatalf("%d %s %v", w.Code, w.Body, err)
	}
	return v
}

func TestTheMoodOfTenThousandJobsIsToldFromAFew(t *testing.T) {
	s, d := newServer(t)
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	s.Now = func() time.Time { return now }
	at := now.Add(3 * time.Hour)
	queued := make([]pasar.JobView, 10_000)
	for i := range queued {
		queued[i] = pasar.JobView{ID: pasar.JobID(i + 47), State: pasar.Queued, Waiting: &pasar.WaitingView{Why: pasar.WaitGPU}}
	}
	queued[0].Projected.Start = &at
	var running []pasar.JobView
	for i := range 40 {
		running = append(running, pasar.JobView{ID: pasar.JobID(i + 1), State: pasar.Running})
	}
	status := pasar.StatusView{Schema: 1, Jobs: map[pasar.State]int{pasar.Running: 400, pasar.Queued: 10_000, pasar.Awaiting: 0}}
	market(d, status, running, queued)
	if v := moodNow(t, s); v.Mood != "busy" || v.Headline != "400 running, 10000 waiting · next #47 ~15:00" || v.Why != "400 jobs run" || v.Until != nil || v.Image != "/mascot/busy.svg" {
		t.Errorf("%+v", v)
	}
	// A job far back in the queue has just had to make way.
	shoved := queued[9_000]
	ended := now.Add(-10 * time.Second)
	shoved.Attempts = []pasar.AttemptView{{Attempt: 1, EndedAt: &ended, Verdict: &pasar.Verdict{Reason: pasar.CodePreempted}}}
	market(d, status, append(running, shoved), queued)
	if v := moodNow(t, s); v.Mood != "preempted" || !strings.Contains(v.Why, "#9047") || v.Until == nil || !v.Until.Equal(now.Add(20*time.Second)) || !strings.Contains(v.Headline, "next #47") {
		t.Errorf("%+v", v)
	}
	status.Jobs[pasar.Awaiting] = 3
	status.Jobs[pasar.Running] = 0
	market(d, status, nil, nil)
	if v := moodNow(t, s); v.Mood != "waiting" || !strings.HasPrefix(v.Headline, "3 await approval, nothing runs, 10000 waiting") {
		t.Errorf("%+v", v)
	}
	market(d, pasar.StatusView{Schema: 1}, nil, nil)
	if v := moodNow(t, s); v.Mood != "idle" || v.Headline != "nothing runs, nothing waits" {
		t.Errorf("%+v", v)
	}
}

// TestPicturesOfTheUsersOwnStandIn, if they are files of the directory and nothing else.
func TestWhatIsNoPictureStandsInForNone(t *testing.T) {
	noise := make([]byte, 100)
	for i := range noise {
		noise[i] = byte(i*37 + 11)
	}
	for _, name := range []string{"busy.svg", "busy.png", "busy.webp", "busy.gif", "busy.jpg"} {
		for what, text := range map[string]string{"nothing": "", "noise": string(noise), "text": "a picture of a cat\n", "a page": "<!doctype html><html><body></body></html>",
			"an SVG without its namespace": "<svg></svg>", "text before an SVG": `mine: <svg xmlns="http://www.w3.org/2000/svg"/>`, "XML that ends": `<?xml version="1.0"?><!-- `} {
			s, d := newServer(t)
			market(d, pasar.StatusView{Schema: 1, Jobs: map[pasar.State]int{pasar.Running: 1}}, []pasar.JobView{{ID: 1, State: pasar.Running}}, nil)
			var said bytes.Buffer
			s.Log = slog.New(slog.NewTextHandler(&said, nil))
			dir := t.TempDir()
			s.Mascots = func() string { return dir }
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if v := moodNow(t, s); v.Image != "/mascot/busy.svg" {
				t.Errorf("%s in %s: %s", what, name, v.Image)
			}
			if w := ask(t, s, "GET", "/mascot/busy.svg", "", nil); w.Code != 200 || !strings.HasPrefix(w.Body.String(), `<svg xmlns="http://www.w3.org/2000/svg"`) {
				t.Errorf("%s in %s: %d %.40q", what, name, w.Code, w.Body)
			}
			if n := strings.Count(said.String(), name+" is no "); n != 1 {
				t.Errorf("%s in %s: said %d times: %s", what, name, n, &said)
			}
		}
	}
}

func TestAPictureMayHaveTheNameOfAnotherKind(t *testing.T) {
	s, d := newServer(t)
	market(d, pasar.StatusView{Schema: 1}, nil, nil)
	dir := t.TempDir()
	s.Mascots = func() string { return dir }
	for kind, begins := range map[string]string{"image/png": "\x89PNG\r\n\x1a\n", "image/gif": "GIF89a", "image/jpeg": "\xff\xd8\xff", "image/webp": "RIFF\x04\x00\x00\x00WEBPVP8 "} {
		if err := os.WriteFile(filepath.Join(dir, "idle.png"), []byte(begins+"…"), 0o600); err != nil {
			t.Fatal(err)
		}
		if v := moodNow(t, s); v.Image != "/mascot/idle.png" {
			t.Errorf("%s: %s", kind, v.Image)
		}
		if w := ask(t, s, "GET", "/mascot/idle.png", "", nil); w.Code != 200 || w.Header().Get("Content-Type") != kind {
			t.Errorf("%s: %d %s", kind, w.Code, w.Header().Get("Content-Type"))
		}
	}
}

func TestPicturesOfTheUsersOwnStandIn(t *testing.T) {
	s, d := newServer(t)
	market(d, pasar.StatusView{Schema: 1}, nil, nil)
	var said bytes.Buffer
	s.Log = slog.New(slog.NewTextHandler(&said, nil))
	dir := t.TempDir()
	s.Mascots = func() string { return dir }
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	face := func(file, kind, body string) {
		t.Helper()
		w := ask(t, s, "GET", "/mascot/"+file, "", nil)
		if w.Code != 200 || w.Header().Get("Content-Type") != kind || !strings.HasPrefix(w.Body.String(), body) {
			t.Errorf("%s: %d %s %.60q; want %s %q", file, w.Code, w.Header().Get("Content-Type"), w.Body, kind, body)
		}
		if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "sandbox") || !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "script") {
			t.Errorf("%s: %s", file, csp)
		}
	}
	face("idle.svg", "image/svg+xml", "<svg ")
	if v := moodNow(t, s); v.Image != "/mascot/idle.svg" {
		t.Errorf("%+v", v)
	}
	put("idle.webp", "RIFF\x04\x00\x00\x00WEBPVP8 mine")
	face("idle.webp", "image/webp", "RIFF")
	face("idle.svg", "image/svg+xml", "<svg ") // ours is still there
	if v := moodNow(t, s); v.Image != "/mascot/idle.webp" {
		t.Errorf("%+v", v)
	}
	mine := `<?xml version="1.0" encoding="ISO-8859-1"?><!DOCTYPE svg><!-- mine --><x:svg xmlns:x="http://www.w3.org/2000/svg"/>`
	put("idle.svg", mine)
	face("idle.svg", "image/svg+xml", mine)
	if v := moodNow(t, s); v.Image != "/mascot/idle.svg" {
		t.Errorf("%+v", v)
	}
	_ = os.Remove(filepath.Join(dir, "idle.svg"))
	_ = os.Remove(filepath.Join(dir, "idle.webp"))
	if said.Len() > 0 {
		t.Errorf("nothing was wrong: %s", &said)
	}

	// What isn't a file of that directory, or is too much.
	secret := filepath.Join(t.TempDir(), "secret")
	put("../"+filepath.Base(dir)+"/big", "")
	if err := errors.Join(os.WriteFile(secret, []byte("secret"), 0o600), os.Symlink(secret, filepath.Join(dir, "busy.svg")), os.Symlink("big", filepath.Join(dir, "done.svg")),
		os.Mkdir(filepath.Join(dir, "hot.svg"), 0o700), syscall.Mkfifo(filepath.Join(dir, "oom.svg"), 0o600),
		os.Truncate(filepath.Join(dir, "big"), maxPicture+1), os.Rename(filepath.Join(dir, "big"), filepath.Join(dir, "idle.png"))); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, m := range []string{"busy", "done", "hot", "oom"} {
			face(m+".svg", "image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg"`)
		}
		if v := moodNow(t, s); v.Image != "/mascot/idle.svg" {
			t.Errorf("%+v", v)
		}
	}
	for _, file := range []string{"idle.png", "busy.png", "busy", "busy.svg.svg", "BUSY.svg", "busy.html", ".svg", "..%2fassets%2fmascot%2fbusy.svg", "..%2f..%2fpages.go", "%2e%2e", "busy.svg%00.png"} {
		if w := ask(t, s, "GET", "/mascot/"+file, "", nil); w.Code == 200 {
			t.Errorf("%s: %d %.40q", file, w.Code, w.Body)
		}
	}
	if n := strings.Count(said.String(), "\n"); n != 5 || strings.Contains(said.String(), "secret\n") {
		t.Errorf("%d lines, want one for each of five:\n%s", n, &said)
	}
	said.Reset()
	dir = filepath.Join(dir, "nowhere")
	face("idle.svg", "image/svg+xml", "<svg ")
	face("idle.svg", "image/svg+xml", "<svg ")
	if n := strings.Count(said.String(), "mascot_dir"); n != 1 {
		t.Errorf("%d lines: %s", n, &said)
	}
	if w := ask(t, s, "GET", "/mascot/idle.svg", "", stranger); w.Code != 401 {
		t.Errorf("a stranger: %d", w.Code)
	}
}
