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

// RawStamp carries time, stream and what follows before a line of Text to where LogLine makes JSON of it.
func RawStamp(b []byte, of Piece) []byte {
	ms := int64(-1)
	if !of.At.IsZero() {
		ms = of.At.UnixMilli()
	}
	return fmt.Appendf(b, "%d %d %d ", ms, of.Stream, of.Next)
}

func cutStamp(line []byte) (text []byte, at *time.Time, stream *string, next int64) {
	var word [3]int64
	text = line
	for i := range word {
		var w []byte
		w, text, _ = bytes.Cut(text, []byte(" "))
		word[i], _ = strconv.ParseInt(string(w), 10, 64)
	}
	if word[0] >= 0 {
		t := time.UnixMilli(word[0]).UTC()
		at = &t
	}
	switch word[1] {
	case attemptdir.Stdout:
		stream = pasar.Known("stdout")
	case attemptdir.Stderr:
		stream = pasar.Known("stderr")
	}
	return text, at, stream, word[2]
}

// LogLine is a line of an attempt's output, which has a RawStamp and no end, as a line of JSON.
func LogLine(job pasar.JobID, attempt int, line []byte) ([]byte, error) {
	b, _, err := logLineOf(job, attempt, line)
	return b, err
}

func logLineOf(job pasar.JobID, attempt int, line []byte) (b []byte, next int64, err error) {
	text, at, stream, next := cutStamp(line)
	b, err = json.Marshal(logLine{pasar.Schema, job, attempt, at, stream, string(bytes.ToValidUTF8(text, []byte("\ufffd")))})
	if err != nil {
		return nil, 0, err
	}
	return Line(b), next, nil
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

// LogLines makes lines of JSON of an attempt's raw output, and gives each to a function, with the offset from which on the
// lines come that follow it. What it gives is valid during the call.
type LogLines struct {
	job     pasar.JobID
	attempt int
	text    *Text
	split   Splitter
	each    func(line []byte, next int64) error
}

// NewLogLines begins an attempt's output, or goes on with what a text has begun, which has RawStamp.
func NewLogLines(job pasar.JobID, attempt int, text *Text, each func(line []byte, next int64) error) *LogLines {
	if text == nil {
		text = NewText(RawStamp)
	}
	return &LogLines{job: job, attempt: attempt, text: text, each: each}
}

// Piece takes a piece of output, and gives the lines that it makes certain.
func (l *LogLines) Piece(p Piece) error { return l.Text(l.text.Render(p)) }

// Settle gives the lines that could still change, but haven't for a while.
func (l *LogLines) Settle() error { return l.Text(l.text.Settle()) }

// Finish gives the rest: nothing more comes.
func (l *LogLines) Finish() error {
	if err := l.Text(l.text.Finish()); err != nil {
		return err
	}
	return l.split.Close(l.add)
}

// Text takes lines that a text with RawStamp has rendered.
func (l *LogLines) Text(text []byte) error { return l.split.Put(text, l.add) }

// Rest is the line under way as JSON, as it is now; an empty line if there is none.
func (l *LogLines) Rest() ([]byte, error) {
	b := l.text.Rest()
	if len(b) == 0 {
		b = RawStamp(nil, Piece{})
	}
	return LogLine(l.job, l.attempt, b)
}

func (l *LogLines) add(line []byte) error {
	b, next, err := logLineOf(l.job, l.attempt, line)
	if err != nil {
		return err
	}
	return l.each(b, next)
}
