package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pasar"
	"pasar/attemptdir"
	"pasar/target"
)

// doctored is an ended attempt whose log, index and length are as given.
func doctored(t *testing.T, log, index string, output int64) (*Machine, target.Handle) {
	t.Helper()
	p := newPlace(t)
	m := p.open()
	h := ended(t, m, shell(1, "true"))
	dir := m.attemptDir(h.Key)
	for name, text := range map[string]string{pasar.OutputFile: log, pasar.IndexFile: index} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rewrite(t, filepath.Join(dir, pasar.ExitFile), func(v map[string]any) { v["output"] = output })
	return m, h
}

// show writes chunks as "offset+gap data".
func show(chunks []target.Chunk) string {
	var b strings.Builder
	for _, c := range chunks {
		fmt.Fprintf(&b, "%d+%d %s|", c.Offset, c.Gap, c.Data)
	}
	return b.String()
}

func TestHolesInTheOutputAreSaid(t *testing.T) {
	// Bytes 3–6 and 8–10 were lost, and the last two never reached the disk.
	m, h := doctored(t, "abc\x00\x00\x00ge\x00\x00k", `{"gap_from":3,"gap_to":6}
nonsense
{"gap_from":8,"gap_to":10}
{"gap_from":11,"gap_to":13}
`, 13)
	for from, want := range map[target.Cursor]string{
		0:  "0+0 abc|6+3 ge|10+2 k|13+2 |",
		2:  "2+0 c|6+3 ge|10+2 k|13+2 |",
		4:  "6+2 ge|10+2 k|13+2 |",
		6:  "6+0 ge|10+2 k|13+2 |",
		10: "10+0 k|13+2 |",
		11: "13+2 |",
		13: "",
		99: "",
	} {
		if got := show(collect(t, m, h, from)); got != want {
			t.Errorf("from %d: %s, want %s", from, got, want)
		}
	}
}

func TestALogThatIsGoneIsAGap(t *testing.T) {
	m, h := doctored(t, "", "", 5)
	if got := show(collect(t, m, h, 0)); got != "5+5 |" {
		t.Errorf("got %s", got)
	}
}

