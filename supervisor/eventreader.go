package supervisor

import (
	"errors"
	"io"
	"os"
)

// An eventReader cuts a growing file into lines.
type eventReader struct {
	file *os.File
	at   int64
	part []byte // an unfinished line
	skip bool   // the rest of a line that is too long
}

// lines calls f with each new whole line, and once for each line that is too long.
func (r *eventReader) lines(f func(line []byte, tooLong bool)) error {
	if fi, err := r.file.Stat(); err == nil && fi.Size() < r.at {
		r.at, r.part, r.skip = 0, nil, false // truncated: it begins anew
	}
	buf := make([]byte, eventRead)
	for {
		n, err := r.file.ReadAt(buf, r.at)
		r.at += int64(n)
		r.cut(buf[:n], f)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *eventReader) cut(p []byte, f func([]byte, bool)) {
	for len(p) > 0 {
		i := 0
		for i < len(p) && p[i] != '\n' {
			i++
		}
		if i == len(p) {
			if !r.skip {
				r.part = append(r.part, p...)
			}
			if len(r.part) > eventLine {
				f(nil, true)
				r.part, r.skip = nil, true
			}
			return
		}
		line := p[:i]
		if len(r.part) > 0 {
			line = append(r.part, line...)
		}
		switch {
		case r.skip:
			r.skip = false
		case len(line) > eventLine:
			f(nil, true)
		case len(line) > 0:
			f(line, false)
		}
		r.part, p = nil, p[i+1:]
	}
}

// rest calls f with a last line that has no newline.
func (r *eventReader) rest(f func([]byte, bool)) {
	if len(r.part) > 0 {
		f(r.part, false)
	}
	r.part = nil
}
