package supervisor_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

// program is pasar-supervisor, built once; under the race detector, if the tests are.
var (
	program    string
	buildFlags []string
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "pasar-supervisor-test")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "pasar-supervisor")
	build := exec.Command("go", append(append([]string{"build"}, buildFlags...), "-o", program, "pasar/cmd/pasar-supervisor")...)
	if len(buildFlags) == 0 {
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
	}
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// patience is how long a test waits for what must come; only a broken supervisor takes so long.
const patience = 20 * time.Second

// A rig is a supervisor and the control connection to it.
type rig struct {
	t       testing.TB
	cmd     *exec.Cmd
	run     string // where sockets are
	dir     string // the attempt's
	spec    pasar.AttemptSpec
	conn    net.Conn
	control *ipc.AttachConn
	died    chan error
	events  []pasar.Event
}

// warm starts a supervisor that has no attempt yet.
func warm(t testing.TB) *rig {
	t.Helper()
	return warmAs(t, &syscall.SysProcAttr{Setsid: true})
}

func warmAs(t testing.TB, attr *syscall.SysProcAttr, args ...string) *rig {
	t.Helper()
	return warmBy(t, attr, []string{program}, args...)
}

// warmBy is warmAs by way of another program.
func warmBy(t testing.TB, attr *syscall.SysProcAttr, by []string, args ...string) *rig {
	t.Helper()
	tmp, err := os.MkdirTemp("", "sup")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, run: filepath.Join(tmp, "run"), dir: filepath.Join(tmp, "7.1"), died: make(chan error, 1)}
	for _, d := range []string{r.run, r.dir} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "theirs")
	ours := os.NewFile(uintptr(fds[0]), "ours")
	r.conn, err = net.FileConn(ours)
	if err != nil {
		t.Fatal(err)
	}
	_ = ours.Close()
	r.control = ipc.NewAttachConn(r.conn)
	r.cmd = exec.Command(by[0], append(append(by[1:], "warm", "--run", r.run), args...)...)
	r.cmd.ExtraFiles = []*os.File{theirs}
	r.cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	r.cmd.SysProcAttr = attr
	crash, err := os.Create(filepath.Join(tmp, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer crash.Close()
	r.cmd.Stderr = crash
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	go func() { r.died <- r.cmd.Wait() }()
	t.Cleanup(func() {
		_ = r.conn.Close()
		_ = r.cmd.Process.Kill()
		if t.Failed() {
			b, _ := os.ReadFile(filepath.Join(r.dir, pasar.SupLogFile))
			c, _ := os.ReadFile(crash.Name())
			t.Logf("supervisor log:\n%s\nits stderr:\n%s", b, c)
		}
		_ = os.RemoveAll(tmp)
	})
	r.spec = pasar.AttemptSpec{
		Key: pasar.AttemptKey{Job: 7, Attempt: 1}, Nonce: "nonce-" + filepath.Base(tmp), Cwd: pasar.Arg(tmp),
		Surroundings: pasar.Surroundings{Umask: -1}, Grace: pasar.Duration(10 * time.Second),
	}
	r.spec.Surroundings.Env = pasar.Args(append(os.Environ(), "PASAR_NONCE="+r.spec.Nonce,
		"PASAR_EVENTS="+filepath.Join(r.dir, pasar.EventsFile), "TERM=xterm-256color"))
	return r
}

func (r *rig) writeSpec() error {
	b, err := json.Marshal(r.spec)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.dir, pasar.SpecFile), b, 0o600)
}

// launch writes the spec and sends LAUNCH.
func (r *rig) launch() {
	r.t.Helper()
	if err := r.writeSpec(); err != nil {
		r.t.Fatal(err)
	}
	if err := r.control.Send(ipc.AttachLaunch, &ipc.Launch{Dir: r.dir}); err != nil {
		r.t.Fatal(err)
	}
}

// start runs a command and returns once it runs.
func start(t testing.TB, argv ...string) *rig {
	t.Helper()
	return startWith(t, nil, argv...)
}

func startWith(t testing.TB, change func(*pasar.AttemptSpec), argv ...string) *rig {
	t.Helper()
	r := warm(t)
	r.spec.Argv = pasar.Args(argv)
	if change != nil {
		change(&r.spec)
	}
	r.launch()
	r.wait(ipc.AttemptRunning)
	return r
}

