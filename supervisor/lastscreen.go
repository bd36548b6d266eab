package supervisor

import (
	"bytes"
	"strings"

	"pasar/vt"
)

// screenMost bounds the screen in an exit record, in bytes.
const screenMost = 32 << 10

// last is the screen at the end of the output for the exit record, if the job drew on it: rows as text,
// from the top, without the empty ones at the bottom. It is nil for a job that printed lines, whose last
// ones say as much.
func (d *display) last() (rows []string) {
	if d == nil || d.drawn.Load() == 0 {
		return nil
	}
	d.look(func(s *vt.Screen, at int64) {
		if s.Alternate() || d.addressed(at) {
			rows = s.Rows()
		}
	})
	for len(rows) > 0 && rows[len(rows)-1] == "" {
		rows = rows[:len(rows)-1]
	}
	size := 0
	for i, row := range rows {
		if size += len(row); size > screenMost {
			return rows[:i]
		}
		rows[i] = strings.ToValidUTF8(row, "\uFFFD")
	}
	return rows
}

// addressed reports whether the cursor was sent to a row in the last pages of output before end.
func (d *display) addressed(end int64) bool {
	d.out.mu.Lock()
	from := d.out.ring.start()
	d.out.mu.Unlock()
	for at := d.lastPages(from, end); at < end; {
		p, next := d.piece(at, end)
		done, found := addresses(p)
		if found {
			return true
		}
		if done > 0 && done < len(p) { // a sequence may go on in the next piece
			next = at + int64(done)
		}
		at = next
	}
	return false
}

// addresses looks for a sequence that sends the cursor to a row: CUP, HVP or VPA. Done is where an
// unfinished sequence begins.
func addresses(p []byte) (done int, found bool) {
	for i := 0; ; {
		n := bytes.Index(p[i:], []byte("\x1b["))
		if n < 0 {
			if bytes.HasSuffix(p, []byte{'\x1b'}) {
				return len(p) - 1, false
			}
			return len(p), false
		}
		start := i + n
		for i = start + 2; i < len(p) && p[i] >= 0x20 && p[i] < 0x40; i++ {
		}
		if i == len(p) {
			return start, false
		}
		if c := p[i]; c == 'H' || c == 'f' || c == 'd' {
			return i, true
		}
	}
}
