package supervisor

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Bounds on what the process takes, since a machine may run hundreds of supervisors.
const (
	heapLimit = 12 << 20 // bytes; a soft limit, for the collector
	heapGrow  = 50       // percent between collections
	oomSelf   = -900     // oom_score_adj with the capability to set it
	oomApart  = 200      // without it: how much sooner than us the job is to be killed
)

// Isolate makes the process independent of whoever started it: a session of its own, standard
// streams on /dev/null or a file, no descriptor that the starter leaked, reaper of every orphan below
// it, a small heap. It is called once, before anything else.
func Isolate() error {
	runtime.GOMAXPROCS(2)
	debug.SetGCPercent(heapGrow)
	debug.SetMemoryLimit(heapLimit)

	_, _ = syscall.Setsid() // fails if we lead a session already, which is what is wanted
	if err := os.Chdir("/"); err != nil {
		return fmt.Errorf("change to /: %w", err)
	}
	if err := silence(); err != nil {
		return err
	}
	if err := dropDescriptors(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become reaper of orphans: %w", err)
	}
	_ = writeOOM(oomSelf) // only with CAP_SYS_RESOURCE
	handleSignals()
	return nil
}

// silence points the standard streams at /dev/null, but leaves the last one on a file: a crash of the
// runtime is told there, and what is logged before there is an attempt.
func silence() error {
	streams := 3
	var st unix.Stat_t
	if err := unix.Fstat(2, &st); err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
		streams = 2
	}
	fd, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", os.DevNull, err)
	}
	for std := range streams {
		if err := unix.Dup2(fd, std); err != nil {
			return fmt.Errorf("redirect descriptor %d: %w", std, err)
		}
	}
	if fd > 2 {
		_ = unix.Close(fd)
	}
	return nil
}

// dropDescriptors closes what the starter leaked to us: every descriptor from 3 on that an exec would
// pass on. Those that the Go runtime and we opened are close-on-exec, so they stay.
func dropDescriptors() error {
	dir, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("list descriptors: %w", err)
	}
	for _, e := range dir {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd < 3 {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC != 0 {
			continue
		}
		_ = unix.Close(fd)
	}
	return nil
}

// handleSignals takes a handler for every signal that a starter may have left ignored: a child then
// gets the default again, whereas an ignored signal would stay ignored in the job. What a terminal
// or a hangup sends is not for us.
func handleSignals() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE,
		syscall.SIGALRM, syscall.SIGUSR2, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU,
		syscall.SIGXFSZ, syscall.SIGVTALRM, syscall.SIGWINCH)
}

// oomFile is where the kernel keeps how soon this process is to be killed for want of memory.
const oomFile = "/proc/self/oom_score_adj"

// readOOM is this process's oom_score_adj; 0 if it can't be read.
func readOOM() int {
	var buf [32]byte
	b, err := readProc(oomFile, buf[:0], len(buf))
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(string(trimNewline(b)))
	return n
}

func writeOOM(n int) error {
	fd, err := unix.Open(oomFile, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, strconv.AppendInt(nil, int64(n), 10))
	return err
}

func trimNewline(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\n' {
		return b[:n-1]
	}
	return b
}
