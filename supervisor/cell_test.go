package supervisor_test

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/ipc"
)

// cgroupToUse is a cgroup below which this process may make others, its own. Without one the test is skipped, or
// fails where it must run.
func cgroupToUse(t testing.TB) string {
	t.Helper()
	miss := t.Skipf
	if os.Getenv("PASAR_CI") != "" {
		miss = t.Fatalf
	}
	dir := ownCgroup()
	if dir == "" {
		miss("no cgroup v2 is delegated to this process")
	}
	return dir
}

// ownCgroup is the cgroup of this process if it may make others below; empty if it may not.
func ownCgroup() string {
	at := ""
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		before, after, _ := strings.Cut(line, " - ")
		if f := strings.Fields(before); strings.HasPrefix(after, "cgroup2 ") && len(f) > 4 && f[3] == "/" {
			at = f[4]
		}
	}
	own, _ := os.ReadFile("/proc/self/cgroup")
	_, path, ok := strings.Cut(string(own), "0::")
	path, _, _ = strings.Cut(path, "\n")
	dir := filepath.Join(at, path)
	if at == "" || !ok || unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) != nil || unix.Access(dir, unix.W_OK) != nil {
		return ""
	}
	return dir
}

// makeCell makes the cgroup for a supervisor to be started in.
func makeCell(t testing.TB) (dir string) {
	t.Helper()
	var b [8]byte
	_, _ = rand.Read(b[:])
	dir = filepath.Join(cgroupToUse(t), "pasar-"+hex.EncodeToString(b[:]))
	if err := os.MkdirAll(filepath.Join(dir, "sup"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s is left", dir)
			_ = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)
		}
	})
	return dir
}

