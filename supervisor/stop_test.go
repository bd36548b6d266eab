package supervisor_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

// pids reads the pids that a job wrote to a file, once there are n.
func (r *rig) pids(n int) []int {
	r.t.Helper()
	var pids []int
	eventually(r.t, patience, "the job's processes are up", func() bool {
		b, _ := os.ReadFile(filepath.Join(r.dir, "pids"))
		f := strings.Fields(string(b))
		if len(f) < n || !strings.HasSuffix(string(b), "\n") {
			return false
		}
		pids = pids[:0]
		for _, s := range f {
			pid, _ := strconv.Atoi(s)
			pids = append(pids, pid)
		}
		return true
	})
	return pids
}

func (r *rig) mustBeGone(pids []int) {
	r.t.Helper()
	for _, pid := range pids {
		if alive(pid) {
			r.t.Errorf("process %d of the job is still there", pid)
		}
	}
}

// script runs a shell script to which $P is the file for pids.
func script(t *testing.T, text string) *rig {
	t.Helper()
	r := warm(t)
	r.spec.Argv = pasar.Args([]string{"sh", "-c", "P=$0; " + text, filepath.Join(r.dir, "pids")})
	r.launch()
	r.wait(ipc.AttemptRunning)
	return r
}

func TestAStopIsTermThenNothingIfTheJobObeys(t *testing.T) {
	r := script(t, `trap 'echo saved; exit 9' TERM; echo $$ > $P; while :; do read x; done`)
	pids := r.pids(1)
	r.stop(pasar.Stop{ID: "a", Why: pasar.StopPreempt, Grace: pasar.Duration(time.Hour)})
	rec := r.end()
	if rec.Exit.Code != 9 || rec.StopStep != pasar.StepTerm || rec.Stop == nil || rec.Stop.Why != pasar.StopPreempt || rec.Tail[0] != "saved" {
		t.Errorf("%+v", rec)
	}
	r.mustBeGone(pids)
}

func TestAJobThatIgnoresTermIsKilledAfterItsGrace(t *testing.T) {
	r := script(t, `trap '' TERM; sleep 1000 & echo $$ $! > $P; wait; wait`)
	pids := r.pids(2)
	began := time.Now()
	r.stop(pasar.Stop{ID: "a", Grace: pasar.Duration(300 * time.Millisecond)})
	rec := r.end()
	if took := time.Since(began); took < 300*time.Millisecond || rec.Exit.Signal != 9 || rec.StopStep != pasar.StepKill {
		t.Errorf("after %s: %+v", took, rec)
	}
	r.mustBeGone(pids)
}

func TestARepeatedStopSendsNoSecondTermAndNowCutsTheGrace(t *testing.T) {
	r := script(t, `n=0; trap 'n=$((n+1)); echo term $n' TERM; echo $$ > $P; while :; do read x; done`)
	r.pids(1)
	long := pasar.Stop{ID: "a", Grace: pasar.Duration(time.Hour)}
	r.stop(long)
	c := r.attach(ipc.Hello{Mode: ipc.ModeWatch})
	c.until("term 1\r\n")
	r.stop(long)
	r.stop(pasar.Stop{ID: "b", Grace: pasar.Duration(2 * time.Hour)})
	long.Now = true
	r.stop(long)
	rec := r.end2(c)
	if rec.Exit.Signal != 9 || rec.StopStep != pasar.StepKill || strings.Contains(r.output(), "term 2") {
		t.Errorf("%+v, output %q", rec, r.output())
	}
}

// end2 is end with a watcher that must read to its EXIT first.
func (r *rig) end2(c *client) pasar.ExitRecord {
	r.t.Helper()
	c.readAll(new(strings.Builder))
	return r.end()
}

func TestAStoppedJobIsStopped(t *testing.T) {
	r := script(t, `echo $$ > $P; kill -STOP $$`)
	pids := r.pids(1)
	eventually(t, patience, "the job has stopped itself", func() bool {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pids[0]))
		return strings.Contains(string(b), ") T ")
	})
	r.stop(pasar.Stop{ID: "a", Grace: pasar.Duration(time.Hour)}) // SIGCONT lets it die of SIGTERM
	if rec := r.end(); rec.Exit.Signal != 15 || rec.StopStep != pasar.StepTerm {
		t.Errorf("%+v", rec)
	}
	r.mustBeGone(pids)
}

