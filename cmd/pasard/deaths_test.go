package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"pasar"
	"pasar/autopsy"
	"pasar/daemon"
	"pasar/ipc"
)

// A death is a job that ends in some way, for real, and what its verdict must be. One of argv, sh, bash and
// py is what runs.
type death struct {
	name string

	argv  []string          // the job itself
	sh    string            // a script of /bin/sh, given to sh -c
	bash  string            // job.sh, run by bash
	py    string            // train.py, run by python3
	files map[string]string // more files in its working directory; those that begin with #! are executable
	env   []string
	noPTY bool

	as    account // who runs it
	needs []string
	do    func(ctx context.Context, j *running) error // what others do to it once it runs

	reason  pasar.Code
	root    string // is in the line that is named as the cause; empty: there is none to name
	summary string // is in the summary, whatever its case; empty: the same as root
}

// An account is whom a job runs as. Root isn't held to limits and permissions, so tests as root change to one that has
// no rights at all; each has the processes that are counted to it to itself.
type account int

const (
	whoever account = iota // of the daemon
	nobody
	limited      // its number of processes is limited
	alsoLimited  // so is this one's
	mounting     // it may mount file systems, which nobody else sees
	inMemory64MB // in a cgroup with so much memory
)

// uid is any number that no account has.
func (u account) uid() string { return strconv.Itoa(61300 + int(u)) }

// A running is a job that others do something to.
type running struct {
	h   *home
	id  pasar.JobID
	pid int
	dir string // its working directory
}

// deaths is all of them; there are to be at least so many.
var deaths = [][]death{signalDeaths, statusDeaths, nativeDeaths, pythonDeaths, workerDeaths, shellDeaths, systemDeaths, limitDeaths, runtimeDeaths,
	logDeaths, moreDeaths}

const fewestDeaths = 200

