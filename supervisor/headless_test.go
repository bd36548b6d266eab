package supervisor_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

// headless is a program whose first thread ends while another runs on: proc(5) then calls it a zombie.
// It ignores SIGTERM and writes its pid to a file; with a second argument it does so in a child, in a
// session of its own and with init's or the supervisor's care only, and waits for that to be up.
const headless = `#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static const char *path;
static void *live(void *none) {
	char stat[64], line[512];
	snprintf(stat, sizeof stat, "/proc/%d/stat", getpid());
	do { /* until the first thread has ended */
		FILE *f = fopen(stat, "r");
		if (!f || !fgets(line, sizeof line, f)) exit(1);
		fclose(f);
	} while (!strstr(line, ") Z "));
	FILE *f = fopen(path, "w");
	fprintf(f, "%d\n", getpid());
	fclose(f);
	for (;;) pause();
}
int main(int argc, char **argv) {
	pthread_t t;
	path = argv[1];
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	if (argc > 2) {
		if (fork() > 0) {
			while (access(path, F_OK)) usleep(1000);
			return 0;
		}
		setsid();
		for (int i = 0; i < 3; i++) close(i);
	}
	pthread_create(&t, 0, live, 0);
	pthread_exit(0);
}
`

// compile builds a C program.
func compile(t *testing.T, source string) string {
	t.Helper()
	cc, err := exec.LookPath("gcc")
	if err != nil {
		if os.Getenv("PASAR_CI") != "" {
			t.Fatal("no C compiler: its programs must be tried here")
		}
		t.Skip("no C compiler")
	}
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "p.c"), filepath.Join(dir, "p")
	if err := os.WriteFile(src, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-o", bin, src, "-lpthread").CombinedOutput(); err != nil {
		t.Fatalf("compile: %v\n%s", err, out)
	}
	return bin
}

func compiled(t *testing.T, source string, args ...string) *rig {
	t.Helper()
	bin := compile(t, source)
	r := warm(t)
	r.spec.Argv = pasar.Args(append([]string{bin, filepath.Join(r.dir, "pids")}, args...))
	r.launch()
	r.wait(ipc.AttemptRunning)
	return r
}

func TestALeftoverWhoseFirstThreadHasEndedDoesNotOutliveTheJob(t *testing.T) {
	r := compiled(t, headless, "leave")
	pids := r.pids(1)
	rec := r.end()
	r.mustBeGone(pids)
	if rec.Leftovers != 1 || rec.Exit.Code != 0 {
		t.Errorf("%+v", rec)
	}
}

func TestAJobWhoseFirstThreadHasEndedCanBeKilled(t *testing.T) {
	r := compiled(t, headless)
	pids := r.pids(1)
	r.stop(pasar.Stop{ID: "a", Now: true})
	rec := r.end()
	r.mustBeGone(pids)
	if rec.Exit.Signal != 9 || rec.StopStep != pasar.StepKill {
		t.Errorf("%+v", rec)
	}
}

func TestAStrayWhoseFirstThreadHasEndedIsOfTheJob(t *testing.T) {
	bin := compile(t, headless)
	r := script(t, `echo $$ > $P; read x`)
	r.pids(1)
	up := filepath.Join(t.TempDir(), "up")
	stray, err := os.StartProcess(bin, []string{bin, up}, &os.ProcAttr{Env: []string{"PASAR_NONCE=" + r.spec.Nonce}})
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { _, _ = stray.Wait(); close(gone) }()
	defer func() { _ = stray.Kill(); <-gone }()
	eventually(t, patience, "the stray is up", func() bool { _, err := os.Stat(up); return err == nil })
	r.stop(pasar.Stop{ID: "a", Grace: pasar.Duration(100 * time.Millisecond)})
	r.end()
	select {
	case <-gone:
	case <-time.After(patience):
		t.Error("the stray lives")
	}
}
