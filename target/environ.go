package target

import (
	"strings"

	"pasar"
)

// An environ is a list of KEY=VALUE in a stable order with one value for each key.
type environ struct {
	keys   []string // in order of first appearance
	values map[string]string
}

func newEnviron(env []pasar.Arg) *environ {
	e := &environ{values: make(map[string]string, len(env)+24)}
	for _, kv := range env {
		// An entry without a name can't be asked for by any program; a shell drops it too.
		if k, v, ok := strings.Cut(string(kv), "="); ok && k != "" {
			e.set(k, v)
		}
	}
	return e
}

func (e *environ) set(k, v string) {
	if !e.has(k) {
		e.keys = append(e.keys, k)
	}
	e.values[k] = v
}

func (e *environ) has(k string) bool {
	_, ok := e.values[k]
	return ok
}

// drop forgets the variables that f picks.
func (e *environ) drop(f func(k string) bool) {
	kept := e.keys[:0]
	for _, k := range e.keys {
		if f(k) {
			delete(e.values, k)
		} else {
			kept = append(kept, k)
		}
	}
	e.keys = kept
}

// dropForeign removes what describes the submitter's terminal, multiplexer or service: the job has
// a terminal of its own and must not talk to the submitter's service manager.
func (e *environ) dropForeign() {
	e.drop(func(k string) bool {
		switch k {
		case "COLUMNS", "LINES", "TMUX", "TMUX_PANE", "STY",
			"NOTIFY_SOCKET", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "MANAGERPID", "FDSTORE":
			return true
		}
		for _, prefix := range []string{"LISTEN_", "WATCHDOG_", "MEMORY_PRESSURE_"} {
			if strings.HasPrefix(k, prefix) {
				return true
			}
		}
		return false
	})
}

// dropOuterJob removes what pasar said to another job: a job may submit jobs, and a variable that
// doesn't apply to the new one must not be inherited. The XLA fraction goes with the one it was
// made from, unless a person set another.
func (e *environ) dropOuterJob() {
	outer := e.values["PASAR_GPU_FRACTION"]
	e.drop(func(k string) bool {
		switch strings.TrimPrefix(k, "PASAR_") {
		case "JOB_ID", "ATTEMPT", "NONCE", "RESUMING", "EVENTS", "JOB_DIR", "PERSIST_DIR",
			"MEM_LIMIT_BYTES", "MEM_REQUEST_BYTES", "GRACE_SECONDS", "GPU_UUIDS", "GPUS", "GPU_FRACTION",
			"PAUSE_FILE", "CHECKPOINT_READY", "CHECKPOINT", "ARRAY_INDEX":
			return strings.HasPrefix(k, "PASAR_")
		}
		if strings.HasPrefix(k, "PASAR_PARAM_") {
			return true
		}
		switch k {
		case "SSHGPU_PAUSE_FILE", "SSHGPU_CHECKPOINT_READY", "SSHGPU_CHECKPOINT":
			return true
		case "XLA_PYTHON_CLIENT_MEM_FRACTION":
			return outer != "" && e.values[k] == outer
		}
		return false
	})
}

func (e *environ) list() []pasar.Arg {
	out := make([]pasar.Arg, 0, len(e.keys))
	for _, k := range e.keys {
		out = append(out, pasar.Arg(k+"="+e.values[k]))
	}
	return out
}
