package main

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"pasar"
)

// resources is one more than the largest resource number of getrlimit(2) on Linux (RLIMIT_RTTIME, 15).
const resources = 16

// surroundings records what this process would hand down to a child, with env as its environment.
func surroundings(env []pasar.Arg) pasar.Surroundings {
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

// bare is what is left of the environment with --no-env.
var bare = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG"}

// ours are the variables that steer a pasar client. Every other PASAR_ variable belongs to the job in
// which this client may be running, and is not handed to another.
var ours = []string{"PASAR_SOCKET", "PASAR_CONFIG", "PASAR_URL", "PASAR_ADDRESS", "PASAR_TOKEN"}

// jobEnv is the environment recorded with a job: this one, or the bare one, and what --env adds; sorted,
// each variable once.
func jobEnv(env []string, noEnv bool, add []string) ([]pasar.Arg, error) {
	vars := map[string]string{}
	for _, kv := range env {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" || noEnv && !slices.Contains(bare, k) {
			continue
		}
		if strings.HasPrefix(k, "PASAR_") && !slices.Contains(ours, k) {
			continue
		}
		if k == "XLA_PYTHON_CLIENT_MEM_FRACTION" && v == lookup(env, "PASAR_GPU_FRACTION") {
			continue // pasar set it, for the job we are in
		}
		vars[k] = v
	}
	for _, kv := range add {
		k, v, ok := strings.Cut(kv, "=")
		if k == "" {
			return nil, usagef("--env %q has no name", pasar.Clean(kv)).hint("write --env KEY=VALUE, or --env KEY to pass yours on")
		}
		if !ok {
			if !slices.ContainsFunc(env, func(s string) bool { return strings.HasPrefix(s, k+"=") }) {
				return nil, usagef("--env %s: it is not set here", pasar.Clean(k)).hint("write --env " + pasar.Clean(k) + "=VALUE")
			}
			v = lookup(env, k)
		}
		vars[k] = v
	}
	out := make([]pasar.Arg, 0, len(vars))
	size := 0
	for k, v := range vars {
		out = append(out, pasar.Arg(k+"="+v))
		size += len(k) + len(v) + 2
	}
	if size > pasar.MaxEnv {
		return nil, usagef("the environment is %s; at most %s", pasar.Bytes(size), pasar.Bytes(pasar.MaxEnv)).hint("leave it out with --no-env, and name what the job needs with --env KEY")
	}
	slices.Sort(out)
	return out, nil
}
