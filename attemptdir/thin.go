package attemptdir

import (
	"bytes"
	"time"
)

// An entry is a line of an index that is being thinned.
type entry struct {
	mark Mark
	gap  Gap
	note bool // it is the gap
}

// thin makes the lines of an index fit into so many bytes, and says less of what is older: with each
// round every second time of the older half goes, then its streams become unknown, then changes of size
// go, and at last gaps take in the output between them, which is then as good as lost. What is said of
// output that was let go comes down to one mark.
func thin(b []byte, size int64, dropped Gap) []byte {
	list := collapse(entries(b), dropped)
	if b = encode(list); int64(len(b)) <= size {
		return b
	}
	for round := 0; int64(len(b)) > size && len(list) > 1; round++ {
		half := max(2, len(list)/2)
		old, young := list[:half], list[half:]
		old = halveTimes(old)
		if round > 0 {
			forgetStreams(old, young)
		}
		if round > 1 {
			old = forgetSizes(old)
		}
		if round > 2 {
			old = mergeGaps(old)
		}
		list = append(append([]entry(nil), old...), young...)
		b = encode(list)
		if round > 64 {
			break // there is nothing left that could go
		}
	}
	return b
}

func entries(b []byte) []entry {
	var list []entry
	for l := range bytes.Lines(b) {
		m, g, mark, gap := parseLine(bytes.TrimSuffix(l, []byte("\n")))
		if mark || gap {
			list = append(list, entry{m, g, gap})
		}
	}
	return list
}

func encode(list []entry) []byte {
	var b []byte
	for _, e := range list {
		if e.note {
			b = AppendGap(b, e.gap)
		} else {
			b = AppendMark(b, e.mark)
		}
	}
	return b
}

// collapse leaves one mark of all that lie in a range.
func collapse(list []entry, in Gap) []entry {
	var out []entry
	one := -1 // index in out
	for _, e := range list {
		switch {
		case e.note && e.gap.From >= in.From && e.gap.To <= in.To:
			continue
		case e.note || e.mark.Offset < in.From || e.mark.Offset >= in.To:
		case one < 0:
			one = len(out)
		default:
			out[one].mark = after(out[one].mark, e.mark)
			continue
		}
		out = append(out, e)
	}
	return out
}

// after is what two marks in a row come to from the second one on.
func after(a, b Mark) Mark {
	if b.Cols == 0 {
		b.Cols, b.Rows = a.Cols, a.Rows
	}
	runs := b.Runs
	if len(runs) == 0 {
		runs = a.Runs
	}
	if n := len(runs); n > 0 {
		b.Runs = []Run{{Stream: runs[n-1].Stream}}
	}
	return b
}

// halveTimes takes out every second mark that says nothing but a time.
func halveTimes(list []entry) []entry {
	out := list[:0]
	last := -1 // the mark before in out, if the next one may go
	for _, e := range list {
		if e.note {
			out = append(out, e)
			continue
		}
		if last >= 0 && e.mark.Cols == 0 && len(e.mark.Runs) == 0 {
			m := &out[last].mark
			m.For = max(m.For, markEvery, e.mark.At.Add(max(e.mark.For, markEvery)).Sub(m.At))
			m.For = m.For.Round(time.Millisecond)
			last = -1
			continue
		}
		last = len(out)
		out = append(out, e)
	}
	return out
}

// forgetStreams makes the streams of old unknown where they change; what comes next says again which one
// it is of.
func forgetStreams(old, young []entry) {
	last, known := -1, true
	for i := range old {
		m := &old[i].mark
		switch n := len(m.Runs); {
		case n == 0:
			continue
		case known:
			last, m.Runs, known = m.Runs[n-1].Stream, []Run{{Stream: Unknown}}, false
		default:
			last, m.Runs = m.Runs[n-1].Stream, nil
		}
	}
	for i := range young {
		if m := &young[i].mark; !young[i].note {
			if len(m.Runs) == 0 && last > Unknown {
				m.Runs = []Run{{Stream: last}}
			}
			return
		}
	}
}

// forgetSizes leaves the last size alone.
func forgetSizes(list []entry) []entry {
	last := true
	for i := len(list) - 1; i >= 0; i-- {
		if m := &list[i].mark; m.Cols > 0 && !last {
			m.Cols, m.Rows = 0, 0
		} else if m.Cols > 0 {
			last = false
		}
	}
	return list
}

// mergeGaps makes one gap of each two.
func mergeGaps(list []entry) []entry {
	out := list[:0]
	first := -1
	for _, e := range list {
		switch {
		case !e.note:
		case first >= 0:
			out[first].gap.To = e.gap.To
			first = -1
			continue
		default:
			first = len(out)
		}
		out = append(out, e)
	}
	return out
}
