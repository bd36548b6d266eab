package attemptdir

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pasar"
)

var t0 = time.UnixMilli(1_732_890_000_000)

func TestAnIndexIsReadAsItWasWritten(t *testing.T) {
	marks := []Mark{
		{Offset: 0, At: t0},
		{Offset: 0, At: t0, Cols: 100, Rows: 30},
		{Offset: 70, At: t0.Add(time.Second), Runs: []Run{{Stdout, 5}, {Stderr, 7}, {Stdout, 0}}},
		{Offset: 90, At: t0.Add(9 * time.Second), For: 8 * time.Second, Runs: []Run{{Unknown, 0}}},
	}
	var b []byte
	for _, m := range marks {
		b = AppendMark(b, m)
	}
	b = AppendGap(b, Gap{3, 6})
	for line := range strings.Lines(string(b)) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
	x := DecodeIndex(b)
	if !reflect.DeepEqual(x.Marks, marks) || !reflect.DeepEqual(x.Gaps, []Gap{{3, 6}}) {
		t.Errorf("%s\nread as %+v, %+v", b, x.Marks, x.Gaps)
	}
	for off, want := range map[int64]int{0: Unknown, 70: Stdout, 74: Stdout, 75: Stderr, 81: Stderr, 82: Stdout, 90: Unknown, 999: Unknown} {
		if got, until := x.Stream(off); got != want || until <= off {
			t.Errorf("byte %d is of stream %d up to %d, want %d", off, got, until, want)
		}
	}
	if s := x.Sizes(); len(s) != 1 || s[0] != (Size{0, t0, 100, 30}) {
		t.Errorf("sizes: %+v", s)
	}
	if at, until := x.At(71); !at.Equal(t0.Add(time.Second)) || until != 90 {
		t.Errorf("byte 71 came at %s, up to %d", at, until)
	}
}

func TestGarbageInAnIndexIsSkippedAndATornLineToo(t *testing.T) {
	x := DecodeIndex([]byte(`{"o":0,"t":1000}
nonsense
{"o":-5,"t":1000}
{"gap_from":3,"gap_to":6}
{"gap_from":9,"gap_to":9}
{"o":50,"t":2000}
{"o":40,"t":3000}
{"o":60,"t":3000,"s":[1,-4,2]}
{"gap_from":5,"gap_to":8}
{"o":70,"t":4000,"c":80,"r":24}
{"o":80,"t":50`))
	if len(x.Marks) != 3 || x.Marks[2].Offset != 70 || !reflect.DeepEqual(x.Gaps, []Gap{{3, 8}}) {
		t.Errorf("%+v, %+v", x.Marks, x.Gaps)
	}
}

func TestSinceLosesNothingAndShowsLittleMore(t *testing.T) {
	var b []byte
	for i, s := range []int{0, 1, 2, 60, 61, 3600} {
		b = AppendMark(b, Mark{Offset: int64(i * 10), At: t0.Add(time.Duration(s) * time.Second)})
	}
	x := DecodeIndex(b)
	for s, want := range map[float64]int64{-5: 0, 0: 0, 1.5: 10, 3: 30, 30: 30, 59: 30, 60.5: 30, 61.9: 40, 100: 50, 3600.5: 50, 3601: 99, 9999: 99} {
		if got := x.Since(t0.Add(time.Duration(s*float64(time.Second))), 99); got != want {
			t.Errorf("since %g s: %d, want %d", s, got, want)
		}
	}
}

func TestWithoutAnIndexTheFileSaysWhen(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, pasar.OutputFile)
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, t0, t0); err != nil {
		t.Fatal(err)
	}
	x, err := ReadIndex(dir)
	if err != nil {
		t.Fatal(err)
	}
	if at, _ := x.At(3); !at.Equal(t0) || x.Since(t0, 5) != 0 || x.Since(t0.Add(time.Second), 5) != 5 {
		t.Errorf("at %s", at)
	}
}

