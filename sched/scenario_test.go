package sched_test

import (
	"flag"
	"path/filepath"
	"testing"

	"pasar/sched/schedtest"
)

var update = flag.Bool("update", false, "write the stories in testdata anew")

func TestStories(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) { schedtest.Run(t, path, *update) })
	}
}