func TestALogThatWasRemovedIsAGap(t *testing.T) {
	m, h := doctored(t, "", "", 5)
	file := filepath.Join(m.attemptDir(h.Key), pasar.OutputFile)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[target.Cursor]string{0: "5+5 |", 2: "5+3 |", 5: ""} {
		if got := show(collect(t, m, h, from)); got != want {
			t.Errorf("from %d: %s, want %s", from, got, want)
		}
	}
	// Without a record nobody knows how much it was.
	if err := os.Remove(filepath.Join(m.attemptDir(h.Key), pasar.ExitFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Logs(t.Context(), h, 0, false, func(target.Chunk) error { return nil }); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("no record: %v", err)
	}
}

func TestRepeatsAreNotHandedOverTwice(t *testing.T) {
	var got []target.Chunk
	r := &logReader{ctx: t.Context(), at: 10, f: func(c target.Chunk) error {
		got = append(got, c)
		return nil
	}}
	for _, o := range []struct {
		offset int64
		data   string
	}{{5, "01234"}, {8, "01234"}, {13, ""}, {15, "xy"}} {
		if err := r.emit(o.offset, []byte(o.data), time.Time{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	if want := "10+0 234|15+2 xy|"; show(got) != want || r.at != 17 {
		t.Errorf("%s up to %d, want %s", show(got), r.at, want)
	}
}

func TestTheLastLinesAreCleanAndBounded(t *testing.T) {
	for in, want := range map[string][]string{
		"":                         nil,
		"\r\n\n":                   nil,
		"one":                      {"one"},
		"one\r\ntwo\r\n":           {"one", "two"},
		"a\n\nb":                   {"a", "", "b"},
		" 10%\r 50%\r100%\ndone":   {"100%", "done"},
		"\x1b[31mred\x07 \xff end": {`\x1b[31mred\x07 \xff end`},
	} {
		if got := lastLines([]byte(in)); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	many := strings.Repeat("line\n", 1000)
	if got := lastLines([]byte(many)); len(got) != pasar.TailLines {
		t.Errorf("%d lines of 1000", len(got))
	}
}

func FuzzLastLines(f *testing.F) {
	f.Add([]byte("a\rb\r\n\x1b[0m\xff\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		lines := lastLines(b)
		size := 0
		for _, l := range lines {
			size += len(l)
			if !utf8.ValidString(l) || pasar.Clean(l) != l {
				t.Errorf("line %q isn't clean", l)
			}
		}
		if len(lines) > pasar.TailLines || size > pasar.TailBytes {
			t.Errorf("%d lines of %d bytes", len(lines), size)
		}
	})
}

func FuzzDecodeHolding(f *testing.F) {
	b, _ := json.Marshal(pasar.Holding{Key: pasar.AttemptKey{Job: 1, Attempt: 1}, Nonce: "n", Boot: "b", Pid: 1})
	f.Add(b)
	f.Add([]byte(`{"nonce":`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, whole := decodeHolding(b); whole != (h.Nonce != "" && h.Boot != "" && h.Pid > 0) {
			t.Errorf("%+v is whole: %v", h, whole)
		}
	})
}

func FuzzDecodeRecord(f *testing.F) {
	b, _ := json.Marshal(pasar.ExitRecord{Key: pasar.AttemptKey{Job: 1, Attempt: 1}, Nonce: "n"})
	f.Add(b)
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := decodeRecord(b); err == nil && (r.Nonce == "" || r.Key.Job <= 0) {
			t.Errorf("believed %+v", r)
		}
	})
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("1 (a) b) c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22"))
	f.Fuzz(func(t *testing.T, b []byte) { _, _ = parseStat(b) })
}

func FuzzParseMeminfo(f *testing.F) {
	f.Add([]byte("MemTotal:       65536000 kB\nMemFree: 1 kB\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, err := parseMeminfo(b); err == nil && n <= 0 {
			t.Errorf("%d bytes", n)
		}
	})
}

func TestOutputInSegmentsIsReadAndWhatWentIsAGap(t *testing.T) {
	m, h := doctored(t, "abc", "", 16)
	dir := m.attemptDir(h.Key)
	for off, text := range map[int64]string{8: "ij\n", 11: "lmn", 14: "op"} {
		if err := os.WriteFile(filepath.Join(dir, attemptdir.SegmentName(off)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for from, want := range map[target.Cursor]string{
		0:  "0+0 abc|8+5 ij\n|11+0 lmn|14+0 op|",
		1:  "1+0 bc|8+5 ij\n|11+0 lmn|14+0 op|",
		5:  "8+3 ij\n|11+0 lmn|14+0 op|",
		12: "12+0 mn|14+0 op|",
		-3: "13+0 n|14+0 op|",
		16: "",
	} {
		if got := show(collect(t, m, h, from)); got != want {
			t.Errorf("from %d: %s, want %s", from, got, want)
		}
	}
	if got := tail(dir); !reflect.DeepEqual(got, []string{"abcij", "lmnop"}) {
		t.Errorf("tail %q", got)
	}
}

func TestChunksSayWhenTheyCameAndOfWhichStreamTheyAre(t *testing.T) {
	base := time.UnixMilli(1_732_890_000_000)
	var index []byte
	for _, k := range []attemptdir.Mark{
		{Offset: 0, At: base, Runs: []attemptdir.Run{{Stream: 1, Len: 4}, {Stream: 2}}},
		{Offset: 8, At: base.Add(time.Minute)},
		{Offset: 12, At: base.Add(time.Hour), Runs: []attemptdir.Run{{Stream: 1}}},
	} {
		index = attemptdir.AppendMark(index, k)
	}
	m, h := doctored(t, "out\nerr\nerr\nout\n", string(index), 16)
	var got string
	for _, c := range collect(t, m, h, 0) {
		got += fmt.Sprintf("%d %s %s|", c.Stream, c.At.Sub(base), c.Data)
	}
	if want := "1 0s out\n|2 0s err\n|2 1m0s err\n|1 1h0m0s out\n|"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for d, want := range map[time.Duration]target.Cursor{0: 0, 2 * time.Second: 8, 61500 * time.Millisecond: 12, 2 * time.Hour: 16} {
		if c, err := m.Since(t.Context(), h, base.Add(d)); err != nil || c != want {
			t.Errorf("since %s: %d, %v; want %d", d, c, err, want)
		}
	}
}

func TestOutputThatWasRemovedIsSaidToBe(t *testing.T) {
	p := newPlace(t)
	m := p.open()
	h := ended(t, m, shell(1, "true"))
	if err := os.RemoveAll(m.attemptDir(h.Key)); err != nil {
		t.Fatal(err)
	}
	for _, follow := range []bool{false, true} {
		if _, err := m.Logs(limited(t), h, 0, follow, func(target.Chunk) error { return nil }); !errors.Is(err, target.ErrRemoved) {
			t.Errorf("follow %v: %v", follow, err)
		}
	}
}

func TestAFollowerOfPipesIsToldTheStreamFromTheStart(t *testing.T) {
	p := newPlace(t)
	m := p.open()
	a := shell(1, "echo one; sleep 0.1; echo two >&2; sleep 1.2; echo three; sleep 0.1; seq 1 400000; echo end >&2")
	a.Spec.NoPTY = true
	h := launch(t, m, a)
	var got [3]strings.Builder
	late := time.Time{}
	if _, err := m.Logs(limited(t), h, 0, true, func(c target.Chunk) error {
		got[c.Stream].Write(c.Data)
		if c.Gap != 0 || c.At.IsZero() || c.At.Before(late.Add(-time.Millisecond)) {
			t.Errorf("at %d: gap %d, came at %s after %s", c.Offset, c.Gap, c.At, late)
		}
		late = c.At
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got[0].Len() > 0 || got[2].String() != "two\nend\n" || !strings.HasPrefix(got[1].String(), "one\nthree\n1\n2\n") {
		t.Errorf("%d unknown, %q, %.30q", got[0].Len(), got[2].String(), got[1].String())
	}
}

// longOutput is an ended attempt with so much output, most of it a hole in the file.
func longOutput(tb testing.TB, size int64) (*Machine, target.Handle) {
	tb.Helper()
	m := &Machine{o: Options{DataDir: tb.TempDir()}}
	h := target.Handle{Key: pasar.AttemptKey{Job: 1, Attempt: 1}, Nonce: "n"}
	dir := m.attemptDir(h.Key)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	var index []byte // a mark for each second of an hour and more: as a job leaves that writes all the time
	for i := range int64(5000) {
		index = attemptdir.AppendMark(index, attemptdir.Mark{Offset: i * size / 5000, At: time.Unix(1e9+i, 0)})
	}
	for name, text := range map[string]string{
		pasar.ClaimFile: `{"nonce":"n"}`, pasar.SpecFile: `{"nonce":"n"}`, pasar.IndexFile: string(index),
		pasar.ExitFile: fmt.Sprintf(`{"key":"1.1","nonce":"n","output":%d}`, size),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	f, err := os.Create(filepath.Join(dir, pasar.OutputFile))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("the end\n"), size-8); err != nil {
		tb.Fatal(err)
	}
	return m, h
}

// lastOf reads the end of an output as a verdict does.
func lastOf(tb testing.TB, m *Machine, h target.Handle) (first int64, out []byte) {
	tb.Helper()
	first = -1
	if _, err := m.Logs(tb.Context(), h, -256<<10, false, func(c target.Chunk) error {
		if first < 0 {
			first = c.Offset
		}
		out = append(out, c.Data...)
		return nil
	}); err != nil {
		tb.Fatal(err)
	}
	return first, out
}

func TestTheEndOfALongOutputIsReadFromTheEnd(t *testing.T) {
	for _, size := range []int64{1 << 20, 1 << 30, 1 << 36} {
		m, h := longOutput(t, size)
		first, out := lastOf(t, m, h)
		if first != size-256<<10 || len(out) != 256<<10 || !strings.HasSuffix(string(out), "\x00the end\n") {
			t.Errorf("of %d bytes: %d bytes from %d", size, len(out), first)
		}
	}
}

// BenchmarkTheEndOfAnOutput is what a verdict waits for: as long for 1 GiB as for 1 MiB.
func BenchmarkTheEndOfAnOutput(b *testing.B) {
	for _, size := range []int64{1 << 20, 1 << 30} {
		b.Run(pasar.Bytes(size).String(), func(b *testing.B) {
			m, h := longOutput(b, size)
			for b.Loop() {
				lastOf(b, m, h)
			}
		})
	}
}

// TestTheRecordCountsTheLinesBeforeTheEnd: whoever reads the end alone knows the numbers of its lines, also where
// the middle was let go.
func TestTheRecordCountsTheLinesBeforeTheEnd(t *testing.T) {
	for name, edit := range map[string]func(*pasar.AttemptSpec){
		"a terminal": func(*pasar.AttemptSpec) {},
		"pipes":      func(s *pasar.AttemptSpec) { s.NoPTY = true },
		"a bound":    func(s *pasar.AttemptSpec) { s.LogMax = pasar.MiB },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			m := p.open()
			a := shell(1, "seq 1 300000; printf unfinished; exit 3")
			edit(&a.Spec)
			h := launch(t, m, a)
			rec := end(t, m, h).Record
			if rec == nil || rec.Lines != 300_000 {
				t.Fatalf("%+v", rec)
			}
			first, out := lastOf(t, m, h)
			if first+int64(len(out)) != rec.Output || len(out) != 256<<10 {
				t.Fatalf("%d bytes from %d of %d", len(out), first, rec.Output)
			}
			lines := strings.Split(string(out), "\n")
			number := rec.Lines + 1 - int64(len(lines)-1) // of the first one, which is cut
			for i, line := range lines[1 : len(lines)-1] {
				if want := fmt.Sprint(number + 1 + int64(i)); strings.TrimRight(line, "\r") != want {
					t.Fatalf("line %s is %q", want, line)
				}
			}
			if lines[len(lines)-1] != "unfinished" {
				t.Errorf("ends in %q", lines[len(lines)-1])
			}
		})
	}
}