// daemonise leaves the session twice over, ignores SIGTERM and SIGHUP, and holds no terminal.
const daemonise = `import os,signal,sys,time
p=sys.argv[1]
if os.fork()==0:
    os.setsid()
    if os.fork()==0:
        signal.signal(signal.SIGTERM,signal.SIG_IGN); signal.signal(signal.SIGHUP,signal.SIG_IGN)
        n=os.open('/dev/null',os.O_RDWR)
        for i in range(3): os.dup2(n,i)
        with open(p,'a') as f: f.write('%d\n'%os.getpid())
        while True: signal.pause()
    os._exit(0)
os.wait()
if len(sys.argv)>2:
    while not os.path.exists(p): time.sleep(0.01)
    sys.exit(0)
while True: signal.pause()`

func python(t *testing.T, text string, args ...string) *rig {
	t.Helper()
	r := warm(t)
	r.spec.Argv = pasar.Args(append([]string{"python3", "-c", text, filepath.Join(r.dir, "pids")}, args...))
	r.launch()
	r.wait(ipc.AttemptRunning)
	return r
}

func TestADaemonisedGrandchildDoesNotOutliveACancel(t *testing.T) {
	r := python(t, daemonise)
	pids := r.pids(1)
	r.stop(pasar.Stop{ID: "a", Grace: pasar.Duration(200 * time.Millisecond)})
	rec := r.end()
	r.mustBeGone(pids)
	if rec.StopStep != pasar.StepKill || rec.Leftovers > 1 {
		t.Errorf("%+v", rec)
	}
}

func TestLeftoversAreGoneWithinTwoAndAHalfSeconds(t *testing.T) {
	r := python(t, daemonise, "leave")
	pids := r.pids(1)
	rec := r.end()
	r.mustBeGone(pids)
	if rec.Leftovers != 1 || rec.Exit.Code != 0 || rec.Stop != nil || rec.StopStep != "" {
		t.Errorf("%+v", rec)
	}
	// A generous bound: it must be about 2 s, and certainly not the drain's 2 s more.
	if took := time.Duration(rec.RunTime); took > 3500*time.Millisecond || took < time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestAChildThatKeepsTheTerminalIsALeftover(t *testing.T) {
	r := script(t, `sleep 600 & echo $! > $P; echo main; exit 7`)
	rec := r.end()
	r.mustBeGone(r.pids(1))
	if rec.Exit.Code != 7 || rec.Leftovers != 1 || rec.TailForced || rec.Tail[0] != "main" {
		t.Errorf("%+v", rec)
	}
	if d := rec.EndedAt.Sub(rec.StartedAt); d > 2500*time.Millisecond {
		t.Errorf("it took %s", d)
	}
}

// A shell that dies of SIGTERM at once must not cost its program the time to save.
func TestTheGraceIsForTheWholeJob(t *testing.T) {
	r := script(t, `sh -c 'trap "sleep 0.6; echo saved; exit 0" TERM; echo $$ > '$P'; while :; do sleep 0.01; done' & wait`)
	r.pids(1)
	r.stop(pasar.Stop{ID: "a", Grace: pasar.Duration(time.Minute)})
	rec := r.end()
	if rec.Exit.Signal != 15 || rec.StopStep != pasar.StepTerm || len(rec.Tail) == 0 || rec.Tail[len(rec.Tail)-1] != "saved" {
		t.Errorf("%+v", rec)
	}
}

func TestAProcessWithTheNonceIsOfTheJob(t *testing.T) {
	r := script(t, `echo $$ > $P; read x`)
	r.pids(1)
	// A process that isn't below the supervisor at all.
	stray, err := os.StartProcess("/bin/sleep", []string{"sleep", "1000"}, &os.ProcAttr{Env: []string{"PASAR_NONCE=" + r.spec.Nonce}})
	if err != nil {
		t.Fatal(err)
	}
	bystander, err := os.StartProcess("/bin/sleep", []string{"sleep", "1000"}, &os.ProcAttr{Env: []string{"PASAR_NONCE=" + r.spec.Nonce + "x"}})
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { _, _ = stray.Wait(); close(gone) }()
	r.stop(pasar.Stop{ID: "a", Grace: pasar.Duration(time.Minute)})
	rec := r.end()
	select {
	case <-gone:
	case <-time.After(patience):
		t.Error("the stray lives")
	}
	if !alive(bystander.Pid) {
		t.Error("a process of another nonce was killed")
	}
	_ = bystander.Kill()
	_, _ = bystander.Wait()
	if rec.StopStep != pasar.StepTerm {
		t.Errorf("%+v", rec)
	}
}

func TestABreedingJobIsKilledWhole(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs to become a user with a limit on processes")
	}
	const breed = `import os,resource,signal,sys
f=open(sys.argv[1],'w')
resource.setrlimit(resource.RLIMIT_NPROC,(40,40)); os.setuid(54321)
signal.signal(signal.SIGTERM,signal.SIG_IGN)
f.write('%d\n'%os.getpid()); f.flush()
while True:
    try: os.fork()
    except OSError: pass`
	r := python(t, breed)
	r.pids(1)
	r.stop(pasar.Stop{ID: "a", Grace: pasar.Duration(100 * time.Millisecond)})
	rec := r.end()
	if rec.Exit.Signal != 9 {
		t.Errorf("%+v", rec)
	}
	dir, _ := os.ReadDir("/proc")
	for _, e := range dir {
		if fi, err := e.Info(); err == nil && fi.Sys().(*syscall.Stat_t).Uid == 54321 {
			if pid, err := strconv.Atoi(e.Name()); err == nil && alive(pid) {
				t.Errorf("process %s is left", e.Name())
			}
		}
	}
}

