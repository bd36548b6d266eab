package pasar_test

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for _, p := range checkComments(os.DirFS(".")) {
		t.Error(p)
	}
}

func TestTheCommentCheckFindsWhatIsMissing(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"package x", "no package comment"},
		{"// Package x\npackage x", "does not say in one sentence"},
		{"// Package x holds.\npackage x", "does not say in one sentence"},
		{"// This package keeps all the things that are needed.\npackage x", "does not start with"},
		{"// Package y keeps all the things that are needed.\npackage x", "does not start with"},
		{"// Does something that is needed by all.\npackage main", "does not start with"},
		{"// Package x keeps all the things that are needed.\npackage x", ""},
		{"// Command x does all the things that are needed.\npackage main", ""},
		{"// X does all the things that are needed by others.\npackage main", ""},
	} {
		got := strings.Join(checkComments(fstest.MapFS{
			"x/a.go":      {Data: []byte(c.src)},
			"x/a_test.go": {Data: []byte("// Package x only tests things, which is no excuse.\npackage x")},
		}), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%q: %q; want %q", c.src, got, c.want)
		}
	}
}

// checkComments says which packages don't have a comment whose first sentence says what they are for.
func checkComments(tree fs.FS) []string {
	comments := map[string][]string{} // by package directory, of files that aren't tests
	names := map[string]string{}
	var problems []string
	err := walkGo(tree, func(file string, src []byte) error {
		if strings.HasSuffix(file, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			problems = append(problems, err.Error())
			return nil
		}
		pkg := packageOf(file)
		names[pkg] = f.Name.Name
		if f.Doc != nil {
			comments[pkg] = append(comments[pkg], f.Doc.Text())
		}
		return nil
	})
	if err != nil {
		problems = append(problems, err.Error())
	}
	for pkg, name := range names {
		starts := []string{"Package " + name + " "}
		if name == "main" {
			base := path.Base(pkg)
			starts = []string{"Command " + base + " ", strings.ToUpper(base[:1]) + base[1:] + " "}
		}
		switch texts := comments[pkg]; len(texts) {
		case 0:
			problems = append(problems, pkg+": no package comment")
		case 1:
			first := new(doc.Package).Synopsis(texts[0])
			if !slices.ContainsFunc(starts, func(s string) bool { return strings.HasPrefix(first+" ", s) }) {
				problems = append(problems, fmt.Sprintf("%s: the package comment does not start with %q", pkg, starts[0]))
			} else if len(strings.Fields(first)) < 6 {
				problems = append(problems, fmt.Sprintf("%s: the package comment does not say in one sentence what it is for: %q", pkg, first))
			}
		default:
			problems = append(problems, pkg+": more than one file has a package comment")
		}
	}
	slices.Sort(problems)
	return problems
}

func TestTheArchitectureNamesEveryPackage(t *testing.T) {
	text, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	err = walkGo(os.DirFS("."), func(file string, _ []byte) error {
		top, _, _ := strings.Cut(packageOf(file), "/")
		if top != "cmd" && !strings.Contains(string(text), "\n| `"+top+"`") {
			t.Errorf("docs/architecture.md has no line for package %s", top)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// pure lists the packages that neither clock, chance, environment nor disk may reach.
var pure = []string{"pasar", "sched", "autopsy", "cloud", "ui", "vt"}

// impure lists imports, and names of allowed imports, by which they could.
var impure = map[string][]string{
	"time":         {"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Sleep", "LoadLocation", "Local"},
	"math/rand":    nil,
	"math/rand/v2": nil,
	"crypto/rand":  nil,
	"os":           nil,
	"os/exec":      nil,
	"os/user":      nil,
	"net":          nil,
	"net/http":     nil,
	"runtime":      nil,
	"log":          nil,
	"log/slog":     nil,
	"sync":         {"WaitGroup", "Cond"},
}

// names of package syscall that are numbers with names, not calls.
var syscallNames = regexp.MustCompile(`^(Errno|Signal|E[A-Z0-9]+|SIG[A-Z0-9]+)$`)

func TestClockChanceAndDiskNeverReachPureCode(t *testing.T) {
	for _, p := range checkPurity(os.DirFS(".")) {
		t.Error(p)
	}
}

func TestThePurityCheckFindsWhatIsImpure(t *testing.T) {
	for _, c := range []struct{ file, src, want string }{
		{"sched/a.go", `import "time"` + "\nvar x = time.Now()", "sched/a.go:3: uses time.Now"},
		{"sched/a.go", `import clock "time"` + "\nvar x = clock.Now", "uses time.Now"},
		{"sched/a.go", `import . "time"` + "\nvar x = Now", "imports time without its name"},
		{"autopsy/a.go", `import "os"`, "autopsy/a.go:2: imports os"},
		{"autopsy/a.go", `import _ "math/rand"`, "imports math/rand"},
		{"autopsy/a.go", `import "syscall"` + "\nvar x = syscall.Getenv", "uses syscall.Getenv"},
		{"autopsy/a.go", `import "syscall"` + "\nvar x = syscall.SIGKILL.String() + syscall.ENOENT.Error()", ""},
		{"sched/a.go", "func f() { go f() }", "starts a goroutine"},
		{"sched/a.go", `import "time"` + "\nvar x = time.Second", ""},
		{"sched/a_test.go", `import "os"`, ""},
		{"daemon/a.go", `import "os"`, ""},
	} {
		got := strings.Join(checkPurity(fstest.MapFS{c.file: {Data: []byte("package a\n" + c.src + "\n")}}), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q: %q; want %q", c.file, c.src, got, c.want)
		}
	}
}

func checkPurity(tree fs.FS) []string {
	var problems []string
	err := walkGo(tree, func(file string, src []byte) error {
		if !slices.Contains(pure, packageOf(file)) || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, src, 0)
		if err != nil {
			problems = append(problems, err.Error())
			return nil
		}
		report := func(pos token.Pos, what string) {
			problems = append(problems, fmt.Sprintf("%s:%d: %s", file, fset.Position(pos).Line, what))
		}
		local := map[string]string{} // name in this file → import path
		for _, spec := range f.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			banned, listed := impure[imp]
			name := path.Base(imp)
			if spec.Name != nil {
				name = spec.Name.Name
			}
			switch {
			case listed && banned == nil:
				report(spec.Pos(), "imports "+imp)
			case listed && name == ".":
				report(spec.Pos(), "imports "+imp+" without its name")
			case listed, imp == "syscall":
				local[name] = imp
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				report(n.Pos(), "starts a goroutine")
			case *ast.SelectorExpr:
				x, ok := n.X.(*ast.Ident)
				if !ok {
					break
				}
				imp := local[x.Name]
				if slices.Contains(impure[imp], n.Sel.Name) || imp == "syscall" && !syscallNames.MatchString(n.Sel.Name) {
					report(n.Pos(), "uses "+imp+"."+n.Sel.Name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		problems = append(problems, err.Error())
	}
	return problems
}
