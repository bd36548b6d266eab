package autopsy

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A verdict rests on its evidence alone, so that one of last year can be made again. syscall is for the
// numbers of errors and signals.
func TestAttributionUsesNothingButItsEvidence(t *testing.T) {
	allowed := []string{"bytes", "cmp", "fmt", "pasar", "regexp", "slices", "strings", "sync", "syscall", "unicode", "unicode/utf8"}
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		checked++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			if name, _ := strconv.Unquote(spec.Path.Value); !slices.Contains(allowed, name) {
				t.Errorf("%s imports %s", path, name)
			}
		}
	}
	if checked < 5 {
		t.Errorf("only %d files checked", checked)
	}
}
