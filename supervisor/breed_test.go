package supervisor_test

import (
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

// breed forks as fast as it can under a limit on processes, each process in a session of its own, so that
// whatever ends is followed at once by another.
const breed = `#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
int main(int argc, char **argv) {
	struct rlimit most = {atoi(argv[3]), atoi(argv[3])};
	FILE *f = fopen(argv[1], "w");
	signal(SIGTERM, SIG_IGN);
	setrlimit(RLIMIT_NPROC, &most);
	if (setuid(atoi(argv[2]))) return 1;
	for (int i = 0, up = 0;; i++) {
		int pid = fork();
		if (pid == 0) { setsid(); up = 1; }
		if (pid < 0 && !up) { fprintf(f, "%d\n", getpid()); fclose(f); up = 1; } /* the limit is reached */
	}
}
`

func TestABreedingJobIsKilledWholeAndSoon(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs to become a user with a limit on processes")
	}
	for most, uid := range map[int]int{6: 54322, 400: 54323} {
		t.Run(strconv.Itoa(most), func(t *testing.T) {
			bin := compile(t, breed)
			r := warm(t)
			r.spec.Argv = pasar.Args([]string{bin, r.dir + "/pids", strconv.Itoa(uid), strconv.Itoa(most)})
			r.launch()
			r.wait(ipc.AttemptRunning)
			r.pids(1)
			began := time.Now()
			r.stop(pasar.Stop{ID: "a", Now: true})
			rec := r.end()
			if took := time.Since(began); took > 10*time.Second || rec.Exit.Signal != 9 {
				t.Errorf("after %s: %+v", took, rec)
			} else {
				t.Logf("killed in %s", took)
			}
			dir, _ := os.ReadDir("/proc")
			for _, e := range dir {
				if fi, err := e.Info(); err == nil && int(fi.Sys().(*syscall.Stat_t).Uid) == uid {
					if pid, err := strconv.Atoi(e.Name()); err == nil && alive(pid) {
						t.Errorf("process %s is left", e.Name())
						_ = syscall.Kill(pid, syscall.SIGKILL)
					}
				}
			}
		})
	}
}
