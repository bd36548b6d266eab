package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMedianAndRangeAreShownTogether(t *testing.T) {
	s := series{"ms", []float64{4, 1, 2.5, 3}}
	if got := s.String(); got != "2.75 ms (1–4)" {
		t.Errorf("%q", got)
	}
	if got := s.quantile(0.9); math.Abs(got-3.7) > 1e-9 {
		t.Errorf("nine of ten are within %v, want 3.7", got)
	}
	if got := (series{Unit: "ms"}).String(); got != "–" {
		t.Errorf("nothing measured is shown as %q", got)
	}
}

func TestAResultSaysPlainlyWhetherItsReachIsMet(t *testing.T) {
	fast, slow := series{"ms", []float64{2}}, series{"ms", []float64{5}}
	for _, c := range []struct {
		r    result
		want string
	}{
		{result{Value: fast, Reach: atMost(2)}, "yes"},
		{result{Value: slow, Reach: atMost(2)}, "NO"},
		{result{Value: slow, Against: "x", Other: fast, Reach: ratioAtMost(2)}, "NO"},
		{result{Value: slow, Against: "x", Other: fast, Reach: ratioAtLeast(2)}, "yes"},
		{result{Value: slow, Against: "x (not installed)", Reach: ratioAtMost(2)}, ""},
		{result{Value: slow}, ""},
	} {
		cells := c.r.cells()
		if got := cells[len(cells)-1]; got != c.want {
			t.Errorf("%+v: met %q, want %q", c.r, got, c.want)
		}
	}
}

func TestContendersTakeTurns(t *testing.T) {
	var order []string
	side := func(name string) contender {
		return contender{"ms", func(context.Context) ([]float64, error) { order = append(order, name); return []float64{1}, nil }}
	}
	s, err := interleave(t.Context(), 2, side("a"), side("b"))
	if err != nil || len(s[0].Values) != 2 || len(s[1].Values) != 2 {
		t.Fatalf("%v, %v", s, err)
	}
	if want := []string{"a", "b", "b", "a"}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := interleave(ctx, 1, side("a")); !errors.Is(err, why) {
		t.Errorf("when cancelled: %v", err)
	}
}

func TestBenchmarkLinesAreReadAndOthersSkipped(t *testing.T) {
	got := parseBenchmarks("goos: linux\nBenchmarkDecide/10000_held-2   \t 40\t 1007893 ns/op\t 246928 B/op\t 14 allocs/op\n" +
		"BenchmarkOdd 1\nBenchmarkBad-2 1 x ns/op\nok  pasar/sched 1.6s\n")
	if len(got) != 1 || got[0].name != "BenchmarkDecide/10000_held" || got[0].metrics["ns/op"] != 1007893 || got[0].metrics["allocs/op"] != 14 {
		t.Errorf("%+v", got)
	}
}

func TestUnknownRowsAndArgumentsAreRefused(t *testing.T) {
	for _, args := range [][]string{{"-rows", "submit,speed"}, {"submit"}, {"-fast"}} {
		if err := Run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

func TestAWordIsFoundAcrossPiecesAndPiecesOfOneScreenCountOnce(t *testing.T) {
	var out tally
	found := out.expect("alpha")
	at := time.Unix(1, 0)
	for i, piece := range []string{"al", "p al", "ph", "a alpha"} {
		if len(found) > 0 {
			t.Errorf("found before piece %d", i)
		}
		at = at.Add(between / 2)
		out.add([]byte(piece), at)
	}
	if got := <-found; !got.Equal(at) {
		t.Errorf("found at %v, want %v", got, at)
	}
	out.add([]byte("alpha"), at.Add(between)) // nobody waits for it any more
	if b, n := out.counts(); b != 20 || n != 2 {
		t.Errorf("%d bytes in %d screens, want 20 in 2", b, n)
	}
}

func TestOnlyProcessesOfTheDirectoryAreSwept(t *testing.T) {
	if pids := processesOf(t.TempDir()); len(pids) > 0 {
		t.Errorf("processes %v belong to a directory that nobody was told of", pids)
	}
}

func FuzzStamps(f *testing.F) {
	f.Add([]byte(strings.Repeat("\x01\x00\x00\x00\x00\x00\x00\x00", 8)))
	f.Fuzz(func(t *testing.T, b []byte) {
		file := filepath.Join(t.TempDir(), "stamps")
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		stamps, err := readStamps(file)
		if err == nil && len(stamps)*32 != len(b) {
			t.Errorf("%d stamps of %d bytes", len(stamps), len(b))
		}
		if !slices.IsSortedFunc(stamps, func(a, b stamp) int { return cmp.Compare(a.start, b.start) }) {
			t.Error("not in order")
		}
	})
}

func FuzzBenchmarks(f *testing.F) {
	f.Add("BenchmarkDecide/1000-2 24 1147901 ns/op 59 allocs/op\n")
	f.Fuzz(func(t *testing.T, out string) {
		for _, b := range parseBenchmarks(out) {
			if !strings.HasPrefix(b.name, "Benchmark") || len(b.metrics) == 0 {
				t.Errorf("%+v", b)
			}
		}
	})
}
