package submission

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"pasar"
)

// resources is one more than the largest resource number of getrlimit(2) on Linux (RLIMIT_RTTIME, 15).
const resources = 16

// Surroundings records what this process would hand down to a child, with env as its environment.
func Surroundings(env []pasar.Arg) pasar.Surroundings {
	return pasar.Surroundings{Env: env, Umask: umask(), Nice: nice(), Limits: softLimits()}
}

// umask reads the file mode mask without changing it, which umask(2) can't; -1 if the kernel doesn't say.
func umask() int {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return -1
	}
	for line := range bytes.Lines(b) {
		if v, ok := bytes.CutPrefix(line, []byte("Umask:")); ok {
			if n, err := strconv.ParseUint(string(bytes.TrimSpace(v)), 8, 12); err == nil {
				return int(n)
			}
		}
	}
	return -1
}

// nice is this process's nice value, -20 to 19. The system call itself returns 20 less it.
func nice() int {
	n, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return 0
	}
	return 20 - n
}

func softLimits() []pasar.Rlimit {
	// Go raises the soft limit of open files as a program starts, and puts back what it was only on the
	// way to another program. So fail to become one: no file has an empty name.
	_ = syscall.Exec("", []string{""}, nil)
	var out []pasar.Rlimit
	for r := range resources {
		var l unix.Rlimit
		if unix.Getrlimit(r, &l) == nil {
			out = append(out, pasar.Rlimit{Resource: r, Soft: l.Cur})
		}
	}
	return out
}
