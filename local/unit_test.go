package local

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sdbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"

	"pasar"
)

// A fakeManager starts units as a service manager would: as processes that are nobody's children, each in
// its own cgroup if there is one to make it in.
type fakeManager struct {
	t       *testing.T
	nursery *nursery // nil: no cgroups

	mu      sync.Mutex // guards what follows
	started []string
	fail    error
	mute    bool // units are accepted and never start
	gone    bool
	wait    sync.WaitGroup
	held    []*os.File
}

func (f *fakeManager) set(fail error, mute bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail, f.mute = fail, mute
}

func (f *fakeManager) alive() bool { return !f.gone }

func (f *fakeManager) close() {}

func (f *fakeManager) start(_ context.Context, name string, properties []sdbus.Property) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return f.fail
	}
	p := map[string]any{}
	for _, x := range properties {
		p[x.Name] = x.Value.Value()
	}
	if p["Delegate"] != true || p["KillMode"] != "mixed" || p["OOMPolicy"] != "continue" || p["CollectMode"] != "inactive-or-failed" {
		f.t.Errorf("unit %s: %v", name, p)
	}
	take := func(fd any) *os.File { // a descriptor on the bus is a copy
		n, err := syscall.Dup(int(fd.(dbus.UnixFD)))
		if err != nil {
			f.t.Error(err)
		}
		syscall.CloseOnExec(n)
		return os.NewFile(uintptr(n), "fd")
	}
	in, log := take(p["StandardInputFileDescriptor"]), take(p["StandardErrorFileDescriptor"])
	defer log.Close()
	if f.mute {
		f.held = append(f.held, in)
		return nil
	}
	defer in.Close()
	c := p["ExecStart"].([]execStart)[0]
	cmd := exec.Command(c.Path)
	cmd.Args = c.Args
	for i, a := range cmd.Args {
		cmd.Args[i] = strings.ReplaceAll(a, "$$", "$")
	}
	cmd.Env, cmd.Dir = p["Environment"].([]string), "/"
	cmd.Stdin, cmd.Stderr = in, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if f.nursery != nil {
		dir := filepath.Join(f.nursery.dir, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		at, err := os.Open(dir)
		if err != nil {
			return err
		}
		defer at.Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(at.Fd())
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	f.started = append(f.started, name)
	f.wait.Go(func() {
		_ = cmd.Wait()
		if f.nursery != nil {
			dir := filepath.Join(f.nursery.dir, name)
			_ = writeCgroup(dir, "cgroup.kill", "1") // KillMode=mixed
			eventually(f.t, dir+" is empty", func() bool { return empty(dir) })
			_ = removeCgroup(dir)
		}
	})
	return nil
}

func (f *fakeManager) units() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.started)
}

