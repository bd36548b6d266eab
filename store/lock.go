package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// A process that was killed while it started another leaves its lock to that one until it executes: so
// long a lock whose holder is dead is waited for.
const (
	deadHolder = 5 * time.Second
	lockAgain  = 5 * time.Millisecond
)

// takeLock takes the exclusive lock on a data directory for as long as the file stays open, and
// writes our pid into it. The file is never removed: a lock on a removed file guards nothing.
func takeLock(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", known(err))
	}
	for until := time.Now().Add(deadHolder); ; {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			break
		}
		buf := make([]byte, 32)
		n, _ := f.ReadAt(buf, 0)
		pid := decodePid(buf[:n])
		if pid == 0 || unix.Kill(pid, 0) != unix.ESRCH || time.Now().After(until) {
			f.Close()
			return nil, &LockedError{Path: path, Pid: pid}
		}
		time.Sleep(lockAgain)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, known(err))
	}
	// Overwriting in place mostly works on a full disk too. The pid only serves a message, so an
	// error here is no reason not to start; a stale pid would be one to be misled.
	text := []byte(strconv.Itoa(os.Getpid()) + "\n")
	if _, err := f.WriteAt(text, 0); err != nil {
		text = nil
	}
	f.Truncate(int64(len(text)))
	return f, nil
}

// decodePid reads what takeLock wrote; 0 when it isn't a pid.
func decodePid(b []byte) int {
	pid, err := strconv.Atoi(string(bytes.TrimSpace(b)))
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}
