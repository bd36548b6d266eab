package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/store"
)

// The journal's files, and how much of them is copied for a look.
const (
	journalDB   = "pasar.db"
	journalWAL  = journalDB + "-wal"
	journalLock = "lock"
	journalMost = 512 * pasar.MiB
)

var (
	errTooLarge = errors.New("it is too large to be checked here")
	errChanging = errors.New("a daemon is at work on it")
)

// examineJournal opens a copy of the journal, since opening the journal itself may migrate it. While a
// daemon has it open there is nothing to be opened, and the daemon has checked it.
func examineJournal(ctx context.Context, p *patient) []finding {
	if p.cfg == nil {
		return nil
	}
	dir := p.cfg.Paths.Data
	if p.daemon.state == socketAnswers && p.daemon.status.DataDir == dir {
		return append([]finding{found(journalServed, "", "the running daemon has it open")}, behind(p, p.daemon.status.StartedAt)...)
	}
	if fi, err := os.Stat(dir); err == nil && !fi.IsDir() || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil // the data directory's finding
	}
	held, pid, err := lockHeld(dir)
	switch {
	case err != nil:
		return []finding{found(journalUnreadable, "see to the permissions and the disk of "+dir, "%v", err)}
	case held:
		who, fix := "a process", "find it with `fuser "+filepath.Join(dir, journalLock)+"`"
		if pid > 0 {
			who, fix = fmt.Sprintf("pid %d", pid), fmt.Sprintf("if it is a pasard that hangs, `kill -9 %d`", pid)
		}
		return []finding{found(journalLocked, fix+"; jobs go on, and any command starts a daemon again",
			"%s holds %s but does not answer at %s", who, filepath.Join(dir, journalLock), p.cfg.Paths.Socket)}
	}
	some, err := copyJournal(ctx, dir, p.scratch)
	if err == nil && !some {
		return []finding{found(journalNone, "", "there is none yet; it is made when pasard first starts")}
	}
	var last store.RawFact
	if err == nil {
		last, err = readCopy(ctx, p.scratch)
	}
	return judge(ctx, p, last, err)
}

// judge words what came of reading the copy.
func judge(ctx context.Context, p *patient, last store.RawFact, err error) []finding {
	dir := p.cfg.Paths.Data
	var damaged *store.DamagedError
	var newer *store.NewerError
	said := func() string { return strings.ReplaceAll(err.Error(), p.scratch, dir) }
	switch {
	case err == nil:
	case errors.As(err, &damaged):
		damaged.Path = filepath.Join(dir, journalDB)
		return []finding{found(journalDamaged, damaged.Hint(), "%s", said())}
	case errors.As(err, &newer):
		newer.Path = filepath.Join(dir, journalDB)
		return []finding{found(journalNewer, newer.Hint(), "%s", said())}
	case errors.Is(err, errTooLarge), errors.Is(err, errChanging), errors.Is(err, store.ErrFull), ctx.Err() != nil:
		return []finding{found(journalUnchecked, "run `pasard`, which checks it before anything else", "not checked: %s", said())}
	default:
		return []finding{found(journalUnreadable, "see to the permissions and the disk of "+dir, "%s", said())}
	}
	var r pasar.Record
	out := []finding{found(journalFine, "", "whole, %d facts", last.Seq)}
	if last.Seq > 0 && json.Unmarshal(last.JSON, &r) == nil {
		out = append(out, behind(p, r.At)...)
	}
	return out
}

// behind compares the wall clock with a time that is surely past.
func behind(p *patient, past time.Time) []finding {
	if now := p.now(); past.After(now.Add(time.Minute)) {
		return []finding{found(clockBehind, "set the clock, and keep it by NTP (`timedatectl set-ntp true`); durations are right, times of day aren't",
			"it is %s by the clock, but the journal is from %s", now.UTC().Format(time.RFC3339), past.UTC().Format(time.RFC3339))}
	}
	return nil
}

// lockHeld is whether a process has the lock of a data directory, and which (0 if that isn't known). It
// takes a shared lock for an instant: nothing else tells.
func lockHeld(dir string) (held bool, pid int, err error) {
	f, err := os.Open(filepath.Join(dir, journalLock))
	if errors.Is(err, fs.ErrNotExist) {
		return false, 0, nil
	}
	if err != nil {
		return false, 0, fmt.Errorf("look at the lock: %w", err)
	}
	defer f.Close()
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if err == nil {
		return false, 0, nil
	}
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return false, 0, fmt.Errorf("look at the lock: %w", err)
	}
	buf := make([]byte, 32)
	n, _ := f.ReadAt(buf, 0)
	if pid, err = strconv.Atoi(string(bytes.TrimSpace(buf[:n]))); err != nil || pid < 0 {
		pid = 0
	}
	return true, pid, nil
}

// copyJournal copies what there is of a journal; false if there is nothing. The copy holds the
// environments of jobs, so it is as private as the journal.
func copyJournal(ctx context.Context, dir, to string) (some bool, err error) {
	before, err := journalFiles(dir)
	if err != nil {
		return false, err
	}
	var size int64
	for _, fi := range before {
		size += fi.Size()
	}
	if size > int64(journalMost) {
		return true, fmt.Errorf("%w: %s", errTooLarge, pasar.Bytes(size))
	}
	var jobs []fs.DirEntry
	if before[journalDB] == nil { // then job directories mean that it was lost
		jobs, _ = os.ReadDir(filepath.Join(dir, "jobs"))
	}
	if len(before) == 0 && len(jobs) == 0 {
		return false, nil
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return true, fmt.Errorf("%w: copy journal: %w", store.ErrFull, err)
	}
	for name := range before {
		if err := copyFile(ctx, filepath.Join(dir, name), filepath.Join(to, name)); err != nil {
			return true, err
		}
	}
	for _, j := range jobs {
		if err := os.MkdirAll(filepath.Join(to, "jobs", j.Name()), 0o700); err != nil {
			return true, fmt.Errorf("%w: copy journal: %w", store.ErrFull, err)
		}
	}
	after, err := journalFiles(dir)
	if err != nil {
		return true, err
	}
	same := func(a, b fs.FileInfo) bool { return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) }
	if !maps.EqualFunc(before, after, same) {
		return true, errChanging
	}
	return true, nil
}

// journalFiles are those of the journal's files that exist.
func journalFiles(dir string) (map[string]fs.FileInfo, error) {
	files := map[string]fs.FileInfo{}
	for _, name := range []string{journalDB, journalWAL} {
		fi, err := os.Stat(filepath.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("look at the journal: %w", err)
		default:
			files[name] = fi
		}
	}
	return files, nil
}

func copyFile(ctx context.Context, from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("read journal: %w", err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("%w: copy journal: %w", store.ErrFull, err)
	}
	defer out.Close()
	for {
		n, err := io.CopyN(out, in, 4<<20)
		switch {
		case errors.Is(err, io.EOF) || err == nil && n == 0:
			return out.Close()
		case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
			return fmt.Errorf("%w: copy journal: %w", store.ErrFull, err)
		case err != nil:
			return fmt.Errorf("copy journal: %w", err)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
	}
}

// readCopy opens a copied journal and reads its last fact; the zero one if there is none.
func readCopy(ctx context.Context, dir string) (last store.RawFact, err error) {
	st, err := store.Open(dir)
	if err != nil {
		return last, err
	}
	defer st.Close()
	seq, err := st.LastSeq()
	if err != nil || seq == 0 {
		return last, err
	}
	facts, err := st.RawFacts(ctx, seq-1, 1)
	if err != nil || len(facts) == 0 {
		return last, err
	}
	return facts[0], nil
}
