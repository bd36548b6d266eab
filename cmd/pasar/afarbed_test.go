package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A bed is a machine reached over a real sshd: a network, processes and a home of its own.
type bed struct {
	*afar
	script string
	env    []string
}

// The process's first thread stays the main goroutine's. A test that changes the thread which it is on must not have that one: it
// would never end, and its umask, say, would be told as the process's.
func init() { runtime.LockOSThread() }

// newBed makes one, where the tools for it are.
func newBed(t *testing.T) *bed {
	t.Helper()
	script, err := filepath.Abs("../../../shared/tools/ssh-testbed.sh")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(script); err != nil {
		t.Skipf("no test bed for ssh: %v", err)
	}
	if os.Geteuid() != 0 {
		t.Skip("a test bed for ssh is made by root")
	}
	for _, tool := range []string{"sshd", "ssh", "ip", "unshare"} {
		if _, err := exec.LookPath("/usr/sbin/" + tool); err != nil {
			needs(t, tool)
		}
	}
	dir, err := os.MkdirTemp("", "pasar-bed")
	if err != nil {
		t.Fatal(err)
	}
	// Its networks come and go on a network of this test's own: a browser, which other tests may be driving, gives up what it
	// is loading when one of the machine's changes.
	runtime.LockOSThread() // to the end: the thread ends with the test
	if err := ownNetwork(); err != nil {
		t.Skipf("a test bed for ssh isn't possible here: %v", err)
	}
	b := &bed{script: script, env: append(os.Environ(), "SSH_TESTBED_DIR="+dir)}
	t.Cleanup(func() { _, _ = b.do("down") })
	if out, err := b.do("up", "1"); err != nil {
		_ = os.RemoveAll(dir)
		if strings.Contains(out, "Operation not permitted") || strings.Contains(out, "no bridge could be made") {
			t.Skipf("a test bed for ssh isn't possible here: %s", out)
		}
		t.Fatalf("%v: %s", err, out)
	}
	host := filepath.Join(dir, "hosts/host1")
	for _, p := range []string{"pasar", "pasard", "pasar-supervisor"} { // first on the PATH there
		b, err := os.ReadFile(filepath.Join(bin, p)) // it has a /tmp of its own
		if err == nil {
			err = os.WriteFile(filepath.Join(host, "bin", p), b, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ssh := filepath.Join(t.TempDir(), "ssh")
	wrapper := "#!/bin/sh\nexec $(PATH=/usr/bin:/bin command -v ssh) -F " + dir + "/ssh_config \"$@\"\n"
	if err := os.WriteFile(ssh, []byte(wrapper), 0o700); err != nil {
		t.Fatal(err)
	}
	near := newNear(t, filepath.Dir(ssh)+":"+bin+":/usr/bin:/bin", "PASAR_URL=ssh://host1")
	far := &home{t: t, dir: filepath.Join(host, "home")} // of it only the files are here
	b.afar = &afar{t: t, near: near, far: far, name: "host1", dir: "/root", starts: true}
	return b
}

// ownNetwork gives the present thread, and what it starts, a network of its own, in which it can name networks as it likes.
func ownNetwork() error {
	if err := os.MkdirAll("/run/netns", 0o755); err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWNS); err != nil {
		return err
	}
	return errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("tmpfs", "/run/netns", "tmpfs", 0, ""), unix.Mount("sysfs", "/sys", "sysfs", 0, ""),
		exec.Command("ip", "link", "set", "lo", "up").Run())
}

// proxies are how many commands the machine serves.
func (b *bed) proxies() (n int) {
	b.t.Helper()
	name, err := exec.Command("ip", "netns", "list").Output() // there is one
	if err != nil {
		b.t.Fatal(err)
	}
	pids, err := exec.Command("ip", "netns", "pids", strings.Fields(string(name))[0]).Output()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, pid := range strings.Fields(string(pids)) {
		if line, err := os.ReadFile("/proc/" + pid + "/cmdline"); err == nil && strings.HasPrefix(string(line), "pasar\x00proxy\x00") {
			n++
		}
	}
	return n
}

func (b *bed) do(args ...string) (string, error) {
	c := exec.Command(b.script, args...)
	c.Env = b.env
	out, err := c.CombinedOutput()
	return string(out), err
}

func (b *bed) must(args ...string) {
	b.t.Helper()
	if out, err := b.do(args...); err != nil {
		b.t.Fatalf("%v: %v: %s", args, err, out)
	}
}

// TestALinkByHTTPThatIsCutIsAClearErrorToo has the daemon serve on the network, with a token.
func TestALinkByHTTPThatIsCutIsAClearErrorToo(t *testing.T) {
	b := newBed(t)
	out, err := b.do("status")
	_, ip, ok := strings.Cut(out, " up ")
	ip, _, _ = strings.Cut(ip, " ")
	if err != nil || !ok {
		t.Fatalf("%v: %s", err, out)
	}
	start := exec.Command("ssh", "host1", "PASAR_ADDRESS="+ip+":8750 pasar status >&2 && pasar token")
	start.Path, start.Env = filepath.Join(strings.SplitN(strings.TrimPrefix(b.near.env[len(b.near.env)-2], "PATH="), ":", 2)[0], "ssh"), b.near.env
	token, err := start.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, token)
	}
	b.near.env = append(b.near.env, "PASAR_URL=http://"+ip+":8750")
	b.near.until("it serves", func() bool { return strings.Contains(b.near.pasar("ls"), "wants a token") })
	b.near.env = append(b.near.env, "PASAR_TOKEN="+strings.TrimSpace(string(token)))
	b.run(0, "submit", "--gpus", "0", "--name", "w", "echo up; read x")
	attach := b.near.onTerminal("attach", "1")
	attach.expect("up")
	follow := b.near.onTerminal("logs", "-f", "1")
	follow.expect("up")
	b.must("cut", "host1")
	cut := time.Now()
	begins := b.near.onTerminal("ls")
	for what, s := range map[string]*session{"attach": attach, "logs -f": follow, "ls": begins} {
		s.ended(s.was, exitNoDaemon)
		if took := time.Since(cut); took > 10*time.Second {
			t.Errorf("%s ended after %s", what, took)
		}
		want := "pasar: lost the connection to " + ip
		if what == "ls" {
			want = "pasar: reach " + ip
		}
		s.expect(want)
	}
	b.must("heal", "host1")
	b.near.env = append(b.near.env, "PASAR_URL=ssh://host1")
	b.run(0, "cancel", "--now", "1")
}

