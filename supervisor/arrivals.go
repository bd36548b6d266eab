package supervisor

import (
	"math"
	"sort"
	"time"

	"pasar/attemptdir"
	"pasar/ipc"
)

// How often the output's times are noted, and how many notes are kept in memory.
const (
	arrivalBytes = 64 << 10 // at least so often,
	arrivalEvery = time.Second
	arrivalsKept = 8 << 10 // changes of stream beyond it are not told apart until some were written down
	runsMost     = 4 << 10 // of a mark
)

// An arrival is a place in the output from which on something is different: the time, the stream, or the
// terminal's size.
type arrival struct {
	off        int64
	at         time.Time
	stream     int
	timed      bool // not only the stream is different
	cols, rows int  // 0: as before
}

// Arrivals are those of the ring, by offset. Its owner's lock guards them.
type arrivals struct {
	list  []arrival
	taken int       // so many from the first on were taken for the index
	begun bool      // some were, ever: the index is made only when there is a second thing to say
	piped bool      // streams are told apart
	last  time.Time // of the last one that is timed
	from  int64     // where that is
}

// came notes that bytes of a stream come at an offset, if there is anything to note.
func (a *arrivals) came(off int64, stream int, now time.Time) {
	n := len(a.list)
	timed := n == 0 || off-a.from >= arrivalBytes || now.Sub(a.last) >= arrivalEvery
	if n >= arrivalsKept && !timed {
		stream = attemptdir.Unknown
	}
	if !timed && a.list[n-1].stream == stream {
		return
	}
	if timed {
		a.last, a.from = now, off
	}
	a.piped = a.piped || stream != attemptdir.Unknown
	a.list = append(a.list, arrival{off: off, at: now, stream: stream, timed: timed})
}

// sized notes a size for what comes from an offset on.
func (a *arrivals) sized(off int64, cols, rows int, now time.Time) {
	s := arrival{off: off, at: now, timed: true, cols: cols, rows: rows}
	i := sort.Search(len(a.list), func(i int) bool { return a.list[i].off > off })
	i = max(i, a.taken) // what the index has can only be added to
	if i > 0 {
		s.stream, s.off = a.list[i-1].stream, max(off, a.list[i-1].off)
	}
	a.list = append(a.list[:i], append([]arrival{s}, a.list[i:]...)...)
}

// trim forgets what is before an offset, but for the one that holds there.
func (a *arrivals) trim(start int64) {
	n := 0
	for n+1 < len(a.list) && a.list[n+1].off <= start {
		n++
	}
	if n > len(a.list)/2 || len(a.list) >= arrivalsKept {
		a.list = append(a.list[:0], a.list[n:]...)
		a.taken = max(0, a.taken-n)
	}
}

// at is what holds at an offset; the time is zero if that isn't known any more.
func (a *arrivals) at(off int64) (time.Time, int) {
	i := sort.Search(len(a.list), func(i int) bool { return a.list[i].off > off })
	if i == 0 {
		return time.Time{}, attemptdir.Unknown
	}
	return a.list[i-1].at, a.list[i-1].stream
}

// next is where something is different again after an offset.
func (a *arrivals) next(off int64) int64 {
	i := sort.Search(len(a.list), func(i int) bool { return a.list[i].off > off })
	if i == len(a.list) {
		return math.MaxInt64
	}
	return a.list[i].off
}

// take returns what is to be written to the index of what lies before an offset.
func (a *arrivals) take(limit int64) []attemptdir.Mark {
	to := a.taken
	for to < len(a.list) && a.list[to].off < limit {
		to++
	}
	some := a.list[a.taken:to]
	if len(some) == 0 || !a.begun && len(some) == 1 && some[0].cols == 0 {
		return nil
	}
	a.begun, a.taken = true, to
	var marks []attemptdir.Mark
	var run int64 // where the last run began
	for _, s := range some {
		n := len(marks) - 1
		if n >= 0 && !s.timed && len(marks[n].Runs) > 0 && len(marks[n].Runs) < runsMost {
			runs := marks[n].Runs
			runs[len(runs)-1].Len = s.off - run
			marks[n].Runs = append(runs, attemptdir.Run{Stream: s.stream})
		} else {
			m := attemptdir.Mark{Offset: s.off, At: s.at, Cols: s.cols, Rows: s.rows}
			if a.piped {
				m.Runs = []attemptdir.Run{{Stream: s.stream}}
			}
			marks = append(marks, m)
		}
		run = s.off
	}
	return marks
}

// mark tells a follower of the time and the stream of what it is about to be sent.
func (v *viewer) mark() error {
	if v.paint || v.a.output.lag(v.off) == 0 {
		return nil
	}
	m := ipc.MarkFrame{Offset: v.off}
	if at, stream := v.a.output.came(v.off); !at.IsZero() {
		m.At, m.Stream = at.UnixMilli(), stream
	}
	if m.At == v.marked.At && m.Stream == v.marked.Stream && v.marked != (ipc.MarkFrame{}) {
		return nil
	}
	v.marked = m
	return v.p.send(ipc.AttachMark, &m)
}
