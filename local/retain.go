package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/target"
)

// An overAttempt is the directory of an attempt that has ended.
type overAttempt struct {
	key   pasar.AttemptKey
	dir   string
	ended time.Time
	size  pasar.Bytes // on disk
}

// Retain implements target.Retainer. What a job keeps in its persist directory is never touched, and
// neither is an attempt whose supervisor lives.
func (m *Machine) Retain(ctx context.Context, age time.Duration, size pasar.Bytes, now time.Time, over func(pasar.JobID) bool) (target.Retained, error) {
	var r target.Retained
	keys, err := m.scan()
	if err != nil {
		return r, fmt.Errorf("retain: %w", err)
	}
	var found []overAttempt
	var total pasar.Bytes
	for _, k := range keys {
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		if !over(k.Job) {
			continue
		}
		a, ok, err := m.overAttempt(k)
		if err != nil {
			return r, fmt.Errorf("retain %s: %w", k, err)
		}
		if ok {
			found, total = append(found, a), total+a.size
		}
	}
	slices.SortFunc(found, func(a, b overAttempt) int { return a.ended.Compare(b.ended) })
	for _, a := range found { // the oldest first, so that the first one to stay is the end
		old := age > 0 && now.Sub(a.ended) > age
		if !old && (size == 0 || total <= size) {
			break
		}
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		if !over(a.key.Job) {
			continue // restarted meanwhile; its next attempt has another directory, but leave it whole
		}
		if err := os.RemoveAll(a.dir); err != nil {
			return r, fmt.Errorf("retain: %w", err)
		}
		_ = os.Remove(m.certificate(a.key))
		total -= a.size
		r.Attempts++
		r.Freed += a.size
		m.dropJobDir(a.key.Job)
	}
	return r, nil
}

// overAttempt looks at an attempt's directory; false if it isn't over, or isn't one.
func (m *Machine) overAttempt(k pasar.AttemptKey) (overAttempt, bool, error) {
	a := overAttempt{key: k, dir: m.attemptDir(k)}
	c, err := lookAt(a.dir)
	if err != nil || c.state == claimHeld {
		return a, false, err
	}
	err = filepath.WalkDir(a.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if info.ModTime().After(a.ended) {
			a.ended = info.ModTime()
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err == nil {
			a.size += pasar.Bytes(st.Blocks * 512)
		}
		return nil
	})
	var st unix.Stat_t
	if unix.Lstat(m.certificate(k), &st) == nil {
		a.size += pasar.Bytes(st.Blocks * 512)
	}
	return a, err == nil, err
}

// certificate is the file with the whole evidence of an attempt's end, which is let go with the attempt. Its
// verdict, with the lines that show it, stays in the record.
func (m *Machine) certificate(k pasar.AttemptKey) string {
	return filepath.Join(m.jobDir(k.Job), pasar.CertificateFile(k.Attempt))
}

// dropJobDir removes a job's directory once nothing but an empty persist directory, the difference that git saw at
// submit and certificates of attempts that left nothing else is in it.
func (m *Machine) dropJobDir(id pasar.JobID) {
	dir := m.jobDir(id)
	if attempts, err := numbered(dir); err != nil || len(attempts) > 0 {
		return
	}
	if os.Remove(filepath.Join(dir, persistDir)) != nil {
		return // something is kept there
	}
	_ = os.Remove(filepath.Join(dir, "git.diff"))
	if certificates, err := filepath.Glob(filepath.Join(dir, "attempt-*.verdict.json")); err == nil {
		for _, c := range certificates {
			_ = os.Remove(c)
		}
	}
	_ = os.Remove(dir)
}
