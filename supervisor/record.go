package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/attemptdir"
)

// reserveFile is preallocated when an attempt begins and becomes the exit record: so there is room
// for it on a disk that has filled up meanwhile.
const (
	reserveFile = ".exit.json"
	reserveSize = 16 << 10
)

// reserve makes room for the record. Some file systems can't; then the record takes its chance.
func reserve(dir string) error {
	f, err := attemptdir.OpenFile(filepath.Join(dir, reserveFile), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("reserve room for the exit record: %w", err)
	}
	defer f.Close()
	err = unix.Fallocate(int(f.Fd()), 0, 0, reserveSize)
	if err != nil && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("reserve room for the exit record: %w", err)
	}
	return nil
}

// writeRecord makes the record durable: temporary, sync, rename, sync of the directory. It gets its name
// only once ready is closed, when the log is safe; that it is written and synced beside the log lets a
// file system's journal commit both at once. On a full disk the rendered tail gives way, since the log
// has it.
func writeRecord(dir string, r *pasar.ExitRecord, ready <-chan struct{}) error {
	err := tryRecord(dir, r, ready)
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		short := *r
		short.Tail = nil
		return tryRecord(dir, &short, ready)
	case errors.Is(err, os.ErrNotExist): // the directory was removed under the job
		if merr := os.MkdirAll(dir, 0o700); merr != nil {
			return err
		}
		return tryRecord(dir, r, ready)
	}
	return err
}

func tryRecord(dir string, r *pasar.ExitRecord, ready <-chan struct{}) error {
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode exit record: %w", err)
	}
	tmp := filepath.Join(dir, reserveFile)
	f, err := attemptdir.OpenFile(tmp, os.O_CREATE|os.O_WRONLY, 0o600) // not truncated: its blocks are the reserve
	if err != nil {
		return fmt.Errorf("write exit record: %w", err)
	}
	_, err = f.Write(append(b, '\n'))
	if err == nil {
		err = f.Truncate(int64(len(b) + 1))
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	<-ready
	if err == nil {
		err = os.Rename(tmp, filepath.Join(dir, pasar.ExitFile))
	}
	if err != nil {
		return fmt.Errorf("write exit record: %w", err)
	}
	return syncDir(dir)
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := attemptdir.OpenFile(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}
