package main

import (
	"context"
	"fmt"

	"pasar"
	"pasar/answer"
	"pasar/ipc"
)

// An outputStream reads an attempt's output over as many daemons as it takes, and says what is missing of it.
type outputStream struct{ answer.Output }

// read calls each with the pieces in order.
func (o *outputStream) read(ctx context.Context, a *app, each func(answer.Piece) error) error {
	o.tell(a)
	err := a.stream(ctx, func(d *ipc.Client, alive func()) error {
		to := o.Reader(func(p answer.Piece) error {
			alive()
			return each(p)
		})
		begin := to.Head
		to.Head = func(h ipc.LogsHead) error {
			alive()
			return begin(h)
		}
		ans, err := d.Logs(ctx, o.Request(), to)
		if err != nil {
			return err
		}
		o.Finish(ans)
		return nil
	})
	if isNoDaemon(err) && !o.Started && !o.Follow {
		if done, ferr := o.readFile(a, each); done {
			return ferr
		}
	}
	return err
}

// tell has what is missing said between the lines of output.
func (o *outputStream) tell(a *app) {
	o.Told = func(text string) {
		_ = a.stdout.Flush()
		a.note(text)
	}
	o.Gap = func(from, to int64) {
		o.Told(fmt.Sprintf("%s of job #%d's output, from byte %d on, are not to be had", missing(from, to), o.Job, from))
	}
}

// missing is how much there is from one offset to another: in words, and exactly.
func missing(from, to int64) string {
	if to-from < 1024 {
		return pasar.Bytes(to - from).String()
	}
	return fmt.Sprintf("%s (%d bytes)", pasar.Bytes(to-from), to-from)
}
