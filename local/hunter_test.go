package local

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pasar/target"
)

// orphaned launches a script, waits for the pid that it writes after "child ", kills its supervisor, and
// returns that pid once the attempt is gone.
func orphaned(t *testing.T, script string) (child int) {
	t.Helper()
	m := newPlace(t).open()
	h := launch(t, m, shell(1, script))
	out := awaitOutput(t, m, h, " up")
	fields := strings.Fields(out[strings.Index(out, "child "):])
	child, err := strconv.Atoi(fields[1])
	if err != nil {
		t.Fatalf("output %q: %v", out, err)
	}
	t.Cleanup(func() { _ = syscall.Kill(child, syscall.SIGKILL) })
	if err := syscall.Kill(holding(t, m, h).Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the attempt is gone", func() bool {
		o, err := m.Observe(t.Context(), h)
		return err == nil && o.Status == target.Gone
	})
	return child
}

func TestWhatLostItsEnvironmentDoesNotOutliveADeadSupervisor(t *testing.T) {
	const bare = `env -i /bin/sh -c 'echo child $$ up; exec sleep 1000'`
	for name, script := range map[string]string{
		"of the job's group":    `trap "" HUP; ` + bare + ` & wait`,
		"of a group of its own": `trap "" HUP; set -m; ` + bare + ` & wait`,
		"of a session of its own, below one that has it": `trap "" HUP; setsid sh -c "setsid ` +
			strings.ReplaceAll(bare, "$", `\$`) + ` & wait" & wait`,
	} {
		t.Run(name, func(t *testing.T) {
			if child := orphaned(t, script); there(t, child) {
				t.Errorf("process %d of the job is still there", child)
			}
		})
	}
}

func TestWhatOnlyBearsADaemonsNameDoesNotOutliveADeadSupervisor(t *testing.T) {
	named := filepath.Join(t.TempDir(), "pasard")
	copySleep(t, named)
	if child := orphaned(t, `setsid `+named+` 1000 </dev/null >/dev/null 2>&1 & echo child $! up; wait`); there(t, child) {
		t.Errorf("process %d of the job is still there", child)
	}
}

func TestADaemonOutlivesADeadSupervisor(t *testing.T) {
	daemon := filepath.Join(filepath.Dir(supervisorPath), "pasard")
	copySleep(t, daemon) // beside the supervisor, as it is installed
	t.Cleanup(func() { _ = os.Remove(daemon) })
	if child := orphaned(t, `setsid `+daemon+` 1000 </dev/null >/dev/null 2>&1 & sleep 0.1; echo child $! up; wait`); !there(t, child) {
		t.Error("it is gone")
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

// The number of a session may be another's by now.
func TestTheSessionOfALaterProcessIsNotTheAttempts(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 1000 & echo $!; wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); _ = cmd.Wait() }()
	line := make([]byte, 32)
	n, err := io.ReadAtLeast(out, line, 2)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	if err != nil {
		t.Fatal(err)
	}
	leader := cmd.Process.Pid
	born, err := startTime(leader)
	if err != nil {
		t.Fatal(err)
	}
	finds := func(born uint64) bool {
		for _, s := range newHunter("none", leader, born, supervisorPath).find() {
			if s.pid == child {
				return true
			}
		}
		return false
	}
	if !finds(born) {
		t.Error("a process of the session isn't found")
	}
	for _, other := range []uint64{born - 1, born + 1} {
		if finds(other) {
			t.Errorf("a process of another's session is found: it was born at %d, not %d", born, other)
		}
	}
}

func TestAProcessWhoseFirstThreadHasEndedDoesNotOutliveADeadSupervisor(t *testing.T) {
	cc, err := exec.LookPath("gcc")
	if err != nil {
		if os.Getenv("PASAR_CI") != "" {
			t.Fatal("no C compiler: its programs must be tried here")
		}
		t.Skip("no C compiler")
	}
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "p.c"), filepath.Join(dir, "p")
	const program = `#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static void *live(void *none) {
	char stat[64], line[512] = "";
	snprintf(stat, sizeof stat, "/proc/%d/stat", getpid());
	while (!strstr(line, ") Z ")) {
		FILE *f = fopen(stat, "r");
		fgets(line, sizeof line, f);
		fclose(f);
	}
	printf("child %d up\n", getpid());
	fflush(stdout);
	for (;;) pause();
}
int main(void) {
	pthread_t t;
	signal(SIGHUP, SIG_IGN);
	pthread_create(&t, 0, live, 0);
	pthread_exit(0);
}
`
	if err := os.WriteFile(src, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-o", bin, src, "-lpthread").CombinedOutput(); err != nil {
		t.Fatalf("compile: %v\n%s", err, out)
	}
	if child := orphaned(t, `setsid `+bin+` & wait`); there(t, child) {
		t.Errorf("process %d of the job is still there", child)
	}
}
