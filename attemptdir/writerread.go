package attemptdir

import (
	"errors"
	"os"
	"path/filepath"
	"sort"
)

// Read copies output at an offset into p, from what was written, and returns where to go on. It is as
// Log.Read, but limit is where the output ends: the caller has what comes after it, and knows of it.
func (w *Writer) Read(p []byte, off, limit int64) (n int, next int64) {
	for off < limit && len(p) > 0 {
		seg, file, upTo, missing := w.place(off, limit)
		if missing {
			return 0, upTo
		}
		var err error
		opened := file == nil
		if opened {
			file, _, err = openRegular(filepath.Join(w.dir, SegmentName(seg)))
		}
		if err == nil {
			n, err = file.ReadAt(p[:min(int64(len(p)), upTo-off)], off-seg)
		}
		if opened && file != nil {
			_ = file.Close()
		}
		if n > 0 {
			return n, off + int64(n)
		}
		if errors.Is(err, os.ErrClosed) || errors.Is(err, os.ErrNotExist) {
			if now, _, _, _ := w.place(off, limit); now != seg || !opened {
				continue // there is another segment by now, or it was the newest one and must be opened
			}
		}
		return 0, upTo
	}
	return 0, off
}

// place says in which segment an offset is, with its file if that is open, and up to where it may be
// read; missing says that there is nothing up to there.
func (w *Writer) place(off, limit int64) (seg int64, file *os.File, upTo int64, missing bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := sort.Search(len(w.segs), func(i int) bool { return w.segs[i].Offset > off })
	upTo = limit
	if i < len(w.segs) {
		upTo = min(upTo, w.segs[i].Offset)
	}
	if i == 0 {
		return 0, nil, upTo, true
	}
	if g := sort.Search(len(w.gaps), func(i int) bool { return w.gaps[i].To > off }); g < len(w.gaps) {
		if w.gaps[g].From <= off {
			return 0, nil, min(w.gaps[g].To, limit), true
		}
		upTo = min(upTo, w.gaps[g].From)
	}
	if i == len(w.segs) {
		if w.file == nil {
			return 0, nil, upTo, true
		}
		file = w.file
	}
	return w.segs[i-1].Offset, file, upTo, false
}