// celled is a warm supervisor in a cgroup of its own.
func celled(t testing.TB) (r *rig, job string) {
	t.Helper()
	dir := makeCell(t)
	f, err := os.Open(filepath.Join(dir, "sup"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r = warmAs(t, &syscall.SysProcAttr{Setsid: true, UseCgroupFD: true, CgroupFD: int(f.Fd())}, "--place", "cgroup")
	return r, filepath.Join(dir, "job")
}

// celledScript is script in a cgroup; $J is the job's.
func celledScript(t testing.TB, text string) (r *rig, job string) {
	t.Helper()
	r, job = celled(t)
	r.spec.Argv = pasar.Args([]string{"sh", "-c", "P=$0; J=$1; " + text, filepath.Join(r.dir, "pids"), job})
	r.launch()
	r.wait(ipc.AttemptRunning)
	return r, job
}

// endWithCell is end, after which the cgroup must be gone.
func (r *rig) endWithCell(job string) pasar.ExitRecord {
	r.t.Helper()
	rec := r.end()
	if rec.Place != pasar.PlaceCgroup || rec.Cgroup == nil {
		r.t.Errorf("record: %+v", rec)
	}
	if _, err := os.Stat(filepath.Dir(job)); err == nil {
		r.t.Errorf("%s is left", filepath.Dir(job))
	}
	return rec
}

func TestAJobIsInItsPartOfTheCgroupAndTheSupervisorIsNot(t *testing.T) {
	r, job := celledScript(t, `echo $$ > $P; read x`)
	pid := r.pids(1)[0]
	if h := r.holding(); h.Place != pasar.PlaceCgroup || h.Cgroup != filepath.Dir(job) {
		t.Errorf("claim: %+v", h)
	}
	for p, part := range map[int]string{pid: "/job", r.cmd.Process.Pid: "/sup"} {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(p) + "/cgroup")
		if err != nil || !strings.Contains(string(b), filepath.Base(filepath.Dir(job))+part) {
			t.Errorf("process %d is in %s, %v", p, b, err)
		}
	}
	r.stop(pasar.Stop{ID: "a", Now: true})
	if rec := r.endWithCell(job); rec.Exit.Signal != 9 || rec.StopStep != pasar.StepKill {
		t.Errorf("record: %+v", rec)
	}
}

// What hides from everything else: no nonce, another session, another parent.
const hidden = `setsid env -i sh -c 'trap "" TERM HUP; echo $$ >> "$0"; while :; do sleep 1000; done' $P &
`

func TestWhatHidesInTheCgroupIsALeftover(t *testing.T) {
	r, job := celledScript(t, hidden+`while [ ! -s $P ]; do sleep 0.01; done; exit 4`)
	pids := r.pids(1)
	if rec := r.endWithCell(job); rec.Exit.Code != 4 || rec.Leftovers == 0 {
		t.Errorf("record: %+v", rec)
	}
	r.mustBeGone(pids)
}

func TestSIGTERMReachesAllInTheCgroup(t *testing.T) {
	r, job := celledScript(t, `setsid env -i sh -c 'trap "echo told >> \"$0\"; exit" TERM; echo up >> "$0"; while :; do sleep 0.1; done' $P &
		trap 'wait; exit 5' TERM; echo $$ >> $P; while :; do sleep 0.1; done`)
	r.pids(2)
	r.stop(pasar.Stop{ID: "a", Grace: pasar.Duration(time.Hour)})
	rec := r.endWithCell(job)
	if rec.Exit.Code != 5 || rec.StopStep != pasar.StepTerm {
		t.Errorf("record: %+v", rec)
	}
	if b, _ := os.ReadFile(filepath.Join(r.dir, "pids")); !strings.Contains(string(b), "told") {
		t.Errorf("the other process said %q", b)
	}
}

func TestAJobThatDividesItsCgroupIsEndedInAllOfIt(t *testing.T) {
	r, job := celledScript(t, `mkdir -p $J/own/deep && sh -c 'echo $$ > $0/own/deep/cgroup.procs; trap "" TERM; echo $$ >> $1; while :; do sleep 1000; done' $J $P &
		trap "" TERM; while [ ! -s $P ]; do sleep 0.01; done; echo $$ >> $P; while :; do sleep 1000; done`)
	pids := r.pids(2)
	r.stop(pasar.Stop{ID: "a", Grace: pasar.Duration(time.Millisecond)})
	if rec := r.endWithCell(job); rec.Exit.Signal != 9 {
		t.Errorf("record: %+v", rec)
	}
	r.mustBeGone(pids)
}

func TestAFrozenJobObeysAndDies(t *testing.T) {
	r, job := celledScript(t, `trap 'exit 6' TERM; echo $$ > $P; while :; do sleep 0.1; done`)
	r.pids(1)
	freeze(t, job)
	r.stop(pasar.Stop{ID: "a", Grace: pasar.Duration(time.Hour)})
	if rec := r.endWithCell(job); rec.Exit.Code != 6 || rec.StopStep != pasar.StepTerm {
		t.Errorf("record: %+v", rec)
	}

	r, job = celledScript(t, `echo $$ > $P; sleep 1000`)
	pids := r.pids(1)
	freeze(t, job)
	r.stop(pasar.Stop{ID: "a", Now: true})
	if rec := r.endWithCell(job); rec.Exit.Signal != 9 {
		t.Errorf("record: %+v", rec)
	}
	r.mustBeGone(pids)
}

func freeze(t *testing.T, job string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(job, "cgroup.freeze"), []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	eventually(t, patience, "it is frozen", func() bool {
		b, _ := os.ReadFile(filepath.Join(job, "cgroup.events"))
		return strings.Contains(string(b), "frozen 1")
	})
}

func TestABreedingJobInACgroupIsKilledAtOneStroke(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs to become a user with a limit on processes")
	}
	bin := compile(t, breed)
	r, job := celled(t)
	r.spec.Argv = pasar.Args([]string{bin, r.dir + "/pids", "54324", "400"})
	r.launch()
	r.wait(ipc.AttemptRunning)
	r.pids(1)
	began := time.Now()
	r.stop(pasar.Stop{ID: "a", Now: true})
	r.endWithCell(job)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("after %s", took)
	} else {
		t.Logf("killed in %s", took)
	}
}

