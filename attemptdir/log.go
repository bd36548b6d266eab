package attemptdir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"

	"pasar"
)

// A Log is an attempt's output as the disk has it, up to where it ended when it was opened or last
// refreshed. It may be written meanwhile, and parts of it let go. It is for one goroutine.
type Log struct {
	Index *Index

	dir  string
	segs []int64
	end  int64
	file *os.File // the segment last read; nil: none
	at   int64    // where that begins
}

// OpenLog opens the output in an attempt's directory. The error is os.ErrNotExist if there is none.
func OpenLog(dir string) (*Log, error) {
	l := &Log{dir: dir}
	if err := l.Refresh(); err != nil {
		return nil, err
	}
	return l, nil
}

// Close lets go of the files.
func (l *Log) Close() {
	if l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
}

// End is the offset behind the last byte, or behind the last gap that was noted.
func (l *Log) End() int64 { return l.end }

// Start is the offset of the first byte that may be there.
func (l *Log) Start() int64 { return l.segs[0] }

// Refresh looks at what is there now.
func (l *Log) Refresh() error {
	for range 3 { // the newest one can be let go meanwhile only if somebody removes files
		size, err := l.list()
		if err != nil {
			return err
		}
		if size < 0 {
			continue
		}
		// After the look at the data: what is before its end and lacks is noted by now.
		x, err := ReadIndex(l.dir)
		if err != nil {
			x = &Index{} // as good as none: the data is there
		}
		l.Index = x
		l.end = l.segs[len(l.segs)-1] + size
		if n := len(x.Gaps); n > 0 {
			l.end = max(l.end, x.Gaps[n-1].To)
		}
		return nil
	}
	return fmt.Errorf("read output: %w", os.ErrNotExist)
}

// list reads the names of the segments and returns the size of the last one, -1 if it went away.
func (l *Log) list() (int64, error) {
	segs, err := Segments(l.dir)
	if err != nil {
		return 0, fmt.Errorf("read output: %w", err)
	}
	if len(segs) == 0 {
		return 0, fmt.Errorf("read output: %w", &os.PathError{Op: "open", Path: filepath.Join(l.dir, pasar.OutputFile), Err: os.ErrNotExist})
	}
	l.segs = segs
	fi, err := os.Lstat(filepath.Join(l.dir, SegmentName(segs[len(segs)-1])))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return -1, nil
	case err != nil:
		return 0, fmt.Errorf("read output: %w", err)
	case !fi.Mode().IsRegular():
		return 0, fmt.Errorf("read output: %s is not a regular file", fi.Name())
	}
	return fi.Size(), nil
}

// Read copies output at an offset into p and returns where to go on. If n is 0 and next is beyond the
// offset, what is between them isn't to be had; if next is the offset, that is the end.
func (l *Log) Read(p []byte, off int64) (n int, next int64, err error) {
	for len(p) > 0 && off < l.end {
		limit, missing := l.stretch(off)
		if missing {
			return 0, limit, nil
		}
		f, err := l.segment(off)
		if errors.Is(err, os.ErrNotExist) { // let go since it was listed
			if _, err := l.list(); err != nil {
				return 0, off, err
			}
			continue
		}
		if err != nil {
			return 0, off, fmt.Errorf("read output: %w", err)
		}
		n, err := f.ReadAt(p[:min(int64(len(p)), limit-off)], off-l.at)
		switch {
		case n > 0:
			return n, off + int64(n), nil
		case err == nil || errors.Is(err, io.EOF):
			return 0, limit, nil // shorter than what follows says
		}
		return 0, off, fmt.Errorf("read output: %w", err)
	}
	return 0, off, nil
}

// stretch says up to where the disk may have what is at an offset, or, if it surely lacks it, up to
// where it does.
func (l *Log) stretch(off int64) (limit int64, missing bool) {
	i := sort.Search(len(l.segs), func(i int) bool { return l.segs[i] > off })
	limit = l.end
	if i < len(l.segs) {
		limit = min(limit, l.segs[i])
	}
	if i == 0 {
		return limit, true
	}
	gaps := l.Index.Gaps
	g := sort.Search(len(gaps), func(i int) bool { return gaps[i].To > off })
	if g == len(gaps) {
		return limit, false
	}
	if gaps[g].From <= off {
		return min(gaps[g].To, l.end), true
	}
	return min(limit, gaps[g].From), false
}

// segment opens the segment that an offset is in.
func (l *Log) segment(off int64) (*os.File, error) {
	i := sort.Search(len(l.segs), func(i int) bool { return l.segs[i] > off })
	at := l.segs[max(0, i-1)]
	if l.file != nil && l.at == at {
		return l.file, nil
	}
	f, _, err := openRegular(filepath.Join(l.dir, SegmentName(at)))
	if err != nil {
		return nil, err
	}
	l.Close()
	l.file, l.at = f, at
	return f, nil
}

// LineFrom is the offset of the first line that begins at an offset or within so many bytes after it; the
// offset itself if none does.
func (l *Log) LineFrom(off int64, within int) int64 {
	if off <= 0 || off >= l.end {
		return off
	}
	buf := make([]byte, 4<<10)
	for at, limit := off-1, off+int64(within); at < limit; {
		n, next, err := l.Read(buf, at)
		if err != nil || next == at {
			break
		}
		for i, b := range buf[:n] {
			if b == '\n' && at+int64(i) < limit {
				return at + int64(i) + 1
			}
		}
		if n == 0 {
			return max(next, off) // behind a gap is as good a place
		}
		at = next
	}
	return off
}
