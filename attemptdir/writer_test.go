package attemptdir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pasar"
)

// seed is PASAR_SEED, or one that is new; a failure prints it.
func seed(t *testing.T) *rand.Rand {
	t.Helper()
	n, err := strconv.ParseUint(os.Getenv("PASAR_SEED"), 10, 64)
	if err != nil {
		n = rand.Uint64()
	}
	t.Logf("PASAR_SEED=%d", n)
	return rand.New(rand.NewPCG(n, n))
}

func torture() bool { return os.Getenv("PASAR_TORTURE") != "" }

// at is the byte that the stream has at an offset: lines of about 90 bytes.
func at(off int64) byte {
	if off%89 == 88 {
		return '\n'
	}
	return "0123456789abcdef"[(off*2654435761>>7)&15]
}

func bytesAt(off int64, n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = at(off + int64(i))
	}
	return p
}

// A model knows which bytes were written.
type model struct {
	dir     string
	logMax  pasar.Bytes
	written []Gap // ranges, in order and apart: the opposite of gaps
	end     int64
}

func (m *model) wrote(from, to int64) {
	if to > from {
		m.written = addGap(m.written, Gap{from, to})
	}
	m.end = max(m.end, to)
}

// kept is what was written and not let go since, by what is there now.
func (m *model) kept(t *testing.T) []Gap {
	t.Helper()
	segs, err := Segments(m.dir)
	if err != nil {
		t.Fatal(err)
	}
	var kept []Gap
	for i, s := range segs {
		fi, err := os.Stat(filepath.Join(m.dir, SegmentName(s)))
		if err != nil {
			t.Fatal(err)
		}
		to := s + fi.Size()
		if i+1 < len(segs) && to > segs[i+1] {
			t.Fatalf("the segment at %d goes on to %d, beyond the next one at %d", s, to, segs[i+1])
		}
		for _, w := range m.written {
			if a, b := max(w.From, s), min(w.To, to); a < b {
				kept = addGap(kept, Gap{a, b})
			}
		}
	}
	return kept
}

