package attemptdir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"time"

	"pasar"
)

// Bounds of an index.
const (
	IndexMax  = 4 << 20  // bytes of the file; a sixteenth of the bound on the output, if that is less
	indexMin  = 64 << 10 // whatever the bound
	lineMax   = 64 << 10 // bytes of one line
	markEvery = time.Second

	offsetMost = 1 << 60 // that is believed: an exabyte
)

// IndexMaxFor is how large the index of an output with a bound may get; 0 is no bound.
func IndexMaxFor(logMax pasar.Bytes) int64 {
	if logMax <= 0 {
		return IndexMax
	}
	return min(IndexMax, max(int64(logMax)/16, indexMin))
}

// Streams of a job without a terminal.
const (
	Unknown = 0 // a terminal's, which has only one, or no longer known
	Stdout  = 1
	Stderr  = 2
)

// A Gap is output that isn't to be had, in [From, To).
type Gap struct {
	From int64 `json:"gap_from"`
	To   int64 `json:"gap_to"`
}

// A Mark says that the bytes from Offset on, up to the next mark, came from At on, and within For of it.
type Mark struct {
	Offset int64
	At     time.Time     // to the millisecond
	For    time.Duration // 0 is a second
	Cols   int           // with Rows: the terminal's size from here on; 0: as before
	Rows   int
	Runs   []Run // streams from here on; none: as before
}

// A Run is a stretch of one stream. The last one of a mark lasts until there is another: its Len is 0.
type Run struct {
	Stream int
	Len    int64
}

// AppendMark appends a mark as a line.
func AppendMark(b []byte, m Mark) []byte {
	b = fmt.Appendf(b, `{"o":%d,"t":%d`, m.Offset, m.At.UnixMilli())
	if m.For > markEvery {
		b = fmt.Appendf(b, `,"d":%d`, m.For.Milliseconds())
	}
	if m.Cols > 0 {
		b = fmt.Appendf(b, `,"c":%d,"r":%d`, m.Cols, m.Rows)
	}
	for i, r := range m.Runs {
		if i == 0 {
			b = append(b, `,"s":[`...)
		} else {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `%d`, r.Stream)
		if i < len(m.Runs)-1 {
			b = fmt.Appendf(b, `,%d`, r.Len)
		} else {
			b = append(b, ']')
		}
	}
	return append(b, "}\n"...)
}

// AppendGap appends a gap as a line.
func AppendGap(b []byte, g Gap) []byte {
	return fmt.Appendf(b, `{"gap_from":%d,"gap_to":%d}`+"\n", g.From, g.To)
}

// A line is any line of an index.
type line struct {
	Offset *int64  `json:"o"`
	Time   int64   `json:"t"`
	For    int64   `json:"d"`
	Cols   int     `json:"c"`
	Rows   int     `json:"r"`
	Runs   []int64 `json:"s"`
	From   *int64  `json:"gap_from"`
	To     int64   `json:"gap_to"`
}

// parseLine reads a line, either as a gap or as a mark; neither is ok if it is something else.
func parseLine(b []byte) (m Mark, g Gap, mark, gap bool) {
	l, plain := parsePlain(b)
	if !plain && json.Unmarshal(b, &l) != nil {
		return m, g, false, false
	}
	if l.From != nil {
		return m, Gap{*l.From, l.To}, false, *l.From >= 0 && l.To > *l.From && l.To <= offsetMost
	}
	const year10000 = 253402300800_000
	if l.Offset == nil || *l.Offset < 0 || *l.Offset > offsetMost || len(l.Runs) > 2*lineMax || l.Time < 0 || l.Time >= year10000 || l.For < 0 || l.For >= year10000 {
		return m, g, false, false
	}
	m = Mark{Offset: *l.Offset, At: time.UnixMilli(l.Time), For: time.Duration(min(l.For, 1<<40)) * time.Millisecond}
	if l.Cols > 0 && l.Rows > 0 {
		m.Cols, m.Rows = min(l.Cols, pasar.MaxCols), min(l.Rows, pasar.MaxRows)
	}
	for i := 0; i < len(l.Runs); i += 2 {
		r := Run{Stream: int(l.Runs[i])}
		if l.Runs[i] < Unknown || l.Runs[i] > Stderr {
			r.Stream = Unknown
		}
		if i+1 < len(l.Runs) {
			r.Len = l.Runs[i+1]
			if r.Len <= 0 || r.Len > 1<<32 {
				return Mark{}, g, false, false
			}
		}
		m.Runs = append(m.Runs, r)
	}
	if n := len(m.Runs); n > 0 {
		m.Runs[n-1].Len = 0
	}
	return m, g, true, false
}

// parsePlain reads {"o":N,"t":N} without the cost of package json: nearly all lines are such.
func parsePlain(b []byte) (l line, ok bool) {
	number := func(key string) (n int64) {
		if ok = bytes.HasPrefix(b, []byte(key)); !ok {
			return 0
		}
		b = b[len(key):]
		i := 0
		for ; i < len(b) && i < 18 && b[i] >= '0' && b[i] <= '9'; i++ {
			n = n*10 + int64(b[i]-'0')
		}
		ok = i > 0
		b = b[i:]
		return n
	}
	offset := number(`{"o":`)
	if ok {
		l.Time = number(`,"t":`)
	}
	l.Offset = &offset
	return l, ok && len(b) == 1 && b[0] == '}'
}

