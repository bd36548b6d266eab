package attemptdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"pasar"
)

// A Writer writes an attempt's output to its directory: in segments, within a bound, with an index. What
// it takes on the disk exceeds the bound by no more than the index (IndexMaxFor) and what the file system
// adds to each file. One goroutine writes; any may call Read.
type Writer struct {
	dir    string
	logMax pasar.Bytes
	segMax int64
	index  IndexWriter

	// Owned by the writing goroutine.
	full    bool  // the newest segment takes no more
	data    int64 // the newest segment has nothing from here on
	end     int64 // as data, or behind a gap that has been noted
	suspect bool  // the files may not be as they were left
	again   bool  // a new index lacks the gaps
	fault   func(op string, n int) (int, error)

	leaving sync.Mutex // held while the kernel is told to write a full segment out

	mu   sync.Mutex // guards what follows; written by the writing goroutine alone
	segs []Segment  // oldest first; the last one is file's, if there is a file
	file *os.File   // the newest segment; nil once it is known to be gone
	gaps []Gap      // what was never written, or was cut off
}

// Create makes the first segment in a directory. There must be no other writer.
func Create(dir string, logMax pasar.Bytes) (*Writer, error) {
	f, err := OpenFile(filepath.Join(dir, pasar.OutputFile), os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	w := &Writer{dir: dir, logMax: logMax, segMax: SegmentMax(logMax), file: f, segs: []Segment{{}}}
	w.index = IndexWriter{Dir: dir, Max: IndexMaxFor(logMax), Dropped: w.dropped}
	return w, nil
}

// Note writes marks to the index, before what they are about is written. A failure loses them and
// nothing else.
func (w *Writer) Note(marks []Mark) error {
	w.suspect = true // as good a time to look after the files as any
	var lines []byte
	for _, m := range marks {
		lines = AppendMark(lines, m)
	}
	return w.append(lines)
}

func (w *Writer) append(lines []byte) error {
	if w.index.Gone() {
		w.index.Close()
		w.again = true
	}
	if w.again {
		var all []byte
		for _, g := range w.gaps {
			all = AppendGap(all, g)
		}
		lines = append(all, lines...)
	}
	if w.fault != nil {
		if _, err := w.fault("index", len(lines)); err != nil {
			return err
		}
	}
	err := w.index.Append(lines)
	w.again = w.again && err != nil
	return err
}

// Write writes bytes at an offset, or some of them: n may be less without an error. The offset is not
// before the end of what was written; what is between them is a gap. After an error nothing that was
// there is lost, n bytes more are, and the rest may be tried again or left out.
func (w *Writer) Write(p []byte, off int64) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	if w.suspect || w.changed() {
		w.inspect()
	}
	last := w.segs[len(w.segs)-1].Offset
	if w.file == nil || w.full || off-last >= w.segMax {
		err = w.rotate(off)
	} else if off > w.end {
		err = w.skip(off)
	}
	if err != nil {
		w.suspect = true
		return 0, err
	}
	last = w.segs[len(w.segs)-1].Offset
	n, full := Cut(p, w.segMax-(off-last))
	n, err = w.writeAt(p[:n], off-last)
	if n > 0 {
		w.data = off + int64(n)
		w.end = w.data
		w.mu.Lock()
		w.segs[len(w.segs)-1].Size = w.data - last
		w.mu.Unlock()
	}
	if err != nil {
		w.suspect = true
		return n, fmt.Errorf("write log: %w", err)
	}
	w.full = full
	return n, nil
}

func (w *Writer) writeAt(p []byte, at int64) (int, error) {
	if w.fault != nil {
		k, err := w.fault("write", len(p))
		if err != nil {
			n, _ := w.file.WriteAt(p[:k], at)
			return n, err
		}
	}
	return w.file.WriteAt(p, at)
}

// skip leaves a gap before an offset. It is noted before anything is written behind it, or a reader would
// take the hole for zeros; an index that can't be written is no reason to write nothing: the name of a new
// segment says the same.
func (w *Writer) skip(off int64) error {
	g := Gap{w.end, off}
	if err := w.append(AppendGap(nil, g)); err != nil {
		return w.rotate(off)
	}
	w.addGap(g)
	w.end = off
	return nil
}

// addGap notes what was never written.
func (w *Writer) addGap(g Gap) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gaps = addGap(w.gaps, g)
}

