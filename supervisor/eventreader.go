package supervisor

import (
	"bytes"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// What is wrong with a line that isn't read.
var (
	errLongLine = errors.New("too long")
	errHole     = errors.New("a hole in the file")
	errBacklog  = errors.New("more was written at once than is read; what lies between is left out")
)

// An eventReader cuts a growing file into lines. The file is the job's, which may write into it as fast
// as it can and make it as long as it likes.
type eventReader struct {
	file *os.File
	at   int64
	part []byte // an unfinished line
	skip bool   // the rest of a line that isn't read
}

// lines calls f with each new whole line, and once with an error for each line that is too long and each
// stretch that isn't read: holes, and what lies between the first most bytes and the last keep, if there
// is more. It returns how many bytes it read, at most most+keep+eventRead, and returns early once halt
// says so.
func (r *eventReader) lines(most, keep int64, halt func() bool, f func([]byte, error)) (read int64, err error) {
	fi, err := r.file.Stat()
	if err != nil {
		return 0, err
	}
	end := fi.Size()
	if end < r.at {
		r.at, r.part, r.skip = 0, nil, false // truncated: it begins anew
	}
	holes := true // are looked for
	buf := make([]byte, min(eventRead, max(end-r.at, 0)))
	for r.at < end && !halt() {
		to := end
		if holes {
			from, upTo := dataFrom(r.file, r.at, end)
			if from > r.at {
				r.leave(from, errHole, f)
			}
			to = upTo
		}
		if holes && read >= most {
			// One byte before what is kept: if that ends a line, the next is whole.
			if jump := end - keep - 1; jump > r.at {
				r.leave(jump, errBacklog, f)
			}
			holes = false // so that nothing but the end counts any more
			continue
		}
		if to = min(to, end); r.at >= to {
			continue
		}
		n, err := r.file.ReadAt(buf[:min(int64(len(buf)), to-r.at)], r.at)
		r.at += int64(n)
		read += int64(n)
		r.cut(buf[:n], f)
		if errors.Is(err, io.EOF) {
			return read, nil // shorter than a moment ago
		}
		if err != nil {
			return read, err
		}
	}
	return read, nil
}

// leave goes on further on in the file, at the line after the one that is there.
func (r *eventReader) leave(to int64, why error, f func([]byte, error)) {
	r.at, r.part, r.skip = to, nil, true
	f(nil, why)
}

// dataFrom is the first stretch of a file from an offset on that isn't a hole. File systems without holes
// have one stretch.
func dataFrom(file *os.File, at, end int64) (from, to int64) {
	from, err := unix.Seek(int(file.Fd()), at, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		return end, end
	case err != nil:
		return at, end
	}
	to, err = unix.Seek(int(file.Fd()), from, unix.SEEK_HOLE)
	if err != nil || to <= from {
		to = end
	}
	return from, to
}

func (r *eventReader) cut(p []byte, f func([]byte, error)) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			if !r.skip {
				r.part = append(r.part, p...)
			}
			if len(r.part) > eventLine {
				f(nil, errLongLine)
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
			f(nil, errLongLine)
		case len(line) > 0:
			f(line, nil)
		}
		r.part, p = nil, p[i+1:]
	}
}

// rest calls f with a last line that has no newline.
func (r *eventReader) rest(f func([]byte, error)) {
	if len(r.part) > 0 {
		f(r.part, nil)
	}
	r.part = nil
}
