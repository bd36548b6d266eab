package gpu

import (
	"bytes"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pasar"
)

// A kept is a history with a file, and what was logged of it.
type kept struct {
	*History
	log bytes.Buffer
}

func open(t *testing.T, path string, now time.Time) *kept {
	t.Helper()
	k := &kept{}
	k.History = OpenHistory(path, now, slog.New(slog.NewTextHandler(&k.log, nil)))
	t.Cleanup(k.Close)
	return k
}

// logged counts lines. The file's goroutine must not be writing.
func (k *kept) logged() int { return strings.Count(k.log.String(), "\n") }

// hour has a reading in each slot of an hour from noon on, of two GPUs.
func hour(h *History) {
	for i := range 360 {
		r := sampleOf(after(10*i), "GPU-4d1b5d5e-0b0c-4b50-8a49-5f1ea59b9f36", float64(i), 50.5, 60, 700)
		r.GPUs = append(r.GPUs, sampleOf(after(10*i), "MIG-b", nan, float64(i%100), nan, nan).GPUs...)
		h.Add(r)
	}
}

// madeFile is a file with an hour of two GPUs.
func madeFile(t *testing.T) (path string, was string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "gpu-history")
	k := open(t, path, noon)
	hour(k.History)
	k.Close()
	if k.logged() != 0 {
		t.Error(k.log.String())
	}
	return path, told(k.History, noon, after(3600), 8640)
}

func TestAHistoryIsThereAfterARestart(t *testing.T) {
	path, was := madeFile(t)
	fi, err := os.Stat(path)
	if err != nil || fi.Mode() != 0o600 {
		t.Fatal(fi.Mode(), err)
	}
	if want := int64(len(historyMagic) + (3+1+2*360)*cellSize); fi.Size() != want {
		t.Errorf("%d bytes; want %d", fi.Size(), want)
	}
	k := open(t, path, after(3595))
	wantTold(t, k.History, was)
	k.Add(sampleOf(after(3599), "MIG-b", 7, nan, nan, nan)) // the slot goes on
	k.Add(sampleOf(after(3605), "MIG-b", 8, nan, nan, nan))
	k.Close()
	again := open(t, path, after(3605))
	if got, want := told(again.History, after(3590), after(3620), 8640), "GPU-4d1b5d5e-0b0c-4b50-8a49-5f1ea59b9f36: 3590=359/50.5/60/700\nMIG-b: 3590=7/59/?/? 3600=8/?/?/?\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if again.logged() != 0 {
		t.Error(again.log.String())
	}
}

func TestAKilledDaemonLosesAMinuteAtMost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gpu-history")
	h := NewHistory() // whose file's goroutine is this one
	h.file = &historyFile{path: path, log: slog.New(slog.DiscardHandler), whole: true}
	h.due = make(chan struct{}, 1)
	for i := range 18 {
		h.Add(sampleOf(after(10*i), "a", 1, 1, 1, 1))
		select {
		case <-h.due:
			h.flush(false)
		default:
		}
	}
	killed := open(t, path, after(175))
	if ps := killed.View(noon, after(200), 8640).GPUs[0].Points; len(ps) != 12 {
		t.Errorf("%d points are there of 18; want all but the last minute's", len(ps))
	}
}

func TestWithoutGPUsThereIsNoFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gpu-history")
	k := open(t, path, noon)
	for i := range 100 {
		k.Add(pasar.Reading{At: after(10 * i), Source: "none"})
	}
	k.Close()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Error(err)
	}
}

func TestADamagedFileIsReadAsFarAsItCanBe(t *testing.T) {
	for _, c := range []struct {
		name   string
		spoil  func(b []byte) []byte
		points int // that are left of 720
	}{
		{"a damaged sample", func(b []byte) []byte { b[len(historyMagic)+10*cellSize+9] ^= 4; return b }, 719},
		{"a damaged name", func(b []byte) []byte { b[len(historyMagic)+cellSize+9] ^= 4; return b }, 360},
		{"cut in the middle of a cell", func(b []byte) []byte { return b[:len(b)-cellSize-3] }, 718},
		{"zeros at the end", func(b []byte) []byte { clear(b[len(b)-5*cellSize:]); return b }, 715},
		{"foreign", func([]byte) []byte { return []byte("#!/bin/sh\necho nothing of pasar's\n") }, 0},
		{"empty", func([]byte) []byte { return nil }, 0},
		{"newer", func(b []byte) []byte { b[len(historyHead)] = '2'; return b }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			path, _ := madeFile(t)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, c.spoil(b), 0o600); err != nil {
				t.Fatal(err)
			}
			k := open(t, path, after(3600))
			count := func(h *History) (n int) {
				for _, g := range h.View(noon, after(3600), 8640).GPUs {
					n += len(g.Points)
				}
				return n
			}
			if n := count(k.History); n != c.points || k.logged() != 1 {
				t.Errorf("%d points; want %d\n%s", n, c.points, k.log.String())
			}
			k.Add(sampleOf(after(3600), "MIG-b", 1, 1, 1, 1))
			k.Close()
			healed := open(t, path, after(3601))
			if n := count(healed.History); n != c.points || healed.logged() != 0 {
				t.Errorf("written anew: %d points; want %d\n%s", n, c.points, healed.log.String())
			}
		})
	}
}

func TestWhatIsNoFileStopsNothing(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"a directory": func(p string) error { return os.Mkdir(p, 0o700) },
		"a pipe":      func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"a link":      func(p string) error { return os.Symlink("/dev/zero", p) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "gpu-history")
			if err := make(path); err != nil {
				t.Fatal(err)
			}
			k := open(t, path, noon)
			k.Add(sampleOf(after(0), "a", 1, 1, 1, 1))
			k.Close()
			wantTold(t, k.History, "a: 0=1/1/1/1\n")
			if n := k.logged(); n < 1 || n > 2 {
				t.Error(k.log.String())
			}
		})
	}
}

