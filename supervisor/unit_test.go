package supervisor

import (
	"bytes"
	"io"
	"log/slog"
	"math/rand"
	"strings"
	"testing"

	"pasar/attemptdir"
)

func TestARingHoldsTheNewestBytesAtTheirOffsets(t *testing.T) {
	r := rand.New(rand.NewSource(7))
	var x ring
	var all []byte
	for x.end < 3*ringMax {
		p := make([]byte, r.Intn(batchSize)+1)
		r.Read(p)
		x.append(p)
		all = append(all, p...)
		if x.end != int64(len(all)) || x.end <= ringMax && x.start() != 0 || len(x.buf) > ringMax || x.end-x.start() > ringMax {
			t.Fatalf("start %d, end %d, %d appended, %d held", x.start(), x.end, len(all), len(x.buf))
		}
		off := x.start() + r.Int63n(x.end-x.start()+1)
		got := make([]byte, r.Intn(batchSize))
		got = got[:x.read(got, off)]
		if want := all[off:min(len(all), int(off)+cap(got))]; !bytes.Equal(got, want[:len(got)]) || len(got) < min(len(want), cap(got)) && int(off)+len(got) != len(all) {
			t.Fatalf("read %d bytes at %d, want %d", len(got), off, len(want))
		}
	}
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func TestAReaderIsToldWhatIsNotToBeHad(t *testing.T) {
	disk, err := attemptdir.Create(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	want := make([]byte, 3*ringMax)
	rand.New(rand.NewSource(1)).Read(want)
	o := &output{log: quiet(), disk: disk, kick: make(chan struct{}, 1), ended: make(chan struct{}), written: make(chan struct{})}
	for i := 0; i < len(want); i += batchSize {
		o.ring.append(want[i : i+batchSize])
	}
	// The log has all up to ringMax, but for a hole.
	for _, g := range []attemptdir.Gap{{From: 0, To: 1000}, {From: 2000, To: ringMax}} {
		if _, err := disk.Write(want[g.From:g.To], g.From); err != nil {
			t.Fatal(err)
		}
	}
	o.done, o.bad = ringMax, true

	var got []byte
	var skips []attemptdir.Gap
	buf := make([]byte, 777)
	for off := int64(0); off < o.ring.end; {
		n, to := o.read(buf, off)
		if n > 0 {
			got = append(got, buf[:n]...)
		} else {
			skips = append(skips, attemptdir.Gap{From: off, To: to})
		}
		off = to
	}
	wantSkips := []attemptdir.Gap{{From: 1000, To: 2000}, {From: ringMax, To: 2 * ringMax}}
	if len(skips) != 2 || skips[0] != wantSkips[0] || skips[1] != wantSkips[1] {
		t.Fatalf("skipped %v", skips)
	}
	if all := append(append(append([]byte(nil), want[:1000]...), want[2000:ringMax]...), want[2*ringMax:]...); !bytes.Equal(got, all) {
		t.Fatalf("%d bytes, want %d, or others", len(got), len(all))
	}
}

func TestAnOffsetAskedForIsWithinTheOutput(t *testing.T) {
	o := &output{}
	o.ring.append(make([]byte, 100))
	for asked, want := range map[int64]int64{0: 0, 7: 7, 100: 100, 101: 100, 1 << 62: 100, -1: 100, -2: 99, -101: 0, -102: 0, -1 << 63: 0} {
		if got := o.from(asked); got != want {
			t.Errorf("%d: %d, want %d", asked, got, want)
		}
	}
}

func TestAStatIsReadWhateverTheNameHolds(t *testing.T) {
	line := func(name string) string {
		return "42 (" + name + ") S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456789 1 2 3\n"
	}
	for _, name := range []string{"sh", "a b", "a) R 1 2 3", "(((", ""} {
		s, err := parseStat(42, []byte(line(name)))
		if err != nil || s != (stat{pid: 42, ppid: 7, pgrp: 8, session: 9, start: 123456789}) {
			t.Errorf("%q: %+v, %v", name, s, err)
		}
	}
	for _, bad := range []string{"", "42 (sh", "42 (sh) S 1", strings.Replace(line("x"), " 7 ", " x ", 1)} {
		if _, err := parseStat(42, []byte(bad)); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func FuzzStat(f *testing.F) {
	f.Add([]byte("42 (sh) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456789 1 2 3\n"))
	f.Fuzz(func(t *testing.T, b []byte) { _, _ = parseStat(1, b) })
}

func readLines(t *testing.T, chunks ...string) (got []string) {
	t.Helper()
	var r eventReader
	take := func(line []byte, err error) {
		if err != nil {
			got = append(got, err.Error())
			return
		}
		got = append(got, string(line))
	}
	for _, c := range chunks {
		r.cut([]byte(c), take)
	}
	r.rest(take)
	return got
}

func TestEventLinesAreCutWhereverReadsFall(t *testing.T) {
	long := strings.Repeat("x", eventLine+1)
	text := "one\n\ntwo\n" + long + "\nthree\n" + long + long + "\nlast"
	want := "one two too long three too long last"
	for _, size := range []int{len(text), 1, 7, 4096, eventLine} {
		var chunks []string
		for s := text; s != ""; {
			n := min(size, len(s))
			chunks, s = append(chunks, s[:n]), s[n:]
		}
		if got := strings.Join(readLines(t, chunks...), " "); got != want {
			t.Errorf("in pieces of %d: %.100q", size, got)
		}
	}
}

func FuzzEventLines(f *testing.F) {
	f.Add("a\nb", 1)
	f.Fuzz(func(t *testing.T, text string, at int) {
		at = min(max(at, 0), len(text))
		if a, b := readLines(t, text), readLines(t, text[:at], text[at:]); strings.Join(a, "\x00") != strings.Join(b, "\x00") {
			t.Errorf("%q whole, %q in two", a, b)
		}
	})
}

func TestALongLineIsNoticedOnce(t *testing.T) {
	line, total := 0, 0
	for _, p := range []string{strings.Repeat("x", 4000), strings.Repeat("x", 95), "x", "xxx", "\n", strings.Repeat("y", 5000) + "\r", "z"} {
		var long bool
		if line, long = measure(line, []byte(p)); long {
			total++
		}
	}
	if total != 2 || line != 1 {
		t.Errorf("noticed %d times, line of %d", total, line)
	}
}

func TestARecordTooLargeForAFrameGivesUpItsTail(t *testing.T) {
	a := &attempt{}
	for range 40 {
		a.record.Tail = append(a.record.Tail, strings.Repeat("\x01<", 1500))
	}
	if b := wireRecord(&a.record); len(b) > 60<<10 || !strings.Contains(string(b), "tail") {
		t.Errorf("%d bytes", len(b))
	}
}

func FuzzFirstLine(f *testing.F) {
	f.Add([]byte("#! /bin/sh -e\necho"))
	f.Add([]byte("#!/bin/sh\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if name, script := firstLine(b); strings.ContainsAny(name, " \t\n\x00") || !script && name != "" {
			t.Errorf("%q, %v", name, script)
		}
	})
}
