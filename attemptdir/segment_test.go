package attemptdir

import (
	"math"
	"strings"
	"testing"

	"pasar"
)

func TestASegmentsNameSaysWhereItBegins(t *testing.T) {
	for _, off := range []int64{0, 1, 33554432, math.MaxInt64} {
		if got, ok := ParseSegmentName(SegmentName(off)); !ok || got != off {
			t.Errorf("%d: %q is read as %d, %v", off, SegmentName(off), got, ok)
		}
	}
	for _, name := range []string{"", "output", "output.log.", "output.log.0", "output.log.01", "output.log.-1", "output.log.+1", "output.log.1 ",
		"output.log.9223372036854775808", "output.log.1.2", "output.log.x", "Output.log"} {
		if off, ok := ParseSegmentName(name); ok {
			t.Errorf("%q is taken for the segment at %d", name, off)
		}
	}
}

func FuzzParseSegmentName(f *testing.F) {
	f.Add("output.log.33554432")
	f.Add("output.log.007")
	f.Fuzz(func(t *testing.T, name string) {
		if off, ok := ParseSegmentName(name); ok && (off < 0 || SegmentName(off) != name) {
			t.Errorf("%q is taken for the segment at %d", name, off)
		}
	})
}

func TestFirstAndNewestSegmentsFitTheBound(t *testing.T) {
	for logMax, want := range map[pasar.Bytes]int64{0: 32 << 20, 1: 64 << 10, 256 << 10: 64 << 10, 4 << 20: 1 << 20, 2 << 30: 32 << 20} {
		if got := SegmentMax(logMax); got != want {
			t.Errorf("bound %d: segments of %d, want %d", logMax, got, want)
		}
	}
	const s = 1 << 20
	five := []Segment{{0, s}, {s, s}, {2 * s, s}, {3 * s, s}, {4 * s, s}}
	for logMax, want := range map[pasar.Bytes]int{0: 0, 4 * s: 2, 100 * s: 0, 1: 3} {
		if got := Excess(five, logMax); got != want {
			t.Errorf("bound %d: %d go, want %d", logMax, got, want)
		}
	}
	if Excess(five[:2], 1) != 0 {
		t.Error("the first or the newest one is to go")
	}
}

func TestASegmentEndsWithALineWhereOneEndsNearBy(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	for _, c := range []struct {
		p    string
		room int64
		n    int
		full bool
	}{
		{line, 1 << 20, 100, false},
		{line, Reach + 100, 100, false},
		{line, Reach + 99, 100, true},
		{line + line, 150, 100, true},
		{strings.Repeat("x", 200), 150, 150, true},
		{strings.Repeat("x", 100), 150, 100, false},
		{"x\n" + strings.Repeat("x", 200), 150, 2, true},
	} {
		if n, full := Cut([]byte(c.p), c.room); n != c.n || full != c.full {
			t.Errorf("%.10q… of %d with room for %d: %d, %v", c.p, len(c.p), c.room, n, full)
		}
	}
}
