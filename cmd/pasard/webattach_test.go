package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// A page is a browser at a job's terminal.
type page struct {
	*websocket.Conn
	t    testing.TB
	seen strings.Builder // bytes for its terminal
}

func (h *home) page(addr, path string) *page {
	h.t.Helper()
	ws, _, err := websocket.Dial(h.t.Context(), "http://"+addr+path, &websocket.DialOptions{Subprotocols: []string{"pasar-attach"}})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = ws.CloseNow() })
	ws.SetReadLimit(1 << 20)
	return &page{Conn: ws, t: h.t}
}

// told is an event as a page reads it.
type told struct {
	Event, State, Text, Who string
	Holder                  bool
	Cols, Rows, Code        int
	Error                   struct{ Code, Message, Hint string }
}

// until reads messages until one event is as wanted, or the bytes for the terminal are.
func (p *page) until(want func(e told, seen string) bool) told {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 30*time.Second)
	defer cancel()
	for {
		typ, b, err := p.Read(ctx)
		if err != nil {
			p.t.Fatalf("%v; on the terminal: %q", err, p.seen.String())
		}
		var e told
		if typ == websocket.MessageBinary {
			p.seen.Write(b)
		} else if err := json.Unmarshal(b, &e); err != nil {
			p.t.Fatal(err)
		}
		if e.Event == "error" && !want(e, "") {
			p.t.Fatalf("%+v", e)
		}
		if want(e, p.seen.String()) {
			return e
		}
	}
}

func (p *page) event(name string) told {
	p.t.Helper()
	return p.until(func(e told, _ string) bool { return e.Event == name })
}

func (p *page) shows(text string) {
	p.t.Helper()
	p.until(func(_ told, seen string) bool { return strings.Contains(seen, text) })
}

func (p *page) says(typ websocket.MessageType, text string) {
	p.t.Helper()
	if err := p.Write(p.t.Context(), typ, []byte(text)); err != nil {
		p.t.Fatal(err)
	}
}

func TestAPageWatchesTypesAndSeesTheEndOfAJob(t *testing.T) {
	h := newHome(t)
	addr := h.startWeb()
	h.pasar("submit", "--gpus", "0", "--", "sh", "-c", `printf 'ready\033]52;c;aGk=\007\033[c\n'; read a; echo "<$a>"; read b; stty size; echo "{$b}"; exit 3`)
	h.pasar("wait", "--for", "started", "1")
	p, other := h.page(addr, "/api/jobs/1/attach?attempt=1"), h.page(addr, "/api/jobs/1/attach")
	if e := p.event("welcome"); e.Cols != 120 || e.Rows != 40 || e.Holder {
		t.Errorf("%+v", e)
	}
	p.shows("ready")
	other.shows("ready")
	p.says(websocket.MessageBinary, "not this\r")
	if e := p.event("note"); !strings.Contains(e.Text, "take control") {
		t.Errorf("%+v", e)
	}

	p.says(websocket.MessageText, `{"take":true,"cols":91,"rows":33}`)
	if e := p.event("holder"); !e.Holder {
		t.Errorf("%+v", e)
	}
	p.says(websocket.MessageBinary, "one\r")
	p.shows("<one>")
	other.shows("<one>")

	other.says(websocket.MessageText, `{"take":true,"cols":70,"rows":20}`)
	if e := other.event("holder"); !e.Holder {
		t.Errorf("%+v", e)
	}
	if e := p.event("holder"); e.Holder || e.Who != "a browser" {
		t.Errorf("%+v", e)
	}
	if e := p.event("size"); e.Cols != 70 || e.Rows != 20 {
		t.Errorf("%+v", e)
	}
	p.says(websocket.MessageText, `{"resize":{"cols":30,"rows":10}}`) // of who doesn't hold it
	p.says(websocket.MessageBinary, "stolen\r")
	p.event("note")
	other.says(websocket.MessageBinary, "two\r")
	p.shows("20 70\r\n{two}")
	for _, at := range []*page{p, other} {
		if e := at.event("exit"); e.State != "failed" || e.Code != 3 {
			t.Errorf("%+v", e)
		}
		if _, _, err := at.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
			t.Error(err)
		}
		if s := at.seen.String(); strings.Contains(s, "]52") || strings.Contains(s, "\x1b[c") || strings.Contains(s, "not this") || strings.Contains(s, "stolen") {
			t.Errorf("%q", s)
		}
	}
}

// ofAMoment is how many jobs that live for a moment are attached to as soon as they have a terminal.
const ofAMoment = 200

