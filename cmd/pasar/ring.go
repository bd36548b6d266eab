package main

import "bytes"

// A lineRing keeps the last n lines of a stream. The line under way counts once it has a byte.
type lineRing struct {
	n     int
	lines [][]byte // whole ones, oldest at next once there are n
	next  int
	part  []byte
}

func (r *lineRing) add(text []byte) {
	for {
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			r.part = append(r.part, text...)
			return
		}
		r.push(append(r.part, text[:i+1]...))
		r.part = nil
		text = text[i+1:]
	}
}

func (r *lineRing) push(line []byte) {
	switch {
	case r.n == 0:
	case len(r.lines) < r.n:
		r.lines = append(r.lines, line)
	default:
		r.lines[r.next] = line
		r.next = (r.next + 1) % r.n
	}
}

// full reports whether n lines have been seen.
func (r *lineRing) full() bool { return len(r.lines) >= r.n }

// bytes is the last n lines as they came.
func (r *lineRing) bytes() []byte {
	lines := append(append([][]byte{}, r.lines[r.next:]...), r.lines[:r.next]...)
	if len(r.part) > 0 && r.n > 0 {
		lines = append(lines, r.part)
		lines = lines[max(0, len(lines)-r.n):]
	}
	return bytes.Join(lines, nil)
}
