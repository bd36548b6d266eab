// Package score reads labelled deaths and scores verdicts on them.
package score

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/autopsy"
	"pasar/gpu"
)

// A Case is a labelled death: one line of a file of cases.
type Case struct {
	ID            string  `json:"id"`
	Kind          string  `json:"kind"`
	ExitCode      *int    `json:"exit_code"` // of the main process; this, Signal, or neither
	Signal        *string `json:"signal"`
	CgroupOOMKill bool    `json:"cgroup_oom_kill"` // the kernel killed a process in its cgroup for want of memory
	Xid           *int    `json:"xid"`             // the first of its GPUs while it ran
	Sched         *string `json:"sched"`           // what the scheduler did or saw
	Log           string  `json:"log"`             // as captured
	Expect        Expect  `json:"expect"`
	Difficulty    string  `json:"difficulty"` // easy or hard
	Note          string  `json:"note"`       // for people
}

// Expect is the label of a case.
type Expect struct {
	Reason   pasar.Code `json:"reason"`
	Summary  []string   `json:"summary_contains"`   // each is in the summary, whatever its case
	RootLine *string    `json:"root_line_contains"` // is in the root line; nil: not scored
}

// maxLine bounds a line of a file of cases.
const maxLine = 64 << 20

// ReadFile reads a file of cases: JSON lines.
func ReadFile(path string) ([]Case, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	cases, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	return cases, nil
}

// Read reads cases. An error begins with the number of the line.
func Read(r io.Reader) ([]Case, error) {
	var cases []Case
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	for n := 1; in.Scan(); n++ {
		if strings.TrimSpace(in.Text()) == "" {
			continue
		}
		var c Case
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			return nil, fmt.Errorf("%d: %w", n, err)
		}
		if c.Expect.Reason == "" {
			return nil, fmt.Errorf("%d: no reason is expected", n)
		}
		cases = append(cases, c)
	}
	return cases, in.Err()
}

// stops is what the scheduler's own actions are as stops.
var stops = map[string]pasar.StopWhy{
	"cancel": pasar.StopCancel, "preempt": pasar.StopPreempt, "watchdog": pasar.StopWatchdog, "time_limit": pasar.StopLimit,
}

// Evidence is what a daemon would have gathered of the death.
func (c *Case) Evidence() (autopsy.Evidence, error) {
	e := autopsy.Evidence{Log: autopsy.ReadLog([]byte(c.Log), 1), Output: int64(len(c.Log))}
	switch {
	case c.ExitCode != nil:
		e.Exit = &pasar.Exit{Code: *c.ExitCode}
	case c.Signal != nil:
		n := unix.SignalNum(*c.Signal)
		if n == 0 {
			return e, fmt.Errorf("%s: unknown signal %q", c.ID, *c.Signal)
		}
		e.Exit = &pasar.Exit{Signal: int(n)}
	}
	if c.CgroupOOMKill {
		e.Cgroup = &pasar.CgroupUse{MemoryMax: -1, MemoryPeak: -1, SwapPeak: -1, MaxEvents: -1, OOM: -1, OOMKill: 1, PidsMax: -1}
	}
	if c.Xid != nil {
		x := pasar.Xid{Code: *c.Xid, Source: "kernel"}
		gpu.DescribeXid(&x)
		e.Xids = []autopsy.BlamedXid{{Xid: x, Blame: pasar.Certain}}
	}
	if c.Sched != nil {
		if err := c.scheduled(&e); err != nil {
			return e, err
		}
	}
	return e, nil
}

// scheduled adds what the scheduler did itself.
func (c *Case) scheduled(e *autopsy.Evidence) error {
	switch why, ok := stops[*c.Sched]; {
	case ok:
		e.Stop, e.StopStep = &pasar.Stop{Why: why}, pasar.StepTerm
		if e.Exit != nil && e.Exit.Signal == int(syscall.SIGKILL) {
			e.StopStep = pasar.StepKill
		}
	case *c.Sched == "lost":
		e.Exit, e.Lost = nil, "it vanished with no exit status"
	case *c.Sched == "launch_error":
		e.Exit, e.LaunchError = nil, "it could not be started"
		if n := len(e.Log); n > 0 {
			e.LaunchError = strings.TrimPrefix(e.Log[n-1].Text, "pasar: ")
		}
	default:
		return fmt.Errorf("%s: unknown action of the scheduler %q", c.ID, *c.Sched)
	}
	return nil
}
