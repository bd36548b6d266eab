package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"pasar"
	"pasar/answer"
	"pasar/ipc"
	"pasar/ui"
)

// tailLines is how many lines of a failed job's output go to standard error.
const tailLines = 20

// watch waits until a job has ended, with its output on standard output if that is wanted. Interrupted,
// it says that the job goes on.
func (c *call) watch(ctx context.Context, id pasar.JobID, output bool) (*view, error) {
	v, err := c.watchOnce(ctx, id, output)
	if err != nil && ctx.Err() != nil {
		_ = c.stdout.Flush()
		c.note(fmt.Sprintf("job #%d goes on; `pasar logs -f %d` follows it, `pasar cancel %d` ends it", id, id, id))
		return nil, exit(exitInterrupted)
	}
	return v, err
}

func (c *call) watchOnce(ctx context.Context, id pasar.JobID, output bool) (*view, error) {
	if output {
		v, err := c.waitOne(ctx, ipc.WaitRequest{Jobs: []pasar.JobID{id}, Started: true})
		if err != nil {
			return nil, err
		}
		if len(v.Attempts) > 0 {
			out := &outputStream{answer.Output{Job: id, Follow: true}}
			var to sink = &plainSink{a: c.app}
			if c.json {
				to = jsonLines(c.app, &sync.Mutex{}, out)
			}
			if err := c.followAttempts(ctx, out, nil, (&logs{}).renderer, to); err != nil {
				return nil, err
			}
		}
	}
	return c.waitOne(ctx, ipc.WaitRequest{Jobs: []pasar.JobID{id}})
}

// waitOne waits for one job.
func (c *call) waitOne(ctx context.Context, req ipc.WaitRequest) (*view, error) {
	var got *view
	err := c.stream(ctx, func(d *ipc.Client, _ func()) error {
		return d.Wait(ctx, req, func(b []byte) error {
			var err error
			got, err = parseView(b)
			return err
		})
	})
	if err == nil && got == nil {
		err = errors.New("the daemon ended the wait without saying how the job ended")
	}
	return got, err
}

// reportEnd says on standard error how a job ended. Its output has just been seen, or wasn't wanted.
func (c *call) reportEnd(v *view) {
	if c.json {
		return
	}
	_ = c.stdout.Flush()
	lines := append([]string{"pasar: " + ui.End(&v.JobView, ui.Style{})}, ui.Seen(&v.JobView)...)
	_, _ = io.WriteString(c.stderr, strings.Join(lines, "\n")+"\n")
}
