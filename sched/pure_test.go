package sched_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Why sched is pure: the daemon, every projection and the simulator must get one answer, and a decision
// in the journal must be one that can be made again.
func TestDecidingUsesNoClockNoRandomnessAndNoDisk(t *testing.T) {
	imports := []string{"cmp", "fmt", "iter", "math", "slices", "strings", "time", "pasar"}
	ofTime := []string{"Time", "Duration", "Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour"}
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
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			if name, _ := strconv.Unquote(spec.Path.Value); !slices.Contains(imports, name) {
				t.Errorf("%s imports %s", path, name)
			}
			if spec.Name != nil {
				t.Errorf("%s imports %s under another name", path, spec.Path.Value)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" && !slices.Contains(ofTime, sel.Sel.Name) {
					t.Errorf("%s uses time.%s", path, sel.Sel.Name)
				}
			}
			if _, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s starts a goroutine", path)
			}
			return true
		})
	}
	if checked < 5 {
		t.Errorf("only %d files checked", checked)
	}
}
