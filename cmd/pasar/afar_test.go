package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pasar/ipc"
)

// An afar is a machine that PASAR_URL names, and a home here from which it is reached.
type afar struct {
	t         *testing.T
	near, far *home
	name      string // as commands call it
	dir       string // the far home, as jobs see it
	starts    bool   // a daemon that was shut down is started again
}

// newNear is a home in which PASAR_URL names another machine, and nothing else is pasar's. That it stays so is
// checked in the end.
func newNear(t *testing.T, path string, env ...string) *home {
	t.Helper()
	dir, err := os.MkdirTemp("", "pasar")
	if err != nil {
		t.Fatal(err)
	}
	h := &home{t: t, dir: dir, env: append([]string{"HOME=" + dir, "USER=bob", "LANG=C.UTF-8", "TERM=xterm", "ONLY_NEAR=1", "PATH=" + path}, env...)}
	t.Cleanup(func() {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && (filepath.Base(path) == "pasard.sock" || filepath.Base(path) == "pasar.db") {
				t.Errorf("a daemon was started on this machine: %s", path)
			}
			return nil
		})
		_ = os.RemoveAll(dir)
	})
	return h
}

// fakeSSH is an ssh that checks how it is called, greets as shells do, and runs the command here in the far home.
const fakeSSH = `#!/bin/sh
echo "$@" >> "$HOME/ssh.log"
while [ "$1" != -- ]; do
	case "$1" in
	-T) shift ;;
	-o | -p | -l) shift 2 ;;
	*) echo "fake ssh: odd option $1" >&2; exit 255 ;;
	esac
done
shift; host=$1; shift
case $host in
unknown) echo "ssh: Could not resolve hostname unknown: Name or service not known" >&2; exit 255 ;;
locked) printf 'Welcome\nada@locked: Permission denied (publickey).\r\n' >&2; exit 255 ;;
bare) echo "sh: 1: pasar: not found" >&2; exit 127 ;;
old) echo 'pasar: unknown command "proxy"' >&2; exit 64 ;;
chatty) echo 'This account is not available.'; exit 1 ;;
other) echo 'pasar-proxy 2 {}'; exit 0 ;;
esac
echo "Last login: today"; printf 'no newline here'
cd FARHOME && exec env -i HOME=FARHOME USER=ada LANG=C.UTF-8 PATH=FARPATH PASAR_ADDRESS=off PASAR_URL=ssh://loop ONLY_FAR=1 FAREXTRA sh -c "$*"
`

// overFakeSSH is a machine behind a fake ssh.
func overFakeSSH(t *testing.T, extra ...string) *afar {
	t.Helper()
	far := newHome(t)
	far.env = append(far.env, "PASAR_ADDRESS=off")
	dir := t.TempDir()
	script := strings.NewReplacer("FARHOME", far.dir, "FARPATH", bin+":/usr/bin:/bin", "FAREXTRA", strings.Join(extra, " ")).Replace(fakeSSH)
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return &afar{t: t, near: newNear(t, dir+":"+bin+":/usr/bin:/bin", "PASAR_URL=ssh://box"), far: far, name: "box", dir: far.dir, starts: true}
}

// run runs a command from here, which must exit so; it returns what it printed.
func (a *afar) run(code int, args ...string) string {
	a.t.Helper()
	cmd := a.near.command(args...)
	out, _ := cmd.CombinedOutput() // what it says is what tests look at
	if got := cmd.ProcessState.ExitCode(); got != code {
		a.t.Fatalf("pasar %q: exit %d, want %d: %s", args, got, code, out)
	}
	return string(out)
}

func (a *afar) says(want string, code int, args ...string) {
	a.t.Helper()
	if out := a.run(code, args...); !strings.Contains(out, want) {
		a.t.Fatalf("pasar %q printed %q, want %q", args, out, want)
	}
}