// rotate begins a segment at an offset. It is there before an old one goes.
func (w *Writer) rotate(off int64) error {
	path := filepath.Join(w.dir, SegmentName(off))
	f, err := w.create(path)
	if errors.Is(err, os.ErrNotExist) { // the directory was removed
		if err := os.MkdirAll(w.dir, 0o700); err != nil {
			return fmt.Errorf("begin segment: %w", err)
		}
		f, err = w.create(path)
	}
	if err != nil {
		return fmt.Errorf("begin segment: %w", err)
	}
	var gone []int64
	w.mu.Lock()
	old := w.file
	segs := append([]Segment(nil), w.segs...)
	if n := len(segs) - 1; old == nil || w.data <= segs[n].Offset { // it is gone, or nothing could be written to it
		if old != nil && segs[n].Offset != off {
			gone = append(gone, segs[n].Offset)
		}
		segs = segs[:n]
	}
	if n := Excess(segs, w.logMax); n > 0 {
		for _, s := range segs[1 : 1+n] {
			gone = append(gone, s.Offset)
		}
		segs = append(segs[:1], segs[1+n:]...)
	}
	if off > w.end {
		w.gaps = addGap(w.gaps, Gap{w.end, off})
	}
	w.segs, w.file = append(segs, Segment{Offset: off}), f
	w.mu.Unlock()
	w.full, w.data, w.end = false, off, off
	if old != nil {
		w.leave(old)
	}
	for _, at := range gone {
		_ = os.Remove(filepath.Join(w.dir, SegmentName(at)))
	}
	return nil
}

// leave lets go of a segment that is full, and has the kernel begin to write it out, so that the sync at the end
// finds little to do. A slow disk is not waited for: while it takes one segment the next ones are left to the kernel.
func (w *Writer) leave(f *os.File) {
	if !w.leaving.TryLock() {
		_ = f.Close()
		return
	}
	go func() {
		defer w.leaving.Unlock()
		_ = unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
		_ = f.Close()
	}()
}

func (w *Writer) create(path string) (*os.File, error) {
	if w.fault != nil {
		if _, err := w.fault("create", 0); err != nil {
			return nil, err
		}
	}
	return OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
}

// changed reports whether somebody else cut the file short or removed it: what is written then would leave a
// hole that nothing tells of.
func (w *Writer) changed() bool {
	if w.file == nil {
		return false
	}
	var st unix.Stat_t
	err := unix.Fstat(int(w.file.Fd()), &st)
	return err == nil && (st.Nlink == 0 || w.segs[len(w.segs)-1].Offset+st.Size < w.data)
}

// inspect looks whether the files are still what was written. One that was removed, perhaps with its
// directory, makes way for a new one; of one that was cut short the end is a gap.
func (w *Writer) inspect() {
	w.suspect = false
	if len(w.gaps) > 0 && w.index.Gone() {
		_ = w.append(nil) // a hole must not be taken for zeros
	}
	if w.file == nil {
		return
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(w.file.Fd()), &st); err != nil {
		return
	}
	last := w.segs[len(w.segs)-1].Offset
	switch {
	case st.Nlink == 0:
		var there []Segment
		for _, s := range w.segs[:len(w.segs)-1] {
			if _, err := os.Lstat(filepath.Join(w.dir, SegmentName(s.Offset))); err == nil {
				there = append(there, s)
			}
		}
		w.mu.Lock()
		old := w.file
		w.segs, w.file = append(there, Segment{Offset: w.end}), nil // until there is another
		w.mu.Unlock()
		_ = old.Close()
	case last+st.Size < w.data:
		w.data = last + st.Size
		w.end = w.data
	}
}

// GiveUp says that what lacks up to an offset will never be written.
func (w *Writer) GiveUp(end int64) {
	if end <= w.end {
		return
	}
	g := Gap{w.end, end}
	_ = w.append(AppendGap(nil, g)) // the exit record says the same
	w.addGap(g)
	w.end = end
}

// Lost is how many bytes were never written, or were cut off.
func (w *Writer) Lost() (n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, g := range w.gaps {
		n += g.To - g.From
	}
	return n
}

// dropped is what was let go between the first segment and the others.
func (w *Writer) dropped() Gap {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.segs) < 2 {
		return Gap{}
	}
	return Gap{w.segs[0].Offset + w.segs[0].Size, w.segs[1].Offset}
}

// Sync makes the output durable, and the index if it tells of gaps: times that a power cut takes are no loss.
func (w *Writer) Sync() error {
	w.mu.Lock()
	segs, file, gaps := w.segs, w.file, len(w.gaps)
	w.mu.Unlock()
	var errs []error
	for _, s := range segs[:len(segs)-1] { // written out long ago as a rule, which costs nothing then
		f, err := OpenFile(filepath.Join(w.dir, SegmentName(s.Offset)), os.O_RDONLY, 0)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = f.Sync()
			_ = f.Close()
		}
		errs = append(errs, err)
	}
	if file != nil {
		errs = append(errs, file.Sync())
	}
	if gaps > 0 {
		errs = append(errs, w.index.Sync())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("sync log: %w", err)
	}
	return nil
}

// Close lets go of the files.
func (w *Writer) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file != nil {
		_ = w.file.Close()
	}
	w.index.Close()
}
