package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"pasar/docs"
)

// startWeb starts the daemon with HTTP on a port of its own, by way of a command if one is given, and returns the address.
func (h *home) startWeb(by ...string) string {
	h.t.Helper()
	return h.startWebWith(func(c *exec.Cmd) {
		if len(by) > 0 {
			c.Args = append(by, c.Path)
			c.Path = "/bin/" + by[0]
		}
	})
}

// startWebWith is startWeb of a command that is changed before it starts.
func (h *home) startWebWith(change func(*exec.Cmd)) string {
	h.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	return h.startWebAt(addr, change)
}

// startWebAt is startWebWith at an address.
func (h *home) startWebAt(addr string, change func(*exec.Cmd)) string {
	h.t.Helper()
	h.spawnWith(func(c *exec.Cmd) {
		c.Env = append(c.Env, "PASAR_ADDRESS="+addr)
		change(c)
	})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		if res, err := http.Get("http://" + addr + "/healthz"); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return addr
			}
		}
		select {
		case <-ctx.Done():
			h.t.Fatalf("HTTP isn't served\n%s", tail(h.log.String(), 2000))
		case <-time.After(5 * time.Millisecond): // a port can't be waited for
		}
	}
}

// pasar runs a command in the home, and returns what it printed.
func (h *home) pasar(args ...string) string {
	h.t.Helper()
	cmd := exec.Command(filepath.Join(bin, "pasar"), args...)
	cmd.Env, cmd.Dir = h.env(), h.dir // no repository: what git sees comes a little later
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatalf("pasar %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// timeless is an answer without what grows while a job waits.
func timeless(s string) string {
	return regexp.MustCompile(`"queue_wait":[0-9.]+`).ReplaceAllString(s, `"queue_wait":0`)
}

func get(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s %v", url, res.StatusCode, b, err)
	}
	return string(b)
}

func TestHTTPAnswersWithTheBytesOfTheCommands(t *testing.T) {
	h := newHome(t)
	addr := h.startWeb()
	h.pasar("submit", "--wait", "--gpus", "0", "--name", "w\u00e9\u202e<b>", "--", "sh", "-c", "printf '<script>\\033[31m\\n'; printf '{\"error\"}'")
	h.pasar("submit", "--gpus", "0", "--hold", "--", "true")
	for path, args := range map[string][]string{
		"/api/jobs/1":                        {"show", "1"},
		"/api/jobs/1/why":                    {"why", "1"},
		"/api/jobs/2":                        {"show", "2"},
		"/api/jobs?all":                      {"ls", "--all"},
		"/api/jobs?state=completed":          {"ls", "--state", "completed"},
		"/api/jobs?tag=none":                 {"ls", "--tag", "none"},
		"/api/stats?since=2026-01-31&by=tag": {"stats", "--since", "2026-01-31", "--by", "tag"},
		"/api/jobs/1/logs?raw":               {"logs", "1", "--raw"},
		"/api/jobs/1/logs":                   {"logs", "1"},
	} {
		var want string
		if args[len(args)-1] == "--raw" {
			want = h.pasar(args...)
		} else {
			want = h.pasar(append(args, "--json")...)
		}
		if got := get(t, "http://"+addr+path); timeless(got) != timeless(want) {
			t.Errorf("%s: %s\npasar %s: %s", path, got, strings.Join(args, " "), want)
		}
	}
	if res, err := http.Get("http://" + addr + "/api/stats?by=moon"); err != nil || res.StatusCode != http.StatusBadRequest {
		t.Errorf("statistics by the moon: %v %v", res, err)
	}
	res, err := http.Post("http://"+addr+"/api/jobs/1/cancel", "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	cmd := exec.Command(filepath.Join(bin, "pasar"), "cancel", "--json", "1")
	cmd.Env = h.env()
	want, _ := cmd.Output() // it is refused
	if err != nil || res.StatusCode != http.StatusConflict || string(got) != string(want) {
		t.Errorf("%d %s; pasar cancel: %s", res.StatusCode, got, want)
	}
}

func TestAnAddressOfEveryInterfaceIsServedWithTheUsualOne(t *testing.T) {
	h := newHome(t)
	h.config = h.dir + "/config.toml"
	addr := h.startWebWith(func(c *exec.Cmd) {
		_, port, err := net.SplitHostPort(c.Env[len(c.Env)-1])
		if err == nil {
			err = os.WriteFile(h.config, []byte("bind = [\"0.0.0.0:"+port+"\"]\n"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if !strings.Contains(get(t, "http://"+addr+"/api/status"), `"data_dir"`) {
		t.Error("this user isn't let in by loopback")
	}
	if link := h.pasar("web"); !strings.HasPrefix(link, "http://"+addr+"/login?code=") {
		t.Error(link)
	}
	if out := h.told("doctor"); !strings.Contains(out, `"check":"HTTP","level":"ok","found":"served at http://`+addr+`"`) {
		t.Errorf("the doctor says\n%s", out)
	}
	h.kill() // its log is whole then
	if n := strings.Count(h.log.String(), "HTTP is up"); n != 1 || strings.Contains(h.log.String(), "HTTP is not served") {
		t.Errorf("%d listeners:\n%s", n, h.log.String())
	}
}

func TestTheGuidesCurlExamplesWork(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip(err)
	}
	text, err := docs.Guide("api")
	if err != nil {
		t.Fatal(err)
	}
	h := newHome(t)
	addr := h.startWeb()
	h.pasar("submit", "--gpus", "0", "--", "sleep", "100") // the job that the examples name
	asked := addr
	if os.Geteuid() == 0 {
		asked = throughAnother(t, addr) // who is asked for the token
	}
	var lines []string
	for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
		lines = append(lines, strings.Split(strings.TrimSpace(m[1]), "\n")...)
	}
	ran, byToken := 0, 0
	for _, line := range lines {
		asks, to := strings.Contains(line, "curl "), addr
		if !asks && !strings.Contains(line, "pasar token") {
			continue
		}
		if ran++; strings.Contains(line, "-H @-") {
			byToken++
			to = asked
		}
		cmd := exec.Command("sh", "-c", strings.ReplaceAll(line, "127.0.0.1:8750", to))
		cmd.Env, cmd.Dir = append(h.env(), "PATH="+bin+":"+os.Getenv("PATH")), h.dir
		out, err := cmd.Output()
		if err != nil || asks && !json.Valid(out) || strings.Contains(string(out), `"error":{`) {
			t.Errorf("%s\n%s%v", line, out, err)
		}
	}
	if ran < 10 || byToken < 2 {
		t.Errorf("%d examples, %d of them with the token", ran, byToken)
	}
}

func TestAJobFromHTTPHasWhatTheDaemonWasGivenAndTheDaemonKeepsIt(t *testing.T) {
	h := newHome(t)
	addr := h.startWeb("sh", "-c", `umask 027; ulimit -Sn 500; exec "$0" "$@"`)
	files := func() string {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", h.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile(`Max open files.*`).FindString(string(b))
	}
	before := files()
	for cwd, says := range map[string]string{"/nowhere": "/nowhere", "no/such": h.dir + "/no/such"} {
		res, err := http.Post("http://"+addr+"/api/jobs", "application/json", strings.NewReader(`{"command":["true"],"gpus":0,"cwd":"`+cwd+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusBadRequest || !strings.Contains(string(b), says) {
			t.Errorf("%s: %d %s", cwd, res.StatusCode, b)
		}
	}
	res, err := http.Post("http://"+addr+"/api/jobs", "application/json", strings.NewReader(`{"command":["sh","-c","umask; ulimit -Sn; pwd; echo $K"],"gpus":0,"env":{"K":"v"}}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	h.pasar("wait", "1")
	if got, want := h.pasar("logs", "1"), "0027\n500\n"+h.dir+"\nv\n"; res.StatusCode != http.StatusCreated || got != want {
		t.Errorf("%d %q; want %q", res.StatusCode, got, want)
	}
	if after := files(); after != before {
		t.Errorf("the daemon had %q, then %q", before, after)
	}
}

func TestAJobFromHTTPHasTheBidOfTheConfigurationAsItIsNow(t *testing.T) {
	h := newHome(t)
	h.config = h.dir + "/config.toml"
	if err := os.WriteFile(h.config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	addr := h.startWeb()
	if err := os.WriteFile(h.config, []byte("default_bid = 1234\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.pasar("reload")
	res, err := http.Post("http://"+addr+"/api/jobs", "application/json", strings.NewReader(`{"command":["true"],"gpus":0}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(b), `"bid":1234,`) {
		t.Errorf("%s %v", b, err)
	}
}

func TestATokenOutlivesTheDaemonAndIsAskedOfNobodyHere(t *testing.T) {
	h := newHome(t)
	addr := h.startWeb()
	first := h.pasar("token")
	link := strings.TrimSpace(h.pasar("web"))
	if !strings.HasPrefix(link, "http://"+addr+"/login?code=") {
		t.Error(link)
	}
	h.kill()
	addr = h.startWeb()
	if second := h.pasar("token"); second != first || !strings.HasPrefix(first, "pasar_") {
		t.Errorf("%q, then %q", first, second)
	}
	get(t, "http://"+addr+"/api/status")
	if third := h.pasar("token", "--new"); third == first {
		t.Error("it is the old one")
	}
	res, err := http.Get(link)
	if err == nil {
		_ = res.Body.Close()
		if res.StatusCode == http.StatusOK {
			t.Error("a link of the daemon before works")
		}
	}
}