// wait reads control frames until the attempt is in a state.
func (r *rig) wait(want ipc.AttemptState) ipc.Status {
	r.t.Helper()
	for {
		st := r.next()
		if st.State == want {
			return st
		}
	}
}

// next is the next status; events on the way are kept.
func (r *rig) next() ipc.Status {
	r.t.Helper()
	for {
		_ = r.control.SetReadDeadline(time.Now().Add(patience))
		typ, body, err := r.control.Recv()
		if err != nil {
			r.t.Fatalf("control: %v", err)
		}
		switch typ {
		case ipc.AttachStatus:
			var st ipc.Status
			if err := ipc.DecodeBody(body, &st); err != nil {
				r.t.Fatal(err)
			}
			return st
		case ipc.AttachEvent:
			var f ipc.EventFrame
			var e pasar.Event
			if err := ipc.DecodeBody(body, &f); err != nil {
				r.t.Fatal(err)
			}
			if err := json.Unmarshal(f.Event, &e); err != nil {
				r.t.Fatal(err)
			}
			r.events = append(r.events, e)
		}
	}
}

// end waits for the record, which must be the same on the wire and on disk, says DONE, and sees the
// supervisor leave with its socket.
func (r *rig) end() pasar.ExitRecord {
	r.t.Helper()
	st := r.wait(ipc.AttemptEnded)
	var rec pasar.ExitRecord
	if err := json.Unmarshal(st.Record, &rec); err != nil {
		r.t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(r.dir, pasar.ExitFile))
	if err != nil {
		r.t.Fatal(err)
	}
	var disk pasar.ExitRecord
	if err := json.Unmarshal(b, &disk); err != nil {
		r.t.Fatalf("%v in %s", err, b)
	}
	if disk.Exit != rec.Exit || disk.Output != rec.Output || disk.Nonce != r.spec.Nonce {
		r.t.Fatalf("the record on disk differs: %+v, %+v", disk, rec)
	}
	r.leave()
	return rec
}

func (r *rig) leave() {
	r.t.Helper()
	if err := r.control.Send(ipc.AttachDone, &ipc.Note{}); err != nil {
		r.t.Fatal(err)
	}
	select {
	case err := <-r.died:
		if err != nil {
			r.t.Errorf("the supervisor failed: %v", err)
		}
	case <-time.After(patience):
		r.t.Fatal("the supervisor is still there")
	}
	if left, _ := os.ReadDir(r.run); len(left) > 0 {
		r.t.Errorf("left in the run directory: %v", left)
	}
}

func (r *rig) output() string {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.dir, pasar.OutputFile))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

func (r *rig) stop(s pasar.Stop) {
	r.t.Helper()
	if err := r.control.Send(ipc.AttachStop, &ipc.StopFrame{Stop: s}); err != nil {
		r.t.Fatal(err)
	}
}

// holding is what the claim says.
func (r *rig) holding() pasar.Holding {
	r.t.Helper()
	var h pasar.Holding
	b, err := os.ReadFile(filepath.Join(r.dir, pasar.ClaimFile))
	if err != nil {
		r.t.Fatal(err)
	}
	if err := json.Unmarshal(b, &h); err != nil {
		r.t.Fatal(err)
	}
	return h
}

// eventually waits for a condition of another process.
func eventually(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	return f[0] != "Z" || f[17] != "1" // a zombie with more threads than its first lives
}

func TestAShortJobRunsFromClaimToRecord(t *testing.T) {
	r := warm(t)
	r.spec.Argv = pasar.Args([]string{"sh", "-c", "echo hello; exit 3"})
	r.launch()
	for _, want := range []ipc.AttemptState{ipc.AttemptClaimed, ipc.AttemptRunning, ipc.AttemptExited} {
		if st := r.next(); st.State != want || st.Key != "7.1" || st.SupPid != r.cmd.Process.Pid {
			t.Fatalf("got %+v, want state %s", st, want)
		}
	}
	h := r.holding()
	if h.Pid != r.cmd.Process.Pid || h.Nonce != r.spec.Nonce || h.Boot == "" || h.StartTime == 0 || h.Socket == "" {
		t.Errorf("claim: %+v", h)
	}
	rec := r.end()
	if rec.Exit.Code != 3 || rec.Output != 7 || rec.LaunchError != "" || rec.Pid == 0 || rec.RunTime <= 0 || rec.PeakHost == 0 {
		t.Errorf("record: %+v", rec)
	}
	if got := r.output(); got != "hello\r\n" {
		t.Errorf("log: %q", got)
	}
	if len(rec.Tail) != 1 || rec.Tail[0] != "hello" {
		t.Errorf("tail: %q", rec.Tail)
	}
}

