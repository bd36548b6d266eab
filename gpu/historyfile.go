package gpu

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"
)

// The file begins with a line that has its version. Then come cells of 28 bytes, each with a checksum of its own, so
// that a damaged one costs itself alone. Numbers are little-endian.
//
//	0  kind   1: a sample, 2: a part of a UUID
//	1  part   of a UUID: which, from 0
//	2  number by which the samples that follow call the GPU
//	4  slot (Unix time / 10 s), used (64 KiB), util, temp, power (float32), each 4 bytes;
//	   or the length of the UUID, and up to 19 bytes of it
//	24 CRC-32C of what stands before
//
// A later sample of the same slot replaces an earlier one, and a sample of an earlier slot drops the later ones: the
// clock had gone back.
const (
	historyHead  = "pasar gpu-history "
	historyMagic = historyHead + "1\n"

	cellSize   = 28
	cellSum    = 24 // where the checksum is
	cellSample = 1
	cellName   = 2
	namePart   = cellSum - 5

	maxNumbers     = 4096     // of GPUs in one file
	maxHistoryFile = 64 << 20 // bytes that are read; 64 GPUs need half of it at most
	flushSlots     = 6        // a minute
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sealCell(dst []byte, c *[cellSize]byte) []byte {
	binary.LittleEndian.PutUint32(c[cellSum:], crc32.Checksum(c[:cellSum], castagnoli))
	return append(dst, c[:]...)
}

func appendSample(dst []byte, number int, slot int64, s *sample) []byte {
	c := [cellSize]byte{cellSample}
	binary.LittleEndian.PutUint16(c[2:], uint16(number))
	for i, v := range [...]uint32{uint32(slot), s.used, math.Float32bits(s.util), math.Float32bits(s.temp), math.Float32bits(s.power)} {
		binary.LittleEndian.PutUint32(c[4+4*i:], v)
	}
	return sealCell(dst, &c)
}

func appendName(dst []byte, number int, uuid string) []byte {
	for part := 0; part*namePart < len(uuid); part++ {
		c := [cellSize]byte{cellName, byte(part)}
		binary.LittleEndian.PutUint16(c[2:], uint16(number))
		c[4] = byte(len(uuid))
		copy(c[5:cellSum], uuid[part*namePart:])
		dst = sealCell(dst, &c)
	}
	return dst
}

// A historyReader takes a file's cells apart.
type historyReader struct {
	put func(uuid string, slot int64, s sample)

	names   map[uint16]string
	partly  []byte // the UUID that is being put together
	kept    int    // samples
	dropped int    // cells that say nothing
}

// read reads a file to its end, or to the bound of what is believed.
func (r *historyReader) read(from io.Reader) error {
	r.names = map[uint16]string{}
	b := bufio.NewReaderSize(io.LimitReader(from, maxHistoryFile), 64<<10)
	head, err := b.Peek(len(historyMagic))
	switch {
	case err != nil && err != io.EOF:
		return err
	case string(head) == historyMagic:
		_, _ = b.Discard(len(head))
	case strings.HasPrefix(string(head), historyHead):
		return errors.New("it is of another version of pasar")
	default:
		return errors.New("it isn't one of pasar's")
	}
	var c [cellSize]byte
	for {
		switch _, err := io.ReadFull(b, c[:]); err {
		case nil:
			if !r.cell(&c) {
				r.dropped++
			}
		case io.EOF:
			return nil
		case io.ErrUnexpectedEOF:
			r.dropped++
			return nil
		default:
			return err
		}
	}
}

// cell takes one cell; false: it says nothing.
func (r *historyReader) cell(c *[cellSize]byte) bool {
	number := binary.LittleEndian.Uint16(c[2:])
	if crc32.Checksum(c[:cellSum], castagnoli) != binary.LittleEndian.Uint32(c[cellSum:]) || number >= maxNumbers {
		return false
	}
	switch c[0] {
	case cellSample:
		uuid, ok := r.names[number]
		if !ok {
			return false
		}
		word := func(i int) uint32 { return binary.LittleEndian.Uint32(c[4+4*i:]) }
		s := sample{word(1), readFloat(word(2)), readFloat(word(3)), readFloat(word(4))}
		r.kept++
		r.put(uuid, int64(word(0)), s)
		return true
	case cellName:
		part, length := int(c[1]), int(c[4])
		if part == 0 {
			r.partly = r.partly[:0]
			delete(r.names, number) // whoever had it, the samples that follow aren't theirs
		}
		if length == 0 || part*namePart != len(r.partly) || len(r.partly) >= length {
			return false
		}
		r.partly = append(r.partly, c[5:5+min(namePart, length-len(r.partly))]...)
		if len(r.partly) == length {
			if !utf8.Valid(r.partly) {
				return false
			}
			r.names[number] = string(r.partly)
		}
		return true
	}
	return false
}

func readFloat(bits uint32) float32 {
	f := float64(math.Float32frombits(bits))
	if v, ok := plausible(&f); ok {
		return float32(v)
	}
	return float32(math.NaN())
}

// A historyFile is where a history is kept over restarts. Nothing is synced: what a power cut takes is at most what
// the kernel had not yet written, checksums find the rest, and no decision rests on it.
type historyFile struct {
	path string
	log  *slog.Logger
	wg   sync.WaitGroup

	// Of the goroutine that writes, and of Close after it.
	size    int64 // as it was left
	next    int   // number of the next GPU
	whole   bool  // it is to be written anew
	failing bool  // it was logged that it can't be written
}

// OpenHistory reads the history that a file has of the 24 h before a time, and keeps it there from now on, appended
// once a minute while there are readings. No file is an empty history, and without GPUs none is made; what can't be
// read is logged and dropped.
func OpenHistory(path string, now time.Time, log *slog.Logger) *History {
	h := NewHistory()
	h.file = &historyFile{path: path, log: log, whole: true}
	h.load(now)
	due := make(chan struct{}, 1)
	h.due = due
	h.file.wg.Go(func() {
		for range due {
			h.flush(false)
		}
	})
	return h
}

// Close writes what isn't in the file yet. Of a history in memory it does nothing.
func (h *History) Close() {
	h.mu.Lock()
	due := h.due
	h.due = nil
	h.mu.Unlock()
	if due == nil {
		return
	}
	close(due)
	h.file.wg.Wait()
	h.flush(true)
}

// wakeFile has what is finished written if a minute has passed by the wall clock, whichever way that went. The lock is
// held.
func (h *History) wakeFile(slot int64) {
	if h.flushed == 0 {
		h.flushed = slot
	}
	if d := slot - h.flushed; h.due == nil || -flushSlots < d && d < flushSlots {
		return
	}
	h.flushed = slot
	select {
	case h.due <- struct{}{}:
	default: // it is told already
	}
}

// load reads the file.
func (h *History) load(now time.Time) {
	f := h.file
	file, err := openHistoryFile(f.path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var r historyReader
	if err == nil {
		err = h.take(&r, file, now)
		if fi, e := file.Stat(); e == nil {
			f.size = fi.Size()
		}
		_ = file.Close()
	}
	if err != nil || r.dropped > 0 {
		f.log.Warn("the history of GPUs can't be read in full; the rest is dropped", "file", f.path, "samples", r.kept, "dropped", r.dropped, "error", err)
		return // and it is written anew
	}
	f.whole = false
	numbers := map[string]int{}
	for n, uuid := range r.names {
		f.next = max(f.next, int(n)+1)
		numbers[uuid] = max(numbers[uuid], int(n)) // any would do; the same one each time
	}
	for _, t := range h.gpus {
		t.number, t.written = numbers[t.uuid], t.last-1 // the newest slot may go on
	}
}

// take reads the 24 h before a time from what a file has. What is from the future is left out, as what is older is.
func (h *History) take(r *historyReader, from io.Reader, now time.Time) error {
	newest, ok := slotOf(now)
	r.put = func(uuid string, slot int64, s sample) {
		if !ok || slot > newest || slot <= newest-historySlots {
			return
		}
		if t := h.track(uuid, slot); t != nil {
			t.move(slot)
			*t.at(slot) = s
			t.resume()
		}
	}
	return r.read(from)
}

// openHistoryFile opens a regular file, and neither follows a link nor waits for the other end of a pipe.
func openHistoryFile(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		_ = f.Close()
		return nil, fmt.Errorf("open %s: not a regular file", path)
	}
	return f, nil
}

// flush writes the slots that are finished and not in the file; at the end the newest as well.
func (h *History) flush(end bool) {
	f := h.file
	if fi, err := os.Lstat(f.path); err != nil || fi.Size() != f.size {
		f.whole = true // it isn't as it was left, so neither are the names in it
	}
	type mark struct {
		number  int
		written int64
	}
	h.mu.Lock()
	gpus, next := h.sorted(), f.next
	marks := make([]mark, len(gpus))
	for i, t := range gpus {
		marks[i] = mark{t.number, t.written}
	}
	var b []byte
	// What 24 h need is a slot of each GPU for every 10 s, and its name.
	need := int64(len(historyMagic)) + int64(len(gpus))*(historySlots+3)*cellSize
	whole := f.whole
	if !whole {
		b = f.encode(gpus, false, end)
		whole = f.size+int64(len(b)) > 2*need || f.next > maxNumbers
	}
	if whole {
		b = f.encode(gpus, true, end)
	}
	h.mu.Unlock()
	if len(b) == 0 {
		return
	}
	var err error
	if whole {
		err = f.replace(b)
	} else {
		err = f.append(b)
	}
	switch {
	case err == nil && f.failing:
		f.failing = false
		f.log.Info("the history of GPUs is kept again", "file", f.path)
	case err != nil && !f.failing:
		f.failing = true
		f.log.Warn("the history of GPUs can't be written; it goes on in memory", "file", f.path, "error", err)
	}
	if err == nil {
		return
	}
	// The file is as it was, and so is what is known of it: the next time it gets what came by then too.
	h.mu.Lock()
	defer h.mu.Unlock()
	f.next = next
	for i, t := range gpus {
		t.number, t.written = marks[i].number, min(t.written, marks[i].written)
	}
}

// encode is what the file lacks, or all that is to be in it; empty if that is nothing. The history's lock is held.
func (f *historyFile) encode(gpus []*track, whole, end bool) (b []byte) {
	if whole {
		f.next = 0
	}
	for _, t := range gpus {
		to := t.last - 1
		if end {
			to = t.last
		}
		from := max(t.written, t.last-historySlots) + 1
		if whole {
			from, t.number = t.last-historySlots+1, -1
		}
		for slot := max(from, 0); slot <= to; slot++ {
			s := t.at(slot)
			if !s.known() {
				continue
			}
			if t.number < 0 {
				t.number = f.next
				f.next++
				b = appendName(b, t.number, t.uuid)
			}
			b = appendSample(b, t.number, slot, s)
		}
		t.written = max(t.written, to)
	}
	if whole && len(b) > 0 {
		b = append([]byte(historyMagic), b...)
	}
	return b
}

// append adds to the file. If it fails the file is as it was, or else the next flush finds that it isn't.
func (f *historyFile) append(b []byte) error {
	file, err := openHistoryFile(f.path, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return err
	}
	if _, err = file.Write(b); err != nil {
		return errors.Join(err, file.Truncate(f.size), file.Close())
	}
	f.size += int64(len(b))
	return file.Close()
}

// replace writes the file anew.
func (f *historyFile) replace(b []byte) error {
	f.whole = true
	fresh := f.path + ".new"
	file, err := openHistoryFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = file.Write(b)
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(fresh, f.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	f.whole, f.size = false, int64(len(b))
	return nil
}
