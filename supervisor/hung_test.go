package supervisor_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/ipc"
)

// hang makes the exec of a program wait for as long as the test runs, as on a file server that is down.
func hang(t *testing.T) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "program")
	b, err := os.ReadFile("/bin/sleep")
	if err == nil {
		err = os.WriteFile(program, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC, unix.O_RDONLY)
	if err == nil {
		t.Cleanup(func() { _ = unix.Close(fd) })
		err = unix.FanotifyMark(fd, unix.FAN_MARK_ADD, unix.FAN_OPEN_EXEC_PERM, -1, program)
	}
	if err != nil {
		t.Skipf("exec can't be held up: %v", err)
	}
	return program
}

func TestAJobWhoseExecHangsCanBeStoppedAndHoldsUpNobody(t *testing.T) {
	program := hang(t)
	for name, s := range map[string]pasar.Stop{
		"at once":           {ID: "a", Now: true},
		"within its grace":  {ID: "b", Grace: pasar.Duration(time.Hour)},
		"without any grace": {ID: "c"},
	} {
		t.Run(name, func(t *testing.T) {
			r := warm(t)
			r.spec.Argv = pasar.Args([]string{program, "1000"})
			r.launch()
			r.wait(ipc.AttemptClaimed)
			eventually(t, patience, "it is being started", func() bool { return len(children(r.cmd.Process.Pid)) == 1 })

			other := start(t, "true")
			other.end()

			r.stop(s)
			rec := r.end()
			if rec.Exit.Signal == 0 || rec.Stop == nil || rec.Stop.ID != s.ID || rec.StopStep == pasar.StepNone {
				t.Errorf("%+v", rec)
			}
		})
	}
}

// children are the living children of a process.
func children(pid int) (pids []int) {
	dirs, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, f := range dirs {
		b, _ := os.ReadFile(f)
		for s := range strings.FieldsSeq(string(b)) {
			if n, err := strconv.Atoi(s); err == nil && alive(n) {
				pids = append(pids, n)
			}
		}
	}
	return pids
}
