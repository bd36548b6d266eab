package main

import (
	"context"
	"errors"
	"io"
	"time"

	"pasar"
	"pasar/answer"
	"pasar/ipc"
)

func screenCommand() *command {
	return &command{
		name: "screen", section: sectionJobs, args: "[JOB]", brief: "a job's screen as text, as it is now", takes: takesJob,
		long: `What somebody who attaches would see, for those who can't. In JSON there is also the cursor, the size and how far in the
output it is. It works without a daemon, too.`,
		examples: []example{
			{"pasar screen 42", "what is on its terminal"},
			{"pasar screen --json 42", "with the cursor"},
		},
		setup: func(f *flags) action {
			return func(ctx context.Context, c *call) error {
				where, err := c.supervisor(ctx, c.args)
				if err != nil {
					return err
				}
				v, err := where.look(ctx)
				if err != nil {
					return err
				}
				if c.json {
					return c.printJSON(v)
				}
				lines := v.Lines
				for len(lines) > 0 && lines[len(lines)-1] == "" {
					lines = lines[:len(lines)-1]
				}
				for _, l := range lines {
					if err := c.print(pasar.Clean(l) + "\n"); err != nil {
						return err
					}
				}
				return nil
			}
		},
	}
}

// answerTime is how long a supervisor may take for what it does at once.
const answerTime = 10 * time.Second

// look asks for the screen.
func (p place) look(ctx context.Context) (*pasar.ScreenView, error) {
	l, err := p.connect(ipc.Hello{Mode: ipc.ModeScreen}, func() {})
	if err != nil {
		var e *ipc.Error
		if errors.As(err, &e) && e.Code == ipc.CodeUnsupported && e.Hint == "" {
			return nil, problemf(e.Code, "job #%d's supervisor is older than this pasar and can't show its screen", p.job).
				hint("`pasar attach " + p.job.String() + "` and `pasar logs " + p.job.String() + "` work; the job is unharmed")
		}
		return nil, err
	}
	defer l.close()
	late := time.NewTimer(answerTime)
	defer late.Stop()
	return answer.Screen(p.job, l.welcome, func() (int, []byte, error) {
		var f frame
		select {
		case <-ctx.Done():
			return 0, nil, context.Cause(ctx)
		case <-late.C:
			return 0, nil, problemf(ipc.CodeUnavailable, "job #%d: its supervisor doesn't say what is on the screen", p.job)
		case f = <-l.frames:
		}
		if errors.Is(f.err, io.EOF) {
			f.err = errors.New("its supervisor closed the connection")
		}
		if f.err != nil {
			return 0, nil, problemf(ipc.CodeUnavailable, "job #%d: %v", p.job, f.err).hint("`pasar show " + p.job.String() + "` says what became of it")
		}
		return f.typ, f.body, nil
	})
}