// booted is a host where systemd is in charge and the user may linger.
func booted(t *testing.T, linger bool, f *fakeManager) host {
	t.Helper()
	root := t.TempDir()
	h := host{root: root, uid: 1000, user: "ada", pid: os.Getpid(), hello: helloTimeout,
		dial:  func(context.Context) (units, error) { return f, nil },
		kills: func(context.Context, string) (bool, error) { return false, nil }}
	dirs := []string{"/run/systemd/system", "/var/lib/systemd/linger", "/proc/self"}
	for _, d := range dirs {
		if err := os.MkdirAll(h.path(d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if linger {
		setLinger(t, &h)
	}
	return h
}

func setLinger(t *testing.T, h *host) {
	t.Helper()
	if err := os.WriteFile(h.path("/var/lib/systemd/linger/"+h.user), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// openOn opens a Machine on a host of the test's.
func (p *place) openOn(h host, change ...func(*Options)) *Machine {
	p.t.Helper()
	o := p.options()
	for _, f := range change {
		f(&o)
	}
	m, err := newOn(o, h)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = m.Close() })
	return m
}

func manager(t *testing.T) *fakeManager {
	h := thisHost()
	n, _ := findNursery(&h)
	f := &fakeManager{t: t, nursery: n}
	t.Cleanup(f.wait.Wait)
	return f
}

func TestASupervisorIsAServiceOfItsOwnWhereTheUserLingers(t *testing.T) {
	f := manager(t)
	p := newPlace(t)
	p.run = filepath.Join(t.TempDir(), "a $HOME of %n") // systemd would put something in
	m := p.openOn(booted(t, true, f))
	if s := m.Standing(); s.Place != pasar.PlaceUnit || len(s.Lacks) != 0 || !s.Memory {
		t.Errorf("%+v", s)
	}
	h := launch(t, m, shell(1, "echo up; read x"))
	awaitOutput(t, m, h, "up")
	own := holding(t, m, h)
	if own.Place != pasar.PlaceUnit || (f.nursery != nil) != strings.HasSuffix(own.Cgroup, unitSuffix) {
		t.Errorf("%+v", own)
	}
	if len(warmPids(m)) != 0 {
		t.Error("a supervisor is our child")
	}
	if err := m.Signal(t.Context(), h, pasar.Stop{ID: "a", Now: true}); err != nil {
		t.Fatal(err)
	}
	if r := end(t, m, h).Record; r == nil || r.Place != pasar.PlaceUnit || (r.Cgroup != nil) != (f.nursery != nil) {
		t.Errorf("%+v", r)
	}
	if err := m.Acknowledge(t.Context(), h); err != nil {
		t.Fatal(err)
	}
}

func TestAUnitThatDiesIdleIsReplacedAndOneThatIsNotNeededLeaves(t *testing.T) {
	f := manager(t)
	m := newPlace(t).openOn(booted(t, true, f))
	w, err := m.pool.take(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the next is up", func() bool { return f.units() == 2 })
	w.kill()
	select {
	case <-w.exited:
	case <-time.After(10 * time.Second):
		t.Fatal("its end isn't noticed")
	}
	w.end()
	second, err := m.pool.take(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	m.pool.letGo(second)                          // by hanging up
	defer m.sweep(time.Now().Add(2 * staleAfter)) // the killed one's socket
	if there(t, second.pid) {
		t.Errorf("supervisor %d is there still", second.pid)
	}
}

func TestAManagerThatFailsIsDoneWithout(t *testing.T) {
	for name, c := range map[string]struct {
		fail error
		mute bool
		want string
	}{
		"it refuses":                    {errors.New("Unit exists"), false, "Unit exists"},
		"it accepts and starts nothing": {nil, true, "no word from the supervisor"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeManager{t: t}
			f.set(c.fail, c.mute)
			on := booted(t, true, f)
			if c.mute {
				on.hello = 50 * time.Millisecond
			}
			m := newPlace(t).openOn(on)
			h := launch(t, m, shell(1, "exit 3"))
			if r := end(t, m, h).Record; r == nil || r.Exit.Code != 3 || r.Place == pasar.PlaceUnit {
				t.Errorf("%+v", r)
			}
			if s := m.Standing(); s.Place == pasar.PlaceUnit || !strings.Contains(s.Note(), c.want) {
				t.Errorf("%+v", s)
			}
			for _, fd := range f.held {
				_ = fd.Close()
			}
		})
	}
}

func TestUnitsAreUsedOnceTheUserLingers(t *testing.T) {
	f := manager(t)
	h := booted(t, false, f)
	m := newPlace(t).openOn(h)
	s := m.Standing()
	if s.Place == pasar.PlaceUnit || s.Fix() != enableLinger || !strings.Contains(s.Note(), "linger is off for ada") {
		t.Errorf("%+v", s)
	}
	end(t, m, launch(t, m, shell(1, "true")))
	if f.units() != 0 {
		t.Error("a unit was started that ends at logout")
	}
	setLinger(t, &h)
	m.Replace()
	for job := pasar.JobID(2); ; job++ {
		if r := end(t, m, launch(t, m, shell(job, "true"))).Record; r != nil && r.Place == pasar.PlaceUnit {
			return
		}
		if job > 50 {
			t.Fatal("units are not used")
		}
	}
}

func TestAServiceManagerOfAnotherWorldIsNotUsed(t *testing.T) {
	if err := sameWorld(os.Getpid()); err != nil {
		t.Errorf("this process itself: %v", err)
	}
	if os.Geteuid() != 0 {
		t.Skip("needs to make a namespace")
	}
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUTS}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if err := sameWorld(cmd.Process.Pid); err == nil || !strings.Contains(err.Error(), "uts") {
		t.Errorf("another UTS namespace: %v", err)
	}
}
