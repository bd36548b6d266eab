package main

import (
	"sync"

	"pasar"
	"pasar/answer"
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

// lineSink cuts text into lines. Several may write to one standard output: each line is whole.
type lineSink struct {
	a     *app
	mu    *sync.Mutex // guards a.stdout
	print func(line []byte) error
	split answer.Splitter
}

func (s *lineSink) put(text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.split.Put(text, s.print); err != nil {
		return err
	}
	return s.a.stdout.Flush()
}

func (s *lineSink) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.split.Close(s.print); err != nil {
		return err
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

// jsonLines shows each line, which has an answer.RawStamp, as JSON; attempt is known once the output has begun.
func jsonLines(a *app, mu *sync.Mutex, o *outputStream) sink {
	s := &lineSink{a: a, mu: mu}
	s.print = func(line []byte) error {
		b, err := answer.LogLine(o.Job, o.Attempt, line)
		if err != nil {
			return err
		}
		_, err = a.stdout.Write(b)
		return err
	}
	return s
}
