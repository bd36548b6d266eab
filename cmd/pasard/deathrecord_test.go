package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/autopsy/score"
)

// produced is where the deaths that this test produced are kept as cases, to be judged again without running
// anything: go test ./cmd/pasard -run TestDeathsAreTold -produced ../../autopsy/testdata/produced.jsonl
var produced = flag.String("produced", "", "write the deaths as cases to this file")

// recorded is how much of the end of an output is kept.
const recorded = 16 << 10

// A record is the cases of those deaths that were judged by status and output alone.
type record struct {
	mu    sync.Mutex // guards cases
	cases map[string]score.Case
}

// bury records a death.
func (g *grave) bury(d death, dir string, a pasar.AttemptView, raw []byte) {
	if *produced == "" || a.Stop != nil || a.ExitCode == nil && a.Signal == nil || d.as == inMemory64MB {
		return
	}
	c := score.Case{ID: strings.ReplaceAll(d.name, " ", "-"), Kind: string(d.reason), Difficulty: "easy",
		Expect: score.Expect{Reason: d.reason, Summary: []string{orElse(d.summary, d.root)}}}
	if a.Signal != nil && *a.Signal != 0 {
		name := unix.SignalName(unix.Signal(*a.Signal))
		if name == "" {
			return // cases name signals
		}
		c.Signal = &name
	} else {
		c.ExitCode = a.ExitCode
	}
	if d.root != "" {
		c.Expect.RootLine = &d.root
	}
	if n := len(raw) - recorded; n > 0 {
		if raw = raw[n:]; !bytes.Contains(raw, []byte(d.root)) {
			return
		}
	}
	if bytes.Contains(raw, []byte("\xff")) {
		return // JSON can't hold it
	}
	c.Log = strings.NewReplacer(dir, "/home/ada/run", g.dir, "/home/ada").Replace(string(raw))
	g.record.mu.Lock()
	defer g.record.mu.Unlock()
	if g.record.cases == nil {
		g.record.cases = map[string]score.Case{}
	}
	g.record.cases[d.name] = c
}

// write writes what was recorded, in the order of the table.
func (r *record) write(t *testing.T) {
	if *produced == "" {
		return
	}
	var out bytes.Buffer
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false)
	for _, part := range deaths {
		for _, d := range part {
			if c, ok := r.cases[d.name]; ok {
				if err := to.Encode(c); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := os.MkdirAll(filepath.Dir(*produced), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(*produced, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
