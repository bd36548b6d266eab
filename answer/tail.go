package answer

import "bytes"

// A Renderer turns raw output, piece by piece, into what is to be shown. What it returns is valid until the next call.
type Renderer interface {
	Render(p Piece) []byte
	Settle() []byte // what could still change, but hasn't for a while
	Finish() []byte // nothing more comes
}

// firstWindow is how far before the end the search for the last lines begins.
const firstWindow = 64 << 10

// Tail finds the last n rendered lines of what there is now. With Follow, o stands behind them then and the renderer goes
// on from there; it is nil when nothing will follow of this attempt. read reads an output to its present end; it is asked
// for ever more until there are enough.
func (o *Output) Tail(n int, renderer func() Renderer, read func(o *Output, each func(Piece) error) error) (Renderer, []byte, error) {
	for window := int64(firstWindow); ; window *= 4 {
		s := Output{Job: o.Job, Attempt: o.Attempt, Offset: -window, Since: o.Since, Only: o.Only, Told: o.Told, Gap: o.Gap, vague: o.vague}
		r := renderer()
		keep := &lineRing{n: n}
		err := read(&s, s.whole(func(p Piece) error {
			keep.add(r.Render(p))
			return nil
		}))
		if err != nil {
			return nil, nil, err
		}
		more := o.Follow && !s.Ended
		if more {
			keep.add(r.Settle())
		} else {
			keep.add(r.Finish())
		}
		if s.Start > s.First && !keep.full() {
			continue
		}
		o.Attempt, o.Offset, o.Started, o.Ended, o.Over, o.vague = s.Attempt, s.Offset, s.Started, s.Ended, s.Over, s.vague
		if !more {
			r = nil
		}
		return r, keep.bytes(), nil
	}
}

// whole leaves out the rest of a line that began before the output did.
func (o *Output) whole(each func(Piece) error) func(Piece) error {
	begun := false
	return func(p Piece) error {
		if o.Start > o.First && !begun {
			i := bytes.IndexByte(p.Data, '\n')
			if i < 0 {
				return nil
			}
			begun, p.Data, p.Offset = true, p.Data[i+1:], p.Offset+int64(i)+1
		}
		return each(p)
	}
}

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