func TestAPageSeesAllOfAJobThatLivesForAMoment(t *testing.T) {
	h := newHome(t)
	addr := h.startWeb()
	for i := 1; i <= ofAMoment; i++ {
		ask(t, "POST", "http://"+addr+"/api/jobs", `{"command": ["sh", "-c", "echo first; echo last; exit 3"], "gpus": 0}`)
		for deadline := time.Now().Add(30 * time.Second); ; {
			p := h.page(addr, fmt.Sprintf("/api/jobs/%d/attach", i))
			e := p.until(func(e told, _ string) bool { return e.Event == "exit" || e.Event == "error" })
			if e.Event == "error" && strings.HasSuffix(e.Error.Message, "it has no terminal yet") && time.Now().Before(deadline) {
				_ = p.CloseNow()
				continue
			}
			_, _, err := p.Read(t.Context())
			_, after, first := strings.Cut(p.seen.String(), "first") // it may be painted
			if status := websocket.CloseStatus(err); e.Code != 3 || e.State != "failed" || status != websocket.StatusNormalClosure || !first || !strings.Contains(after, "last") {
				t.Fatalf("job %d: %+v, then %d; on the terminal: %q", i, e, status, p.seen.String())
			}
			break
		}
	}
}

func TestAPageThatComesAfterTheEndSeesTheLastOfIt(t *testing.T) {
	h := newHome(t)
	addr := h.startWeb()
	h.pasar("submit", "--wait", "--gpus", "0", "--", "sh", "-c", `i=0; while [ $i -lt 40000 ]; do i=$((i+1)); echo "line $i"; done; printf '\033]52;c;aGk=\007last'`)
	p := h.page(addr, "/api/jobs/1/attach?attempt=1&cols=80&rows=24")
	if e := p.event("welcome"); e.Cols != 120 || e.Rows != 40 || e.Holder {
		t.Errorf("%+v", e)
	}
	p.event("paint")
	if e := p.event("note"); !strings.Contains(e.Text, "this is the end of its output, 256 KiB of ") {
		t.Errorf("%+v", e)
	}
	if e := p.event("exit"); e.State != "completed" || e.Code != 0 {
		t.Errorf("%+v", e)
	}
	if _, _, err := p.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Error(err)
	}
	if s := p.seen.String(); !strings.HasPrefix(s, "line ") || !strings.HasSuffix(s, "line 40000\r\nlast") || strings.Contains(s, "line 1\r\n") {
		t.Errorf("it begins with %.40q and ends with %.40q", s, s[max(0, len(s)-40):])
	}
}

func TestOfAJobWithoutATerminalAPageIsToldWhy(t *testing.T) {
	h := newHome(t)
	addr := h.startWeb()
	h.pasar("submit", "--wait", "--gpus", "0", "--", "true")
	h.pasar("submit", "--gpus", "0", "--hold", "--", "true")
	h.pasar("submit", "--gpus", "0", "--no-pty", "--", "sleep", "100")
	h.pasar("wait", "--for", "started", "3")
	for path, says := range map[string]string{
		"/api/jobs/1/attach":           "job #1 has ended (completed): it has no terminal any more",
		"/api/jobs/1/attach?attempt=2": "job #1 has no attempt 2; it had 1",
		"/api/jobs/2/attach":           "job #2 is queued: it has no terminal yet",
		"/api/jobs/3/attach":           "job #3 has no terminal",
		"/api/jobs/4/attach":           "job 4",
	} {
		p := h.page(addr, path)
		if e := p.event("error"); !strings.Contains(e.Error.Message, says) {
			t.Errorf("%s: %+v", path, e)
		}
		if _, _, err := p.Read(t.Context()); websocket.CloseStatus(err) < 4400 {
			t.Error(err)
		}
	}
}

func TestABrowserAttachesAndFollowsUnderThePagesPolicy(t *testing.T) {
	h := newHome(t)
	addr := h.startWeb()
	h.pasar("submit", "--gpus", "0", "--", "sh", "-c", `echo ready; read x; echo "<$x>"; exit 3`)
	h.pasar("wait", "--for", "started", "1")
	b := openBrowser(t, addr, screens[0])
	b.open("/")
	got := eval[string](b, `Promise.all([new Promise((done) => {
		const ws = new WebSocket("/api/jobs/1/attach?cols=80&rows=24", "pasar-attach"), text = new TextDecoder();
		ws.binaryType = "arraybuffer";
		let seen = "", end = "", typed = false;
		ws.onmessage = (m) => {
			if (typeof m.data !== "string") seen += text.decode(m.data, {stream: true});
			else if (JSON.parse(m.data).event === "exit") end = JSON.parse(m.data).state;
			if (seen.includes("ready") && !typed) {
				typed = true;
				ws.send(JSON.stringify({take: true, cols: 80, rows: 24}));
				ws.send(new TextEncoder().encode("hi\r"));
			}
		};
		ws.onclose = (e) => done(e.code + " " + end + " " + seen.includes("<hi>"));
	}), new Promise((done) => {
		const es = new EventSource("/api/jobs/1/logs?follow"), lines = [];
		es.addEventListener("line", (e) => lines.push(JSON.parse(e.data).line + " " + e.lastEventId));
		es.addEventListener("end", (e) => { es.close(); done(lines.join() + " " + JSON.parse(e.data).state); });
	})]).then((all) => all.join("; "))`)
	if want := "1000 failed true; ready 1:7,hi 1:11,<hi> 1:17 failed"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
