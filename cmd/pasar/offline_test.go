package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"pasar/ipc"
)

func TestNoDaemonAndNoAutostartIs69(t *testing.T) {
	dir := t.TempDir()
	conf := dir + "/config.toml"
	if err := os.WriteFile(conf, []byte("autostart = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + dir, "PASAR_CONFIG=" + conf, "PATH=/usr/bin:/bin"}
	for _, args := range [][]string{{"ls"}, {"wait", "1"}, {"submit", "true"}, {"status"}, {"logs", "-f", "1"}, {"reload"}} {
		if r := runIn(t, t.Context(), env, args...); r.code != exitNoDaemon || r.out != "" || !strings.HasPrefix(r.stderr, "pasar: no daemon at ") {
			t.Errorf("%v: exit %d, %q, %q", args, r.code, r.out, r.stderr)
		}
	}
	if r := runIn(t, t.Context(), env, "shutdown"); r.code != 0 || r.out != "no daemon runs\n" {
		t.Errorf("shutdown: exit %d, %q, %q", r.code, r.out, r.stderr)
	}
}

func TestADaemonThatWontStartIsQuoted(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\necho first >&2\necho 'pasard: the disk \x1b[31mis full' >&2\necho 'hint: make room' >&2\nexit 1\n"
	if err := os.WriteFile(dir+"/pasard", []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + dir, "PATH=" + dir}
	r := runIn(t, t.Context(), env, "ls")
	if r.code != exitNoDaemon || !strings.Contains(r.stderr, `(exit code 1): the disk \x1b[31mis full`+"\nhint: make room\n") || !strings.Contains(r.stderr, "hint: its log is "+dir) {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
	if r := runIn(t, t.Context(), []string{"HOME=" + dir, "PATH=/nonexistent"}, "ls"); r.code != exitNoDaemon || !strings.Contains(r.stderr, "neither beside pasar nor on the PATH") {
		t.Errorf("no pasard: exit %d, %q", r.code, r.stderr)
	}
}

func TestADaemonThatDiesWithoutAWordHasItsLastLineQuoted(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/pasard", []byte("#!/bin/sh\necho 'hint: first' >&2\necho 'panic: last' >&2\nexit 2\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := runIn(t, t.Context(), []string{"HOME=" + dir, "PATH=" + dir}, "ls")
	if r.code != exitNoDaemon || !strings.HasPrefix(r.stderr, "pasar: the daemon ended at once (exit code 2): panic: last\nhint: its log is ") {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
}

func TestALoserOfTheRaceWhoseWinnerListensElsewhereIsExplained(t *testing.T) {
	defer func(d time.Duration) { reconnectFor = d }(reconnectFor)
	reconnectFor = 300 * time.Millisecond
	h := newHome(t)
	if out := h.pasar("submit", "--gpus", "0", "true"); !strings.Contains(out, "submitted") {
		t.Fatal(out)
	}
	pid := strings.TrimSpace(h.pasar("version"))
	r := runIn(t, t.Context(), append(h.env, "PASAR_SOCKET="+h.dir+"/elsewhere/d.sock"), "ls")
	_, pid, _ = strings.Cut(pid, "(pid ")
	want := "pasar: no daemon answers at " + h.dir + "/elsewhere/d.sock: another pasard (pid " + strings.TrimSuffix(pid, ")") + ") serves " + h.dir + "/.local/share/pasar\nhint: one daemon"
	if r.code != exitNoDaemon || !strings.HasPrefix(r.stderr, want) {
		t.Errorf("exit %d, %q\nwant %q", r.code, r.stderr, want)
	}
}

func TestNoDaemonIsStartedFromInsideItsOwnJob(t *testing.T) {
	defer func(d time.Duration) { reconnectFor = d }(reconnectFor)
	reconnectFor = 10 * time.Millisecond
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/pasard", []byte("#!/bin/sh\ntouch "+dir+"/started\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + dir, "XDG_DATA_HOME=" + dir, "PATH=" + dir + ":/bin:/usr/bin"}
	started := func() bool { _, err := os.Stat(dir + "/started"); return err == nil }
	inside := append(env, "PASAR_JOB_DIR="+dir+"/pasar/jobs/4")
	if r := runIn(t, t.Context(), inside, "ls"); r.code != exitNoDaemon || started() || !strings.Contains(r.stderr, "from inside a job") {
		t.Errorf("inside: exit %d, started %v, %q", r.code, started(), r.stderr)
	}
	reconnectFor = 10 * time.Second                               // the program tells by its end
	other := append(env, "PASAR_JOB_DIR=/elsewhere/pasar/jobs/4") // a throw-away daemon of a test, say
	if r := runIn(t, t.Context(), other, "ls"); r.code != exitNoDaemon || !started() {
		t.Errorf("inside another's: exit %d, started %v, %q", r.code, started(), r.stderr)
	}
}

func TestABadConfigurationIs65WithFileAndLine(t *testing.T) {
	dir := t.TempDir()
	bad := dir + "/bad.toml"
	if err := os.WriteFile(bad, []byte("autostart = true\nautostrat = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"config", "--check", bad}, {"ls"}, {"config"}} {
		r := runIn(t, t.Context(), []string{"HOME=" + dir, "PASAR_CONFIG=" + bad}, args...)
		if r.code != exitBadInput || !strings.HasPrefix(r.stderr, "pasar: "+bad+":2: autostrat") {
			t.Errorf("%v: exit %d, %q", args, r.code, r.stderr)
		}
	}
	if r := runIn(t, t.Context(), []string{"HOME=" + dir}, "config", "--check", dir+"/none"); r.code != exitBadInput {
		t.Errorf("a file that isn't there: exit %d, %q", r.code, r.stderr)
	}
}

func TestEventAppendsALine(t *testing.T) {
	path := t.TempDir() + "/events"
	env := []string{"PASAR_EVENTS=" + path}
	for _, args := range [][]string{{"event", "progress", "--step", "3", "--total-steps", "9", "loss=0.5"}, {"event", "note", "two words"},
		{"event", "checkpoint", "--step", "3", "--path", "/c"}} {
		if r := runIn(t, t.Context(), env, args...); r.code != 0 || r.out != "" {
			t.Errorf("%v: exit %d, %q", args, r.code, r.stderr)
		}
	}
	b, err := os.ReadFile(path)
	want := `{"event":"progress","step":3,"total_steps":9,"loss":0.5}` + "\n" + `{"event":"note","text":"two words"}` + "\n" + `{"event":"checkpoint","step":3,"path":"/c"}` + "\n"
	if err != nil || string(b) != want {
		t.Errorf("wrote %q, %v", b, err)
	}
	for _, args := range [][]string{{"event", "chekpoint"}, {"event", "progress", "loss=NaN"}, {"event", "progress", "loss"}, {"event", "note"}, {"event", "checkpoint", "x=1"}} {
		if r := runIn(t, t.Context(), env, args...); r.code != exitUsage {
			t.Errorf("%v: exit %d, %q", args, r.code, r.stderr)
		}
	}
}

func TestTheGuideNeedsNothing(t *testing.T) {
	if r := runIn(t, t.Context(), nil, "guide"); r.code != 0 || !strings.Contains(r.out, "pasar submit") {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
	dir := t.TempDir()
	for range 2 { // a second time it is there already
		if r := runIn(t, t.Context(), nil, "guide", "helper", "--write", dir); r.code != 0 || r.out != dir+"/pasar_job.py\n" {
			t.Errorf("exit %d, %q, %q", r.code, r.out, r.stderr)
		}
	}
	if err := os.WriteFile(dir+"/pasar_job.py", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := runIn(t, t.Context(), nil, "guide", "helper", "--write", dir); r.code != exitUsage {
		t.Errorf("another file of that name: exit %d", r.code)
	}
}

func TestSomeoneElsesSocketIs77(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	f := newFake(t, verbs{}.handle)
	if err := os.Chown(f.path, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	r := f.run("ls")
	if r.code != exitNotAllowed || !strings.Contains(r.stderr, "belongs to uid 12345, not to you") {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
}

func TestWhatIsNoDaemonIsNotTakenForOne(t *testing.T) {
	defer func(d time.Duration) { reconnectFor = d }(reconnectFor)
	reconnectFor = 10 * time.Millisecond
	dir, err := os.MkdirTemp("", "pasar")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := ipc.ListenUnix(dir + "/d.sock")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			_ = c.Close()
		}
	}()
	conf := dir + "/c.toml"
	if err := os.WriteFile(conf, []byte("autostart = false"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := runIn(t, t.Context(), []string{"HOME=" + dir, "PASAR_SOCKET=" + dir + "/d.sock", "PASAR_CONFIG=" + conf}, "status")
	if r.code != exitNoDaemon || !strings.HasPrefix(r.stderr, "pasar: lost the daemon: frame too large") {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
}
