package vt

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// torture is n in a torture run, else one in so many of it.
func torture(n, part int) int {
	if os.Getenv("PASAR_TORTURE") != "" {
		return n
	}
	return n / part
}

// full is a screen with text and colours in every cell.
func full(cols, rows int) *Screen {
	s := NewScreen(cols, rows)
	for y := range rows {
		fmt.Fprintf(s, "\x1b[%dH\x1b[%dm%s", y+1, 31+y%7, strings.Repeat("世x界y", cols/6))
	}
	return s
}

// The bound is some hundred times what any sequence takes on an idle machine, so that only a loop over counts
// exceeds it.
func TestNoSequenceTakesLong(t *testing.T) {
	s := full(MaxCols, MaxRows)
	worst, which := time.Duration(0), ""
	try := func(seq string, split bool) {
		for _, before := range []string{"", "\x1b[H", "\x1b[500;1000H", "\x1b[999;2000H世"} {
			_, _ = s.Write([]byte(before))
			began := time.Now()
			if split {
				for i := range len(seq) {
					_, _ = s.Write([]byte{seq[i]})
				}
			} else {
				_, _ = s.Write([]byte(seq))
			}
			if d := time.Since(began); d > worst {
				worst, which = d, seq
			}
		}
	}
	for _, count := range []string{"2147483647", "99999999999999999999", "9999", "4294967297;4294967297"} {
		for _, prefix := range []string{"", "?", ">", "=", "<"} {
			for final := byte('@'); final <= '~'; final++ {
				try("\x1b["+prefix+count+string(final), final%3 == 0)
			}
		}
		for _, inter := range []string{" q", "$p", "!p", "'}", "*x", "\"q", " @", " A", "$x", "$z"} {
			try("\x1b["+count+inter, true)
		}
	}
	for _, seq := range []string{"\x1b#8", "\x1bc", "\x1bM", "\x1bD", "\x1bE", "\x1b[?1049h", "\x1b[?1049l", "\x1b[2J", "\x1b[3J", "\x1b[1;1r\x1b[99b"} {
		try(seq, false)
	}
	t.Logf("the worst was %q with %s", which, worst)
	if worst > time.Second {
		t.Errorf("%q took %s", which, worst)
	}
	checkSane(t, s, nil)
}

func TestAnotherSizeDoesNotTakeLong(t *testing.T) {
	cols, rows := torture(MaxCols, 4), torture(MaxRows, 4)
	for name, s := range map[string]*Screen{
		"text":     full(cols, rows),
		"one line": screenOf(cols, rows, strings.Repeat("0123456789", cols*rows/7)),
	} {
		for _, size := range [][2]int{{cols / 2, rows}, {cols, rows}, {2, rows}, {cols, rows}, {1, 1}, {120, 40}} {
			began := time.Now()
			s.Resize(size[0], size[1])
			d := time.Since(began)
			t.Logf("%s to %v: %s", name, size, d)
			if d > 10*time.Second {
				t.Errorf("%s: another size took %s", name, d)
			}
			checkSane(t, s, nil)
		}
	}
}

func TestRandomBytesLeaveASaneScreen(t *testing.T) {
	r := rand.New(rand.NewSource(seed(t)))
	for _, size := range sizes {
		s := NewScreen(size[0], size[1])
		junk := make([]byte, torture(5<<20, 10)/len(sizes))
		_, _ = r.Read(junk)
		_, _ = s.Write(junk)
		checkSane(t, s, nil)
		_, _ = s.Write([]byte("\x18\x0f\r\n\r\n"))
		checkSnapshot(t, s, nil, []byte("ok\r\n"))
		if size[0] > 2 && size[1] > 1 && !s.cur.graphics[0] && !strings.Contains(strings.Join(s.Rows(), "\n"), "ok") {
			t.Errorf("%v: no ok in %q", size, s.Rows())
		}
	}
}

// heap is what is in use now.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// grows says how many bytes of heap remain in use after f.
func grows(f func()) int64 {
	before := heap()
	f()
	return int64(heap()) - int64(before)
}

