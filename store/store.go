// Package store keeps what must outlive the daemon: the journal of facts, snapshots of the state,
// finished jobs and what jobs inherit, in one SQLite database that one daemon owns at a time.
//
// The database is <dir>/pasar.db in write-ahead mode, synchronous=FULL, behind an exclusive lock of
// our own on <dir>/lock. WAL needs a file system of this machine: on a network file system the
// locks may not hold and a torn log is possible, so a data directory belongs on a local disk.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"pasar"

	"zombiezen.com/go/sqlite"
)

// Names of the files in the data directory.
const (
	dbName   = "pasar.db"
	lockName = "lock"
	jobsName = "jobs" // the daemon's; job directories without a database mean that it was lost
)

// A Store is an open data directory. Its methods may be called from several goroutines; each holds
// the one connection for a short read or a single transaction only.
type Store struct {
	dir  string
	path string
	lock *os.File

	saving sync.Mutex // one SaveSnapshot or Prune at a time; taken before mu

	mu      sync.Mutex // guards what follows
	conn    *sqlite.Conn
	last    int64       // sequence number of the last fact
	pending pasar.Bytes // written to the log since the last checkpoint, about

	checkpoint chan struct{} // wakes the checkpointer
	quit       chan struct{} // closed by Close: the checkpointer returns
	done       chan struct{} // closed when it has
	close      sync.Once
	closed     error
}

// Open opens the store in dir, creating both when there is nothing yet. It returns a *LockedError
// when another daemon has it, a *DamagedError when what is there can't be trusted and a *NewerError
// when a later version wrote it; in each case the files are left as they are. Errors of a full or
// read-only disk match ErrFull and ErrReadOnly.
func Open(dir string) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open data directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create data directory: %w", known(err))
	}
	lock, err := takeLock(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{
		dir:        dir,
		path:       filepath.Join(dir, dbName),
		lock:       lock,
		checkpoint: make(chan struct{}, 1),
		quit:       make(chan struct{}),
		done:       make(chan struct{}),
	}
	if err := s.open(); err != nil {
		if s.conn != nil {
			s.conn.Close()
		}
		lock.Close()
		return nil, err
	}
	go s.checkpointer()
	return s, nil
}

func (s *Store) open() error {
	_, err := os.Lstat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := s.missing(); err != nil {
			return err
		}
		if err := s.create(); err != nil {
			return fmt.Errorf("create %s: %w", s.path, known(err))
		}
	case err != nil:
		return fmt.Errorf("open %s: %w", s.path, known(err))
	default:
		if err := s.inspect(); err != nil {
			return err
		}
	}
	if s.conn, err = connect(s.path); err != nil {
		return s.wrap("open "+s.path, err)
	}
	return s.ready()
}

// missing refuses to start empty where there are signs that a database was lost.
func (s *Store) missing() error {
	if _, err := os.Lstat(s.path + "-wal"); err == nil {
		return s.damaged("it is missing, but its write-ahead log is there", nil)
	}
	if jobs, _ := os.ReadDir(filepath.Join(s.dir, jobsName)); len(jobs) > 0 {
		return s.damaged(fmt.Sprintf("it is missing, but there are directories of %d jobs", len(jobs)), nil)
	}
	return nil
}

// LastSeq is the sequence number of the last fact; 0 when there is none.
func (s *Store) LastSeq() (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.usable()
}

// usable is nil while the store is open. The caller holds mu.
func (s *Store) usable() error {
	if s.conn == nil {
		return ErrClosed
	}
	return nil
}

// Close waits for calls under way, folds the write-ahead log into the database and gives up the
// lock. Nothing is lost if it is never called.
func (s *Store) Close() error {
	s.close.Do(func() {
		close(s.quit)
		<-s.done
		s.saving.Lock()
		defer s.saving.Unlock()
		s.mu.Lock()
		defer s.mu.Unlock()
		if err := s.conn.Close(); err != nil {
			s.closed = fmt.Errorf("close %s: %w", s.path, err)
		}
		s.conn = nil
		s.lock.Truncate(0) // the pid is stale now; the lock itself goes with the descriptor
		s.lock.Close()
	})
	return s.closed
}
