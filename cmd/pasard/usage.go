package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/attemptdir"
	"pasar/target"
)

// maxUsageFile is more than a file of usage ever has, in bytes.
const maxUsageFile = 1 << 20

// usageFiles are the files of what attempts used, in their directories below that of all jobs.
type usageFiles string

func (u usageFiles) dir(key pasar.AttemptKey) string {
	return filepath.Join(string(u), key.Job.String(), strconv.Itoa(key.Attempt))
}

// Read implements daemon.UsageFiles. What isn't a regular file, a job has put there.
func (u usageFiles) Read(key pasar.AttemptKey) ([]byte, error) {
	f, err := attemptdir.OpenFile(filepath.Join(u.dir(key), pasar.UsageFile), os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, u.missing(key, err)
	}
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read usage: %w", err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read usage: %w", err)
	}
	if !fi.Mode().IsRegular() {
		return nil, nil
	}
	b, err := io.ReadAll(io.LimitReader(f, maxUsageFile))
	if err != nil {
		return nil, fmt.Errorf("read usage: %w", err)
	}
	return b, nil
}

// missing is err, or target.ErrRemoved if the whole directory isn't there.
func (u usageFiles) missing(key pasar.AttemptKey, err error) error {
	if _, lost := os.Lstat(u.dir(key)); errors.Is(lost, fs.ErrNotExist) {
		return target.ErrRemoved
	}
	return err
}

// Write implements daemon.UsageFiles. It isn't made safe from a power cut: what is lost then is a part of a chart, and a
// file that is damaged is none.
func (u usageFiles) Write(key pasar.AttemptKey, body []byte) error {
	path := filepath.Join(u.dir(key), pasar.UsageFile)
	fresh := path + ".new"
	_ = os.Remove(fresh) // of a daemon that was killed
	f, err := attemptdir.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return u.missing(key, err)
	}
	if err != nil {
		return fmt.Errorf("write usage: %w", err)
	}
	_, err = f.Write(body)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		_ = os.Remove(fresh)
		return fmt.Errorf("write usage: %w", err)
	}
	return nil
}