// TestDeathsAreTold runs programs that die, all under one daemon, and holds each verdict.
func TestDeathsAreTold(t *testing.T) {
	h := newHome(t)
	h.config = h.dir + "/config.toml"
	if err := os.WriteFile(h.config, []byte("cpu_jobs = 6\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(h.dir, 0o711); err != nil { // others go through to their own directories
		t.Fatal(err)
	}
	g := &grave{home: h, port: taken(t), server: refusing(t), ctx: longContext(t, 2*time.Minute)}
	g.compile(t)
	h.start()
	t.Cleanup(func() { g.record.write(t) }) // when the jobs have ended
	n, names := 0, map[string]bool{}
	for _, part := range deaths {
		for _, d := range part {
			if names[d.name] {
				t.Errorf("%q is there twice", d.name)
			}
			n, names[d.name] = n+1, true
			t.Run(d.name, func(t *testing.T) {
				g.run(t, d)
			})
		}
	}
	if n < fewestDeaths {
		t.Errorf("%d deaths, want %d at least", n, fewestDeaths)
	}
}

// A grave is where programs die.
type grave struct {
	*home
	ctx    context.Context
	port   int    // that is taken
	server string // the URL of one that answers with errors

	record record
}

// run submits a job at once and waits for its end beside the others.
func (g *grave) run(t *testing.T, d death) {
	dir := filepath.Join(g.dir, "work", strings.Map(func(r rune) rune {
		if r == ' ' || r == '/' || r == '\'' || r == '"' {
			return '-'
		}
		return r
	}, d.name))
	spec := g.spec(t, d, dir)
	id, err := g.send(spec, d, dir)
	if err != nil {
		t.Fatal(err)
	}
	did := make(chan error, 1)
	go func() { did <- g.act(d, id, dir) }()
	t.Parallel()
	if err := <-did; err != nil {
		t.Fatal(err)
	}
	g.check(t, d, dir, g.ended(t, id))
}

// spec is the job of a death, with its files in place.
func (g *grave) spec(t *testing.T, d death, dir string) pasar.Spec {
	t.Helper()
	argv := d.argv
	files := map[string]string{}
	for name, text := range d.files {
		files[name] = text
	}
	switch {
	case d.sh != "":
		argv = []string{"/bin/sh", "-c", d.sh}
	case d.bash != "":
		argv, files["job.sh"] = []string{"bash", "job.sh"}, d.bash
		need(t, "bash")
	case d.py != "":
		argv, files["train.py"] = []string{"python3", "train.py"}, d.py
		need(t, "python3")
	}
	need(t, d.needs...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") || strings.HasPrefix(text, "\x7fELF") {
			mode = 0o755
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return pasar.Spec{Name: "death", Argv: pasar.Args(append(as(t, d.as), argv...)), Bid: 1000,
		Cwd: pasar.Arg(dir), Claim: pasar.Claim{Kind: pasar.NoGPU}, Grace: pasar.Duration(5 * time.Second), NoPTY: d.noPTY}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// as is what starts a program as a user.
func as(t *testing.T, u account) []string {
	t.Helper()
	root := os.Geteuid() == 0
	switch u {
	case whoever:
		return nil
	case mounting:
		if root {
			need(t, "unshare")
			return mayRun(t, "unshare", "--mount")
		}
		need(t, "unshare")
		return mayRun(t, "unshare", "--mount", "--map-root-user")
	case inMemory64MB:
		cgroup := smallCgroup(t)
		return []string{"/bin/sh", "-c", `echo $$ >"$0" && exec "$@"`, cgroup + "/cgroup.procs"}
	}
	if !root {
		return nil
	}
	need(t, "setpriv")
	return []string{"setpriv", "--reuid", u.uid(), "--regid", u.uid(), "--clear-groups", "--"}
}

// mayRun is a prefix of commands that works here; the test is skipped where it doesn't.
func mayRun(t *testing.T, argv ...string) []string {
	t.Helper()
	if out, err := exec.Command(argv[0], append(argv[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("%s: %v: %s", strings.Join(argv, " "), err, out)
	}
	return argv
}

// path is where jobs find programs: what the test compiled, and the system's before any in a home, which others
// can't reach.
func (g *grave) path() string {
	return g.dir + "/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:" + os.Getenv("PATH")
}

// need skips a test whose tools aren't there.
func need(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		var err error
		switch {
		case tool == python311:
			err = exec.Command("python3", "-c", "ExceptionGroup").Run()
		case strings.HasPrefix(tool, "/"):
			_, err = os.Stat(tool)
		default:
			_, err = exec.LookPath(tool)
		}
		switch {
		case err == nil:
		case os.Getenv("PASAR_CI") == "1":
			t.Fatalf("in CI this must be there: %s", tool)
		default:
			t.Skipf("needs %s, which isn't there", tool)
		}
	}
}

// taken is a port at which this test listens until it ends.
func taken(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

// refusing is the URL of a server that answers with the status that the path names; some never answer, or not to the end.
func refusing(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch what := strings.Trim(r.URL.Path, "/"); what {
		case "hang":
			<-r.Context().Done()
		case "cut":
			w.Header().Set("Content-Length", "1000000")
			_, _ = w.Write(make([]byte, 1000))
		default:
			status, _ := strconv.Atoi(what)
			http.Error(w, http.StatusText(status), status)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// smallCgroup is a cgroup of 64 MiB of host memory, where this test may make one.
func smallCgroup(t *testing.T) string {
	t.Helper()
	for _, c := range []struct{ hierarchy, limit string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"},
	} {
		dir := fmt.Sprintf("%s/pasar-test-%d-%d", c.hierarchy, os.Getpid(), cgroups.Add(1))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
		if os.WriteFile(filepath.Join(dir, c.limit), []byte("67108864"), 0) == nil {
			return dir
		}
	}
	t.Skip("no cgroup can be made here that bounds memory")
	return ""
}

var cgroups atomic.Int32

func (g *grave) send(spec pasar.Spec, d death, dir string) (pasar.JobID, error) {
	env := append([]string{"PATH=" + g.path(), "HOME=" + dir, "LC_ALL=C.UTF-8", "PORT=" + strconv.Itoa(g.port), "SERVER=" + g.server,
		"TMPDIR=" + dir, "PYTHONDONTWRITEBYTECODE=1", "GIT_CONFIG_NOSYSTEM=1"}, d.env...)
	r := ipc.SubmitRequest{Request: ipc.NewRequest(), Spec: spec, Surroundings: pasar.Surroundings{Env: pasar.Args(env), Umask: 0o022}}
	var a ipc.SubmitAnswer
	err := g.with(g.ctx, func(c *ipc.Client) (err error) { a, err = c.Submit(g.ctx, r); return err })
	return a.Job, err
}

// act does to a job what others do, once it has said that it is ready.
func (g *grave) act(d death, id pasar.JobID, dir string) error {
	if d.do == nil {
		return nil
	}
	j := &running{h: g.home, id: id, dir: dir}
	err := g.with(g.ctx, func(c *ipc.Client) error {
		return c.Wait(g.ctx, ipc.WaitRequest{Jobs: []pasar.JobID{id}, Started: true}, func(b []byte) error {
			var v pasar.JobView
			err := json.Unmarshal(b, &v)
			if n := len(v.Attempts); err == nil && n > 0 && v.Attempts[n-1].Pid != nil {
				j.pid = *v.Attempts[n-1].Pid
			}
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("wait for the start: %w", err)
	}
	for {
		if b, err := os.ReadFile(g.output(id)); err == nil && bytes.Contains(b, []byte("ready")) {
			break
		}
		select {
		case <-g.ctx.Done():
			return fmt.Errorf("job %d never says that it is ready", id)
		case <-time.After(5 * time.Millisecond): // the output of a job can't be waited for
		}
	}
	if j.pid == 0 {
		return fmt.Errorf("job %d has no pid", id)
	}
	return d.do(g.ctx, j)
}

// strangers sends a signal from outside pasar.
func strangers(sig syscall.Signal) func(context.Context, *running) error {
	return func(_ context.Context, j *running) error { return syscall.Kill(j.pid, sig) }
}

// strikeChild sends a signal to the child whose pid the job wrote down.
func (j *running) strikeChild(sig syscall.Signal) error {
	b, err := os.ReadFile(filepath.Join(j.dir, "child"))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return err
	}
	return syscall.Kill(pid, sig)
}

// cancelling asks pasar to stop a job.
func cancelling(ctx context.Context, j *running) error {
	return j.h.with(ctx, func(c *ipc.Client) error {
		_, err := c.Cancel(ctx, ipc.JobsRequest{Request: ipc.NewRequest(), Jobs: []pasar.JobID{j.id}, By: "ada"})
		return err
	})
}

// typing types keys through pasar attach -i, on a terminal.
func typing(keys string) func(context.Context, *running) error {
	return func(ctx context.Context, j *running) error {
		cmd := exec.CommandContext(ctx, filepath.Join(bin, "pasar"), "attach", "-i", j.id.String())
		cmd.Env = append(j.h.env(), "TERM=xterm")
		tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
		if err != nil {
			return err
		}
		defer func() { _ = tty.Close() }()
		seen, b := "", make([]byte, 4096)
		for sent := false; ; {
			n, err := tty.Read(b)
			seen += string(b[:n])
			if !sent && strings.Contains(seen, "ready") {
				if _, err := tty.WriteString(keys); err != nil {
					return err
				}
				sent = true
			}
			if err != nil { // it has left with the job
				_ = cmd.Wait()
				if !sent {
					return fmt.Errorf("attach left before it showed the job: %q", seen)
				}
				return nil
			}
		}
	}
}

// output is the log of a job's attempt.
func (g *grave) output(id pasar.JobID) string {
	return filepath.Join(g.data(), "jobs", id.String(), "1", pasar.OutputFile)
}

// ended waits for a job's end.
func (g *grave) ended(t *testing.T, id pasar.JobID) (v pasar.JobView) {
	t.Helper()
	err := g.with(g.ctx, func(c *ipc.Client) error {
		return c.Wait(g.ctx, ipc.WaitRequest{Jobs: []pasar.JobID{id}}, func(b []byte) error { return json.Unmarshal(b, &v) })
	})
	if err != nil {
		t.Fatalf("wait for job %d: %v", id, err)
	}
	if len(v.Attempts) == 0 || v.Attempts[len(v.Attempts)-1].Verdict == nil {
		t.Fatalf("job %d ended without a verdict: %s", id, v.State)
	}
	return v
}

// check holds a verdict.
func (g *grave) check(t *testing.T, d death, dir string, v pasar.JobView) {
	t.Helper()
	a := v.Attempts[len(v.Attempts)-1]
	got := *a.Verdict
	root := pasar.Line{}
	if len(got.Evidence) > 0 {
		root = got.Evidence[0]
	}
	if got.Reason != d.reason {
		t.Errorf("reason %s, want %s", got.Reason, d.reason)
	}
	if d.root != "" && !strings.Contains(root.Text, d.root) {
		t.Errorf("root line %q, want %q", root.Text, d.root)
	}
	if want := orElse(d.summary, d.root); !strings.Contains(strings.ToLower(got.Summary), strings.ToLower(want)) {
		t.Errorf("summary %q, want %q", got.Summary, want)
	}
	raw, err := os.ReadFile(g.output(v.ID))
	if d.root != "" && root.Number == 0 {
		t.Error("nobody knows where the root line stands")
	}
	if err == nil && root.Number > 0 && !isLine(raw, root) {
		t.Errorf("line %d of the output isn't %q", root.Number, root.Text)
	}
	var kept daemon.Certificate
	if got.Reason != pasar.CodeCompleted { // those have none
		kept = g.certificate(t, a)
		if again := autopsy.Attribute(kept.Evidence); !reflect.DeepEqual(again, got) {
			t.Errorf("judged again of its certificate: %+v\nat its end: %+v", again, got)
		}
	}
	if t.Failed() {
		t.Logf("exit %s; the kernel (read: %t) said %q\n%s", exitOf(a), kept.Evidence.KernelRead, kept.Evidence.Kernel, tail(string(raw), 3000))
	}
	g.bury(d, dir, a, raw)
}

// certificate is what was kept of an attempt's end.
func (g *grave) certificate(t *testing.T, a pasar.AttemptView) (c daemon.Certificate) {
	t.Helper()
	if a.Certificate == nil {
		t.Fatal("it has no certificate")
	}
	b, err := os.ReadFile(*a.Certificate)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// isLine reports whether the line of that number in output has the text of a line.
func isLine(raw []byte, l pasar.Line) bool {
	rows := bytes.Split(raw, []byte("\n"))
	if l.Number > len(rows) {
		return false
	}
	text := strings.TrimSuffix(l.Text, "…")
	for _, row := range autopsy.ReadLog(rows[l.Number-1], 0) {
		if strings.Contains(row.Text, text) {
			return true
		}
	}
	return false
}

func exitOf(a pasar.AttemptView) string {
	switch {
	case a.Signal != nil && *a.Signal != 0:
		return fmt.Sprintf("signal %d", *a.Signal)
	case a.ExitCode != nil:
		return fmt.Sprintf("code %d", *a.ExitCode)
	}
	return "unknown"
}

// compile builds the programs that jobs run, of the languages whose compilers are there.
func (g *grave) compile(t *testing.T) {
	t.Helper()
	if err := os.MkdirAll(g.dir+"/bin", 0o755); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, argv := range [][]string{
		{"gcc", "-O0", "-g", "-fstack-protector-all", "-w", "-o", g.dir + "/bin/die-c", "testdata/deaths/die.c"},
		{"g++", "-O0", "-w", "-std=c++17", "-o", g.dir + "/bin/die-cc", "testdata/deaths/die.cc"},
		{"go", "build", "-trimpath", "-o", g.dir + "/bin/die-go", "testdata/deaths/die.go"},
	} {
		if _, err := exec.LookPath(argv[0]); err != nil {
			continue // each death says what it needs
		}
		wg.Go(func() {
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // with C in it Go notices no deadlock
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", strings.Join(argv, " "), err, out)
			}
		})
	}
	wg.Wait()
}