func TestAWarmSupervisorDiesWithItsStarter(t *testing.T) {
	r := warm(t)
	eventually(t, patience, "the socket is there", func() bool { d, _ := os.ReadDir(r.run); return len(d) == 1 })
	_ = r.conn.Close()
	select {
	case err := <-r.died:
		if err != nil {
			t.Errorf("it failed: %v", err)
		}
	case <-time.After(time.Second):
		t.Fatal("it lives on")
	}
	if d, _ := os.ReadDir(r.run); len(d) != 0 {
		t.Errorf("left behind: %v", d)
	}
}

func TestTermEndsAWarmSupervisor(t *testing.T) {
	r := warm(t)
	eventually(t, patience, "the socket is there", func() bool { d, _ := os.ReadDir(r.run); return len(d) == 1 })
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-r.died:
	case <-time.After(patience):
		t.Fatal("it lives on")
	}
}

func TestALaunchThatCannotBeIsRefusedAndNothingWasLaunched(t *testing.T) {
	for name, spoil := range map[string]func(r *rig) error{
		"no directory": func(r *rig) error { return os.RemoveAll(r.dir) },
		"no spec":      func(r *rig) error { return os.Remove(filepath.Join(r.dir, pasar.SpecFile)) },
		"a bad spec":   func(r *rig) error { return os.WriteFile(filepath.Join(r.dir, pasar.SpecFile), []byte("{"), 0o600) },
		"no command": func(r *rig) error {
			return os.WriteFile(filepath.Join(r.dir, pasar.SpecFile), []byte(`{"nonce":"x"}`), 0o600)
		},
	} {
		r := warm(t)
		r.spec.Argv = pasar.Args([]string{"true"})
		if err := r.writeSpec(); err != nil {
			t.Fatal(err)
		}
		if err := spoil(r); err != nil {
			t.Fatal(err)
		}
		if err := r.control.Send(ipc.AttachLaunch, &ipc.Launch{Dir: r.dir}); err != nil {
			t.Fatal(err)
		}
		if st := r.next(); st.State != ipc.AttemptFailed || st.Error == "" {
			t.Errorf("%s: %+v", name, st)
		}
		select {
		case <-r.died:
		case <-time.After(patience):
			t.Errorf("%s: it lives on", name)
		}
	}
}

func TestAClaimIsTakenOnce(t *testing.T) {
	r := start(t, "sleep", "1000")
	other := warm(t)
	other.dir, other.spec = r.dir, r.spec
	other.launch()
	if st := other.next(); st.State != ipc.AttemptTaken {
		t.Errorf("second launch: %+v", st)
	}
	f, err := os.Open(filepath.Join(r.dir, pasar.ClaimFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("the claim isn't locked: %v", err)
	}
	r.stop(pasar.Stop{ID: "1", Why: pasar.StopCancel, Now: true})
	if rec := r.end(); rec.Exit.Signal != int(syscall.SIGKILL) || rec.StopStep != pasar.StepKill || rec.Stop.ID != "1" {
		t.Errorf("record: %+v", rec)
	}
}

func TestALaunchErrorNamesItsStep(t *testing.T) {
	for _, c := range []struct {
		argv, cwd, step string
		errno           syscall.Errno
	}{
		{"no-such-program", "/", "exec", syscall.ENOENT},
		{"/etc/passwd", "/", "exec", syscall.EACCES},
		{"true", "/no/such/dir", "chdir", syscall.ENOENT},
	} {
		r := warm(t)
		r.spec.Argv, r.spec.Cwd = pasar.Args([]string{c.argv}), pasar.Arg(c.cwd)
		r.launch()
		rec := r.end()
		if rec.LaunchStep != c.step || rec.Errno != int(c.errno) || rec.LaunchError == "" || rec.Pid != 0 {
			t.Errorf("%s in %s: %+v", c.argv, c.cwd, rec)
		}
	}
}
