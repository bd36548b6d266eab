package ipc

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestObjectsAreJoinedWhereverChunksEnd(t *testing.T) {
	want := []string{"{}", `{"a":1}`, "{" + strings.Repeat("x", 1000) + "}", "{}", "{}"}
	stream := []byte(strings.Join(want, "\n") + "\n")
	for size := 1; size <= len(stream); size++ {
		var got []string
		j := joiner{each: func(b []byte) error { got = append(got, string(b)); return nil }}
		for chunk := range slices.Chunk(stream, size) {
			if err := cut(chunk, j.add); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("chunks of %d bytes give %d objects: %.200q", size, len(got), got)
		}
	}
}

func TestAnObjectWithoutAnEndIsRefusedWhenItIsTooLong(t *testing.T) {
	j := joiner{each: func([]byte) error { t.Error("there is no object"); return nil }}
	chunk := bytes.Repeat([]byte("x"), MaxChunk)
	var err error
	for n := 0; err == nil; n += len(chunk) {
		if n > MaxJoined {
			t.Fatalf("%d bytes were taken", n)
		}
		err = cut(chunk, j.add)
	}
	var e *Error
	if !errors.As(err, &e) || e.Code != CodeOverLimit {
		t.Error(err)
	}
}

func TestWhoRefusesAnObjectEndsTheStream(t *testing.T) {
	no := errors.New("no more")
	n := 0
	j := joiner{each: func([]byte) error { n++; return no }}
	if err := cut([]byte("{}\n{}\n"), j.add); !errors.Is(err, no) || n != 1 {
		t.Errorf("%d objects, %v", n, err)
	}
}