func TestMemoryIsBounded(t *testing.T) {
	const small = 700 << 10 // the history is 256 KiB of it
	for _, c := range []struct {
		name string
		most int64
		feed func(s *Screen, i int)
		n    int
	}{
		{"nothing", 16 << 10, func(*Screen, int) {}, 0},
		{"one cell that blinks", 32 << 10, func(s *Screen, i int) { fmt.Fprintf(s, "\x1b[5;5H%c", "█ "[i&1]) }, 100_000},
		{"links", small, func(s *Screen, i int) {
			fmt.Fprintf(s, "\x1b]8;id=%d;http://example.com/%d\x1b\\link %d\x1b]8;;\x1b\\\r\n", i, i, i)
		}, 100_000},
		{"yes", small, func(s *Screen, i int) { _, _ = s.Write([]byte("y\r\ny\r\ny\r\ny\r\ny\r\n")) }, 100_000},
		{"long lines", small, func(s *Screen, i int) { fmt.Fprintf(s, "%s\r\n", strings.Repeat("0123456789", 200)) }, 2000},
		{"colours", small, func(s *Screen, i int) {
			fmt.Fprintf(s, "\x1b[38;2;%d;%d;%d;48;5;%dmx", i>>16&255, i>>8&255, i&255, i&255)
		}, 300_000},
		{"clusters", 2 * small, func(s *Screen, i int) { fmt.Fprintf(s, "a%c%c%c", 0x300+i&63, 0x300+i>>6&63, 0x300+i>>12&63) }, 200_000},
		{"marks", small, func(s *Screen, i int) { _, _ = s.Write([]byte("\u0301\u0302")) }, 200_000},
		{"titles", 64 << 10, func(s *Screen, i int) { fmt.Fprintf(s, "\x1b]2;%s%d\a\x1b[22t", strings.Repeat("title", 100), i) }, 10_000},
		{"keyboard flags", 32 << 10, func(s *Screen, i int) { _, _ = s.Write([]byte("\x1b[>1u")) }, 100_000},
		{"alternate screens", 64 << 10, func(s *Screen, i int) { _, _ = s.Write([]byte("\x1b[?1049hx\x1b[?1049l")) }, 20_000},
		{"strings that don't end", 64 << 10, func(s *Screen, i int) { _, _ = s.Write([]byte("\x1b]0;" + strings.Repeat("x", 1000))) }, 10_000},
		{"one string", small, func(s *Screen, i int) { _, _ = s.Write([]byte("\x1bPxxxxxxxxxxxx"[min(i, 2):])) }, 100_000},
	} {
		var s *Screen
		used := grows(func() {
			s = NewScreen(120, 40)
			for i := range torture(c.n, 8) {
				c.feed(s, i)
			}
		})
		t.Logf("%s: %d KiB", c.name, used>>10)
		if used > c.most {
			t.Errorf("%s: %d bytes", c.name, used)
		}
		checkSane(t, s, []byte(c.name))
		runtime.KeepAlive(s)
	}
}

func TestMoreColoursThanThereIsRoomForAreMadeFewer(t *testing.T) {
	s := NewScreen(400, 200)
	for y := range 200 {
		fmt.Fprintf(s, "\x1b[%dH", y+1)
		for x := range 400 {
			fmt.Fprintf(s, "\x1b[38;2;%d;%d;%dmx", y, x&255, x>>8)
		}
	}
	checkSane(t, s, nil)
	if len(s.look.pens) > maxPens+morePens+fewPens {
		t.Errorf("%d pens", len(s.look.pens))
	}
	for _, where := range []struct {
		y int
		c tint
	}{{0, tintDirect}, {199, nearest(tintDirect | 199<<16)}} {
		if got := s.look.pens[s.now.row(where.y).slots[0].pen()].fore; got != where.c {
			t.Errorf("row %d has colour %x, want %x", where.y, got, where.c)
		}
	}
	fmt.Fprint(s, "\x1b[m\x1b[2J")
	for i := range 3 * s.few() { // there is room again, which is noticed soon
		fmt.Fprintf(s, "\x1b[38;2;9;%d;%dmx", i>>8&255, i&255)
	}
	_, _ = s.Write([]byte("\r\n\x1b[38;2;1;2;3;4mx"))
	if got := s.look.pens[s.line().slots[0].pen()].fore; got != tintDirect|0x010203 {
		t.Errorf("afterwards the colour is %x", got)
	}
}

func TestOneVeryLongLineIsNoTrouble(t *testing.T) {
	size := 8 << 20
	if os.Getenv("PASAR_TORTURE") != "" {
		size = 64 << 20
	}
	s := NewScreen(120, 40)
	piece := bytes.Repeat([]byte("0123456789abcdef"), 4<<10)
	began := time.Now()
	for n := 0; n < size; n += len(piece) {
		_, _ = s.Write(piece)
	}
	if d := time.Since(began); d > time.Minute {
		t.Errorf("%d MB took %s", size>>20, d)
	}
	if s.hist.size > DefaultHistory || s.History() < 1000 {
		t.Errorf("%d lines of history in %d bytes", s.History(), s.hist.size)
	}
	if snap := s.AppendSnapshot(nil); len(snap) > 8<<10 {
		t.Errorf("a snapshot of %d bytes", len(snap))
	}
}

