package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"time"

	"pasar"
	"pasar/ipc"
)

// A follower shows a job's output as text, where there is no terminal to show its screen on, or the job has none.
type follower struct {
	*attachment
	why    string // it isn't the screen
	offset int64  // of the output reached; at first what HELLO is to ask for
}

func (f *follower) run(ctx context.Context) error {
	f.note(pasar.Clean(f.why) + ": following its output, as `pasar logs -f` does; Ctrl-C leaves")
	l, err := f.connect()
	if err != nil {
		return err
	}
	f.link = l
	defer func() { f.link.close() }()
	f.out = newOutlet(f.stdout)
	own := *f.app // whose standard output is a pipe that can be given up
	own.stdout = bufio.NewWriter(slowPipe{f.out, ctx.Done()})
	text := &shower{r: f.newRenderer(false), to: &plainSink{a: &own}}
	end, err := f.loop(ctx, text)
	if ferr := text.finish(); err == nil {
		err = ferr
	}
	limit := time.Duration(1<<63 - 1) // who reads slowly gets it all
	if err != nil {
		limit = leaveTime
	}
	if !f.out.close(limit, ctx.Done()) {
		f.app.stdout = discard()
	}
	if werr := f.out.failure(); werr != nil && err == nil {
		err = fmt.Errorf("write standard output: %w", werr)
	}
	switch {
	case errors.Is(err, errInterrupted), err == nil && ctx.Err() != nil:
		f.note(fmt.Sprintf("left; job #%d goes on", f.at.job))
		return exit(exitInterrupted)
	case err != nil:
		return err
	}
	return f.verdict(ctx, end)
}

func (f *follower) connect() (*link, error) {
	h := ipc.Hello{Mode: ipc.ModeWatch, Offset: f.offset}
	if h.Offset < 0 && f.history > 0 { // a job without a terminal, on one
		h.Paint, h.History = true, f.history
	}
	return f.at.connect(h, func() {})
}

func (f *follower) loop(ctx context.Context, text *shower) (end ipc.ExitFrame, err error) {
	f.offset = f.link.welcome.Offset
	for {
		var fr frame
		select {
		case <-ctx.Done():
			return end, context.Cause(ctx)
		case fr = <-f.link.frames:
		}
		if fr.err != nil {
			if err := f.resume(heed(ctx, fr.err)); err != nil {
				return end, err
			}
			continue
		}
		switch fr.typ {
		case ipc.AttachOut:
			var o ipc.Out
			if err := ipc.DecodeBody(fr.body, &o); err != nil {
				return end, err
			}
			f.offset = o.Offset + int64(len(o.Data))
			if err := text.put(o.Data); err != nil {
				return end, err
			}
		case ipc.AttachSkip:
			var s ipc.Skip
			if err := ipc.DecodeBody(fr.body, &s); err != nil {
				return end, err
			}
			f.offset = s.To
			f.note(fmt.Sprintf("%s of output, from byte %d on, are not to be had", missing(s.From, s.To), s.From))
		case ipc.AttachNote:
			var n ipc.Note
			if err := ipc.DecodeBody(fr.body, &n); err != nil {
				return end, err
			}
			f.note(pasar.Clean(n.Text))
		case ipc.AttachRefused:
			var r ipc.RefusedFrame
			if err := ipc.DecodeBody(fr.body, &r); err != nil {
				return end, err
			}
			return end, &ipc.Error{Code: r.Code, Message: r.Message, Hint: r.Hint}
		case ipc.AttachExit:
			err := ipc.DecodeBody(fr.body, &end)
			return end, err
		}
	}
}

// resume goes on where the connection was lost.
func (f *follower) resume(err error) error {
	if errors.Is(err, errInterrupted) {
		return err
	}
	lost := f.lost(err)
	if isCut(err) || !f.link.lasted() {
		return lost
	}
	l, derr := f.connect()
	if derr != nil {
		return lost
	}
	f.link.close()
	f.link = l
	return nil
}
