package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"pasar"
	"pasar/ipc"
	"pasar/jobfile"
	"pasar/sched"
	"pasar/ui"
)

func planCommand() *command {
	return &command{
		name: "plan", section: sectionMachine, args: "TRACE", brief: "play a trace of jobs by the scheduler's rules", takes: takesFile,
		long: `TRACE is a CSV file, or - for standard input: a line of headings, then a line for each job with the columns job_id, submit_s,
duration_s and gpus, and optionally share (the part of each GPU that it needs; 1 is whole GPUs), estimate_s (what the
scheduler is told of its run time; an empty cell is nothing, and without the column it is told the truth) and bid. Other columns are passed
over, and so are jobs that ask for more GPUs than there are. The very same rules decide as for real jobs; no daemon takes part.

With --out the schedule is written as job_id,start_s,end_s,gpu_ids (the numbers joined by +). The other policies are there
to be compared with: easy backfills strictly by age behind one reservation, fifo lets nobody pass.`,
		examples: []example{
			{"pasar plan last-month.csv --gpus 8", "how long would last month's jobs have waited?"},
			{"pasar plan last-month.csv --gpus 8 --policy easy --json", "the same by plain backfilling, for a program"},
		},
		setup: func(f *flags) action {
			gpus := f.number("gpus", "", "how many GPUs the machine has; 8 if not given", 1, maxTraceGPUs)
			policy := f.String("policy", "pasar", "`RULES` that decide: pasar, easy or fifo")
			out := f.String("out", "", "`FILE` to write the schedule to, as CSV; - is standard output, and then the numbers go to standard error")
			return func(ctx context.Context, c *call) error {
				n := 8
				if f.given("gpus") {
					n = int(*gpus)
				}
				return c.playTrace(ctx, n, *policy, *out)
			}
		},
	}
}

// policies are the words for --policy.
var policies = map[string]sched.Policy{"pasar": sched.PolicyPasar, "easy": sched.PolicyEASY, "fifo": sched.PolicyFIFO}

func (c *call) playTrace(ctx context.Context, gpus int, policy, out string) error {
	if len(c.args) != 1 {
		return usagef("plan takes one trace").hint(traceForm)
	}
	rules, ok := policies[policy]
	if !ok {
		return usagef("--policy: %q is no policy: pasar, easy or fifo is", pasar.Clean(policy))
	}
	if out == "-" && c.json {
		return usagef("--out - and --json both want standard output").hint("write the schedule to a file")
	}
	t, err := c.readTrace(gpus)
	if err != nil {
		return err
	}
	runs, err := replay(ctx, t, gpus, rules)
	if err != nil {
		return err
	}
	v := t.score(runs, gpus)
	v.Policy = policy
	switch out {
	case "":
	case "-":
		if err := t.writeSchedule(c.stdout, runs); err != nil {
			return err
		}
		c.note(ui.Trace(&v))
		return nil
	default:
		if err := writeWhole(out, func(w io.Writer) error { return t.writeSchedule(w, runs) }); err != nil {
			return problemf(ipc.CodeBadInput, "write %s: %v", pasar.Clean(out), err)
		}
	}
	if c.json {
		b, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		return c.printLine(b)
	}
	return c.print(ui.Trace(&v))
}

func (c *call) readTrace(gpus int) (*trace, error) {
	name := c.args[0]
	if name == "-" {
		return readTrace("standard input", c.stdin, gpus)
	}
	f, err := jobfile.Open(name)
	if err != nil {
		return nil, problemf(ipc.CodeBadInput, "open trace: %v", err)
	}
	defer f.Close()
	if fi, err := f.Stat(); err == nil && fi.IsDir() {
		return nil, problemf(ipc.CodeBadInput, "%s is a directory, not a trace", pasar.Clean(name))
	}
	return readTrace(name, f, gpus)
}

// replay plays the trace until it is done or the command is interrupted; then the goroutine ends with the
// process.
func replay(ctx context.Context, t *trace, gpus int, rules sched.Policy) ([]sched.TraceRun, error) {
	type outcome struct {
		runs []sched.TraceRun
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		runs, err := sched.Replay(t.jobs, gpus, rules)
		done <- outcome{runs, err}
	}()
	select {
	case o := <-done:
		return o.runs, o.err
	case <-ctx.Done():
		return nil, errInterrupted
	}
}

// writeWhole writes a file so that it is there wholly or as it was before.
func writeWhole(path string, write func(io.Writer) error) error {
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() { // a pipe, /dev/stdout
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		if err := write(f); err != nil {
			_ = f.Close()
			return err
		}
		return f.Close()
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".pasar-*")
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