// An Index is what an index file says, as far as it makes sense.
type Index struct {
	Marks []Mark // by offset
	Gaps  []Gap  // in order, apart from each other
	Piped bool   // the job has no terminal: what comes before anything is said of streams is standard output

	streams []change  // of one stream to another, by offset
	none    time.Time // without marks: when all of it came
}

type change struct {
	offset int64
	stream int
}

// ReadIndex reads the index of an attempt's directory. One that isn't there says nothing; what is beyond
// the size that an index may have is left out.
func ReadIndex(dir string) (*Index, error) {
	x := &Index{}
	f, _, err := openRegular(filepath.Join(dir, pasar.IndexFile))
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("read index: %w", err)
	default:
		defer f.Close()
		b, err := io.ReadAll(io.LimitReader(f, IndexMax+lineMax))
		if err != nil {
			return nil, fmt.Errorf("read index: %w", err)
		}
		x = DecodeIndex(b)
	}
	if len(x.Marks) == 0 {
		if fi, err := os.Stat(filepath.Join(dir, pasar.OutputFile)); err == nil {
			x.none = fi.ModTime()
		}
	}
	return x, nil
}

// DecodeIndex reads the lines of an index. What is no line of one, or out of order, is skipped.
func DecodeIndex(b []byte) *Index {
	x := &Index{}
	x.Marks = make([]Mark, 0, len(b)/32)
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			i = len(b) // a gap that isn't wholly written has no data after it
		}
		m, g, mark, gap := parseLine(b[:i])
		b = b[min(i+1, len(b)):]
		switch {
		case mark:
			x.addMark(m)
		case gap:
			x.addGap(g)
		}
	}
	return x
}

func (x *Index) addMark(m Mark) {
	if n := len(x.Marks); n > 0 && x.Marks[n-1].Offset > m.Offset {
		return
	}
	x.Marks = append(x.Marks, m)
	at := m.Offset
	for _, r := range m.Runs {
		if n := len(x.streams); n > 0 && x.streams[n-1].offset > at {
			return // the runs before were said to be longer
		} else if n > 0 && x.streams[n-1].offset == at {
			x.streams = x.streams[:n-1]
		}
		if n := len(x.streams); n == 0 || x.streams[n-1].stream != r.Stream {
			x.streams = append(x.streams, change{at, r.Stream})
		}
		at += r.Len
	}
}

func (x *Index) addGap(g Gap) { x.Gaps = addGap(x.Gaps, g) }

// addGap adds a gap to a list of gaps in order and apart from each other. One that begins before the end
// of others takes them in: a file may be cut short that had gaps.
func addGap(gaps []Gap, g Gap) []Gap {
	for n := len(gaps); n > 0 && gaps[n-1].To >= g.From; n = len(gaps) {
		g.From, g.To = min(g.From, gaps[n-1].From), max(g.To, gaps[n-1].To)
		gaps = gaps[:n-1]
	}
	return append(gaps, g)
}

// markAt is the index of the last mark at or before an offset; -1 if there is none.
func (x *Index) markAt(off int64) int {
	return sort.Search(len(x.Marks), func(i int) bool { return x.Marks[i].Offset > off }) - 1
}

// At is when the byte at an offset came, and up to where that is all there is to say: within a second of
// it, or of when later marks were let go. It is zero if that isn't known.
func (x *Index) At(off int64) (at time.Time, until int64) {
	i := x.markAt(off)
	until = int64(1<<63 - 1)
	if i+1 < len(x.Marks) {
		until = x.Marks[i+1].Offset
	}
	if i >= 0 {
		return x.Marks[i].At, until
	}
	return x.none, until
}

// Since is an offset before which nothing came at t or later; what came after it may be up to a second
// earlier. It is end if all came before.
func (x *Index) Since(t time.Time, end int64) int64 {
	if len(x.Marks) == 0 {
		if x.none.IsZero() || !x.none.Before(t) {
			return 0
		}
		return end
	}
	from := end
	for i := len(x.Marks) - 1; i >= 0; i-- {
		m := x.Marks[i]
		if !m.At.Add(max(m.For, markEvery)).After(t) {
			return min(from, end)
		}
		from = m.Offset
		if i == 0 {
			from = 0
		}
	}
	return min(from, end)
}

// Stream is which stream the byte at an offset is of, and up to where that holds.
func (x *Index) Stream(off int64) (stream int, until int64) {
	i := sort.Search(len(x.streams), func(i int) bool { return x.streams[i].offset > off })
	until = int64(1<<63 - 1)
	if i < len(x.streams) {
		until = x.streams[i].offset
	}
	switch {
	case i > 0:
	case x.Piped:
		return Stdout, until
	default:
		return Unknown, until
	}
	return x.streams[i-1].stream, until
}

// A Size is a terminal's size from an offset on.
type Size struct {
	Offset     int64
	At         time.Time
	Cols, Rows int
}

// Sizes are the changes of the terminal's size, in order; the first size is the spec's.
func (x *Index) Sizes() []Size {
	var sizes []Size
	for _, m := range x.Marks {
		if m.Cols > 0 {
			sizes = append(sizes, Size{m.Offset, m.At, m.Cols, m.Rows})
		}
	}
	return sizes
}
