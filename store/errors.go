package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	"zombiezen.com/go/sqlite"
)

// Errors to test for with errors.Is.
var (
	ErrFull     = errors.New("disk full")
	ErrReadOnly = errors.New("read-only")
	ErrClosed   = errors.New("store is closed")
)

// A LockedError says that another daemon has the data directory.
type LockedError struct {
	Path string // of the lock file
	Pid  int    // of the other daemon; 0 when it isn't known
}

func (e *LockedError) Error() string {
	if e.Pid == 0 {
		return fmt.Sprintf("%s is held by another pasard", e.Path)
	}
	return fmt.Sprintf("%s is held by another pasard (pid %d)", e.Path, e.Pid)
}

// Hint says what to do about it.
func (e *LockedError) Hint() string {
	return "stop it with `pasar shutdown`, or give this one a data_dir of its own"
}

// A DamagedError says that the database can't be trusted. The files are as they were found.
type DamagedError struct {
	Path string // of the database
	What string // in words
	Err  error  // may be nil
}

func (e *DamagedError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s is damaged: %s: %v", e.Path, e.What, e.Err)
	}
	return fmt.Sprintf("%s is damaged: %s", e.Path, e.What)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// Hint says what to do about it.
func (e *DamagedError) Hint() string {
	dir := filepath.Dir(e.Path)
	return fmt.Sprintf("put back a copy of it, or move the directory away to begin anew: mv %s %s.damaged", dir, dir)
}

// A NewerError says that a later version of pasar wrote the database.
type NewerError struct {
	Path         string // of the database
	Found, Known int    // schema versions
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s was written by a newer pasar (schema %d; this one knows up to %d)", e.Path, e.Found, e.Known)
}

// Hint says what to do about it.
func (e *NewerError) Hint() string {
	return "run the newer pasard, or give this one a data_dir of its own"
}

func (s *Store) damaged(what string, err error) *DamagedError {
	return &DamagedError{Path: s.path, What: what, Err: err}
}

// wrap says what was being done, in a form that errors.Is and errors.As can tell apart: full,
// read-only, damaged, or just failed.
func (s *Store) wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	var damaged *DamagedError
	var newer *NewerError
	if errors.As(err, &damaged) || errors.As(err, &newer) {
		return err
	}
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultFull:
		err = fmt.Errorf("%w (%w)", ErrFull, err)
	case sqlite.ResultReadOnly:
		err = fmt.Errorf("%w (%w)", ErrReadOnly, err)
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		return s.damaged(doing, err)
	case sqlite.ResultIOErr, sqlite.ResultCantOpen:
		// SQLite keeps the system's error to itself, so try for ourselves.
		if why := probe(s.dir); why != nil {
			err = fmt.Errorf("%w (%w)", why, err)
		}
	default:
		err = known(err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// probe is what writing a little into dir meets: ErrFull, ErrReadOnly or nil.
func probe(dir string) error {
	f, err := os.CreateTemp(dir, "probe-*")
	if err == nil {
		_, err = f.Write(make([]byte, 64<<10))
		err = errors.Join(err, f.Close())
		os.Remove(f.Name())
	}
	for _, want := range []error{ErrFull, ErrReadOnly} {
		if errors.Is(known(err), want) {
			return want
		}
	}
	return nil
}

// known marks an error of the system as ErrFull or ErrReadOnly where it means that.
func known(err error) error {
	switch {
	case err == nil || errors.Is(err, ErrFull) || errors.Is(err, ErrReadOnly):
		return err
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return fmt.Errorf("%w: %w", ErrFull, err)
	case errors.Is(err, unix.EROFS), errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: %w", ErrReadOnly, err)
	}
	return err
}