func TestWhatLeftTheCgroupIsFoundAllTheSame(t *testing.T) {
	above := cgroupToUse(t)
	r, job := celledScript(t, `setsid sh -c 'echo $$ > $0/cgroup.procs; trap "" TERM HUP; echo $$ >> $1; while :; do sleep 1000; done' `+above+` $P &
		while [ ! -s $P ]; do sleep 0.01; done; exit 0`)
	pids := r.pids(1)
	if rec := r.endWithCell(job); rec.Leftovers == 0 {
		t.Errorf("record: %+v", rec)
	}
	r.mustBeGone(pids)
}

func TestASupervisorThatAJobStartedOutlivesItsCgroupsKill(t *testing.T) {
	r, job := celledScript(t, `sleep 1000`)
	guest := warm(t) // as a daemon's would be that the job started
	if err := os.WriteFile(filepath.Join(job, "cgroup.procs"), []byte(strconv.Itoa(guest.cmd.Process.Pid)), 0); err != nil {
		t.Fatal(err)
	}
	r.stop(pasar.Stop{ID: "a", Now: true})
	if rec := r.end(); rec.Exit.Signal != 9 {
		t.Errorf("record: %+v", rec)
	}
	guest.spec.Argv = pasar.Args([]string{"true"})
	guest.launch()
	guest.end()
	for _, dir := range []string{job, filepath.Dir(job) + "/sup", filepath.Dir(job)} { // it could not be removed with the guest in it
		_ = unix.Rmdir(dir)
	}
}

func TestWhereClone3IsForbiddenTheJobIsInItsCgroupStill(t *testing.T) {
	dir := makeCell(t)
	job := filepath.Join(dir, "job")
	var r *rig
	done := make(chan struct{})
	go func() { // on a thread that goes with the goroutine
		defer close(done)
		runtime.LockOSThread()
		if err := forbidClone3(); err != nil {
			t.Error(err)
			return
		}
		enter := []string{"sh", "-c", `echo $$ > "$0/sup/cgroup.procs"; exec "$@"`, dir, program}
		r = warmBy(t, &syscall.SysProcAttr{Setsid: true}, enter, "--place", "cgroup")
	}()
	<-done
	if t.Failed() {
		_ = unix.Rmdir(filepath.Join(dir, "sup"))
		_ = unix.Rmdir(dir)
		return
	}
	r.spec.Argv = pasar.Args([]string{"sh", "-c", "cat /proc/self/cgroup; cat"})
	r.launch()
	r.wait(ipc.AttemptRunning)
	for pid, part := range map[int]string{r.cmd.Process.Pid: "sup", mainPid(t, job): "job"} {
		b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
		if !strings.Contains(string(b), filepath.Base(dir)+"/"+part) {
			t.Errorf("process %d is in %s", pid, b)
		}
	}
	r.stop(pasar.Stop{ID: "a", Now: true})
	r.endWithCell(job)
}

// mainPid is the first process in a cgroup.
func mainPid(t *testing.T, job string) (pid int) {
	t.Helper()
	eventually(t, patience, "the job is in "+job, func() bool {
		b, _ := os.ReadFile(filepath.Join(job, "cgroup.procs"))
		if f := strings.Fields(string(b)); len(f) > 0 {
			pid, _ = strconv.Atoi(f[0])
		}
		return pid > 0
	})
	return pid
}

// forbidClone3 makes clone3 fail on this thread and in what it starts, as the filters of some containers do.
func forbidClone3() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	const load, jumpEq, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	const allow, fail = 0x7fff0000, 0x00050000
	f := []unix.SockFilter{
		{Code: load, K: 0}, // the number of the call
		{Code: jumpEq, K: unix.SYS_CLONE3, Jf: 1},
		{Code: ret, K: fail | uint32(unix.ENOSYS)},
		{Code: ret, K: allow},
	}
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
}
