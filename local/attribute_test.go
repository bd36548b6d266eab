package local

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pasar"
	"pasar/target"
)

// pidsIn waits until a running attempt has printed n pids, each after a word on a line of its own.
func pidsIn(t *testing.T, m *Machine, h target.Handle, n int) []int {
	t.Helper()
	var out strings.Builder
	var pids []int
	enough := errors.New("enough")
	_, err := m.Logs(limited(t), h, 0, true, func(c target.Chunk) error {
		out.Write(c.Data)
		pids = pids[:0]
		for _, f := range regexp.MustCompile(`pid (\d+)\s`).FindAllStringSubmatch(out.String(), -1) {
			pid, err := strconv.Atoi(f[1])
			if err != nil {
				return err
			}
			pids = append(pids, pid)
		}
		if len(pids) >= n {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Fatalf("output %q, %v", out.String(), err)
	}
	return pids
}

func stopNow(t *testing.T, m *Machine, h target.Handle) {
	t.Helper()
	if err := m.Signal(limited(t), h, pasar.Stop{ID: "end", Why: pasar.StopCancel, Now: true}); err != nil {
		t.Fatal(err)
	}
	end(t, m, h)
}

// family is a script whose main process, child, and processes that left its session or lost their environment
// print their pids.
const family = `echo pid $$; sleep 1000 & echo pid $!
	setsid sh -c 'echo pid $$; exec sleep 1000' &
	env -i /bin/sh -c 'echo pid $$; exec sleep 1000' &
	setsid env -i /bin/sh -c 'echo pid $$; exec sleep 1000' &
	wait`

func TestEveryProcessOfAnAttemptIsItsOwnInEachPlace(t *testing.T) {
	for _, p := range []pasar.Place{pasar.PlaceSession, pasar.PlaceCgroup} {
		t.Run(string(p), func(t *testing.T) {
			if p == pasar.PlaceCgroup {
				needCgroup(t)
			}
			place := newPlace(t)
			m := place.open(in(p))
			first, second := launch(t, m, shell(1, family)), launch(t, m, shell(2, family))
			for _, h := range []target.Handle{first, second} {
				pids := pidsIn(t, m, h, 5)
				// By the one that launched, and by a daemon that finds them running.
				later := place.open(in(p))
				if _, err := later.Observe(t.Context(), h); err != nil {
					t.Fatal(err)
				}
				for _, by := range []*Machine{m, later} {
					for i, pid := range pids {
						if key, ok := by.AttemptOf(pid); !ok || key != h.Key {
							t.Errorf("process %d, number %d of %s, is of %v, %v", pid, i, h.Key, key, ok)
						}
					}
					if key, ok := by.AttemptOf(holding(t, m, h).Pid); ok {
						t.Errorf("the supervisor of %s is of %s", h.Key, key)
					}
				}
			}
			for _, pid := range []int{os.Getpid(), os.Getppid(), 1, 0, -1, 1 << 30} {
				if key, ok := m.AttemptOf(pid); ok {
					t.Errorf("process %d is of %s", pid, key)
				}
			}
			stopNow(t, m, first)
			stopNow(t, m, second)
		})
	}
}

func TestAProcessBelowAContainersCgroupIsItsAttempts(t *testing.T) {
	needCgroup(t)
	m := newPlace(t).open(in(pasar.PlaceCgroup))
	h := launch(t, m, shell(1, "echo pid $$; sleep 1000"))
	pidsIn(t, m, h, 1)
	inner := filepath.Join(holding(t, m, h).Cgroup, jobDir, "container")
	if err := os.Mkdir(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	// Nobody's child that the attempt knows of, and without its environment.
	cmd := exec.Command("sleep", "1000")
	cmd.Env = []string{}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }()
	if _, ok := m.AttemptOf(cmd.Process.Pid); ok {
		t.Error("a stranger's process is the attempt's")
	}
	if err := writeCgroup(inner, "cgroup.procs", strconv.Itoa(cmd.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	if key, ok := m.AttemptOf(cmd.Process.Pid); !ok || key != h.Key {
		t.Errorf("it is of %v, %v", key, ok)
	}
	stopNow(t, m, h)
	<-gone // its cgroup's end is its own
}

func TestAStrayWithTheNonceIsItsAttemptsAndWithAnotherNobodys(t *testing.T) {
	place := newPlace(t)
	m := place.open(in(pasar.PlaceSession))
	h := launch(t, m, shell(1, "echo pid $$; sleep 1000"))
	pidsIn(t, m, h, 1)
	for _, c := range []struct {
		nonce string
		own   bool
	}{{h.Nonce, true}, {h.Nonce + "x", false}} {
		cmd := exec.Command("sleep", "1000")
		cmd.Env = []string{"PASAR_NONCE=" + c.nonce, "PASAR_JOB_ID=1", "PASAR_ATTEMPT=1"}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		awaitEnviron(t, cmd.Process.Pid)
		if key, ok := m.AttemptOf(cmd.Process.Pid); ok != c.own || ok && key != h.Key {
			t.Errorf("with nonce %q it is of %v, %v", c.nonce, key, ok)
		}
		// A daemon that has seen nothing but what is on disk.
		if key, ok := place.open(in(pasar.PlaceSession)).AttemptOf(cmd.Process.Pid); ok != c.own || ok && key != h.Key {
			t.Errorf("with nonce %q, to a new daemon it is of %v, %v", c.nonce, key, ok)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	stopNow(t, m, h)
}

func TestAPidThatWasUsedAgainIsNotTheAttemptsThatHadIt(t *testing.T) {
	m := newPlace(t).open(in(pasar.PlaceSession))
	h := launch(t, m, shell(1, "echo pid $$; sleep 1000"))
	pid := pidsIn(t, m, h, 1)[0]
	if _, ok := m.AttemptOf(pid); !ok {
		t.Fatal("its own process isn't its own")
	}
	mine, err := readStat(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	// This process has a pid that an earlier one of the attempt's had, and one that leads a session had.
	e := m.roster.all[h]
	m.roster.seen[identity{mine.pid, mine.start - 1}] = finding{of: e, at: time.Now()}
	e.holding.Pid, e.holding.StartTime = mine.pid, mine.start-1
	m.roster.sups[mine.pid] = e
	m.roster.sups[mine.session] = e
	if key, ok := m.AttemptOf(mine.pid); ok {
		t.Errorf("it is of %s", key)
	}
	cmd := exec.Command("sleep", "1000")
	cmd.Env = []string{}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if key, ok := m.AttemptOf(cmd.Process.Pid); ok {
		t.Errorf("its child is of %s", key)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	stopNow(t, m, h)
}

func TestAProcessThatHasEndedIsStillToldByItsPid(t *testing.T) {
	m := newPlace(t).open(in(pasar.PlaceSession))
	h := launch(t, m, shell(1, "sleep 1000 & echo pid $!; wait; sleep 1000"))
	pid := pidsIn(t, m, h, 1)[0]
	if _, ok := m.AttemptOf(pid); !ok {
		t.Fatal("its own process isn't its own")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is gone", func() bool { _, err := readStat(pid); return err != nil })
	if key, ok := m.AttemptOf(pid); !ok || key != h.Key {
		t.Errorf("it was of %v, %v", key, ok)
	}
	// Had a stranger had the pid since, it would be the stranger's.
	m.roster.seen[identity{pid, 1 << 60}] = finding{at: time.Now()}
	if key, ok := m.AttemptOf(pid); ok {
		t.Errorf("it was a stranger's last, and is of %v", key)
	}
	stopNow(t, m, h)
}

// awaitEnviron waits until a process that was just started has its environment, which is a moment after Start returns.
func awaitEnviron(t *testing.T, pid int) {
	t.Helper()
	eventually(t, "it has its environment", func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		return err == nil && len(b) > 0
	})
}

func TestAProcessIsStillItsAttemptsWhenThatIsOver(t *testing.T) {
	m := newPlace(t).open(in(pasar.PlaceSession))
	h := launch(t, m, shell(1, "true"))
	end(t, m, h)
	if err := m.Acknowledge(limited(t), h); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "1000") // stands for one that can't die yet
	cmd.Env = []string{"PASAR_NONCE=" + h.Nonce}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitEnviron(t, cmd.Process.Pid)
	if key, ok := m.AttemptOf(cmd.Process.Pid); !ok || key != h.Key {
		t.Errorf("it is of %v, %v", key, ok)
	}
	if use := m.HostUse(); len(use) != 0 {
		t.Errorf("an attempt that is over uses %v", use)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

func TestTheRosterOfAttemptsThatAreOverIsBounded(t *testing.T) {
	r := newRoster()
	kept := target.Handle{Key: pasar.AttemptKey{Job: 1, Attempt: 1}, Nonce: "kept"}
	r.enrol(kept, pasar.Holding{})
	for i := range 10 * rosterKept {
		h := target.Handle{Key: pasar.AttemptKey{Job: pasar.JobID(i + 2), Attempt: 1}, Nonce: strconv.Itoa(i)}
		r.enrol(h, pasar.Holding{})
		r.dismiss(h)
	}
	if n := len(r.all); n > 2*rosterKept || n < rosterKept || len(r.nonces) != n || len(r.order) != n {
		t.Errorf("%d attempts, %d nonces, %d in order", n, len(r.nonces), len(r.order))
	}
	if r.all[kept] == nil {
		t.Error("one that runs was forgotten")
	}
}

func TestHostUseIsWhatAnAttemptsProcessesHaveResident(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3")
	}
	m := newPlace(t).open(in(pasar.PlaceSession))
	const size = 96 << 20
	// Two processes that share what the first has written.
	h := launch(t, m, shell(1, `exec python3 -c '
import os, sys, time
b = bytearray(os.urandom(1)) * `+strconv.Itoa(size)+`
if os.fork() == 0:
    time.sleep(1000)
print(" up", flush=True)
time.sleep(1000)'`))
	awaitOutput(t, m, h, " up")
	small := launch(t, m, shell(2, "echo up; sleep 1000"))
	awaitOutput(t, m, small, "up")
	use := m.HostUse()
	if got := use[h.Key]; got < size || got > size*3/2 {
		t.Errorf("an attempt of two processes that share %d bytes uses %d", size, got)
	}
	if got := use[small.Key]; got <= 0 || got > 32*pasar.MiB {
		t.Errorf("a shell uses %d", got)
	}
	if len(use) != 2 {
		t.Errorf("%v", use)
	}
	stopNow(t, m, h)
	stopNow(t, m, small)
}

func TestHostUseIsWhatACgroupCountsLessWhatGivesWay(t *testing.T) {
	m := newPlace(t).open(in(pasar.PlaceSession))
	dir := filepath.Join(t.TempDir(), "pasar-0123456789abcdef")
	if err := os.MkdirAll(filepath.Join(dir, jobDir), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"memory.current": "5000000\n", "memory.stat": "anon 100\nactive_file 7\ninactive_file 2000000\n"} {
		if err := os.WriteFile(filepath.Join(dir, jobDir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h := target.Handle{Key: pasar.AttemptKey{Job: 1, Attempt: 1}, Nonce: "n"}
	m.roster.enrol(h, pasar.Holding{Nonce: "n", Boot: thisBoot(), Pid: 1 << 30, Cgroup: dir})
	if use := m.HostUse(); len(use) != 1 || use[h.Key] != 3000000 {
		t.Errorf("%v", use)
	}
}

func BenchmarkAttemptOf(b *testing.B) {
	m, err := New(Options{DataDir: b.TempDir(), RunDir: filepath.Join(b.TempDir(), "run"), Supervisor: supervisorPath})
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	m.AttemptOf(os.Getpid())
	for b.Loop() {
		if _, ok := m.AttemptOf(os.Getpid()); ok {
			b.Fatal("the test is nobody's")
		}
	}
}

func TestACgroupThatTheKernelNamesIsAnAttempts(t *testing.T) {
	m := &Machine{roster: newRoster()}
	h := target.Handle{Key: pasar.AttemptKey{Job: 7, Attempt: 2}, Nonce: "n"}
	m.roster.enrol(h, pasar.Holding{Key: h.Key, Nonce: "n", Boot: thisBoot(), Pid: 12, Cgroup: "/sys/fs/cgroup/a/pasar-0123456789abcdef.service"})
	for path, want := range map[string]bool{
		"/user.slice/a/pasar-0123456789abcdef.service/job":                            true,
		"/user.slice/a/pasar-0123456789abcdef.service/job/container":                  true,
		"/user.slice/a/pasar-0123456789abcdef.service/sup":                            true, // its supervisor
		"/user.slice/a/pasar-0123456789abcdef.service":                                true,
		"/user.slice/a/pasar-fedcba9876543210.service/job":                            false, // another's
		"/user.slice/a/pasar-0123456789abcdef.service/job/pasar-fedcba9876543210/job": false, // a daemon's that the job started
		"/": false, "": false,
	} {
		if key, ok := m.AttemptIn(path); ok != want || ok && key != h.Key {
			t.Errorf("%q: %s, %v", path, key, ok)
		}
	}
}
