package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"pasar"
	"pasar/ipc"
)

// latestAttempt is the number of the last attempt that has a directory in a job's; 0 for none.
func latestAttempt(jobDir string) int {
	entries, err := os.ReadDir(jobDir)
	if err != nil {
		return 0
	}
	latest := 0
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			latest = max(latest, n)
		}
	}
	return latest
}

// readFile reads what an attempt has written so far from its directory, where no daemon is to be had; done
// is false if there is nothing of it there.
func (o *outputStream) readFile(a *app, each func([]byte) error) (done bool, err error) {
	cfg, err := a.config()
	if err != nil {
		return false, nil
	}
	job := filepath.Join(cfg.Paths.Jobs(), o.job.String())
	if o.attempt == 0 {
		o.attempt = latestAttempt(job)
	}
	dir := filepath.Join(job, strconv.Itoa(o.attempt))
	f, err := os.Open(filepath.Join(dir, pasar.OutputFile))
	if err != nil {
		return false, nil
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return false, nil
	}
	if key := (pasar.AttemptKey{Job: o.job, Attempt: o.attempt}); a.offline != key { // the last lines are looked for more than once
		a.offline = key
		a.note(fmt.Sprintf("no daemon runs; this is what attempt %d of job #%d has written so far", o.attempt, o.job))
	}
	if o.offset < 0 {
		o.offset = max(0, fi.Size()+o.offset)
	}
	o.start, o.started = o.offset, true
	for _, g := range append(gapsOf(dir), logGap{fi.Size(), fi.Size()}) {
		if o.offset < g.From {
			if err := o.copyRange(f, min(g.From, fi.Size()), each); err != nil {
				return true, err
			}
		}
		if o.offset < g.To {
			a.gap(o.job, o.offset, g.To)
			o.offset = g.To
		}
	}
	return true, nil
}

func (o *outputStream) copyRange(f *os.File, to int64, each func([]byte) error) error {
	b := make([]byte, 64<<10)
	for o.offset < to {
		n, err := f.ReadAt(b[:min(int64(len(b)), to-o.offset)], o.offset)
		if n > 0 {
			o.offset += int64(n)
			if err := each(b[:n]); err != nil {
				return err
			}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read output of job %d: %w", o.job, err)
		}
		if n == 0 {
			return nil
		}
	}
	return nil
}

// A logGap is output that could not be written, as the index beside the log has it.
type logGap struct {
	From int64 `json:"gap_from"`
	To   int64 `json:"gap_to"`
}

// maxIndex bounds how much of an index is read, in bytes.
const maxIndex = 1 << 20

func gapsOf(dir string) []logGap {
	f, err := os.Open(filepath.Join(dir, "index"))
	if err != nil {
		return nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxIndex))
	if err != nil {
		return nil
	}
	return decodeGaps(b)
}

// decodeGaps reads an index's lines; what is none, or out of order, is skipped.
func decodeGaps(b []byte) []logGap {
	var gaps []logGap
	last := int64(0)
	for line := range bytes.Lines(b) {
		var g logGap
		if json.Unmarshal(line, &g) == nil && g.From >= last && g.To > g.From {
			gaps = append(gaps, g)
			last = g.To
		}
	}
	return slices.Clip(gaps)
}

// isNoDaemon reports whether nobody answered, and nobody could be started.
func isNoDaemon(err error) bool {
	var e *ipc.Error
	return errors.As(err, &e) && e.Code == ipc.CodeNoDaemon
}
