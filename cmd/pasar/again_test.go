package main

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/ui"
)

func TestAWatchedPictureIsOneValueALineOffATerminal(t *testing.T) {
	defer func(d time.Duration) { refreshEvery = d }(refreshEvery)
	refreshEvery = time.Millisecond
	var mu sync.Mutex // guards n and enough
	var enough func()
	n := 0
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		if n++; n == 4 {
			enough()
		}
		return n
	}
	f := newFake(t, verbs{ipc.VerbGPUs: func(_ context.Context, c *ipc.Call) error {
		count()
		return c.Answer(ipc.ViewAnswer{JSON: []byte(`{"schema":1,"machines":[]}`)})
	}, ipc.VerbList: func(_ context.Context, c *ipc.Call) error {
		return c.Chunk(append(jobView(t, job(pasar.JobID(count()), pasar.Running, "")), '\n'))
	}}.handle)
	for _, line := range []string{"gpus --watch --json", "ls --watch --json", "gpus --watch", "ls --watch", "ls --watch --format id"} {
		ctx, cancel := context.WithCancel(t.Context())
		mu.Lock()
		n, enough = 0, cancel
		mu.Unlock()
		r := runIn(t, ctx, f.env(), strings.Fields(line)...)
		cancel()
		values := strings.Count(r.out, "\n")
		switch {
		case strings.Contains(r.out, "\x1b"):
			t.Errorf("%s: escape sequences: %q", line, r.out)
		case strings.HasSuffix(line, "--json"):
			for l := range strings.Lines(r.out) {
				if !json.Valid([]byte(l)) {
					t.Errorf("%s: %q", line, l)
				}
			}
			fallthrough
		default:
			if values < 3 {
				t.Errorf("%s: exit %d, %q, %q", line, r.code, r.out, r.stderr)
			}
		}
	}
}

func TestAPictureThatDoesNotFitSaysSo(t *testing.T) {
	page := "one\ntwo\nthree\n"
	for rows, want := range map[int]string{
		5: "\x1b[Hone\x1b[K\r\ntwo\x1b[K\r\nthree\x1b[K\r\n\x1b[Jq leaves", 4: "\x1b[Hone\x1b[K\r\ntwo\x1b[K\r\nthree\x1b[K\r\n\x1b[Jq leaves",
		3: "\x1b[Hone\x1b[K\r\ntwo\x1b[K\r\n\x1b[Jmore below than fits; q leaves", 1: "\x1b[Hone\x1b[K\r\n\x1b[J",
	} {
		if got := onScreen(page, rows, ui.Style{Width: 80}); got != want {
			t.Errorf("%d rows: %q, want %q", rows, got, want)
		}
	}
}

func TestAWatchRedrawsInPlaceAndLeavesTheTerminalAsItWas(t *testing.T) {
	h := newHome(t)
	m := newTmux(h)
	p := m.open("watch", 80, 12, "/bin/sh")
	for command, want := range map[string]string{"gpus": "MEMORY", "ls": "busy"} {
		p.keys("clear; echo before; pasar submit --gpus 0 --hold --name busy true >/dev/null; pasar "+command+" --watch", "Enter")
		p.shows("q leaves")
		p.shows(want)
		p.resize(120, 9)
		p.until("fits the new size", func() string {
			if rows := p.look(); len(rows) == 9 && strings.Contains(strings.Join(rows, "\n"), "q leaves") {
				return ""
			}
			return "it doesn't"
		})
		leave := map[string]string{"gpus": "q", "ls": "C-c"}[command]
		p.keys(leave)
		p.shows("before")
		p.until("is as it was", func() string {
			if s := p.state(); !strings.Contains(s, calm) {
				return s
			}
			return ""
		})
		p.resize(80, 12)
	}
}
