package jobproto

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"pasar"
)

func TestAppendedLinesAreWholeAndInOrderOfEachWriter(t *testing.T) {
	file := filepath.Join(t.TempDir(), "events.jsonl")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 50 {
				if err := Append(file, pasar.Event{Kind: pasar.EventCheckpoint, Step: ptr(float64(i))}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(events(t, file)); n != 200 {
		t.Errorf("%d events; want 200", n)
	}
	if fi, err := os.Stat(file); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", fi.Mode(), err)
	}
}

func TestAppendWritesNothingOfABadEvent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "events.jsonl")
	if err := Append(file, pasar.Event{Kind: pasar.EventNote}); err == nil {
		t.Error("a note without a text was accepted")
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat: %v; want no file", err)
	}
	if err := Append(filepath.Join(file, "below"), pasar.Event{Kind: pasar.EventResumed}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that isn't there: %v", err)
	}
}
