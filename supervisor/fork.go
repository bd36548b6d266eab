package supervisor

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"pasar"
)

// A launchError says at which step a job could not be started.
type launchError struct {
	step string // pty, chdir, exec, interpreter, fork
	text string
	err  error
}

func (e *launchError) Error() string { return fmt.Sprintf("%s: %v", e.text, e.err) }
func (e *launchError) Unwrap() error { return e.err }

// errno is the system error behind err; 0 if there is none.
func errno(err error) int {
	var no syscall.Errno
	if errors.As(err, &no) {
		return int(no)
	}
	return 0
}

// A forker starts the main process, on a thread of its own that lives as long as this process: the
// job's parent-death signal follows the thread.
type forker struct {
	ask  chan func()
	cell *cell // where the job goes; nil: where we are
}

func newForker() *forker {
	f := &forker{ask: make(chan func())}
	go f.serve(func() {})
	return f
}

// serve does what is asked. Begun is called once its thread is settled, which isn't the process's first: what a child
// inherits of a thread would be shown as the process's own.
func (f *forker) serve(begun func()) {
	runtime.LockOSThread() // never unlocked
	if unix.Gettid() == unix.Getpid() {
		elsewhere := make(chan struct{})
		go f.serve(func() { close(elsewhere) })
		<-elsewhere
		runtime.UnlockOSThread()
		return
	}
	begun()
	for do := range f.ask {
		do()
	}
}

// fork starts the main process at the far end of a wire and returns its pid.
func (f *forker) fork(log *slog.Logger, spec *pasar.AttemptSpec, t wire) (pid int, err error) {
	done := make(chan struct{})
	f.ask <- func() {
		pid, err = forkHere(log, spec, t, f.cell)
		close(done)
	}
	<-done
	return pid, err
}

// forkHere does the work of fork on the present thread. What a child inherits is set on ourselves and
// put back: nothing runs between fork and exec that could do it in the child.
func forkHere(log *slog.Logger, spec *pasar.AttemptSpec, t wire, c *cell) (int, error) {
	cwd := string(spec.Cwd)
	argv, env := plain(spec.Argv), plain(spec.Surroundings.Env)
	if err := enterable(cwd); err != nil {
		return 0, &launchError{"chdir", "change to directory " + cwd, err}
	}
	file, err := resolve(argv[0], cwd, env)
	if err != nil {
		return 0, &launchError{"exec", "run " + argv[0], err}
	}
	if n := spec.Surroundings.Nice; n != 0 {
		if err := unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), n); err != nil {
			log.Warn("nice value not carried over", "nice", n, "error", err)
		}
	}
	own := readOOM()
	if own >= 0 {
		if writeOOM(min(own+oomApart, 1000)) == nil {
			defer func() { _ = writeOOM(own) }()
		}
	} else if writeOOM(0) == nil {
		defer func() { _ = writeOOM(own) }()
	}
	if m := spec.Surroundings.Umask; m >= 0 {
		defer syscall.Umask(syscall.Umask(m & 0o777))
	}
	defer lowerLimits(log, spec.Surroundings.Limits)()

	sys := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	attr := &syscall.ProcAttr{Dir: cwd, Env: env, Files: t.child(sys), Sys: sys}
	pid, err := c.forkExec(file, argv, attr)
	if errors.Is(err, syscall.ENOEXEC) {
		// A script without an interpreter line: execvp(3) gives it to the shell.
		pid, err = c.forkExec("/bin/sh", append([]string{"/bin/sh", file}, argv[1:]...), attr)
	}
	switch {
	case err == nil:
		return pid, nil
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		return 0, &launchError{"fork", "fork", err}
	case errors.Is(err, syscall.ENOENT):
		if missing := lacking(file, cwd); missing != nil {
			return 0, &launchError{"interpreter", "run " + argv[0], missing}
		}
	}
	return 0, &launchError{"exec", "run " + argv[0], err}
}

// plain is args as strings; the bytes are the same.
func plain(args []pasar.Arg) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = string(a)
	}
	return out
}

// lowerLimits sets our soft limits to the submitter's, never above the hard ones, and returns a
// function that puts ours back. It must be syscall.Setrlimit: Go gives a child the RLIMIT_NOFILE it
// found at start unless that function was called.
func lowerLimits(log *slog.Logger, limits []pasar.Rlimit) (restore func()) {
	var undo []func()
	for _, l := range limits {
		var was syscall.Rlimit
		err := syscall.Getrlimit(l.Resource, &was)
		if err == nil {
			err = syscall.Setrlimit(l.Resource, &syscall.Rlimit{Cur: min(l.Soft, was.Max), Max: was.Max})
		}
		if err != nil {
			log.Warn("limit not carried over", "resource", l.Resource, "soft", l.Soft, "error", err)
			continue
		}
		undo = append(undo, func() { _ = syscall.Setrlimit(l.Resource, &was) })
	}
	return func() {
		for _, f := range undo {
			f()
		}
	}
}
