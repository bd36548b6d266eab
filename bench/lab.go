package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// options are the flags that rows see.
type options struct {
	quick bool
	bin   string
	tmp   string
}

// A lab is the temporary directory with all that a run builds, starts and writes.
type lab struct {
	options
	dir    string // absolute; in the environment of every process started here
	empty  string // a Go program that does nothing
	job    string // bench/job: what the measured jobs run
	stamp  string // the job that notes when it starts and ends
	native bool   // stamp is static C, which starts faster than Go
	tsp    string // peers; empty: not installed
	tmux   string
	dtach  string
	script string
	log    io.Writer
	homes  int
}

func newLab(ctx context.Context, o options, log io.Writer) (*lab, error) {
	dir, err := os.MkdirTemp(o.tmp, "pasar-bench-")
	if err != nil {
		return nil, fmt.Errorf("make temporary directory: %w", err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	l := &lab{options: o, dir: dir, log: log}
	if err := l.build(ctx); err != nil {
		l.close()
		return nil, err
	}
	for name, at := range map[string]*string{"tsp": &l.tsp, "tmux": &l.tmux, "dtach": &l.dtach, "script": &l.script} {
		if path, err := exec.LookPath(name); err == nil {
			*at = path
		}
	}
	return l, nil
}

// close ends every process of the lab and removes the directory.
func (l *lab) close() {
	l.sweep()
	if err := os.RemoveAll(l.dir); err != nil {
		fmt.Fprintln(l.log, "bench: remove temporary directory:", err)
	}
}

const emptyProgram = "package main\n\nfunc main() {}\n"

// stampProgram sleeps for so many milliseconds and appends four 64-bit numbers to a file: seconds and
// nanoseconds of CLOCK_MONOTONIC at its first instruction and, as near as can be, at its last.
const stampProgram = `
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv) {
	struct timespec t[2];
	clock_gettime(CLOCK_MONOTONIC, &t[0]);
	if (argc != 3)
		return 2;
	long ms = atol(argv[2]);
	struct timespec life = {ms / 1000, ms % 1000 * 1000000};
	nanosleep(&life, 0);
	int f = open(argv[1], O_WRONLY | O_APPEND | O_CREAT, 0600);
	clock_gettime(CLOCK_MONOTONIC, &t[1]);
	return write(f, t, sizeof t) != sizeof t;
}
`

// build makes the programs: pasar's as `make build` does, and the empty one with the same flags.
func (l *lab) build(ctx context.Context) error {
	bin := filepath.Join(l.dir, "bin")
	if l.bin != "" {
		abs, err := filepath.Abs(l.bin)
		if err != nil {
			return err
		}
		l.bin = abs
	} else {
		l.bin = bin
		if err := l.goBuild(ctx, bin+"/", "pasar/cmd/pasar", "pasar/cmd/pasard", "pasar/cmd/pasar-supervisor", "pasar/cmd/pasar-console"); err != nil {
			return err
		}
	}
	l.empty, l.job = filepath.Join(l.dir, "empty"), filepath.Join(l.dir, "job")
	src := filepath.Join(l.dir, "empty.go")
	if err := os.WriteFile(src, []byte(emptyProgram), 0o600); err != nil {
		return err
	}
	if err := l.goBuild(ctx, l.empty, src); err != nil {
		return err
	}
	if err := l.goBuild(ctx, l.job, "pasar/bench/job"); err != nil {
		return err
	}
	l.stamp = l.job
	if cc, err := exec.LookPath("cc"); err == nil {
		out := filepath.Join(l.dir, "stamp")
		cmd := exec.CommandContext(ctx, cc, "-x", "c", "-O2", "-static", "-o", out, "-")
		cmd.Stdin = strings.NewReader(stampProgram)
		if cmd.Run() == nil {
			l.stamp, l.native = out, true
		}
	}
	return nil
}

func (l *lab) goBuild(ctx context.Context, out string, what ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-trimpath", "-ldflags", "-s -w", "-o", out}, what...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if b, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", what[0], err, b)
	}
	return nil
}

// stampArgs is the command that notes its start and end in a file, with a sleep between.
func (l *lab) stampArgs(file string, life time.Duration) []string {
	args := []string{file, strconv.FormatInt(life.Milliseconds(), 10)}
	if l.native {
		return append([]string{l.stamp}, args...)
	}
	return append([]string{l.stamp, "stamp"}, args...)
}

// sweep kills what carries the lab's directory in its environment: daemons, supervisors, jobs, peers.
// Nobody else's processes do.
func (l *lab) sweep() { sweep(l.dir) }

func sweep(dir string) {
	for range 200 {
		pids := processesOf(dir)
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// processesOf are the processes, but for this one and those already dead, that were started with the
// directory in their environment or their arguments.
func processesOf(dir string) []int {
	var pids []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err1 := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		args, err2 := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if errors.Join(err1, err2) == nil && (bytes.Contains(env, []byte(dir)) || bytes.Contains(args, []byte(dir))) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// pick is the size or the number of rounds for a full run or a quick one.
func (l *lab) pick(full, quick int) int {
	if l.quick {
		return quick
	}
	return full
}

// until polls until f is true or the context is done.
func until(ctx context.Context, what string, every time.Duration, f func() bool) error {
	t := time.NewTicker(every)
	defer t.Stop()
	for !f() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w", what, context.Cause(ctx))
		case <-t.C:
		}
	}
	return nil
}

// settle lets the machine come to rest.
func settle(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
