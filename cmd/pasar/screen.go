package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"pasar"
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

// maxScreenRows bounds the rows taken from a supervisor.
const maxScreenRows = 1000

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
	if l.welcome.NoPTY {
		return nil, problemf(ipc.CodeWrongState, "job #%d has no terminal, so there is no screen", p.job).
			hint("it was submitted with --no-pty; `pasar logs " + p.job.String() + "` shows its output")
	}
	v := &pasar.ScreenView{Schema: pasar.Schema, ID: p.job, Attempt: attemptOf(l.welcome.Key), Lines: []string{}}
	late := time.NewTimer(answerTime)
	defer late.Stop()
	for {
		var f frame
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-late.C:
			return nil, problemf(ipc.CodeUnavailable, "job #%d: its supervisor doesn't say what is on the screen", p.job)
		case f = <-l.frames:
		}
		switch {
		case f.err != nil:
			if errors.Is(f.err, io.EOF) {
				f.err = errors.New("its supervisor closed the connection")
			}
			return nil, problemf(ipc.CodeUnavailable, "job #%d: %v", p.job, f.err).hint("`pasar show " + p.job.String() + "` says what became of it")
		case f.typ == ipc.AttachRefused:
			var r ipc.RefusedFrame
			if err := ipc.DecodeBody(f.body, &r); err != nil {
				return nil, err
			}
			return nil, &ipc.Error{Code: r.Code, Message: r.Message, Hint: r.Hint}
		case f.typ != ipc.AttachScreen:
			continue
		}
		var s ipc.ScreenFrame
		if err := ipc.DecodeBody(f.body, &s); err != nil {
			return nil, err
		}
		v.Cols, v.Rows, v.Alternate, v.Title, v.Offset = s.Cols, s.Rows, s.Alternate, pasar.Known(validText(s.Title)), s.Offset
		v.Cursor = pasar.CursorView{Col: s.CursorCol, Row: s.CursorRow, Shown: s.CursorShown}
		for _, line := range s.Lines {
			if len(v.Lines) < maxScreenRows {
				v.Lines = append(v.Lines, validText(line))
			}
		}
		if !s.More {
			return v, nil
		}
	}
}

// attemptOf is the attempt that a supervisor says it holds: 1 of "42.1".
func attemptOf(key string) int {
	_, attempt, _ := strings.Cut(key, ".")
	return number(attempt)
}

func validText(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
