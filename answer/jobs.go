package answer

import (
	"bytes"
	"fmt"
	"io"

	"pasar"
)

// Jobs writes a list of jobs as one JSON value on one line, passing the daemon's lines through undecoded. Nothing
// is written before the first of Lines and End, so that until then an error can be answered instead.
type Jobs struct {
	w     io.Writer
	begun bool
	comma bool // a line has ended: what comes next is another job
}

// NewJobs begins a list.
func NewJobs(w io.Writer) *Jobs { return &Jobs{w: w} }

// Lines writes jobs, each a line of JSON. A newline can only stand between two objects, where a comma belongs. b
// isn't changed.
func (j *Jobs) Lines(b []byte) error {
	b = Escaped(b)
	for line := range bytes.Lines(b) {
		if err := j.begin(); err != nil {
			return err
		}
		if j.comma {
			if _, err := j.w.Write([]byte{','}); err != nil {
				return err
			}
		}
		text, ended := bytes.CutSuffix(line, []byte{'\n'})
		j.comma = ended
		if _, err := j.w.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// End writes what ends the value.
func (j *Jobs) End() error {
	if err := j.begin(); err != nil {
		return err
	}
	_, err := io.WriteString(j.w, "]}\n")
	return err
}

func (j *Jobs) begin() error {
	if j.begun {
		return nil
	}
	j.begun = true
	_, err := fmt.Fprintf(j.w, `{"schema":%d,"jobs":[`, pasar.Schema)
	return err
}

// List is a whole list of jobs of which there are these lines.
func List(chunks [][]byte) []byte {
	size := 64
	for _, b := range chunks {
		size += len(b)
	}
	buf := bytes.NewBuffer(make([]byte, 0, size))
	j := NewJobs(buf)
	for _, b := range chunks {
		_ = j.Lines(b) // a buffer takes everything
	}
	_ = j.End()
	return buf.Bytes()
}
