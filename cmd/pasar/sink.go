package main

import (
	"bytes"
	"encoding/json"
	"sync"
	"time"

	"pasar"
)

// A sink takes rendered output to standard output.
type sink interface {
	put(text []byte) error
	close() error // a line that has no end is shown too
}

// plainSink writes text as it comes. On a terminal the last line gets an end.
type plainSink struct {
	a    *app
	last byte
}

func (s *plainSink) put(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	s.last = text[len(text)-1]
	if _, err := s.a.stdout.Write(text); err != nil {
		return err
	}
	return s.a.stdout.Flush()
}

func (s *plainSink) close() error {
	if s.a.term.is && s.last != 0 && s.last != '\n' {
		return s.put([]byte{'\n'})
	}
	return nil
}

// maxLine bounds a line that is kept until its end; a longer one is shown in pieces.
const maxLine = 1 << 20

// lineSink cuts text into lines. Several may write to one standard output: each line is whole.
type lineSink struct {
	a     *app
	mu    *sync.Mutex // guards a.stdout
	print func(line []byte) error
	part  []byte
}

func (s *lineSink) put(text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
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
		if err := s.flush(); err != nil {
			return err
		}
	}
	return s.a.stdout.Flush()
}

func (s *lineSink) flush() error {
	err := s.print(bytes.TrimSuffix(s.part, []byte{'\r'}))
	s.part = s.part[:0]
	return err
}

func (s *lineSink) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.part) > 0 {
		if err := s.flush(); err != nil {
			return err
		}
	}
	return s.a.stdout.Flush()
}

// prefixed shows each line with the job it is of.
func prefixed(a *app, mu *sync.Mutex, job pasar.JobID) sink {
	s := &lineSink{a: a, mu: mu}
	prefix := []byte("#" + job.String() + "  ")
	s.print = func(line []byte) error {
		if _, err := a.stdout.Write(prefix); err != nil {
			return err
		}
		if _, err := a.stdout.Write(line); err != nil {
			return err
		}
		return a.stdout.WriteByte('\n')
	}
	return s
}

// A logLine is a line of output as JSON. The text is the job's, and not to be trusted.
type logLine struct {
	Schema  int         `json:"schema"`
	Job     pasar.JobID `json:"job"`
	Attempt int         `json:"attempt"`
	At      *time.Time  `json:"at"`     // when its first byte came, to the second; null: not known
	Stream  *string     `json:"stream"` // stdout or stderr, of a job without a terminal
	Line    string      `json:"line"`
}

// jsonLines shows each line, which has a rawStamp, as JSON; attempt is known once the output has begun.
func jsonLines(a *app, mu *sync.Mutex, o *outputStream) sink {
	s := &lineSink{a: a, mu: mu}
	s.print = func(line []byte) error {
		text, at, stream := cutStamp(line)
		b, err := json.Marshal(logLine{pasar.Schema, o.job, o.attempt, at, stream, string(bytes.ToValidUTF8(text, []byte("\ufffd")))})
		if err != nil {
			return err
		}
		return a.printLine(b)
	}
	return s
}
