package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/attemptdir"
	"pasar/daemon"
	"pasar/jobproto"
	"pasar/target"
)

// maxReports is how much of an events file is read, from its end: what a job writes there has no bound.
const maxReports = 4 << 20

// reportsIn reads the events files of attempts below a directory of jobs. A file is what the job made of it: lines
// that are no events are passed over, and what isn't a regular file has none.
func reportsIn(jobs string) daemon.ReportReader {
	return func(ctx context.Context, key pasar.AttemptKey, each func(pasar.Event) bool) error {
		dir := filepath.Join(jobs, key.Job.String(), strconv.Itoa(key.Attempt))
		text, err := tailOf(filepath.Join(dir, pasar.EventsFile))
		if errors.Is(err, fs.ErrNotExist) {
			if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
				return target.ErrRemoved
			}
			return nil // it never began, or took the file away
		}
		if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
		for line := range bytes.Lines(text) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if e, err := jobproto.Decode(line); err == nil && !each(e) {
				return nil
			}
		}
		return nil
	}
}

// tailOf reads the last maxReports bytes of a file, from the first whole line on.
func tailOf(path string) ([]byte, error) {
	// A FIFO would hold up who opens it for ever, and a link may lead anywhere.
	f, err := attemptdir.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, nil
	}
	from := max(0, fi.Size()-maxReports)
	text, err := io.ReadAll(io.NewSectionReader(f, from, maxReports))
	if err != nil {
		return nil, err
	}
	if from > 0 {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return text, nil
}
