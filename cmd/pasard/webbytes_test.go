package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pasar/answer"
	"pasar/ipc"
)

// moving are the keys whose values go on by themselves from one answer to the next: what the clock and the machine do.
var moving = regexp.MustCompile(`"(queue_wait|queue_time|run_time|remaining|pressure|available|looked_at|free|from|since|until|reserved|start|finish|to|delay)":(null|"[^"]*"|-?[0-9][0-9.e+-]*)|(reserved for) [0-9:]+`)

// settled is an answer without what moves by itself.
func settled(s string) string { return moving.ReplaceAllString(s, `"$1":0$3`) }

// told is what a command prints with --json, however it exits.
func (h *home) told(line string) string {
	h.t.Helper()
	name, rest, _ := strings.Cut(line, " ")
	cmd := exec.Command(filepath.Join(bin, "pasar"), append([]string{name, "--json"}, strings.Fields(rest)...)...)
	cmd.Env, cmd.Dir = h.env(), h.dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		h.t.Fatal(err)
	}
	return string(out)
}

func ask(t *testing.T, method, url, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestHTTPAndTheCommandsAnswerWithTheSameBytes(t *testing.T) {
	h := newHome(t)
	api := "http://" + h.startWeb() + "/api"
	h.pasar("submit", "--wait", "--gpus", "0", "--", "true")                                                           // 1: over
	h.pasar("submit", "--gpus", "0", "--hold", "--name", "n", "--tag", "a", "--", "true")                              // 2: waits
	h.pasar("submit", "--gpus", "0", "--hold", "--bid", "1200", "--", "true")                                          // 3: waits before it
	h.pasar("submit", "--gpus", "0", "--pausable", "--no-pty", "--", "sh", "-c", `trap "" TERM; sleep 100; sleep 100`) // 4: runs, and stays
	h.pasar("wait", "--for", "started", "4")
	h.pasar("submit", "--gpus", "0", "--hold", "--tag", "grid", "--array", "0-2", "--", "true") // 5 to 7
	h.pasar("bid", "6", "3000")                                                                 // before 5
	h.pasar("cancel", "7")
	for _, c := range []struct {
		before       string // a command, before each of the two
		line         string // the command that is compared
		method, path string
		body         string
	}{
		{"", "status", "GET", "/status", ""},
		{"", "gpus", "GET", "/gpus", ""},
		{"", "gpus --history 6h", "GET", "/gpu?since=6h", ""},
		{"", "stats --since 2026-01-31T00:00:00Z", "GET", "/stats?since=2026-01-31", ""},
		{"", "stats --since 2026-01-31T00:00:00Z --by reason", "GET", "/stats?since=2026-01-31&by=reason", ""},
		{"", "ls", "GET", "/jobs", ""},
		{"", "ls --all --state queued --since 1d --until 2100-01-01T00:00:00Z", "GET", "/jobs?all&state=queued&since=1d&until=2100-01-01", ""},
		{"", "ls --until 2026-01-31", "GET", "/jobs?until=2026-01-31", ""},
		{"", "ls --since 00:00 --until 2100-01-31T15:04", "GET", "/jobs?since=00:00&until=2100-01-31%2015:04", ""},
		{"", "ls group:5", "GET", "/jobs?group=5", ""},
		{"", "ls group:5 --state queued,cancelled --limit 2", "GET", "/jobs?group=5&state=queued,cancelled&limit=2", ""},
		{"", "ls group:5 --state failed", "GET", "/jobs?group=5&state=failed", ""},
		{"", "ls group:6", "GET", "/jobs?group=6", ""},
		{"", "ls group:99", "GET", "/jobs?group=99", ""},
		{"", "ls 6-7,5,#6 1", "GET", "/jobs?job=6,7,5,6&job=1", ""},
		{"", "ls 5-7,2 --state Cancelled --state queued --tag @grid", "GET", "/jobs?job=5,6,7,2&state=Cancelled&state=queued&tag=@grid", ""},
		{"", "ls 1 99", "GET", "/jobs?job=1,99", ""},
		{"", "ls @grid", "GET", "/jobs?tag=grid", ""},
		{"", "ls --tag none", "GET", "/jobs?tag=none", ""},
		{"", "ls --by nobody --machine local", "GET", "/jobs?by=nobody&machine=local", ""},
		{"", "ls --machine local --all --limit 1", "GET", "/jobs?machine=local&all&limit=1", ""},
		{"", "show 1", "GET", "/jobs/1", ""},
		{"", "show 99", "GET", "/jobs/99", ""},
		{"", "why 2", "GET", "/jobs/2/why", ""},
		{"", "wait 1", "GET", "/jobs/1/wait", ""},
		{"", "wait 2 --timeout 1s", "GET", "/jobs/2/wait?timeout=1s", ""},
		{"", "wait 4 --for started", "GET", "/jobs/4/wait?for=started", ""},
		{"", "submit --dry-run --gpus 0 --time 1h true", "GET", "/plan?gpus=0&time=1h", ""},
		{"", "submit --dry-run --gpus 0 --bid 2000 --array 0-2 -- echo {index}", "POST", "/jobs", `{"command":["echo","{index}"],"gpus":0,"bid":2000,"array":[0,1,2],"dry_run":true}`},
		{"", "submit --gpus 0 --hold --key one -- true", "POST", "/jobs", `{"command":["true"],"gpus":0,"hold":true,"key":"one"}`},
		{"", "submit --gpus 0 --hold --key many --param lr=1,2 --array 0-2%2 -- echo {lr}", "POST", "/jobs", `{"command":["echo","{lr}"],"gpus":0,"hold":true,"key":"many","array":"0-2%2","param":{"lr":[1,2]}}`},
		{"", "submit --mem 99999G true", "POST", "/jobs", `{"command":["true"],"mem":"99999G"}`},
		{"", "bid 2 1500 --dry-run", "PATCH", "/jobs/2", `{"bid":1500,"dry_run":true}`},
		{"bid 2 1000", "bid 2 1500", "PATCH", "/jobs/2", `{"bid":1500}`},
		{"bid 2 1000", "promote 2 --dry-run", "POST", "/jobs/2/promote", `{"dry_run":true}`},
		{"bid 2 1000", "promote 2", "POST", "/jobs/2/promote", ""},
		{"", "bid 1 5", "PATCH", "/jobs/1", `{"bid":5}`},
		{"edit 2 --time 1h", "edit 2 --time 2h --tag b", "PATCH", "/jobs/2", `{"time":"2h","tags":["b"]}`},
		{"", "hold 1", "POST", "/jobs/1/hold", ""},
		{"hold 2", "hold 2", "POST", "/jobs/2/hold", ""},
		{"", "release 1", "POST", "/jobs/1/release", ""},
		{"", "pause 2", "POST", "/jobs/2/pause", ""},
		{"", "pause 4", "POST", "/jobs/4/pause", ""},
		{"", "resume 2", "POST", "/jobs/2/resume", ""},
		{"cancel 1", "restart 1 --hold --gpus 0", "POST", "/jobs/1/restart", `{"hold":true,"gpus":0}`},
		{"", "restart 4", "POST", "/jobs/4/restart", ""},
		{"", "cancel 4", "POST", "/jobs/4/cancel", ""},
		{"", "cancel 99", "POST", "/jobs/99/cancel", ""},
	} {
		if c.before != "" {
			h.told(c.before)
		}
		want := settled(h.told(c.line))
		if c.before != "" {
			h.told(c.before)
		}
		got := settled(ask(t, c.method, api+c.path, c.body))
		if strings.Contains(c.line, "99999G") { // the hint names a flag to one, a key to the other
			got, want = strings.ReplaceAll(got, `"hint":"mem`, `"hint":"--mem`), strings.ReplaceAll(want, "leave out --mem", "leave out mem")
		}
		if got != want {
			t.Errorf("%s %s %s: %s\npasar %s: %s", c.method, c.path, c.body, got, c.line, want)
		}
	}
	// No command prints what awaits approval, and what was reported: they are the protocol's.
	c, err := ipc.Dial(t.Context(), h.socket())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for path, get := range map[string]func(context.Context) ([]byte, error){
		"/cloud":          c.Approvals,
		"/jobs/4/metrics": func(ctx context.Context) ([]byte, error) { return c.Metrics(ctx, ipc.MetricsRequest{Job: 4}) },
	} {
		want, err := get(t.Context())
		if got := ask(t, "GET", api+path, ""); err != nil || got != string(answer.Line(want)) {
			t.Errorf("%s: %s\nthe daemon: %s, %v", path, got, want, err)
		}
	}
	h.told("cancel 4 --now")
}
