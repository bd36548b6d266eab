package store

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"pasar"
)

var generate = flag.Bool("generate", false, "write the database of the present schema version to testdata, once per version")

func oldSurroundings() pasar.Surroundings {
	return pasar.Surroundings{Env: pasar.Args([]string{"PATH=/bin", "X=\xff"}), Umask: 0o22}
}

func oldJob() JobRow {
	return JobRow{Job: 1, State: pasar.Failed, Created: t0, Finished: t0.Add(time.Minute), Submitter: "ada", By: "bot",
		Name: "train", Key: "k", Machine: "local", Tags: []string{"a"}, Body: []byte("body")}
}

func TestGenerate(t *testing.T) {
	if !*generate {
		t.Skip("writes test data only with -generate")
	}
	path := filepath.Join("testdata", fmt.Sprintf("v%d.db", Version))
	if _, err := os.Stat(path); err == nil {
		t.Fatalf("%s is there; a version's database is never written anew", path)
	}
	dir := t.TempDir()
	s := open(t, dir)
	appendOK(t, s, Batch{Records: facts(1, 20), Specs: []SpecRow{{[]pasar.JobID{1}, oldSurroundings()}}, Finished: []JobRow{oldJob()}})
	for _, seq := range []int64{5, 10} {
		if err := s.SaveSnapshot(seq, fmt.Appendf(nil, "state after %d", seq)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, dbName))
	if err == nil {
		err = os.MkdirAll("testdata", 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestADatabaseOfEveryVersionOpensWithEverything(t *testing.T) {
	for v := 1; v <= Version; v++ {
		t.Run(fmt.Sprint("v", v), func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join("testdata", fmt.Sprintf("v%d.db", v)))
			if err != nil {
				t.Fatalf("%v (write it with: go test ./store -run Generate -generate)", err)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, dbName), b, 0o600); err != nil {
				t.Fatal(err)
			}
			s := open(t, dir)
			if got := readFacts(t, s, 0); !reflect.DeepEqual(got, facts(1, 20)) {
				t.Errorf("facts: %v", got)
			}
			if got, err := s.Surroundings(1); err != nil || !reflect.DeepEqual(got, oldSurroundings()) {
				t.Errorf("surroundings: %v, %v", got, err)
			}
			if got, ok, err := s.Job(1); err != nil || !ok || !reflect.DeepEqual(got, oldJob()) {
				t.Errorf("job: %v, %v, %v", got, ok, err)
			}
			if seq, body, err := s.Snapshot(); err != nil || seq != 10 || string(body) != "state after 10" {
				t.Errorf("snapshot: %d %q, %v", seq, body, err)
			}
			appendOK(t, s, Batch{Records: facts(21, 21), Unfinished: []pasar.JobID{1}})
			s.mu.Lock()
			version, err := s.int("PRAGMA user_version")
			s.mu.Unlock()
			if err != nil || version != int64(Version) {
				t.Errorf("version is %d, %v; want %d", version, err, Version)
			}
		})
	}
}
