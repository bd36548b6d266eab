package attemptdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
)

// thinFile is where a thinned index is made before it takes the index's place.
const thinFile = ".index"

// thinAgain is how long an index that could not be thinned is left as it is.
const thinAgain = time.Minute

// errIndexFull says that a line has no room until the index can be thinned.
var errIndexFull = errors.New("append to index: it is full")

// An IndexWriter appends to the index of an attempt, which it makes with the first line. It is for one
// goroutine.
type IndexWriter struct {
	Dir string
	Max int64 // bytes of the file

	// Dropped says which output was let go between the first segment and the oldest of the newest, so that
	// its marks can go too; nil: none.
	Dropped func() Gap

	file *os.File
	size int64 // of what was wholly written; what is beyond is the rest of a write that failed
	full time.Time
}

// Append appends whole lines; either all or none of them are in the index then.
func (w *IndexWriter) Append(lines []byte) error {
	if w.file == nil {
		f, err := OpenFile(filepath.Join(w.Dir, pasar.IndexFile), os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
		if err != nil {
			return fmt.Errorf("make index: %w", err)
		}
		w.file, w.size = f, 0
	}
	if w.size+int64(len(lines)) > w.Max {
		if err := w.thin(); err != nil {
			return err
		}
		if w.size+int64(len(lines)) > w.Max {
			return errIndexFull
		}
	}
	if _, err := w.file.WriteAt(lines, w.size); err != nil {
		return fmt.Errorf("append to index: %w", err)
	}
	w.size += int64(len(lines))
	return nil
}

// thin makes the index smaller: a new file takes the place of the old one.
func (w *IndexWriter) thin() error {
	if time.Since(w.full) < thinAgain {
		return errIndexFull
	}
	w.full = time.Now()
	b := make([]byte, w.size)
	if _, err := w.file.ReadAt(b, 0); err != nil {
		return fmt.Errorf("thin index: %w", err)
	}
	var dropped Gap
	if w.Dropped != nil {
		dropped = w.Dropped()
	}
	b = thin(b, w.Max*3/4, dropped)
	path := filepath.Join(w.Dir, thinFile)
	f, err := OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err == nil {
		_, err = f.WriteAt(b, 0)
		if err == nil {
			err = os.Rename(path, filepath.Join(w.Dir, pasar.IndexFile))
		}
		if err != nil {
			_ = f.Close()
			_ = os.Remove(path)
		}
	}
	if err != nil {
		return fmt.Errorf("thin index: %w", err)
	}
	_ = w.file.Close()
	w.file, w.size, w.full = f, int64(len(b)), time.Time{}
	return nil
}

// Gone reports whether the file was removed under the writer.
func (w *IndexWriter) Gone() bool {
	if w.file == nil {
		return false
	}
	var st unix.Stat_t
	return unix.Fstat(int(w.file.Fd()), &st) == nil && st.Nlink == 0
}

// Sync makes the index durable, if there is one.
func (w *IndexWriter) Sync() error {
	if w.file == nil {
		return nil
	}
	return w.file.Sync()
}

// Close lets go of the file; another Append makes a new one.
func (w *IndexWriter) Close() {
	if w.file != nil {
		_ = w.file.Close()
		w.file = nil
	}
}
