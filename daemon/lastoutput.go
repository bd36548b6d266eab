package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"pasar"
	"pasar/autopsy"
	"pasar/target"
)

const (
	// outputPatience is how long a verdict waits for the end of an output, its turn included. A disk that
	// hangs costs it no more: it then rests on the lines that the exit record has.
	outputPatience = 5 * time.Second
	// outputReaders is how many outputs are read at a time.
	outputReaders = 4
)

// A stretch is output without a gap in it.
type stretch struct {
	at   int64 // offset of its first byte
	data []byte
}

func (s *stretch) end() int64 { return s.at + int64(len(s.data)) }

// lastOutput is the end of an attempt's output as evidence. It is read from the end, so however much there is
// it takes no longer. Where it can't be had, or lacks its end, the lines of the tail stand in.
func (d *Daemon) lastOutput(ctx context.Context, h target.Handle, rec *pasar.ExitRecord, tail []string) []pasar.Line {
	read, err := d.readEnd(ctx, h)
	if err != nil {
		d.Log.Info("a verdict rests on the last lines alone", "job", h.Key.Job, "attempt", h.Key.Attempt, "error", err)
		return logOf(tail)
	}
	return evidenceOf(read, rec, tail)
}

// readEnd reads the last autopsy.LogBytes of an output.
func (d *Daemon) readEnd(ctx context.Context, h target.Handle) ([]stretch, error) {
	var read []stretch
	err := d.readers.do(ctx, func(ctx context.Context) error {
		_, err := d.Target.Logs(ctx, h, -autopsy.LogBytes, false, func(c target.Chunk) error {
			read = add(read, c)
			return nil
		})
		return err
	})
	switch {
	case errors.Is(err, target.ErrRemoved):
		return nil, nil // that there is nothing is all there is to say
	case err != nil:
		return nil, fmt.Errorf("read output: %w", err)
	}
	return read, nil
}

// add appends a chunk, and lets go of what is too far from the end.
func add(read []stretch, c target.Chunk) []stretch {
	n := len(read)
	if n == 0 || read[n-1].end() != c.Offset {
		read = append(read, stretch{at: c.Offset})
		n = len(read)
	}
	last := &read[n-1]
	last.data = append(last.data, c.Data...)
	if more := len(last.data) - 2*autopsy.LogBytes; more > 0 { // only a target that sends more than it was asked for
		*last = stretch{last.at + int64(more), bytes.Clone(last.data[more:])}
	}
	return read
}

// evidenceOf makes lines of what was read. Their numbers are counted back from the end, which the record has;
// without it, from the start if that was read. Behind a gap nothing is known of them otherwise.
func evidenceOf(read []stretch, rec *pasar.ExitRecord, tail []string) []pasar.Line {
	if rec != nil && rec.Output == 0 {
		rec = nil // made up, of an attempt whose own is lost
	}
	var log []pasar.Line
	whole := false // the end was read
	some := 0
	for i := range read {
		s := &read[i]
		first := 0
		whole = len(s.data) > 0 && (rec == nil || s.end() == rec.Output)
		switch {
		case s.at == 0:
			first = 1
		case rec != nil && whole && rec.Lines > 0:
			first = max(0, int(rec.Lines)+1-bytes.Count(s.data, []byte{'\n'}))
		}
		some += len(s.data)
		log = append(log, autopsy.ReadLog(s.data, first)...)
	}
	switch {
	case some == 0:
		return logOf(tail)
	case whole:
		return log
	}
	return joined(log, logOf(tail))
}

// joined is lines of an output followed by its last lines, which may begin within them.
func joined(log, tail []pasar.Line) []pasar.Line {
	if len(log) == 0 {
		return tail
	}
	last := &log[len(log)-1]
	for i := len(tail) - 1; i >= 0; i-- {
		if strings.HasPrefix(tail[i].Text, last.Text) { // it may have been cut
			last.Text = tail[i].Text
			return append(log, tail[i+1:]...)
		}
	}
	return append(log, tail...)
}

// logOf is the last lines of an output as evidence.
func logOf(tail []string) []pasar.Line {
	return autopsy.ReadLog([]byte(strings.Join(tail, "\n")), 0)
}
