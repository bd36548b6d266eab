package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"pasar"
	"pasar/attemptdir"
	"pasar/ipc"
	"pasar/target"
)

// maxChunk is how much output is handed over at a time.
const maxChunk = 64 << 10

// Logs hands over an attempt's output from a cursor on. What the disk has is read from there; with
// follow, a living supervisor sends what comes after it.
func (m *Machine) Logs(ctx context.Context, h target.Handle, from target.Cursor, follow bool, f func(target.Chunk) error) (target.Cursor, error) {
	r := &logReader{ctx: ctx, m: m, h: h, dir: m.attemptDir(h.Key), at: int64(from), f: f}
	if err := r.run(follow); err != nil {
		return target.Cursor(max(0, r.at)), fmt.Errorf("output of %s: %w", h.Key, err)
	}
	return target.Cursor(max(0, r.at)), nil
}

// Since implements target.Dated.
func (m *Machine) Since(_ context.Context, h target.Handle, t time.Time) (target.Cursor, error) {
	l, err := attemptdir.OpenLog(m.attemptDir(h.Key))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil // Logs says what that means
	}
	if err != nil {
		return 0, fmt.Errorf("output of %s: %w", h.Key, err)
	}
	defer l.Close()
	return target.Cursor(l.LineFrom(l.Index.Since(t, l.End()), maxChunk)), nil
}

// A logReader is one call of Logs under way.
type logReader struct {
	ctx context.Context
	m   *Machine
	h   target.Handle
	dir string
	at  int64 // what comes next; negative: so many bytes before the end, until there is a look at that
	f   func(target.Chunk) error

	mark ipc.MarkFrame // of what a supervisor sends
	live bool          // nothing of what the supervisor doesn't remember is on the disk
}

// errBehind says that a supervisor sends output of which the disk knows more than it.
var errBehind = errors.New("the disk knows more")

func (r *logReader) run(follow bool) error {
	patience := newPatience()
	for {
		c, err := lookAt(r.dir)
		if err != nil {
			return err
		}
		if n := c.holding.Nonce; n != "" && n != r.h.Nonce {
			return nil // another attempt's directory
		}
		if c.state == claimNone || c.state == claimEmpty {
			if notThere(r.dir) {
				return target.ErrRemoved
			}
			if segs, err := attemptdir.Segments(r.dir); err == nil && len(segs) > 0 {
				return r.readDisk(c.holding, false) // its directory was removed, and its supervisor made another
			}
			return nil // it never ran
		}
		living := follow && c.state == claimHeld
		before := r.at
		if err := r.readDisk(c.holding, living); err != nil || !living {
			return err
		}
		r.live = r.at == before
		done, err := r.stream(c.holding.Socket)
		if done {
			return err
		}
		if errors.Is(err, errBehind) {
			continue
		}
		// Its supervisor doesn't answer, or hung up: it is gone, on its way out, or will answer again.
		if r.at > before {
			patience = newPatience()
		}
		if err := patience.wait(r.ctx, err); err != nil {
			return err
		}
	}
}

// stream takes output from a supervisor until the attempt has ended; done is false if it couldn't be
// had from there, or not to the end.
func (r *logReader) stream(socket string) (done bool, err error) {
	if socket == "" {
		return false, errors.New("its supervisor has not said yet where it listens")
	}
	c, w, err := ipc.DialAttach(socket, ipc.Hello{Mode: ipc.ModeWatch, Offset: r.at, Nonce: r.h.Nonce})
	if err != nil {
		return false, fmt.Errorf("reach its supervisor: %w", err)
	}
	defer c.Close()
	unhook := context.AfterFunc(r.ctx, func() { _ = c.Close() })
	defer unhook()
	if w.Offset < r.at {
		r.at = w.Offset // the cursor was past the end
	}
	for {
		typ, body, err := c.Recv()
		if r.ctx.Err() != nil {
			return true, context.Cause(r.ctx)
		}
		if err != nil {
			return false, err
		}
		switch typ {
		case ipc.AttachMark:
			r.mark = ipc.MarkFrame{}
			if err := ipc.DecodeBody(body, &r.mark); err != nil {
				return false, err
			}
			if r.mark.At == 0 && !r.live {
				return false, errBehind
			}
		case ipc.AttachOut:
			var o ipc.Out
			if err := ipc.DecodeBody(body, &o); err != nil {
				return false, err
			}
			var at time.Time
			if r.mark.At > 0 {
				at = time.UnixMilli(r.mark.At)
			}
			if err := r.emit(o.Offset, o.Data, at, r.mark.Stream); err != nil {
				return true, err
			}
			r.live = r.live && r.mark.At == 0
		case ipc.AttachExit:
			var e ipc.ExitFrame
			if err := ipc.DecodeBody(body, &e); err != nil {
				return false, err
			}
			return true, r.emit(e.Offset, nil, time.Time{}, 0)
		}
	}
}

// emit hands over bytes at an offset. Bytes before the cursor are known already; a jump ahead of it
// is a gap, whether or not a SKIP announced it.
func (r *logReader) emit(offset int64, data []byte, at time.Time, stream int) error {
	if skip := r.at - offset; skip > 0 {
		if skip >= int64(len(data)) {
			return nil
		}
		offset, data = r.at, data[skip:]
	}
	gap := offset - r.at
	if len(data) == 0 && gap == 0 {
		return nil
	}
	if err := r.ctx.Err(); err != nil {
		return context.Cause(r.ctx)
	}
	if err := r.f(target.Chunk{Offset: offset, Data: data, Gap: gap, At: at, Stream: stream}); err != nil {
		return err
	}
	r.at = offset + int64(len(data))
	return nil
}

// readDisk hands over what the disk has from the cursor on. If the attempt is living, its supervisor has
// the rest. Else a log that was removed lacks all that the record says was written; without a record that
// isn't known, and it is an error.
func (r *logReader) readDisk(held pasar.Holding, living bool) error {
	rec, err := readRecord(r.dir)
	known := err == nil && rec != nil
	l, err := attemptdir.OpenLog(r.dir)
	end := int64(0)
	switch {
	case err == nil:
		defer l.Close()
		end = l.End()
	case !errors.Is(err, os.ErrNotExist):
		return err
	case living, known, held.Nonce == "":
		// removed, or a supervisor is about to create it
	default:
		return errors.New("it is gone: its file was removed")
	}
	if known {
		end = rec.Output // more than the file has if its last part was lost
	}
	if r.at < 0 {
		r.at = max(0, end+r.at)
	}
	if r.at > end && !living {
		r.at = end
	}
	if l != nil {
		if s, ok, err := readSpec(r.dir); err == nil && ok {
			l.Index.Piped = s.NoPTY
		}
		if err := r.copy(l, min(end, l.End())); err != nil {
			return err
		}
	}
	if living {
		return nil
	}
	return r.emit(end, nil, time.Time{}, 0) // what is missing at the end
}

// copy hands over what a log has from the cursor up to an offset, in chunks of one time and stream.
func (r *logReader) copy(l *attemptdir.Log, to int64) error {
	for off := r.at; off < to; {
		at, until := l.Index.At(off)
		stream, same := l.Index.Stream(off)
		buf := make([]byte, min(maxChunk, to-off, until-off, same-off)) // a new one each time: who gets it may keep it
		n, next, err := l.Read(buf, off)
		if err != nil {
			return err
		}
		if n > 0 {
			err = r.emit(off, buf[:n], at, stream)
		}
		if err != nil || next == off {
			return err
		}
		off = next
	}
	return nil
}
