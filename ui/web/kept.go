package web

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"pasar"
	"pasar/ipc"
)

const (
	keptShown = 256 << 10        // bytes of the end of an output that is over: as much as a painting is at most
	keptTime  = 20 * time.Second // to read them
)

// kept is a wire from which the end of an output comes that is over, and then its exit, as from the supervisor to who was
// there. refused is why there is no supervisor, and stays the answer where nothing was kept that could be shown.
func (v *viewer) kept(ctx context.Context, refused error) (*wire, error) {
	e, _ := asError(refused)
	if e.Code != ipc.CodeWrongState && e.Code != ipc.CodeUnavailable {
		return nil, refused
	}
	ctx, cancel := context.WithTimeout(ctx, keptTime)
	defer cancel()
	k, err := v.keptOutput(ctx)
	if err == nil && !k.ended && e.Code == ipc.CodeUnavailable { // it may be ending just now
		if _, err = v.awaitEnd(ctx, k.attempt); err == nil {
			k, err = v.keptOutput(ctx)
		}
	}
	if err != nil || !k.ended || k.size == 0 {
		v.log.Debug("no output kept to show", "job", v.job, "error", err)
		return nil, refused
	}
	j, err := v.awaitEnd(ctx, k.attempt)
	if err != nil {
		v.log.Debug("end of a job not known", "job", v.job, "error", err)
		return nil, refused
	}
	exit := ipc.ExitFrame{Offset: k.end}
	l := &wire{welcome: ipc.Welcome{Key: pasar.AttemptKey{Job: v.job, Attempt: k.attempt}.String(), Cols: k.head.Cols, Rows: k.head.Rows, NoPTY: k.head.NoPTY},
		unseen: true, frames: make(chan frame), gone: make(chan struct{}), since: time.Now()}
	if i := slices.IndexFunc(j.Attempts, func(a pasar.AttemptView) bool { return a.Attempt == k.attempt }); i >= 0 {
		a := j.Attempts[i]
		l.unseen = a.ExitCode == nil && a.Signal == nil
		put(&exit.Exit.Code, a.ExitCode)
		put(&exit.Exit.Signal, a.Signal)
	}
	if err := k.add(ipc.AttachExit, &exit); err != nil {
		return nil, err
	}
	l.wg.Go(func() { l.replay(k.frames) })
	return l, nil
}

// awaitEnd is the job once an attempt's end is known.
func (v *viewer) awaitEnd(ctx context.Context, attempt int) (*pasar.JobView, error) {
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	return v.ending(ctx, attempt)
}

// A keptOutput is the end of an attempt's output, in a supervisor's frames.
type keptOutput struct {
	head    ipc.LogsHead
	attempt int
	ended   bool  // the attempt, and the output with it
	end     int64 // where the output ends
	size    int64 // bytes that were read of it
	frames  []frame
}

func (k *keptOutput) add(typ int, body any) error {
	b, err := ipc.Encode(body)
	k.frames = append(k.frames, frame{typ: typ, body: b})
	return err
}

// keptOutput reads what there is of the attempt.
func (v *viewer) keptOutput(ctx context.Context) (*keptOutput, error) {
	k := &keptOutput{}
	read := ipc.LogsReader{
		Head: func(h ipc.LogsHead) error {
			k.head, k.attempt = h, h.Attempt
			return k.add(ipc.AttachSnap, &ipc.Snap{Offset: h.Offset, Cols: h.Cols, Rows: h.Rows})
		},
		Mark: func(m ipc.LogsMark) error {
			if m.Gap == 0 {
				return nil
			}
			return k.add(ipc.AttachSkip, &ipc.Skip{From: m.Offset - m.Gap, To: m.Offset})
		},
		Bytes: func(b []byte) error {
			if k.size == 0 && k.head.Offset > 0 { // a line's rest may begin within a sequence
				b = b[bytes.IndexByte(b, '\n')+1:]
			}
			k.size += int64(len(b))
			return k.add(ipc.AttachOut, &ipc.Out{Data: b})
		},
	}
	a, err := v.output(ctx, ipc.LogsRequest{Job: v.job, Attempt: v.attempt, Offset: -keptShown}, read)
	if err != nil {
		return nil, err
	}
	k.ended, k.end = a.Ended, a.Offset
	if k.head.Offset > 0 {
		err = k.add(ipc.AttachNote, &ipc.Note{Text: fmt.Sprintf("this is the end of its output, %s of %s: `pasar logs %d` has what was kept", pasar.Bytes(k.size), pasar.Bytes(k.end), v.job)})
	}
	return k, err
}

// replay hands frames over as receive does.
func (l *wire) replay(frames []frame) {
	for _, f := range frames {
		select {
		case l.frames <- f:
		case <-l.gone:
			return
		}
	}
}
