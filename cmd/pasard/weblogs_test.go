package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestOutputAndScreenOverHTTPAreTheBytesOfTheCommands(t *testing.T) {
	h := newHome(t)
	addr := h.startWeb()
	h.pasar("submit", "--wait", "--gpus", "0", "--name", "<b>", "--", "sh", "-c",
		`i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i+1)); done; printf ' 10%%\r 100%%\r\n\033[31m<script>alert(1)</script>\033[0m\033]52;c;aGk=\007\n\342\200\256\377no end'`)
	h.pasar("submit", "--gpus", "0", "--no-pty", "--", "sh", "-c", "echo out; sleep 0.1; echo err >&2; sleep 0.1; echo out again; exec sleep 100")
	h.pasar("submit", "--wait", "--gpus", "0", "--", "sh", "-c", `echo "try $PASAR_ATTEMPT"`)
	h.pasar("restart", "3")
	h.pasar("wait", "3")
	h.pasar("submit", "--gpus", "0", "--", "sh", "-c", `printf '\033]0;title\007on \033[1mthe\033[0m screen\033[5;7H'; exec sleep 100`)
	for h.pasar("logs", "2", "-n", "1") != "out again\n" || !strings.Contains(h.pasar("screen", "4"), "on the screen") {
		time.Sleep(10 * time.Millisecond) // what jobs print can't be waited for
	}
	for path, args := range map[string]string{
		"/api/jobs/1/logs":                            "logs 1",
		"/api/jobs/1/logs?lines=4":                    "logs -n 4 1",
		"/api/jobs/1/logs?lines=0":                    "logs -n 0 1",
		"/api/jobs/1/logs?lines=2500&attempt=1":       "logs -n 2500 --attempt 1 1",
		"/api/jobs/1/logs?lines=100000":               "logs -n 100000 1",
		"/api/jobs/1/logs?since=2026-01-31":           "logs --since 2026-01-31 1",
		"/api/jobs/1/logs?since=2199-01-31T00:00:00Z": "logs --since 2199-01-31T00:00:00Z 1",
		"/api/jobs/2/logs":                            "logs 2",
		"/api/jobs/2/logs?stdout":                     "logs --stdout 2",
		"/api/jobs/2/logs?stderr&lines=1":             "logs --stderr -n 1 2",
		"/api/jobs/3/logs":                            "logs 3",
		"/api/jobs/3/logs?attempt=1":                  "logs --attempt 1 3",
		"/api/jobs/4/screen":                          "screen 4",
		"/api/jobs/4/screen?attempt=1":                "screen 4",
	} {
		if got, want := get(t, "http://"+addr+path), h.pasar(append(strings.Fields(args), "--json")...); got != want {
			t.Errorf("%s: %.300s\npasar %s: %.300s", path, got, args, want)
		}
	}
	for path, want := range map[string]struct {
		status int
		says   string
	}{
		"/api/jobs/4/logs?stderr":      {http.StatusConflict, "one stream"},
		"/api/jobs/9/logs":             {http.StatusNotFound, "unknown_job"},
		"/api/jobs/9/logs?follow":      {http.StatusNotFound, "unknown_job"},
		"/api/jobs/1/logs?attempt=2":   {http.StatusBadRequest, "no attempt 2"},
		"/api/jobs/1/screen":           {http.StatusConflict, "has ended"},
		"/api/jobs/2/screen":           {http.StatusConflict, "without a terminal"},
		"/api/jobs/4/screen?attempt=2": {http.StatusBadRequest, "no attempt 2"},
		"/api/jobs/3/screen?attempt=1": {http.StatusConflict, "is over"},
	} {
		res, err := http.Get("http://" + addr + path)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != want.status || !strings.Contains(string(b), want.says) || strings.Count(string(b), "\n") != 1 {
			t.Errorf("%s: %d %s", path, res.StatusCode, b)
		}
	}
}

// A listener reads a stream of events.
type listener struct {
	t  testing.TB
	in *bufio.Scanner
}

func (h *home) listen(addr, path, lastID string) *listener {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 60*time.Second)
	h.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", "http://"+addr+path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		h.t.Fatal(res, err)
	}
	h.t.Cleanup(func() { _ = res.Body.Close() })
	return &listener{h.t, bufio.NewScanner(res.Body)}
}

// next is the next event: its name, its id, and of lines the text, else the data.
func (l *listener) next() (name, id, data string) {
	l.t.Helper()
	for l.in.Scan() {
		key, value, _ := strings.Cut(l.in.Text(), ": ")
		switch key {
		case "event":
			name = value
		case "id":
			id = value
		case "data":
			data = value
		case "":
			if name != "" {
				if _, line, ok := strings.Cut(data, `"line":"`); ok {
					data = strings.TrimSuffix(line, `"}`)
				}
				return name, id, data
			}
		}
	}
	l.t.Fatalf("the stream ended: %v", l.in.Err())
	return
}

func TestAJobIsFollowedOverHTTPFromItsWaitToItsEnd(t *testing.T) {
	h := newHome(t)
	addr := h.startWeb()
	h.pasar("submit", "--gpus", "0", "--hold", "--retries", "1", "--retry-on", "exit", "--", "sh", "-c", `echo "try $PASAR_ATTEMPT <b>"; printf ' 50%%'; read x; printf '\r100%%\n'; exit 7`)
	l := h.listen(addr, "/api/jobs/1/logs?follow&lines=100", "")
	h.pasar("release", "1")
	var ids []string
	want := func(event, text string) {
		t.Helper()
		name, id, data := l.next()
		for name == "partial" && event != "partial" { // how the line came about is seen by chance
			name, id, data = l.next()
		}
		if name != event || !strings.Contains(data, text) {
			t.Fatalf("%s %s, want %s %s", name, data, event, text)
		}
		if id != "" {
			ids = append(ids, id)
		}
	}
	for _, attempt := range []string{"1", "2"} {
		want("attempt", `"attempt":`+attempt)
		want("line", "try "+attempt+` \u003cb\u003e`)
		want("partial", " 50%")
		h.pasar("send", "--enter", "1", "go")
		want("line", " 50%go") // the terminal's echo
		want("line", "100%")
	}
	want("end", `"attempt":2,"state":"failed","error":null`)
	if len(ids) != 8 {
		t.Fatalf("%q", ids)
	}
	first := ids[1]
	for _, again := range []*listener{ // it broke off after the first line
		h.listen(addr, "/api/jobs/1/logs?follow&lines=100", first),
		h.listen(addr, "/api/jobs/1/logs?follow&lines=100&last_event_id="+first, ""),
		h.listen(addr, "/api/jobs/1/logs?follow&lines=100&last_event_id=1:0", first), // it broke off once more: the browser's own word is the newer
	} {
		l = again
		for _, line := range []string{" 50%go", "100%"} {
			want("line", line)
		}
		want("attempt", `"attempt":2`)
		for _, line := range []string{"try 2", " 50%go", "100%"} {
			want("line", line)
		}
		want("end", `"state":"failed"`)
	}
}