func TestAFullDiskIsSaidOnceAndTheHistoryGoesOn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	k := &kept{}
	k.History = NewHistory()
	k.file = &historyFile{path: filepath.Join(dir, "gpu-history"), log: slog.New(slog.NewTextHandler(&k.log, nil)), whole: true}
	for i := range 5 {
		k.Add(sampleOf(after(10*i), "a", 1, 1, 1, 1))
		k.flush(false) // into a directory that isn't there
	}
	if k.logged() != 1 {
		t.Errorf("logged:\n%s", k.log.String())
	}
	const all = "a: 0=1/1/1/1 10=1/1/1/1 20=1/1/1/1 30=1/1/1/1 40=1/1/1/1\n"
	wantTold(t, k.History, all)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	k.flush(true)
	wantTold(t, open(t, k.file.path, after(50)).History, all)
	if k.logged() != 2 { // that it is kept again
		t.Errorf("logged:\n%s", k.log.String())
	}
}

func TestAnAppendThatFailsIsMadeUpFor(t *testing.T) {
	path, _ := madeFile(t)
	k := open(t, path, after(3600))
	k.Close()
	h := k.History
	h.Add(sampleOf(after(3600), "new", 1, 1, 1, 1))
	h.Add(sampleOf(after(3610), "new", 2, 2, 2, 2))
	size := h.file.size
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path+".away", path); err != nil { // as long as the file: never followed
		t.Fatal(err)
	}
	h.file.whole = false
	h.file.size = int64(len(path + ".away"))
	h.flush(false)
	if h.gpus["new"].number != -1 || !h.file.failing {
		t.Error("a GPU that isn't in the file has a number there")
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	h.file.size = size
	h.flush(true)
	got := open(t, path, after(3620))
	if s := told(got.History, after(3600), after(3620), 8640); s != "new: 3600=1/1/1/1 3610=2/2/2/2\n" || got.logged() != 0 {
		t.Errorf("%s%s", s, got.log.String())
	}
}

func TestAFileGrowsToTwiceADayAndNoMore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gpu-history")
	h := NewHistory()
	h.file = &historyFile{path: path, log: slog.New(slog.DiscardHandler), whole: true}
	day, most, anew := historySlots*cellSize, int64(0), 0
	for i := range 5 * historySlots {
		h.Add(sampleOf(noon.Add(time.Duration(i)*slotTime), "GPU-4d1b5d5e-0b0c-4b50-8a49-5f1ea59b9f36", 1, 1, 1, 1))
		if i%60 == 59 {
			before := h.file.size
			h.flush(false)
			most = max(most, h.file.size)
			if h.file.size < before {
				anew++
			}
		}
	}
	if most > 2*day+1024 || most < day || anew < 2 || anew > 5 {
		t.Errorf("%d bytes at most, written anew %d times", most, anew)
	}
	t.Logf("a day is %d bytes, the file at most %d", day, most)
	end := noon.Add(time.Duration(5*historySlots) * slotTime)
	if n := len(open(t, path, end).View(end.Add(-24*time.Hour), end, 8640).GPUs[0].Points); n < int(historySlots)-60 {
		t.Errorf("%d points are left of a day", n)
	}
}

func TestEntriesFromTheFutureAreDropped(t *testing.T) {
	path, _ := madeFile(t)
	k := open(t, path, after(1805))
	for _, g := range k.View(noon, after(7200), 8640).GPUs {
		if last := g.Points[len(g.Points)-1].At; len(g.Points) != 181 || !last.Equal(after(1800)) {
			t.Errorf("%d points, the last at %s", len(g.Points), last)
		}
	}
	if old := open(t, path, after(3*86400)); len(old.gpus) != 0 {
		t.Error("what is older than a day is kept")
	}
}

func FuzzHistoryFile(f *testing.F) {
	s := sample{3, 50, 60, float32(math.NaN())}
	good := appendSample(appendName([]byte(historyMagic), 1, "GPU-4d1b5d5e-0b0c-4b50-8a49-5f1ea59b9f36"), 1, noon.Unix()/10, &s)
	f.Add(good)
	f.Add(good[:len(good)-5])
	f.Add([]byte(historyHead + "2\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		// Checksums would keep a fuzzer out: each cell is sealed, and the file as it is read as well.
		sealed := bytes.Clone(b)
		for at := len(historyMagic); at+cellSize <= len(sealed); at += cellSize {
			copy(sealed[at:], sealCell(nil, (*[cellSize]byte)(bytes.Clone(sealed[at:at+cellSize]))))
		}
		for _, b := range [][]byte{b, sealed} {
			h, again := NewHistory(), NewHistory()
			_ = h.take(&historyReader{}, bytes.NewReader(b), noon)
			if len(h.gpus) > maxHistoryGPUs {
				t.Errorf("%d GPUs", len(h.gpus))
			}
			var r historyReader
			err := again.take(&r, bytes.NewReader((&historyFile{}).encode(h.sorted(), true, true)), noon)
			if r.dropped > 0 || err != nil && r.kept > 0 {
				t.Errorf("what was written can't be read: %d dropped, %v", r.dropped, err)
			}
			was, got := told(h, noon.Add(-24*time.Hour), noon.Add(slotTime), 8640), told(again, noon.Add(-24*time.Hour), noon.Add(slotTime), 8640)
			if got != was {
				t.Errorf("written and read again:\n%swas\n%s", got, was)
			}
		}
	})
}
