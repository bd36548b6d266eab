package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/config"
	"pasar/gpu"
	"pasar/local"
	"pasar/target"
)

// A doctorEnv is everything that the doctor asks of the machine; tests have their own.
type doctorEnv struct {
	root    string // the system's files are looked for below it
	scratch string // directory for copies; made by whoever needs it, removed by cleanUp
	self    string // this program
	version string // of this program
	uid     int
	user    string // login name
	now     func() time.Time

	home    string // of the user
	manager *serviceManager

	load     func(file string) (*config.Config, error)
	asleep   func(config.Paths) bool // systemd listens, and no daemon runs
	probe    func(context.Context) target.Standing
	ask      func(ctx context.Context, socket string) daemonSeen
	run      func(ctx context.Context, argv ...string) ([]byte, error) // standard output, at most 64 KiB
	lookPath func(name string) (string, error)
	statfs   func(path string) (space, error)
	writable func(path string) error                      // nil if we may write in it
	rlimit   func(pid, resource int) (unix.Rlimit, error) // pid 0: this process
	openPTY  func() error                                 // opens a terminal and closes it again
	mono     func() (pasar.Duration, error)               // CLOCK_BOOTTIME
	gpus     func(context.Context, *config.Config) gpuSight
	// kernelLog says why the kernel's log can't be read; nil: it can.
	kernelLog func(path string) error
}

// A space is what a file system has.
type space struct {
	total, free pasar.Bytes // free for us
	inodes      uint64      // free; meaningless if it counts none
	counts      bool        // has a fixed number of inodes
}

// thisMachine is the machine we are on.
func thisMachine() (*doctorEnv, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find myself: %w", err)
	}
	return &doctorEnv{
		root: "/", self: self, version: pasar.Version, uid: os.Geteuid(), user: userName(),
		scratch:  filepath.Join(os.TempDir(), fmt.Sprintf("pasar-doctor-%d-%d", os.Getpid(), time.Now().UnixNano())),
		now:      time.Now,
		home:     os.Getenv("HOME"),
		manager:  thisManager(),
		asleep:   asleep,
		probe:    func(ctx context.Context) target.Standing { return local.Probe(ctx, local.Options{}) },
		load:     func(file string) (*config.Config, error) { return config.Load(file, os.Getenv) },
		ask:      askDaemon,
		run:      runProgram,
		lookPath: exec.LookPath,
		statfs:   statfs,
		writable: func(path string) error {
			return unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
		},
		rlimit: func(pid, resource int) (l unix.Rlimit, err error) {
			err = unix.Prlimit(pid, resource, nil, &l)
			return l, err
		},
		openPTY: openPTY,
		mono:    bootTime,
		gpus:    lookAtGPUs,

		kernelLog: gpu.KernelLogReadable,
	}, nil
}

// asleep is whether something listens for a daemon while none has the data directory.
func asleep(p config.Paths) bool {
	if !held(p.Socket) {
		return false
	}
	locked, _, err := lockHeld(p.Data)
	return err == nil && !locked
}

// cleanUp removes what checks left, also those that never came back.
func (e *doctorEnv) cleanUp() { _ = os.RemoveAll(e.scratch) }

// path is where a file of the system is.
func (e *doctorEnv) path(p string) string { return filepath.Join(e.root, p) }

// read is what a small file of the system says, without the white space around it.
func (e *doctorEnv) read(p string) (string, error) {
	f, err := os.Open(e.path(p))
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<20))
	return strings.TrimSpace(string(b)), err
}

func (e *doctorEnv) exists(p string) bool {
	_, err := os.Stat(e.path(p))
	return err == nil
}

func bootTime() (pasar.Duration, error) {
	var ts unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts)
	return pasar.Duration(ts.Nano()), err
}

func statfs(path string) (space, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return space{}, err
	}
	size := uint64(st.Bsize)
	return space{total: pasar.Bytes(st.Blocks * size), free: pasar.Bytes(st.Bavail * size), inodes: st.Ffree, counts: st.Files > 0}, nil
}

// runProgram runs a program with nothing on its standard input. When ctx is done it is killed, with
// what it started. It can't reach the daemon: what is asked of it needs none, and
// one that hangs would make it hang.
func runProgram(ctx context.Context, argv ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "PASAR_SOCKET=/dev/null/none", "PASAR_URL=")
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = 100 * time.Millisecond
	out := &bounded{max: 64 << 10}
	cmd.Stdout = out
	err := cmd.Run()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out.kept.Bytes(), err
}

// bounded keeps the first bytes that are written to it and takes the others.
type bounded struct {
	kept bytes.Buffer
	max  int
}

func (b *bounded) Write(p []byte) (int, error) {
	b.kept.Write(p[:min(len(p), b.max-b.kept.Len())])
	return len(p), nil
}

// openPTY opens a terminal's two ends, as a supervisor does.
func openPTY() error {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open /dev/ptmx: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return fmt.Errorf("unlock a terminal: %w", err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return fmt.Errorf("number a terminal: %w", err)
	}
	slave, err := unix.Open(fmt.Sprintf("/dev/pts/%d", n), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open /dev/pts/%d: %w", n, err)
	}
	return unix.Close(slave)
}
