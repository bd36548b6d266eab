package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"pasar"
	"pasar/answer"
	"pasar/attemptdir"
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

// logPiece is how much of a log is read at a time, and how far a line may begin after a time that is asked for.
const logPiece = 64 << 10

// readFile reads what an attempt has written so far from its directory, where no daemon is to be had; done
// is false if there is nothing of it there.
func (o *outputStream) readFile(a *app, each func(answer.Piece) error) (done bool, err error) {
	if a.far != nil {
		return false, nil // it isn't this machine's
	}
	cfg, err := a.config()
	if err != nil {
		return false, nil
	}
	job := filepath.Join(cfg.Paths.Jobs(), o.Job.String())
	if o.Attempt == 0 {
		o.Attempt = latestAttempt(job)
	}
	dir := filepath.Join(job, strconv.Itoa(o.Attempt))
	l, err := attemptdir.OpenLog(dir)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	defer l.Close()
	l.Index.Piped = hasPipes(dir)
	if err := o.Check(l.Index.Piped); err != nil {
		return true, err
	}
	if key := (pasar.AttemptKey{Job: o.Job, Attempt: o.Attempt}); a.offline != key { // the last lines are looked for more than once
		a.offline = key
		a.note(fmt.Sprintf("no daemon runs; this is what attempt %d of job #%d has written so far", o.Attempt, o.Job))
	}
	if o.Offset < 0 {
		o.Offset = max(0, l.End()+o.Offset)
	}
	if !o.Since.IsZero() {
		o.First = l.LineFrom(l.Index.Since(o.Since, l.End()), logPiece)
		o.Offset = max(o.Offset, o.First)
	}
	o.Start, o.Started, o.Ended = o.Offset, true, true
	return true, o.copyLog(l, each)
}

func (o *outputStream) copyLog(l *attemptdir.Log, each func(answer.Piece) error) error {
	buf := make([]byte, logPiece)
	for off := o.Offset; ; {
		p := answer.Piece{}
		var until, same int64
		p.At, until = l.Index.At(off)
		p.Stream, same = l.Index.Stream(off)
		n, next, err := l.Read(buf[:min(logPiece, until-off, same-off)], off)
		if err != nil || next == off {
			o.Skip(off)
			return err
		}
		if n > 0 {
			o.Skip(off)
			p.Data = buf[:n]
			if err := o.Take(p, each); err != nil {
				return err
			}
		}
		off = next
	}
}

// hasPipes reports whether an attempt was made to run without a terminal, by its spec.
func hasPipes(dir string) bool {
	f, err := os.Open(filepath.Join(dir, pasar.SpecFile))
	if err != nil {
		return false
	}
	defer f.Close()
	var spec struct {
		NoPTY bool `json:"no_pty"`
	}
	const most = 8 << 20 // as much as a supervisor reads
	return json.NewDecoder(io.LimitReader(f, most)).Decode(&spec) == nil && spec.NoPTY
}

// isNoDaemon reports whether nobody answered, and nobody could be started.
func isNoDaemon(err error) bool {
	var e *ipc.Error
	return errors.As(err, &e) && e.Code == ipc.CodeNoDaemon
}
