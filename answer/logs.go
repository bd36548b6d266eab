package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"pasar"
	"pasar/attemptdir"
)

// A logLine is a line of output as JSON. The text is the job's, and not to be trusted.
type logLine struct {
	Schema  int         `json:"schema"`
	Job     pasar.JobID `json:"job"`
	Attempt int         `json:"attempt"`
	At      *time.Time  `json:"at"`     // when its first byte came, to the second; null: not known
	Stream  *string     `json:"stream"` // stdout or stderr, of a job without a terminal
	Line    string      `json:"line"`
}

// RawStamp carries time and stream before a line of Text to where LogLine makes JSON of it.
func RawStamp(b []byte, of Piece) []byte {
	ms := int64(-1)
	if !of.At.IsZero() {
		ms = of.At.UnixMilli()
	}
	return fmt.Appendf(b, "%d %d ", ms, of.Stream)
}

func cutStamp(line []byte) (text []byte, at *time.Time, stream *string) {
	ms, rest, _ := bytes.Cut(line, []byte(" "))
	s, text, _ := bytes.Cut(rest, []byte(" "))
	if n, err := strconv.ParseInt(string(ms), 10, 64); err == nil && n >= 0 {
		t := time.UnixMilli(n).UTC()
		at = &t
	}
	switch n, _ := strconv.Atoi(string(s)); n {
	case attemptdir.Stdout:
		stream = pasar.Known("stdout")
	case attemptdir.Stderr:
		stream = pasar.Known("stderr")
	}
	return text, at, stream
}

// LogLine is a line of an attempt's output, which has a RawStamp and no end, as a line of JSON.
func LogLine(job pasar.JobID, attempt int, line []byte) ([]byte, error) {
	text, at, stream := cutStamp(line)
	b, err := json.Marshal(logLine{pasar.Schema, job, attempt, at, stream, string(bytes.ToValidUTF8(text, []byte("\ufffd")))})
	if err != nil {
		return nil, err
	}
	return Line(b), nil
}

// maxLine bounds a line that is kept until its end; a longer one is shown in pieces.
const maxLine = 1 << 20

// A Splitter cuts text into lines: without their ends, and a long one into several.
type Splitter struct {
	part []byte
}

// Put calls each with the lines that text ends; they are valid during the call.
func (s *Splitter) Put(text []byte, each func(line []byte) error) error {
	for len(text) > 0 {
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			s.part = append(s.part, text...)
			if len(s.part) < maxLine {
				break
			}
			text = nil
		} else {
			s.part = append(s.part, text[:i]...)
			text = text[i+1:]
		}
		if err := s.flush(each); err != nil {
			return err
		}
	}
	return nil
}

// Close calls each with a line that has no end, if there is one.
func (s *Splitter) Close(each func(line []byte) error) error {
	if len(s.part) == 0 {
		return nil
	}
	return s.flush(each)
}

func (s *Splitter) flush(each func(line []byte) error) error {
	err := each(bytes.TrimSuffix(s.part, []byte{'\r'}))
	s.part = s.part[:0]
	return err
}

// LogLines makes lines of JSON of an attempt's raw output. What its methods return is valid until the next call.
type LogLines struct {
	job     pasar.JobID
	attempt int
	text    *Text
	split   Splitter
	out     []byte
}

// NewLogLines begins an attempt's output.
func NewLogLines(job pasar.JobID, attempt int) *LogLines {
	return &LogLines{job: job, attempt: attempt, text: NewText(RawStamp)}
}

// Piece is the lines that a piece of output has made certain.
func (l *LogLines) Piece(p Piece) ([]byte, error) { return l.lines(l.text.Render(p)) }

// Settle is the lines that could still change, but haven't for a while.
func (l *LogLines) Settle() ([]byte, error) { return l.lines(l.text.Settle()) }

// Finish is the rest: nothing more comes.
func (l *LogLines) Finish() ([]byte, error) {
	if _, err := l.lines(l.text.Finish()); err != nil {
		return nil, err
	}
	err := l.split.Close(l.add)
	return l.out, err
}

func (l *LogLines) lines(text []byte) ([]byte, error) {
	l.out = l.out[:0]
	err := l.split.Put(text, l.add)
	return l.out, err
}

func (l *LogLines) add(line []byte) error {
	b, err := LogLine(l.job, l.attempt, line)
	l.out = append(l.out, b...)
	return err
}