func TestAJobDiesWithItsSupervisor(t *testing.T) {
	r := script(t, `sleep 1000 & echo $$ $! > $P; wait`)
	pids := r.pids(2)
	_ = r.cmd.Process.Kill()
	eventually(t, 2*time.Second, "the job is dead", func() bool { return !alive(pids[0]) && !alive(pids[1]) })
}

func TestTermToTheSupervisorStopsTheJobAndKeepsTheRecord(t *testing.T) {
	r := script(t, `echo $$ > $P; read x`)
	r.pids(1)
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	if rec := r.end(); rec.Exit.Signal != 15 || rec.Stop != nil || rec.StopStep != pasar.StepTerm || !rec.Asked {
		t.Errorf("%+v", rec)
	}
}

func TestCtrlZDoesNotStopAJobAndCtrlCInterruptsIt(t *testing.T) {
	r := script(t, `trap 'echo got int; exit 3' INT; echo $$ > $P; while read x; do echo "read $x"; done`)
	r.pids(1)
	c := r.attach(ipc.Hello{Mode: ipc.ModeType})
	c.send(ipc.AttachIn, &ipc.In{Data: []byte("\x1aa\n")})
	c.until("read a\r\n")
	c.send(ipc.AttachIn, &ipc.In{Data: []byte("\x03")})
	c.until("got int\r\n")
	rec := r.end2(c)
	if rec.Exit.Code != 3 || rec.Asked {
		t.Errorf("%+v", rec)
	}
	if k := rec.Typed; k == nil || k.Key != pasar.KeyInterrupt || k.At.After(rec.ExitedAt) || k.At.Before(rec.StartedAt) || !strings.Contains(k.By, fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("typed: %+v", k)
	}
}

func TestADaemonThatTheJobStartedOutlivesIt(t *testing.T) {
	daemon := filepath.Join(filepath.Dir(program), "pasard") // beside the supervisor, as it may be installed
	copySleep(t, daemon)
	t.Cleanup(func() { _ = os.Remove(daemon) })
	r := script(t, `setsid `+daemon+` 1000 </dev/null >/dev/null 2>&1 & echo $! > $P; sleep 0.1; exit 0`)
	rec := r.end()
	pid := r.pids(1)[0]
	if !alive(pid) || rec.Leftovers != 0 {
		t.Errorf("it is gone, or counted: %+v", rec)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

func TestADaemonReplacedSinceOutlivesTheJob(t *testing.T) {
	daemon := filepath.Join(filepath.Dir(program), "pasard")
	copySleep(t, daemon)
	t.Cleanup(func() { _ = os.Remove(daemon) })
	r := script(t, `setsid `+daemon+` 1000 </dev/null >/dev/null 2>&1 & echo $! > $P; sleep 0.1; cp -p `+daemon+` `+daemon+`.new; mv `+daemon+`.new `+daemon)
	rec := r.end()
	pid := r.pids(1)[0]
	if !alive(pid) || rec.Leftovers != 0 {
		t.Errorf("it is gone, or counted: %+v", rec)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

func TestWhatOnlyBearsADaemonsNameDoesNotOutliveTheJob(t *testing.T) {
	named := filepath.Join(t.TempDir(), "pasard")
	copySleep(t, named)
	r := script(t, `setsid `+named+` 1000 </dev/null >/dev/null 2>&1 & echo $! > $P; sleep 0.1; exit 0`)
	rec := r.end()
	r.mustBeGone(r.pids(1))
	if rec.Leftovers != 1 {
		t.Errorf("%+v", rec)
	}
}

// copySleep makes a program of another name that sleeps.
func copySleep(t *testing.T, to string) {
	t.Helper()
	from, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}