func TestEveryCommandWorksOverARealSSH(t *testing.T) {
	newBed(t).everyCommand()
}

// TestACutLinkIsAClearErrorWithinTenSeconds cuts the network under what follows, waits, watches and begins.
func TestACutLinkIsAClearErrorWithinTenSeconds(t *testing.T) {
	b := newBed(t)
	b.run(0, "submit", "--gpus", "0", "--name", "w", "echo up; read x")
	b.run(0, "wait", "--for", "started", "1")
	attach := b.near.onTerminal("attach", "1")
	attach.expect("up")
	follow := b.near.onTerminal("logs", "-f", "1")
	follow.expect("up")
	wait := b.near.onTerminal("wait", "1")
	b.near.until("all three are served there", func() bool { return b.proxies() == 3 })
	b.run(0, "ls") // since then one that was asked later has been answered
	b.must("cut", "host1")
	cut := time.Now()
	begins := b.near.onTerminal("ls")
	for what, s := range map[string]*session{"attach": attach, "logs -f": follow, "wait": wait, "ls": begins} {
		s.ended(s.was, exitNoDaemon)
		took := time.Since(cut)
		if took > 10*time.Second {
			t.Errorf("%s ended after %s", what, took)
		}
		s.expect("pasar: ")
		text := s.text()
		if what == "ls" && !strings.Contains(text, "pasar: reach host1 by ssh: ") || what != "ls" && !strings.Contains(text, "pasar: lost the connection to host1: ") && !strings.Contains(text, "pasar: reach host1 by ssh: ") {
			t.Errorf("%s: %q", what, text)
		}
	}
	if text := follow.text(); !strings.Contains(text, "pasar: lost the connection to host1: ") {
		t.Errorf("logs -f: %q", text)
	}
	b.must("heal", "host1")
	b.run(0, "send", "--enter", "--take", "1", "x")
	b.run(0, "wait", "1")
	b.must("refuse", "host1")
	b.says("pasar: reach host1 by ssh: ", exitNoDaemon, "ls")
}
