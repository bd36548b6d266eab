package supervisor

import (
	"bytes"
	"strings"

	"pasar/vt"
)

// keptLines is how many lines above the screen may come back when it grows.
const keptLines = vt.MaxRows

// penMost bounds the colours that are remembered before the screen is told, in bytes.
const penMost = 512

// lastPages is where the part of the output up to end begins that alone makes the screen, if it is plain
// lines: at a carriage return with so many line feeds behind it that everything from before has scrolled
// away. It is never before low, which is also the answer where there is no such place.
//
// Why that is enough: as many line feeds as there are rows, less one, bring the cursor to the last row from
// wherever it was, and as many again push out every row on which something from before may stand: those
// above, and the one that the cursor was in. The carriage return makes the column known. Of what came
// before, only the colours and what plain lines can't change (modes, tab stops, …) are left. The lines
// that a screen keeps above it, and shows again when it grows, are counted with the page.
func (d *display) lastPages(low, end int64) int64 {
	need := 2*d.rows + keptLines
	for to := end; to > low; {
		from := max(low, to-displayRead)
		p, _ := d.piece(from, to)
		if int64(len(p)) < to-from {
			return low
		}
		if need > 0 {
			n := bytes.Count(p, []byte{'\n'})
			if n < need {
				need -= n
				to = from
				continue
			}
			for ; need > 0; need-- {
				p = p[:bytes.LastIndexByte(p, '\n')]
			}
		}
		if i := bytes.LastIndexByte(p, '\r'); i >= 0 {
			return from + int64(i)
		}
		to = from
	}
	return low
}

// skip passes over plain lines up to a carriage return, and takes only their colours. The first line end
// is still written, in case what came before it ended within a character or a sequence.
func (d *display) skip(to int64) {
	if d.screen != nil {
		for at, found := d.at.Load(), false; at < to && !found; at = d.at.Load() {
			p, _ := d.piece(at, to)
			i := bytes.IndexAny(p, "\r\n")
			if found = i >= 0; found {
				p = p[:i+1]
			}
			d.put(p)
			d.at.Store(at + int64(max(len(p), 1)))
		}
	}
	for at := d.at.Load(); at < to; {
		p, next := d.piece(at, to)
		done := colours(p, d.colour)
		if done == 0 && len(p) > 0 { // a sequence longer than a piece
			d.make()
			d.write(to)
			return
		}
		if done < len(p) {
			next = at + int64(done)
		}
		at = next
		d.at.Store(at)
	}
}

// colour takes a sequence that sets colours. Only what came since they were last reset counts.
func (d *display) colour(seq []byte) {
	switch s := string(seq); {
	case s == "\x1b[m", s == "\x1b[0m", strings.HasPrefix(s, "\x1b[0;"):
		d.pen = d.pen[:0]
		if d.screen == nil && len(s) <= 4 {
			return // as they are at first
		}
	case len(d.pen)+len(seq) > penMost:
		d.make()
		d.flush()
	}
	d.pen = append(d.pen, seq...)
}

// flush gives the screen the colours that were passed over.
func (d *display) flush() {
	if len(d.pen) > 0 {
		pen := d.pen
		d.pen = nil
		d.put(pen)
		d.pen = pen[:0]
	}
}

// colours calls f with each colour sequence of plain lines, and returns how much of p it has seen to the
// end: all but an unfinished sequence.
func colours(p []byte, f func(seq []byte)) int {
	for i := 0; ; {
		n := bytes.IndexByte(p[i:], '\x1b')
		if n < 0 {
			return len(p)
		}
		i += n
		m := bytes.IndexByte(p[i:], 'm')
		if m < 0 {
			return i
		}
		f(p[i : i+m+1])
		i += m + 1
	}
}
