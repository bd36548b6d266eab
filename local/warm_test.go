package local

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pasar/target"
)

// warmPids are the supervisors that m started and that live.
func warmPids(m *Machine) []int {
	m.pool.reaper.mu.Lock()
	defer m.pool.reaper.mu.Unlock()
	var pids []int
	for pid := range m.pool.reaper.children {
		pids = append(pids, pid)
	}
	return pids
}

func TestExactlyOneSupervisorIsKeptWarm(t *testing.T) {
	p := newPlace(t)
	m := p.open()
	eventually(t, "one is warm", func() bool { return len(warmPids(m)) == 1 })
	h := launch(t, m, shell(1, "sleep 1000"))
	eventually(t, "another is warm beside the first attempt's", func() bool { return len(warmPids(m)) == 2 })
	first := holding(t, m, h).Pid
	for _, pid := range warmPids(m) {
		if pid != first {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	// The killed one's place is taken, and a launch doesn't fail because of it.
	h2 := launch(t, m, shell(2, "exit 3"))
	if o := end(t, m, h2); o.Record == nil || o.Record.Exit.Code != 3 {
		t.Errorf("%+v", o)
	}
	if err := m.Acknowledge(t.Context(), h2); err != nil {
		t.Fatal(err)
	}
	eventually(t, "one attempt's and one warm are left", func() bool { return len(warmPids(m)) == 2 })
	m.sweep(time.Now().Add(2 * staleAfter)) // the killed one's socket
}

func TestClosingLetsTheWarmSupervisorGoAndNotTheRunningOnes(t *testing.T) {
	p := newPlace(t)
	m := p.open()
	h := launch(t, m, shell(1, "sleep 1000"))
	sup := holding(t, m, h).Pid
	eventually(t, "another is warm", func() bool { return len(warmPids(m)) == 2 })
	pids := warmPids(m)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if there(t, pid) != (pid == sup) {
			t.Errorf("supervisor %d is there: %v; the attempt's is %d", pid, pid != sup, sup)
		}
	}
	if _, err := m.Launch(t.Context(), shell(2, "true")); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed machine launches: %v", err)
	}
	if o, err := p.open().Observe(t.Context(), h); err != nil || o.Status != target.Running && o.Status != target.Claimed {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestASupervisorHasNothingOfTheDaemonsButWhatItWasGiven(t *testing.T) {
	t.Setenv("PASAR_NONCE", "of-the-job-that-started-the-daemon")
	t.Setenv("SECRET", "x")
	leak, err := os.Create(filepath.Join(t.TempDir(), "open in the daemon"))
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	p := newPlace(t)
	m := p.open()
	eventually(t, "one is warm", func() bool {
		pids := warmPids(m)
		if len(pids) != 1 {
			return false
		}
		socks, _ := filepath.Glob(filepath.Join(p.run, "*.sock"))
		return len(socks) == 1
	})
	proc := "/proc/" + strconv.Itoa(warmPids(m)[0])
	env, err := os.ReadFile(proc + "/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"PASAR_NONCE", "SECRET"} {
		if strings.Contains(string(env), word) {
			t.Errorf("its environment holds %s: %q", word, env)
		}
	}
	for _, fd := range []string{"0", "1", "2"} {
		got, err := os.Readlink(proc + "/fd/" + fd)
		if err != nil || got != os.DevNull && (fd != "2" || got != filepath.Join(p.run, warmLog)) {
			t.Errorf("descriptor %s is %s, %v", fd, got, err)
		}
	}
	fds, err := os.ReadDir(proc + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if got, _ := os.Readlink(proc + "/fd/" + fd.Name()); got == leak.Name() {
			t.Errorf("descriptor %s is the daemon's %s", fd.Name(), got)
		}
	}
	b, err := os.ReadFile(proc + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if pid := strconv.Itoa(warmPids(m)[0]); f[3] != pid {
		t.Errorf("it is in session %s, not in one of its own (%s)", f[3], pid)
	}
	if cwd, err := os.Readlink(proc + "/cwd"); err != nil || cwd != "/" {
		t.Errorf("it is in %s, %v", cwd, err)
	}
}

func TestAMissingSupervisorIsSurelyNothingLaunched(t *testing.T) {
	p := newPlace(t)
	notProgram := filepath.Join(p.data, "not-a-program")
	if err := os.WriteFile(notProgram, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/nonexistent/pasar-supervisor", notProgram} {
		m := p.open(func(o *Options) { o.Supervisor = path })
		if _, err := m.Launch(limited(t), shell(1, "true")); !target.IsNever(err) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v (never: %v)", path, err, target.IsNever(err))
		}
	}
}

func TestASupervisorThatDiesAtOnceIsSaidWithItsLastLineAndDoesNotStorm(t *testing.T) {
	p := newPlace(t)
	bad := filepath.Join(p.data, "bad-supervisor")
	starts := filepath.Join(p.data, "starts")
	script := "#!/bin/sh\necho x >> " + starts + "\necho the disk is made of cheese >&2\nexit 7\n"
	if err := os.WriteFile(bad, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	m := p.open(func(o *Options) { o.Supervisor = bad })
	_, err := m.Launch(limited(t), shell(1, "true"))
	if !target.IsNever(err) || !strings.Contains(err.Error(), "cheese") || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("error %v (never: %v)", err, target.IsNever(err))
	}
	b, err := os.ReadFile(starts)
	if err != nil {
		t.Fatal(err)
	}
	// 100 ms after the first, 200 after the second, …: the pauses double.
	n := strings.Count(string(b), "x")
	if most := 2 + int(time.Since(began)/firstPause); n > most {
		t.Errorf("started %d times in %v", n, time.Since(began))
	}
	// Once it is good again, launches go on by themselves.
	if err := os.Remove(bad); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(supervisorPath, bad); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an attempt can be launched again", func() bool {
		_, err := m.Launch(limited(t), shell(1, "true"))
		if err != nil && !target.IsNever(err) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// One that is handed an attempt and says nothing is killed before another gets it.
func TestASilentSupervisorIsEndedAndTheAttemptGoesToAnother(t *testing.T) {
	p := newPlace(t)
	wrapper := filepath.Join(p.data, "sometimes-silent")
	once := filepath.Join(p.data, "once")
	script := "#!/bin/sh\nif mkdir " + once + " 2>/dev/null; then exec sleep 1000; fi\nexec " + supervisorPath + " \"$@\"\n"
	if err := os.WriteFile(wrapper, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	m := p.open(func(o *Options) { o.Supervisor = wrapper })
	next := 300 * time.Millisecond
	m.step = func(s string) error {
		if s == stepSent {
			m.launchTimeout = next
			next = launchTimeout
		}
		return nil
	}
	eventually(t, "the silent one is there", func() bool {
		_, err := os.Stat(once)
		return err == nil
	})
	silent := warmPids(m)[0]
	h := launch(t, m, shell(1, "exit 5"))
	if o := end(t, m, h); o.Record == nil || o.Record.Exit.Code != 5 {
		t.Errorf("%+v", o)
	}
	if there(t, silent) {
		t.Errorf("the silent supervisor %d is still there", silent)
	}
}

func TestSocketsOfSupervisorsThatWereKilledAreSweptAway(t *testing.T) {
	p := newPlace(t)
	m := p.open()
	var dead string
	eventually(t, "one listens", func() bool {
		socks, _ := filepath.Glob(filepath.Join(p.run, "*.sock"))
		if len(socks) == 1 {
			dead = socks[0]
		}
		return dead != ""
	})
	live := launch(t, m, shell(1, "sleep 1000"))
	liveSocket := holding(t, m, live).Socket
	if dead != liveSocket {
		t.Fatalf("sockets %s and %s", dead, liveSocket)
	}
	for _, pid := range warmPids(m) {
		if pid != holding(t, m, live).Pid {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	stranger := filepath.Join(p.run, "pasard.sock")
	if err := os.WriteFile(stranger, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m.mu.Lock()
	m.closed = false // only to sweep
	m.mu.Unlock()
	m.sweep(time.Now().Add(2 * staleAfter))
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	socks, err := filepath.Glob(filepath.Join(p.run, "*.sock"))
	if err != nil || len(socks) != 2 {
		t.Errorf("left: %v, want %s and %s", socks, liveSocket, stranger)
	}
	if err := os.Remove(stranger); err != nil {
		t.Fatal(err)
	}
}