func TestTextAfterAnUnterminatedStringAppears(t *testing.T) {
	for _, begin := range []string{"\x1b]0;title", "\x1bPdevice", "\x1b_app", "\x1b^private", "\x1bXstart", "\x1b]8;;http://x", "\x1b[31;", "\x1b("} {
		for _, end := range []string{"\x18", "\x1a", "\x1b\\", "\x1b[m", strings.Repeat("x", 64<<10)} {
			s := NewScreen(80, 24)
			fmt.Fprint(s, "before "+begin+end+"\r\nlater text\r\n")
			if rows := strings.Join(s.Rows(), "\n"); !strings.Contains(rows, "later text") {
				t.Errorf("%q ended by %.10q: %q", begin, end, s.Rows()[:3])
			}
		}
	}
	s := NewScreen(80, 24)
	fmt.Fprint(s, "Mounting \x1b[0;1;39mdev\x1b…POSIX\r\n")
	if s.Row(0) != "Mounting dev…POSIX" {
		t.Errorf("%q", s.Row(0))
	}
}

// tags have a width in the library, where they aren't part of a flag.
var tags = regexp.MustCompile(`[\x{e0020}-\x{e007f}]`)

func TestWideCharactersStayWholeWhenTheScreenIsResized(t *testing.T) {
	r := rand.New(rand.NewSource(seed(t)))
	for range rounds(400) {
		b := &babble{r, 1 + r.Intn(12), 1 + r.Intn(6)}
		s := NewScreen(b.cols, b.rows)
		var raw []byte
		for range 30 {
			if r.Intn(3) == 0 {
				b.cols, b.rows = 1+r.Intn(12), 1+r.Intn(6)
				s.Resize(b.cols, b.rows)
				raw = fmt.Appendf(raw, "<%d×%d>", b.cols, b.rows)
				checkSane(t, s, raw)
			}
			out := b.output(r.Intn(8))
			_, _ = s.Write(out)
			raw = append(raw, out...)
			checkSane(t, s, raw)
			for y := range b.rows {
				from, to := r.Intn(b.cols), r.Intn(b.cols+1)
				row := s.AppendRow(nil, y, from, to)
				if w := library.StringWidth(tags.ReplaceAllString(anySGR.ReplaceAllString(string(row), ""), "")); w > 2*max(0, to-from) {
					t.Fatalf("columns %d to %d are %q", from, to, row)
				}
			}
		}
		checkSnapshot(t, s, raw, b.output(10))
	}
}

func FuzzScreen(f *testing.F) {
	for _, s := range append(corpus(), hostile...) {
		f.Add([]byte(s), uint8(10), uint8(4))
	}
	for _, s := range tmuxCases {
		f.Add([]byte(s), uint8(20), uint8(6))
	}
	f.Fuzz(func(t *testing.T, raw []byte, cols, rows uint8) {
		s := NewScreen(int(cols), int(rows))
		for i, part := range bytes.SplitAfter(raw, []byte("\x1b\\")) {
			if i > 0 { // a resize at each ST
				s.Resize(1+len(part)%50, 1+len(part)%7)
			}
			_, _ = s.Write(part)
			checkSane(t, s, raw)
		}
		if i := bytes.IndexFunc(s.AppendHistory(nil, 1e6), func(r rune) bool { return r < 0x20 && r != '\r' && r != '\n' && r != 0x1b }); i >= 0 {
			t.Fatalf("%q: a control in the history", raw)
		}
	})
}

func FuzzSnapshot(f *testing.F) {
	for _, s := range append(corpus(), hostile...) {
		f.Add([]byte(s), []byte("x"), uint8(10), uint8(4))
	}
	r := rand.New(rand.NewSource(1))
	for i := range 50 {
		size := sizes[i%len(sizes)]
		b := &babble{r, size[0], size[1]}
		f.Add(b.output(20), b.output(5), uint8(size[0]), uint8(size[1]))
	}
	f.Fuzz(func(t *testing.T, raw, on []byte, cols, rows uint8) {
		s := NewScreen(int(cols), int(rows))
		_, _ = s.Write(raw)
		_, _ = s.Write([]byte("\x18")) // no sequence is under way
		s.p.close()
		checkSane(t, s, raw)
		checkSnapshot(t, s, raw, on)
	})
}
