package supervisor

import "bytes"

// overwrite calls write with the parts of plain lines that are still to be seen when all were written to a
// screen of so many columns, and colour with the colours set in between: a progress bar that is drawn over
// and over costs little more than its last state. It leaves the screen exactly as the whole would.
//
// A stretch from one carriage return to the next is wiped out by a later one of the same line that is
// at least as wide. The first of the widest is written too: where it ended it may have cut a wide
// character that stood there before, as the last one then can't. This holds only for what is surely one
// cell wide each and doesn't reach beyond the line; anything else is written whole.
func overwrite(p []byte, cols int, write, colour func([]byte)) {
	for len(p) > 0 {
		line := p
		if i := bytes.IndexByte(p, '\n'); i >= 0 {
			line = p[:i+1]
		}
		p = p[len(line):]
		overwriteLine(line, cols, write, colour)
	}
}

func overwriteLine(line []byte, cols int, write, colour func([]byte)) {
	head := bytes.IndexByte(line, '\r')
	if head < 0 || bytes.IndexByte(line[head+1:], '\r') < 0 {
		write(line)
		return
	}
	write(line[:head])
	rest := line[head:]
	first, firstEnd, last, widest := 0, 0, 0, -1
	for i := 0; i < len(rest); {
		end := i + 1
		if n := bytes.IndexByte(rest[end:], '\r'); n >= 0 {
			end += n
		} else {
			end = len(rest)
		}
		w := -1 // of the last stretch, which is written whatever it is
		if end < len(rest) {
			var ok bool
			if w, ok = width(rest[i+1 : end]); !ok || w > cols {
				write(rest)
				return
			}
		}
		if w > widest {
			first, firstEnd, widest = i, end, w
		}
		if w == widest && w >= 0 {
			last = i
		}
		i = end
	}
	colours(rest[:first], colour)
	write(rest[first:firstEnd])
	if last > first {
		colours(rest[firstEnd:last], colour)
		write(rest[last:])
		return
	}
	write(rest[firstEnd:])
}

// width is how many cells a stretch of a line takes, if it is made of nothing but ASCII, the blocks and
// lines that bars are made of, and colours.
func width(s []byte) (n int, ok bool) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= ' ' && c < 0x7f:
			n++
		case c == 0xe2 && i+2 < len(s) && s[i+1] >= 0x94 && s[i+1] <= 0x96 && s[i+2] >= 0x80 && s[i+2] <= 0xbf: // U+2500 to U+25BF
			n++
			i += 2
		case c == '\x1b':
			m := bytes.IndexByte(s[i:], 'm')
			if m < 0 {
				return 0, false
			}
			i += m
		default:
			return 0, false
		}
	}
	return n, true
}
