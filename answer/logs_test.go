package answer_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/answer"
	"pasar/attemptdir"
)

type told struct {
	Schema, Job, Attempt int
	At                   *time.Time
	Stream               *string
	Line                 string
}

func TestLinesOfOutputSayWhenTheyBeganAndOfWhichStreamTheyAre(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var all bytes.Buffer
	l := answer.NewLogLines(7, 2, nil, func(line []byte, _ int64) error {
		all.Write(line)
		return nil
	})
	add := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	add(l.Piece(answer.Piece{Data: []byte("one\r\ntw"), At: at, Stream: attemptdir.Stdout}))
	add(l.Piece(answer.Piece{Data: []byte("o\x1b[31m\u202e\xff\r\n"), At: at.Add(time.Second), Stream: attemptdir.Stderr}))
	add(l.Settle())
	add(l.Piece(answer.Piece{Data: []byte("last")}))
	add(l.Finish())
	var got []string
	for line := range bytes.Lines(all.Bytes()) {
		v := decode[told](t, line)
		if v.Schema != pasar.Schema || v.Job != 7 || v.Attempt != 2 {
			t.Errorf("%s", line)
		}
		s := v.Line
		if v.At != nil {
			s += " " + v.At.Format(time.RFC3339)
		}
		if v.Stream != nil {
			s += " " + *v.Stream
		}
		got = append(got, s)
	}
	want := "one 2026-03-01T12:00:00Z stdout|two\\u202e\ufffd 2026-03-01T12:00:00Z stdout|last"
	if strings.Join(got, "|") != want {
		t.Errorf("%q, want %q", strings.Join(got, "|"), want)
	}
}

func TestALineWithoutAnEndIsToldInPieces(t *testing.T) {
	var s answer.Splitter
	var lines []int
	each := func(line []byte) error { lines = append(lines, len(line)); return nil }
	for range 3 {
		if err := s.Put(bytes.Repeat([]byte{'x'}, 600<<10), each); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(each); err != nil || len(lines) != 2 || lines[0]+lines[1] != 1800<<10 {
		t.Errorf("%v, %v", lines, err)
	}
}
