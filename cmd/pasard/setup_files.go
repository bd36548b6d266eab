package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// What became of a file.
const (
	fileWritten   = "written"
	fileUpdated   = "updated"
	fileUnchanged = "unchanged"
	fileRemoved   = "removed"
	fileAbsent    = "absent"
)

// A unitFile is a file that setup writes or removes.
type unitFile struct {
	Path  string `json:"path"`
	State string `json:"state"` // what became of it, or would with --dry-run
	Text  string `json:"text"`  // what it says; empty: it isn't there

	old   string // what is there; empty: nothing
	owned bool   // as some setup wrote it, or not there
}

// unitDir is where systemd looks for a user's own units.
func unitDir(home string) string { return filepath.Join(home, ".config/systemd/user") }

// planFiles compares what is there with what is to be. A unit that is no longer wanted goes.
func planFiles(dir string, want map[string]string) ([]*unitFile, error) {
	var files []*unitFile
	for _, name := range []string{serviceUnit, socketUnit} {
		f := &unitFile{Path: filepath.Join(dir, name), Text: want[name], owned: true}
		fi, err := os.Lstat(f.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("look at unit: %w", err)
		case !fi.Mode().IsRegular(): // a link: into somebody's dotfiles, or /dev/null for a masked unit
			f.old, f.owned = "\x00", false
		default:
			b, err := os.ReadFile(f.Path)
			if err != nil {
				return nil, fmt.Errorf("read unit: %w", err)
			}
			f.old, f.owned = string(b), signed(string(b))
		}
		switch {
		case f.old == "" && f.Text == "":
			f.State = fileAbsent
		case f.old == "":
			f.State = fileWritten
		case f.Text == "":
			f.State = fileRemoved
		case f.old == f.Text:
			f.State, f.owned = fileUnchanged, true
		default:
			f.State = fileUpdated
		}
		files = append(files, f)
	}
	return files, nil
}

// foreign is a file that somebody else wrote or changed, and that would be lost; nil if there is none.
func foreign(files []*unitFile) *unitFile {
	i := slices.IndexFunc(files, func(f *unitFile) bool { return !f.owned })
	if i < 0 {
		return nil
	}
	return files[i]
}

// changes is whether something is to be written or removed.
func changes(files []*unitFile) bool {
	return slices.ContainsFunc(files, func(f *unitFile) bool { return f.State != fileUnchanged && f.State != fileAbsent })
}

// apply writes or removes the files. Each is whole or as it was at any moment.
func apply(files []*unitFile) error {
	for _, f := range files {
		switch f.State {
		case fileWritten, fileUpdated:
			if err := writeWhole(f.Path, f.Text); err != nil {
				return fmt.Errorf("write unit: %w", err)
			}
		case fileRemoved:
			if err := os.Remove(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove unit: %w", err)
			}
		}
	}
	return nil
}

func writeWhole(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone by then, if all went well
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// lockUnits keeps another setup out until the returned function is called.
func lockUnits(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = d.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.New("another setup is at work")
		}
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return func() { _ = d.Close() }, nil
}

// wantLinks are what enabling the units makes.
func wantLinks(dir string) []string {
	return []string{
		filepath.Join(dir, "default.target.wants", serviceUnit),
		filepath.Join(dir, "sockets.target.wants", socketUnit),
	}
}