// check reads everything from an offset on by read: each byte must be right, and what is skipped must be
// just what isn't there.
func (m *model) check(t *testing.T, who string, off, end int64, kept []Gap, read func(p []byte, off int64) (int, int64)) {
	t.Helper()
	began := off
	var got []Gap
	p := make([]byte, 1000+len(who)) // odd, so that reads don't fall on the same bounds as writes
	for off < end {
		n, next := read(p, off)
		if next <= off || n > 0 && next != off+int64(n) {
			t.Fatalf("%s: at %d of %d: %d bytes, next %d", who, off, end, n, next)
		}
		for i, b := range p[:n] {
			if b != at(off+int64(i)) {
				t.Fatalf("%s: byte %d is %q", who, off+int64(i), b)
			}
		}
		if n > 0 {
			got = addGap(got, Gap{off, next})
		}
		off = next
	}
	var want []Gap
	for _, k := range kept {
		if a, b := max(k.From, began), min(k.To, end); a < b {
			want = append(want, Gap{a, b})
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%s: from %d to %d: read %v, want %v", who, began, end, got, want)
	}
}

// checkAll checks what the writer and somebody who comes later can read.
func (m *model) checkAll(t *testing.T, r *rand.Rand, w *Writer) {
	t.Helper()
	kept := m.kept(t)
	l, err := OpenLog(m.dir)
	if errors.Is(err, os.ErrNotExist) && len(kept) == 0 {
		return // removed, and nothing could be written since
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	last := int64(0)
	if n := len(kept); n > 0 {
		last = kept[n-1].To
	}
	if l.End() < last || l.End() > m.end {
		t.Fatalf("the log ends at %d; the last byte written is %d, the stream ends at %d", l.End(), last, m.end)
	}
	for range 3 {
		from := r.Int64N(m.end + 1)
		m.check(t, "later", from, l.End(), kept, func(p []byte, off int64) (int, int64) {
			n, next, err := l.Read(p, off)
			if err != nil {
				t.Fatal(err)
			}
			return n, next
		})
		m.check(t, "writer's", from, m.end, kept, func(p []byte, off int64) (int, int64) { return w.Read(p, off, m.end) })
	}
}

// size is what the segments take.
func size(t *testing.T, dir string) (total int64) {
	t.Helper()
	segs, err := Segments(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range segs {
		fi, err := os.Stat(filepath.Join(dir, SegmentName(s)))
		if err != nil {
			t.Fatal(err)
		}
		total += fi.Size()
	}
	return total
}

// TestReadersGetExactlyTheBytesOrExactlyAGap writes at random with every fault there is, and reads at
// random offsets.
func TestReadersGetExactlyTheBytesOrExactlyAGap(t *testing.T) {
	r := seed(t)
	runs, steps := 4, 160
	if torture() {
		runs, steps = 60, 600
	}
	for range runs {
		randomLog(t, r, steps)
	}
}

func randomLog(t *testing.T, r *rand.Rand, steps int) {
	t.Helper()
	logMax := []pasar.Bytes{0, LeastMax, 3 << 20}[r.IntN(3)]
	m := &model{dir: filepath.Join(t.TempDir(), "a"), logMax: logMax}
	if err := os.Mkdir(m.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w, err := Create(m.dir, logMax)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var broken struct{ write, index, create bool }
	w.fault = func(op string, n int) (int, error) {
		switch {
		case op == "write" && broken.write:
			return r.IntN(n + 1), syscall.ENOSPC
		case op == "index" && broken.index, op == "create" && broken.create:
			return 0, syscall.ENOSPC
		}
		return 0, nil
	}
	off, now := int64(0), t0
	for step := range steps {
		switch r.IntN(40) {
		case 0:
			broken.write, broken.index, broken.create = r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(2) == 0
		case 1, 2:
			broken.write, broken.index, broken.create = false, false, false
		case 3:
			off += r.Int64N(100_000) // what fell out of the ring meanwhile
		case 4:
			if r.IntN(4) == 0 {
				m.removed(t)
				w.suspect = true
			}
		case 5:
			if r.IntN(4) == 0 {
				m.truncated(t, r)
				w.suspect = true
			}
		case 6:
			if !broken.index {
				_ = os.Remove(filepath.Join(m.dir, pasar.IndexFile))
				w.suspect = true
			}
		}
		if r.IntN(3) == 0 {
			now = now.Add(time.Second)
			_ = w.Note([]Mark{{Offset: off, At: now}})
		}
		p := bytesAt(off, 1+r.IntN(1+r.IntN(64<<10)))
		n, err := w.Write(p, off)
		if err == nil && n == 0 {
			t.Fatal("nothing was written, without a reason")
		}
		m.wrote(off, off+int64(n))
		off += int64(n)
		m.end = max(m.end, off)
		if logMax > 0 {
			if s := size(t, m.dir); s > int64(logMax) {
				t.Fatalf("%d bytes on disk, of %d", s, logMax)
			}
		}
		if step%40 == 39 {
			m.checkAll(t, r, w)
		}
	}
	broken.write, broken.index, broken.create = false, false, false
	if r.IntN(2) == 0 {
		m.end += 1000
		w.GiveUp(m.end)
		l, err := OpenLog(m.dir)
		if errors.Is(err, fs.ErrNotExist) && len(m.written) == 0 {
			return // all was removed, and nothing could be written since: only the exit record says how much it was
		}
		if err != nil || l.End() != m.end {
			t.Fatalf("%v; %+v, and the job wrote %d", err, l, m.end)
		}
	}
	m.checkAll(t, r, w)
	if err := w.Sync(); err != nil {
		t.Fatal(err)
	}
}

// removed takes the directory away under the writer.
func (m *model) removed(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(m.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(m.dir, 0o700); err != nil { // for the model's own looks
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.dir, SegmentName(1<<59)), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(m.dir, SegmentName(1<<59))); err != nil {
		t.Fatal(err)
	}
	m.written = nil
}

// truncated cuts the newest segment short.
func (m *model) truncated(t *testing.T, r *rand.Rand) {
	t.Helper()
	segs, err := Segments(m.dir)
	if err != nil || len(segs) == 0 {
		return
	}
	last := segs[len(segs)-1]
	path := filepath.Join(m.dir, SegmentName(last))
	fi, err := os.Stat(path)
	if err != nil || fi.Size() == 0 {
		return
	}
	to := r.Int64N(fi.Size())
	if err := os.Truncate(path, to); err != nil {
		t.Fatal(err)
	}
	var left []Gap
	for _, k := range m.written {
		if k.To = min(k.To, last+to); k.From < k.To {
			left = append(left, k)
		}
	}
	m.written = left
}

func TestASegmentIsThereBeforeAnOldOneGoes(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, LeastMax)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	full := false
	w.fault = func(op string, n int) (int, error) {
		if full {
			return 0, syscall.ENOSPC
		}
		return 0, nil
	}
	off := int64(0)
	write := func() error {
		n, err := w.Write(bytesAt(off, 16<<10), off)
		off += int64(n)
		return err
	}
	for off < 4*LeastMax {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	for !w.full {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	names := func() string {
		s, err := Segments(dir)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(s, size(t, dir))
	}
	before := names()
	full = true
	for range 3 {
		if err := write(); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("on a full disk: %v", err)
		}
		if now := names(); now != before {
			t.Fatalf("a full disk changed %s to %s", before, now)
		}
	}
	full = false
	if err := write(); err != nil {
		t.Fatal(err)
	}
	if now := names(); now == before {
		t.Errorf("nothing was begun: %s", now)
	}
}

func TestSegmentsBeginWithALine(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for off := int64(0); off < 3<<20; {
		n, err := w.Write(bytesAt(off, 89*(1+int(off%7))), off)
		if err != nil {
			t.Fatal(err)
		}
		off += int64(n)
	}
	segs, err := Segments(dir)
	if err != nil || len(segs) < 3 {
		t.Fatal(segs, err)
	}
	for _, s := range segs {
		if s%89 != 0 {
			t.Errorf("a segment begins at %d, within a line", s)
		}
	}
}

// TestAReaderBesideTheWriterGetsExactlyTheBytesOrAGap has readers of both kinds at work while segments
// come and go.
func TestAReaderBesideTheWriterGetsExactlyTheBytesOrAGap(t *testing.T) {
	total := int64(12 << 20)
	if torture() {
		total = 2 << 30
	}
	dir := t.TempDir()
	w, err := Create(dir, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var end atomic.Int64
	var wg sync.WaitGroup
	defer wg.Wait()
	follow := func(name string, read func(p []byte, off, limit int64) (int, int64)) {
		wg.Go(func() {
			p := make([]byte, 7001)
			for off := int64(0); off < total; {
				n, next := read(p, off, end.Load())
				for i, b := range p[:n] {
					if b != at(off+int64(i)) {
						t.Errorf("%s: byte %d is %q", name, off+int64(i), b)
						return
					}
				}
				if n == 0 && next > off && next < 256<<10 {
					t.Errorf("%s: the first segment is said not to be there, from %d to %d", name, off, next)
					return
				}
				off = next
			}
		})
	}
	follow("the writer's", w.Read)
	var l *Log
	follow("another's", func(p []byte, off, limit int64) (int, int64) {
		var err error
		if l == nil {
			l, err = OpenLog(dir)
		} else if l.End() <= off {
			err = l.Refresh()
		}
		if err != nil {
			t.Error(err)
			return 0, total
		}
		n, next, err := l.Read(p, off)
		if err != nil {
			t.Error(err)
			return 0, total
		}
		return n, next
	})
	for off := int64(0); off < total; {
		n, err := w.Write(bytesAt(off, int(min(5000, total-off))), off)
		if err != nil {
			t.Error(err)
			end.Store(total)
			break
		}
		off += int64(n)
		end.Store(off)
	}
}

func TestADirectoryThatWasRemovedIsMadeAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w, err := Create(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Write(bytesAt(0, 1000), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Dir(dir)); err != nil {
		t.Fatal(err)
	}
	if err := w.Note([]Mark{{Offset: 1000, At: t0}}); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if n, err := w.Write(bytesAt(1000, 500), 1000); n != 500 || err != nil {
		t.Fatal(n, err)
	}
	l, err := OpenLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := make([]byte, 2000)
	if n, next, err := l.Read(p, 0); n != 0 || next != 1000 || err != nil {
		t.Errorf("%d bytes, next %d, %v", n, next, err)
	}
	if n, next, err := l.Read(p, 1000); string(p[:n]) != string(bytesAt(1000, 500)) || next != 1500 || err != nil {
		t.Errorf("%d bytes, next %d, %v", n, next, err)
	}
}

func TestAFIFOInPlaceOfTheLogHoldsUpNobody(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, pasar.OutputFile), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLog(dir); err == nil {
		t.Error("a FIFO was opened as a log")
	}
	if _, err := OpenLog(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no log: %v", err)
	}
}

func TestALineAfterAnOffsetIsFound(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, pasar.OutputFile), []byte("one\ntwo\nthree"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := OpenLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for off, want := range map[int64]int64{0: 0, 1: 4, 3: 4, 4: 4, 5: 8, 8: 8, 9: 9, 13: 13, 99: 99} {
		if got := l.LineFrom(off, 100); got != want {
			t.Errorf("from %d: %d, want %d", off, got, want)
		}
	}
}

func TestALogCutShortBySomebodyElseHasAGapAndNoZeros(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Write(bytesAt(0, 1000), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, pasar.OutputFile), 700); err != nil {
		t.Fatal(err)
	}
	if n, err := w.Write(bytesAt(1000, 500), 1000); n != 500 || err != nil {
		t.Fatal(n, err)
	}
	l, err := OpenLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := make([]byte, 2000)
	n, next, err := l.Read(p, 0)
	if err != nil || n != 700 || !bytes.Equal(p[:n], bytesAt(0, 700)) {
		t.Fatalf("%d bytes, next %d, %v", n, next, err)
	}
	if n, next, err = l.Read(p, 700); n != 0 || next != 1000 || err != nil {
		t.Errorf("%d bytes, next %d, %v", n, next, err)
	}
	if n, _, err = l.Read(p, 1000); err != nil || !bytes.Equal(p[:n], bytesAt(1000, 500)) {
		t.Errorf("%d bytes, %v", n, err)
	}
}
