package attemptdir

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"

	"pasar"
)

// Sizes of segments, in bytes.
const (
	SegmentSize = 32 << 20  // of a segment, unless a bound on the whole makes it smaller
	LeastMax    = 256 << 10 // a smaller bound on an attempt's output counts as this much
	Reach       = 4 << 10   // a segment ends so much early where a line ends there
)

// SegmentMax is how large a segment of an output with a bound may get: SegmentSize, or a quarter of the
// bound if that is less, so that the first and at least two of the newest fit. 0 is no bound.
func SegmentMax(logMax pasar.Bytes) int64 {
	if logMax <= 0 {
		return SegmentSize
	}
	return min(SegmentSize, max(int64(logMax), LeastMax)/4)
}

// SegmentName is the file of the segment that begins at an offset.
func SegmentName(offset int64) string {
	if offset == 0 {
		return pasar.OutputFile
	}
	return pasar.OutputFile + "." + strconv.FormatInt(offset, 10)
}

// ParseSegmentName reads the name of a segment's file. Only names that SegmentName makes are taken.
func ParseSegmentName(name string) (offset int64, ok bool) {
	if name == pasar.OutputFile {
		return 0, true
	}
	digits, ok := strings.CutPrefix(name, pasar.OutputFile+".")
	if !ok || len(digits) == 0 || digits[0] < '1' || digits[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	return int64(n), err == nil
}

// Segments lists the offsets at which the segments of a directory begin, in order. What has such a name and
// isn't a regular file is none.
func Segments(dir string) ([]int64, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	var offsets []int64
	for _, e := range entries {
		if off, ok := ParseSegmentName(e.Name()); ok && e.Type().IsRegular() {
			offsets = append(offsets, off)
		}
	}
	slices.Sort(offsets)
	return offsets, err
}

// A Segment is a part of the output as its writer knows it. Size may count holes.
type Segment struct{ Offset, Size int64 }

// Excess is how many of the oldest segments, not counting the first, must go so that the rest and one
// more, full, are within the bound. The newest one stays whatever the bound.
func Excess(segs []Segment, logMax pasar.Bytes) int {
	if logMax <= 0 || len(segs) < 3 {
		return 0
	}
	total := SegmentMax(logMax)
	for _, s := range segs {
		total += s.Size
	}
	n := 0
	for ; total > max(int64(logMax), LeastMax) && n < len(segs)-2; n++ {
		total -= segs[1+n].Size
	}
	return n
}

// Cut says how much of p goes into a segment that has room for so many bytes, and whether the segment is
// full then. Near its end a segment ends with a line, so that a shorter line than Reach is never cut.
func Cut(p []byte, room int64) (n int, full bool) {
	if int64(len(p)) <= room-Reach {
		return len(p), false
	}
	n = int(min(int64(len(p)), max(room, 0)))
	if i := bytes.LastIndexByte(p[:n], '\n'); i >= 0 {
		return i + 1, true
	}
	return n, int64(n) == room
}
