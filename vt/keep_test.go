package vt

import (
	"fmt"
	"strings"
	"testing"
)

func TestHistoryHasTheLinesThatScrolledOff(t *testing.T) {
	s := NewScreen(20, 5)
	for i := range 1000 {
		fmt.Fprintf(s, "\x1b[%dmline\x1b[m %d\r\n", 31+i%3, i)
	}
	if s.History() != 996 {
		t.Errorf("%d lines", s.History())
	}
	if got, want := string(s.AppendHistory(nil, 2)), "\x1b[32mline\x1b[m 994\r\n\x1b[33mline\x1b[m 995\r\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if n := strings.Count(string(s.AppendHistory(nil, 5000)), "\r\n"); n != 996 {
		t.Errorf("%d lines of all", n)
	}
	if got := s.AppendHistory(nil, 0); len(got) != 0 {
		t.Errorf("no lines are %q", got)
	}
}

func TestHistoryIsBoundedInBytesAndTheOldestGo(t *testing.T) {
	for _, limit := range []int{0, 1, 100, 2000, 20_000, 1 << 20} {
		s := NewScreen(2000, 3)
		s.SetHistory(limit)
		last := 0
		for i := range 1000 {
			fmt.Fprintf(s, "%d %s\r\n", i, strings.Repeat("x", i*37%1900))
			if s.hist.size > limit {
				t.Fatalf("limit %d: %d bytes", limit, s.hist.size)
			}
			last = i
		}
		text := strings.Split(strings.TrimSuffix(string(s.AppendHistory(nil, 1e6)), "\r\n"), "\r\n")
		if n := s.History(); n != len(text) && !(n == 0 && text[0] == "") {
			t.Errorf("limit %d: %d lines, %d in text", limit, n, len(text))
		}
		for i, l := range text {
			if want := fmt.Sprint(last-2-(len(text)-1-i), " "); limit >= 20_000 && !strings.HasPrefix(l+" ", want) {
				t.Fatalf("limit %d: line %d is %.20q, want %q", limit, i, l, want)
			}
		}
	}
}

func TestHistoryComesBackWhenTheScreenGrows(t *testing.T) {
	s := NewScreen(20, 5)
	for i := range 10 {
		fmt.Fprintf(s, "\x1b[3%dm世 %d\x1b[m\r\n", i%8, i)
	}
	before := string(s.AppendHistory(nil, 100))
	s.Resize(20, 3)
	if s.History() != 8 || s.Row(0) != "世 8" {
		t.Errorf("lower: %d lines, %q", s.History(), s.Rows())
	}
	s.Resize(20, 5)
	if got := string(s.AppendHistory(nil, 100)); got != before || s.Row(0) != "世 6" {
		t.Errorf("as before: %q, %q", got, s.Rows())
	}
	s.Resize(20, 30)
	if s.History() != 0 || s.Row(0) != "世 0" || s.Row(9) != "世 9" {
		t.Errorf("higher: %d lines, %q", s.History(), s.Rows())
	}
	if got := string(s.AppendRow(nil, 3, 0, 4)); got != "\x1b[33m世 3\x1b[m" {
		t.Errorf("%q", got)
	}
	if col, row, _ := s.Cursor(); col != 0 || row != 10 {
		t.Errorf("the cursor is at %d, %d", col, row)
	}
}

func TestResizingLosesNoLineAboveTheCursor(t *testing.T) {
	s := NewScreen(80, 24)
	for i := 1; i <= 100; i++ {
		fmt.Fprintf(s, "%d\r\n", i)
	}
	for _, rows := range []int{10, 30, 1, 24, 200, 3, 24} {
		s.Resize(80, rows)
		checkSeq(t, s, 100)
		checkSane(t, s, nil)
	}
	s.Resize(80, 50)
	s.Write([]byte("\x1b[2;1H")) // most rows are below the cursor
	s.Resize(80, 25)
	fmt.Fprint(s, "x")
	checkSane(t, s, nil)
}

func BenchmarkHistoryBytesPerLine(b *testing.B) {
	for name, raw := range streams() {
		if name != "lines" && name != "colourlines" {
			continue
		}
		b.Run(name, func(b *testing.B) {
			s := NewScreen(120, 40)
			for b.Loop() {
				_, _ = s.Write(raw)
			}
			b.ReportMetric(float64(s.hist.size)/float64(s.History()), "bytes/line")
		})
	}
}
