package local

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"pasar"
	"pasar/ipc"
	"pasar/target"
)

// maxChunk is how much output is handed over at a time.
const maxChunk = 64 << 10

// indexFile notes, one JSON object a line, where the log has holes.
const indexFile = "index"

// Logs hands over an attempt's output from a cursor on. What is there is read from the log; with
// follow, a living supervisor sends it as it comes.
func (m *Machine) Logs(ctx context.Context, h target.Handle, from target.Cursor, follow bool, f func(target.Chunk) error) (target.Cursor, error) {
	r := &logReader{ctx: ctx, m: m, h: h, dir: m.attemptDir(h.Key), at: max(0, int64(from)), f: f}
	if err := r.run(follow); err != nil {
		return target.Cursor(r.at), fmt.Errorf("output of %s: %w", h.Key, err)
	}
	return target.Cursor(r.at), nil
}

// A logReader is one call of Logs under way.
type logReader struct {
	ctx context.Context
	m   *Machine
	h   target.Handle
	dir string
	at  int64 // what comes next
	f   func(target.Chunk) error
}

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
			return nil // it never ran
		}
		if !follow || c.state == claimDead {
			return r.readFile(c.holding)
		}
		before := r.at
		done, err := r.stream(c.holding.Socket)
		if done {
			return err
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
		case ipc.AttachOut:
			var o ipc.Out
			if err := ipc.DecodeBody(body, &o); err != nil {
				return false, err
			}
			if err := r.emit(o.Offset, o.Data); err != nil {
				return true, err
			}
		case ipc.AttachExit:
			var e ipc.ExitFrame
			if err := ipc.DecodeBody(body, &e); err != nil {
				return false, err
			}
			return true, r.emit(e.Offset, nil)
		}
	}
}

// emit hands over bytes at an offset. Bytes before the cursor are known already; a jump ahead of it
// is a gap, whether or not a SKIP announced it.
func (r *logReader) emit(offset int64, data []byte) error {
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
	if err := r.f(target.Chunk{Offset: offset, Data: data, Gap: gap}); err != nil {
		return err
	}
	r.at = offset + int64(len(data))
	return nil
}

// readFile hands over what the log has from the cursor on. A log that was removed lacks all that the
// record says was written; without a record that isn't known, and it is an error.
func (r *logReader) readFile(held pasar.Holding) error {
	rec, err := readRecord(r.dir)
	known := err == nil && rec != nil
	f, size, err := openLog(r.dir)
	if errors.Is(err, os.ErrNotExist) && (known || held.Nonce == "") {
		err = nil // removed, or a supervisor is about to create it
	} else if errors.Is(err, os.ErrNotExist) {
		return errors.New("it is gone: its file was removed")
	}
	if err != nil {
		return err
	}
	if f != nil {
		defer f.Close()
	}
	end := size
	if known {
		end = rec.Output // more than the file has if its last part was lost
	}
	r.at = min(r.at, end)
	gaps, err := readGaps(r.dir)
	if err != nil {
		return err
	}
	from := int64(0) // of the stretch between two gaps
	for _, g := range append(gaps, gap{From: min(size, end), To: end}) {
		if err := r.copy(f, max(from, r.at), min(g.From, size, end)); err != nil {
			return err
		}
		from = g.To
	}
	return r.emit(end, nil) // what is missing at the end
}

// openLog opens an attempt's log and says how long it is.
func openLog(dir string) (*os.File, int64, error) {
	f, err := os.Open(filepath.Join(dir, pasar.OutputFile))
	if err != nil {
		return nil, 0, err
	}
	fi, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, fi.Size(), nil
}

// copy hands over the log from one offset up to another.
func (r *logReader) copy(f *os.File, from, to int64) error {
	for from < to {
		buf := make([]byte, min(maxChunk, to-from)) // a new one each time: who gets it may keep it
		n, err := f.ReadAt(buf, from)
		if n == 0 {
			if err == nil || errors.Is(err, io.EOF) {
				return nil // shorter than when we began
			}
			return err
		}
		if err := r.emit(from, buf[:n]); err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
}

// A gap is output that the log lacks: bytes From up to To.
type gap struct {
	From int64 `json:"gap_from"`
	To   int64 `json:"gap_to"`
}

// readGaps reads the holes of a log, in order; none if there is no index.
func readGaps(dir string) ([]gap, error) {
	b, err := readBounded(filepath.Join(dir, indexFile), maxIndex)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read index: %w", err)
	}
	return decodeGaps(b), nil
}

// decodeGaps reads the lines of an index that say where holes are; other lines, and holes out of
// order, are skipped.
func decodeGaps(b []byte) []gap {
	var gaps []gap
	var last int64
	s := bufio.NewScanner(bytes.NewReader(b))
	for s.Scan() {
		var g gap
		if json.Unmarshal(s.Bytes(), &g) != nil || g.From < last || g.To <= g.From {
			continue
		}
		gaps = append(gaps, g)
		last = g.To
	}
	return gaps
}