// everyCommand does from another machine what people do all day.
func (a *afar) everyCommand() {
	t := a.t
	t.Helper()
	if out := a.run(0, "ls"); out != "" {
		t.Errorf("jobs: %q", out)
	}
	if err := os.Mkdir(filepath.Join(a.far.dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	a.says("submitted #1", 0, "submit", "--gpus", "0", "--cwd", "sub", "--env", "K=v w", "--name", "talk", `pwd; echo "<$K$ONLY_NEAR$PASAR_URL>"; while read x; do echo "got <$x>"; test "$x" = end && break; done; exit 6`)
	a.run(0, "wait", "--for", "started", "1")
	logs := a.near.command("logs", "-f", "1")
	followed := &strings.Builder{}
	logs.Stdout = followed
	if err := logs.Start(); err != nil {
		t.Fatal(err)
	}
	a.says("typed 6 bytes into #1 talk", 0, "send", "--enter", "1", "hello")
	for end := time.Now().Add(20 * time.Second); !strings.Contains(a.run(0, "screen", "1"), "got <hello>"); {
		if time.Now().After(end) {
			t.Fatal("what was typed isn't on the screen")
		}
	}
	if out := a.run(0, "__complete", "cancel", ""); !strings.Contains(out, "1\ttalk, running") {
		t.Errorf("completion: %q", out)
	}

	s := a.near.onTerminal("attach", "1")
	s.expect("watching #1 talk; q leaves")
	s.expect("got <hello>")
	s.typing("q")
	s.ended(s.was, 0)
	s = a.near.onTerminal("attach", "-i", "1")
	s.expect("got <hello>")
	s.typing("again\r")
	s.expect("got <again>")
	s.typing("end\r")
	s.expect("got <end>")
	s.ended(s.was, exitFailed)
	s.expect("#1 talk failed after")

	if err := logs.Wait(); err != nil {
		t.Errorf("logs -f: %v", err)
	}
	want := a.dir + "/sub\n<v w>\n"
	if !strings.HasPrefix(followed.String(), want) || !strings.Contains(followed.String(), "got <end>") {
		t.Errorf("logs -f: %q, want %q first", followed, want)
	}
	a.run(exitFailed, "wait", "1")
	a.says("it has no terminal any more", exitRefused, "screen", "1")
	a.says("there is no job 99", exitRefused, "show", "99")
	a.says("there is no such directory", exitUsage, "submit", "--gpus", "0", "--cwd", "/none", "true")
	a.says("#2", 0, "submit", "--gpus", "0", "--wait", "--no-env", "echo home; pwd")
	a.says("home\n"+a.dir+"\n", 0, "logs", "2")
	a.says("is about this machine, and PASAR_URL names "+a.name, exitUsage, "doctor")
	a.says("PASAR_URL names "+a.name, 0, "config")
	a.says("on "+a.name, 0, "version")
	a.says("the daemon of "+a.name+" was told to end", 0, "shutdown")
	if a.starts {
		a.says("talk", 0, "ls")
	} else {
		a.near.until("nobody answers any more", func() bool { return strings.Contains(a.near.pasar("ls"), "connection refused") })
	}
}

func TestEveryCommandWorksFromAnotherMachineBySSH(t *testing.T) {
	a := overFakeSSH(t)
	a.everyCommand()
	log, err := os.ReadFile(filepath.Join(a.near.dir, "ssh.log"))
	if err != nil || !strings.Contains(string(log), " -- box pasar proxy\n") || !strings.Contains(string(log), " -- box pasar proxy --no-start --job 1 --attempt 1\n") {
		t.Errorf("%v\n%s", err, log)
	}
	if !strings.Contains(string(log), "-o ServerAliveInterval=3 -o ServerAliveCountMax=1") {
		t.Error("a link that is cut would not be noticed")
	}
}

func TestSSHsFailuresAreOneClearError(t *testing.T) {
	a := overFakeSSH(t, "PASAR_CONFIG=/none/such.toml")
	for url, want := range map[string]string{
		"ssh://unknown":            "pasar: reach unknown by ssh: Could not resolve hostname unknown: Name or service not known\nhint: `ssh unknown true` has to work by itself; see also `ssh -v`\n",
		"ssh://ada@locked:2022":    "pasar: reach locked by ssh: ada@locked: Permission denied (publickey)\nhint: `ssh -p 2022 ada@locked true` has to work by itself; see also `ssh -v`\n",
		"ssh://bare":               "pasar: bare has no pasar on the PATH that ssh gets\nhint: install it there, or give its path: PASAR_URL=ssh://bare/path/to/pasar\n",
		"ssh://bare/opt/it's here": "pasar: bare can't run /opt/it's here: sh: 1: pasar: not found\nhint: the path stands behind the host: PASAR_URL=ssh://bare/path/to/pasar\n",
		"ssh://old":                "pasar: the pasar on old doesn't know `pasar proxy`\nhint: install the same pasar on both machines\n",
		"ssh://chatty":             "pasar: chatty: pasar ended before it answered: This account is not available.\nhint: `ssh chatty pasar proxy` shows more\n",
		"ssh://other":              "pasar: other: it speaks version 2 of `pasar proxy`, this pasar version 1\nhint: install the same pasar on both machines\n",
	} {
		a.near.env = append(a.near.env, "PASAR_URL="+url)
		code := exitNoDaemon
		if url == "ssh://other" {
			code = exitRefused
		}
		if got := a.run(code, "ls"); got != want {
			t.Errorf("%s: %q\nwant %q", url, got, want)
		}
	}
	a.near.env = append(a.near.env, "PASAR_URL=ssh://unknown")
	a.says("pasar: reach unknown by ssh: ", exitNoDaemon, "shutdown")
	a.says("pasar: reach unknown by ssh: ", exitNoDaemon, "logs", "1")
	a.says("pasar: reach unknown by ssh: ", exitNoDaemon, "attach", "1")
	a.near.env = append(a.near.env, "PASAR_URL=ssh://box")
	a.says("pasar: box: ", exitBadInput, "ls")
	a.near.env = append(a.near.env, "PATH=/none")
	a.says("pasar: reach box: there is no ssh on the PATH\n", exitNoDaemon, "ls")
}

func TestAPasarElsewhereIsRunWhereItsPathSays(t *testing.T) {
	a := overFakeSSH(t)
	if err := os.Symlink(filepath.Join(bin, "pasar"), filepath.Join(a.far.dir, "my pasar")); err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{"ssh://box" + a.far.dir + "/my%20pasar", "ssh://ada@box:22/~/my%20pasar"} {
		a.near.env = append(a.near.env, "PASAR_URL="+url)
		a.run(0, "status")
	}
}

func TestARubbishURLIsABadArgument(t *testing.T) {
	near := newNear(t, bin+":/usr/bin:/bin", "PASAR_TOKEN=a b")
	for _, url := range []string{"box", "ssh:box", "ssh://", "ftp://box", "https://box", "ssh://-oProxyCommand=x", "ssh://-oProxyCommand=x@box", "ssh://a:b@box",
		"ssh://box?x=1", "ssh://box#x", "ssh://b%20ox", "ssh://$(x)", "ssh://box:port", "ssh://box/a%0ab", "http://ada@box", "http://box/x", "http://box", "unix:///x", "ssh://bo;x"} {
		near.env = append(near.env, "PASAR_URL="+url)
		for _, args := range [][]string{{"ls"}, {"submit", "true"}, {"attach", "1"}, {"logs", "1"}} {
			cmd := near.command(args...)
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != exitUsage || !strings.HasPrefix(string(out), "pasar: PASAR_") {
				t.Errorf("%s: %q: exit %d, %s", url, args, code, out)
			}
		}
	}
	if out := near.pasar("ls", "--json"); !strings.HasPrefix(out, `{"schema":1,"error":{"code":"usage"`) {
		t.Error(out)
	}
	if out := near.pasar("help"); !strings.HasPrefix(out, "pasar runs jobs") {
		t.Error(out)
	}
}

// TestAJobFromAfarIsAsTheOtherMachineHasIt holds that of what isn't said, the other machine's configuration counts, and that
// files are read where the command is typed.
func TestAJobFromAfarIsAsTheOtherMachineHasIt(t *testing.T) {
	a := overFakeSSH(t)
	for home, text := range map[string]string{a.far.dir: "default_bid = 1234\ndefault_grace = \"33s\"\n", a.near.dir: "default_bid = 77\nrequire_time = true\n"} {
		dir := filepath.Join(home, ".config/pasar")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"job.toml": "command = [\"true\"]\ngpus = 0\nname = \"from a file\"\nbid = 5\n", "s.sh": "#!/bin/sh\n#PASAR --name wrong\n"} {
		if err := os.WriteFile(filepath.Join(a.near.dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	a.run(0, "submit", "--hold", "--gpus", "0", "--", "./s.sh")
	a.run(0, "submit", "--hold", "--job", "job.toml")
	a.run(0, "submit", "--hold", "--gpus", "0", "--env", "HOME", "--bid", "0", "--grace", "1s", "--no-env", "--", "true")
	if got, want := a.run(0, "ls", "--format", "name,bid"), "s\t1234\nfrom a file\t5\ntrue\t0\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if out := a.run(0, "show", "--json", "1"); !strings.Contains(out, `"grace":33`) {
		t.Error(out)
	}
	a.says("would start", 0, "submit", "--dry-run", "--gpus", "0", "--", "true")
}

// TestAnInterruptionIsNotALostLink holds that Ctrl-C, which ends ssh as well, counts as what it is.
func TestAnInterruptionIsNotALostLink(t *testing.T) {
	a := overFakeSSH(t)
	a.run(0, "submit", "--gpus", "0", "echo up; sleep 1000")
	s := a.near.onTerminal("logs", "-f", "1")
	s.expect("up")
	s.typing("\x03")
	s.ended(s.was, exitInterrupted)
	if strings.Contains(s.text(), "lost") {
		t.Errorf("%q", s.text())
	}
	a.run(0, "cancel", "--now", "1")
}

func TestTheConsoleShowsAnotherMachine(t *testing.T) {
	a := overFakeSSH(t)
	m := newTmux(a.near)
	a.run(0, "submit", "--gpus", "0", "--name", "talker", "i=0; while :; do i=$((i+1)); echo tick $i; sleep 0.2; done")
	p := m.shell("console", 80, 24)
	p.keys("pasar; echo back at the shell $?", "Enter")
	p.shows("1 running")
	p.keys("Enter") // its screen
	p.shows("tick")
	p.keys("a")
	p.shows("attached to #1")
	p.keys("C-]", "d")
	p.shows("back from #")
	p.keys("q", "s")
	p.shows("below your home there")
	p.keys("-l", "pwd")
	p.keys("Tab", "Tab", "Tab", "Tab")
	p.keys("-l", "0")
	p.shows("#2 would start")
	p.keys("Enter")
	p.shows("#2 submitted")
	p.until("ran there", func() string { return differs(a.far.pasar("logs", "2"), a.dir) })
	a.run(0, "shutdown") // R starts it again, there
	p.shows("R starts it again")
	p.keys("R")
	p.shows("1 running")
	p.keys("q")
	p.put()
	p.shows("back at the shell 0")
}

// TestAStreamFromAfarOutlivesTheDaemon holds that a daemon which is replaced there is found again, as it is here.
func TestAStreamFromAfarOutlivesTheDaemon(t *testing.T) {
	a := overFakeSSH(t)
	a.run(0, "submit", "--gpus", "0", "--name", "w", "read x; exit 3")
	a.run(0, "wait", "--for", "started", "1")
	wait := a.near.command("wait", "1")
	if err := wait.Start(); err != nil {
		t.Fatal(err)
	}
	pid := a.daemonPid()
	if err := exec.Command("kill", "-9", fmt.Sprint(pid)).Run(); err != nil {
		t.Fatal(err)
	}
	a.run(0, "send", "--enter", "1", "go")
	_ = wait.Wait()
	if code := wait.ProcessState.ExitCode(); code != exitFailed {
		t.Errorf("exit %d", code)
	}
}

func (a *afar) daemonPid() int {
	a.t.Helper()
	c, err := ipc.Dial(context.Background(), a.socket())
	if err != nil {
		a.t.Fatal(err)
	}
	defer c.Close()
	return c.DaemonPid
}

// socket is the far daemon's.
func (a *afar) socket() string {
	a.t.Helper()
	path := filepath.Join(a.far.dir, ".local/share/pasar/run/pasard.sock")
	if _, err := os.Stat(path); err != nil {
		a.t.Fatal(err)
	}
	return path
}