func FuzzDecodeIndex(f *testing.F) {
	f.Add([]byte(`{"gap_from":3,"gap_to":6}` + "\n" + `{"gap_from":8,"gap_to":10}`))
	f.Add([]byte(`{"gap_from":-3,"gap_to":9223372036854775807}`))
	f.Add([]byte(`{"o":5,"t":1732890000123}` + "\n" + `{"o":6,"t":1,"d":9,"c":1,"r":2,"s":[1,2,2,3,0]}`))
	f.Add([]byte(`{"o":9223372036854775807,"t":1,"s":[1,1099511627776,2,1099511627776,1]}` + "\n" + `{"o":99999999999999999999,"t":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		x := DecodeIndex(b)
		last := int64(-1)
		for _, g := range x.Gaps {
			if g.From <= last || g.To <= g.From {
				t.Errorf("gap %+v after %d", g, last)
			}
			last = g.To
		}
		last = 0
		for _, m := range x.Marks {
			if m.Offset < last {
				t.Errorf("mark at %d after %d", m.Offset, last)
			}
			last = m.Offset
			if _, until := x.At(m.Offset); until < m.Offset {
				t.Errorf("the mark at %d holds up to %d", m.Offset, until)
			}
			if s, until := x.Stream(m.Offset); s < Unknown || s > Stderr || until <= m.Offset {
				t.Errorf("stream %d at %d up to %d", s, m.Offset, until)
			}
			x.Since(m.At, 100)
		}
		x.Sizes()
		if small := thin(b, 200, Gap{10, 20}); len(small) > 200 && len(entries(small)) > 2 {
			t.Errorf("thinned to %d bytes, %d lines", len(small), len(entries(small)))
		}
	})
}

// TestAThinnedIndexSaysLessAndNothingWrong writes an index with every kind of line and thins it again and
// again.
func TestAThinnedIndexSaysLessAndNothingWrong(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const most = 8 << 10
	var b []byte
	var offs []int64
	var came []time.Time
	var streams []int
	var gaps []Gap
	off, now, stream := int64(0), t0, Stdout
	for i := range 20_000 {
		m := Mark{Offset: off, At: now}
		if i == 0 || r.IntN(3) == 0 {
			stream = 3 - stream
			m.Runs = []Run{{Stream: stream}}
		}
		if i%5000 == 7 {
			m.Cols, m.Rows = 80+i%7, 24
		}
		b = AppendMark(b, m)
		offs, came, streams = append(offs, off), append(came, now), append(streams, stream)
		off += int64(1 + r.IntN(1000))
		if i%4000 == 3999 {
			g := Gap{off, off + 50}
			b, gaps, off = AppendGap(b, g), append(gaps, g), g.To
		}
		now = now.Add(time.Duration(1000+r.IntN(5000)) * time.Millisecond)
		if len(b) > most {
			b = thin(b, most*3/4, Gap{})
		}
	}
	if len(b) > most {
		t.Fatalf("%d bytes", len(b))
	}
	x := DecodeIndex(b)
	if !reflect.DeepEqual(x.Gaps, gaps) {
		t.Errorf("gaps %v, want %v", x.Gaps, gaps)
	}
	known := 0
	for i, o := range offs {
		at, _ := x.At(o)
		m := x.Marks[x.markAt(o)]
		if at.After(came[i]) || came[i].After(at.Add(max(m.For, markEvery))) {
			t.Fatalf("byte %d came at %s; the index says %s and %s more", o, came[i], at, m.For)
		}
		if s, _ := x.Stream(o); s != Unknown && s != streams[i] {
			t.Fatalf("byte %d is of stream %d, the index says %d", o, streams[i], s)
		} else if s != Unknown {
			known++
		}
		if at := x.Since(came[i], off); at > o {
			t.Fatalf("since %s leaves out byte %d, which came then", came[i], o)
		}
	}
	if at, _ := x.At(offs[len(offs)-1]); known < 30 || came[len(came)-1].Sub(at) > time.Second {
		t.Errorf("%d of %d streams known; the newest byte is said to have come at %s, not %s", known, len(offs), at, came[len(came)-1])
	}
	if s := x.Sizes(); len(s) == 0 || s[len(s)-1].Cols != 80+15007%7 {
		t.Errorf("sizes %+v", s)
	}
}

func TestWhatWasLetGoTakesNoRoomInTheIndex(t *testing.T) {
	var b []byte
	for i := range int64(1000) {
		b = AppendMark(b, Mark{Offset: i * 10, At: t0.Add(time.Duration(i) * time.Second), Runs: []Run{{Stream: 1 + int(i)%2}}})
	}
	x := DecodeIndex(thin(b, 1<<20, Gap{100, 9900}))
	if len(x.Marks) != 10+1+10 {
		t.Fatalf("%d marks", len(x.Marks))
	}
	if m := x.Marks[10]; m.Offset != 9890 || !m.At.Equal(t0.Add(989*time.Second)) || len(m.Runs) != 1 || m.Runs[0].Stream != 2 {
		t.Errorf("%+v", m)
	}
}

func TestAnIndexThatFillsUpStaysWithinItsBoundAndGoesOn(t *testing.T) {
	w := IndexWriter{Dir: t.TempDir(), Max: indexMin}
	for i := range int64(20_000) {
		if err := w.Append(AppendMark(nil, Mark{Offset: i, At: t0.Add(time.Duration(i) * time.Second)})); err != nil {
			t.Fatal(err)
		}
		if i%1000 == 0 || i > 19_990 {
			x, err := ReadIndex(w.Dir)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(x.Marks); x.Marks[n-1].Offset != i || x.Marks[0].Offset != 0 {
				t.Fatalf("from %d to %d after %d", x.Marks[0].Offset, x.Marks[n-1].Offset, i)
			}
		}
	}
	fi, err := os.Stat(filepath.Join(w.Dir, pasar.IndexFile))
	if err != nil || fi.Size() > w.Max {
		t.Errorf("%v, %v", fi, err)
	}
	if d, _ := os.ReadDir(w.Dir); len(d) != 1 {
		t.Errorf("left behind: %v", d)
	}
}

func BenchmarkReadIndex(b *testing.B) {
	w := IndexWriter{Dir: b.TempDir(), Max: IndexMax}
	for i := int64(0); i < 120_000; i++ {
		if err := w.Append(AppendMark(nil, Mark{Offset: i << 16, At: t0.Add(time.Duration(i) * time.Second)})); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if x, err := ReadIndex(w.Dir); err != nil || len(x.Marks) != 120_000 {
			b.Fatal(fmt.Sprint(len(x.Marks)), err)
		}
	}
}
