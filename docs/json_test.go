package docs

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated documents anew")

// checkFresh compares a generated document with the one in the tree, or writes it with -update.
func checkFresh(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) == want {
		return
	}
	a, b := strings.Split(string(got), "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Errorf("docs/%s:%d is out of date:\n has %s\nwant %s", file, i+1, a[i], b[i])
			break
		}
	}
	t.Errorf("docs/%s is out of date; write it anew with: go test ./docs -update", file)
}

const jsonHead = `# The JSON of pasar

Generated from the types by ` + "`go test ./docs -update`" + `; a test keeps it fresh. The rules that all of it
follows are in ` + "`pasar guide api`" + `: keys are never missing, what isn't known is null, sizes are bytes,
spans are seconds, times are RFC 3339 in UTC, and ` + "`schema`" + ` is 1. A list that is empty or isn't known may be
null.

` + "`pasar show --json`, `why --json`, `ls --json`, `wait --json` and `submit --json`" + ` answer with jobs; ` + "`pasar status --json`" + `
with a status; ` + "`gpus --json`, `drain --json` and `undrain --json`" + ` with GPUs, and ` + "`gpus --history 6h --json`" + ` with how they were used; ` + "`submit --dry-run --json` and `bid --dry-run --json`" + ` with a dry run;
` + "`stats --json`" + ` with statistics; ` + "`plan --json`" + ` with what became of a trace; ` + "`pasar screen --json`" + ` with a screen and ` + "`pasar send --json 42 yes`" + ` with what was typed; ` + "`logs --json`" + ` with lines of output;
` + "`pasar events --json`" + ` with what befell a job; ` + "`pasar facts --json`" + ` with facts; ` + "`cancel --json`, `hold --json`" + ` and the like with what became of each job.
What awaits approval, what an attempt reported of its progress and what it used, and what changes of jobs, are answers of the protocol, to ` + "`approvals`, `metrics`, `usage` and `changes`" + `;
HTTP has them as well. The mascot is an answer of HTTP alone.
A certificate is a file, which ` + "`certificate`" + ` of an attempt names.
`

func TestTheListOfJSONKeysIsFresh(t *testing.T) {
	g := newGenerator(t, "..")
	g.out.WriteString(jsonHead)
	g.out.WriteString(jsonHTTP)
	for _, path := range []string{"../answer/outcome.go", "../answer/submit.go", "../answer/wait.go", "../answer/error.go", "../answer/logs.go"} {
		g.read(path)
	}
	g.section("A job", "JobView")
	g.section("The status", "StatusView")
	g.section("GPUs", "GPUsView")
	g.section("How GPUs were used", "GPUHistoryView")
	g.section("A dry run", "PlanView")
	g.section("Statistics", "StatsView")
	g.section("A trace", "TraceView")
	g.section("A screen", "ScreenView")
	g.section("What was typed", "SentView")
	g.section("What awaits approval", "ApprovalsView")
	g.section("What an attempt reported", "MetricsView")
	g.section("What an attempt used", "AttemptUsageView")
	g.section("A job's life", "JobEventsView")
	g.section("What changes", "ChangesView")
	g.section("The mascot", "MascotView")
	g.section("Error", "ErrorView")
	g.section("What became of jobs", "OutcomesView")
	g.section("A group", "GroupView")
	g.section("A line of output", "logLine")
	g.section("A wait that took too long", "TimedOutView")
	g.facts()
	for _, path := range []string{"../daemon/certificate.go", "../autopsy/autopsy.go", "../autopsy/xid.go"} {
		g.read(path)
	}
	g.section("A certificate", "Certificate")
	checkFresh(t, "json.md", g.out.String())
}

// A generator writes what it finds in the root package's source: the types, their comments and the
// comments of their fields.
type generator struct {
	t     *testing.T
	types map[string]*ast.TypeSpec
	docs  map[string]string
	done  map[string]bool
	queue []string
	out   strings.Builder
}

func newGenerator(t *testing.T, dir string) *generator {
	t.Helper()
	g := &generator{t: t, types: map[string]*ast.TypeSpec{}, docs: map[string]string{}, done: map[string]bool{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		g.read(dir + "/" + e.Name())
	}
	return g
}

// read takes in the types of a file.
func (g *generator) read(path string) {
	g.t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		g.t.Fatal(err)
	}
	for _, d := range f.Decls {
		if gd, ok := d.(*ast.GenDecl); ok && gd.Tok == token.TYPE {
			for _, s := range gd.Specs {
				ts := s.(*ast.TypeSpec)
				g.types[ts.Name.Name] = ts
				g.docs[ts.Name.Name] = strings.Join(strings.Fields(gd.Doc.Text()), " ")
			}
		}
	}
}

// section writes a type and then each type that it needs and that has not been written.
func (g *generator) section(title, name string) {
	fmt.Fprintf(&g.out, "\n## %s\n", title)
	g.queue = append(g.queue, name)
	first := true
	for len(g.queue) > 0 {
		name, g.queue = g.queue[0], g.queue[1:]
		if g.done[name] {
			continue
		}
		g.done[name] = true
		if !first {
			fmt.Fprintf(&g.out, "\n### %s\n", g.title(name))
		}
		first = false
		fmt.Fprintf(&g.out, "\n%s\n\n| key | value | |\n|---|---|---|\n", g.docs[name])
		g.rows(name)
	}
}

func (g *generator) rows(name string) {
	st, ok := g.types[name].Type.(*ast.StructType)
	if !ok {
		g.t.Fatalf("%s is not a struct", name)
	}
	for _, f := range st.Fields.List {
		if len(f.Names) == 0 { // embedded: its keys stand here
			g.rows(typeName(f.Type))
			continue
		}
		key, value, ok := g.field(name, f)
		if !ok {
			continue
		}
		about := strings.Join(strings.Fields(f.Comment.Text()+" "+f.Doc.Text()), " ")
		fmt.Fprintf(&g.out, "| `%s` | %s | %s |\n", key, value, strings.ReplaceAll(about, "|", `\|`))
	}
}

// field is a field's key and value in words; ok is false for what JSON doesn't show.
func (g *generator) field(owner string, f *ast.Field) (key, value string, ok bool) {
	if f.Tag == nil {
		return "", "", false // only the program's
	}
	tag, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		g.t.Fatal(err)
	}
	key, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	if key == "-" || key == "" {
		return "", "", false
	}
	value = g.value(f.Type)
	if options != "" {
		value = strings.TrimSuffix(value, " or null")
		if owner == "Event" { // Event.MarshalJSON writes null where the tag would leave the key out
			value += " or null"
		} else {
			value += ", or left out"
		}
	}
	return key, value, true
}

var words = map[string]string{
	"string": "string", "bool": "true or false", "int": "integer", "int64": "integer", "uint64": "integer", "float64": "number",
	"Bytes": "bytes", "Duration": "seconds", "Money": "dollars", "time.Time": "time", "VerdictMark": "list of strings", "AttemptMark": "list of strings", "EventMark": "list of strings", "Arg": "string, or `{\"base64\": …}`",
}

func (g *generator) value(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		if _, ok := e.X.(*ast.StructType); ok {
			return "null" // a part that isn't built yet
		}
		return g.value(e.X) + " or null"
	case *ast.ArrayType:
		return "list of " + plural(g.value(e.Elt))
	case *ast.MapType:
		return "object: " + g.value(e.Key) + " → " + g.value(e.Value)
	case *ast.SelectorExpr:
		if w, ok := words[e.X.(*ast.Ident).Name+"."+e.Sel.Name]; ok {
			return w
		}
		return g.value(e.Sel) // a type of ours
	case *ast.Ident:
		if w, ok := words[e.Name]; ok {
			return w
		}
		ts, ok := g.types[e.Name]
		if !ok {
			g.t.Fatalf("no words for type %s", e.Name)
		}
		if _, ok := ts.Type.(*ast.StructType); ok {
			g.queue = append(g.queue, e.Name)
			return "[" + g.title(e.Name) + "](#" + strings.ReplaceAll(strings.ToLower(g.title(e.Name)), " ", "-") + ")"
		}
		return g.value(ts.Type)
	}
	g.t.Fatalf("no words for %T", e)
	return ""
}

// typeName is the name of a type, without its package.
func typeName(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		return s.Sel.Name
	}
	return e.(*ast.Ident).Name
}

func plural(s string) string {
	switch {
	case strings.HasPrefix(s, "["), strings.Contains(s, ","):
		return s
	}
	return s + "s"
}

// title is the heading of a type. One that is kept has another than what is shown of it.
func (g *generator) title(name string) string {
	if g.done[name+"View"] {
		return title4(name) + " as kept"
	}
	return title4(name)
}

// title4 makes a heading of a type's name: "AttemptView" is "Attempt".
func title4(name string) string {
	var b strings.Builder
	for i, r := range strings.TrimSuffix(name, "View") {
		if i > 0 && r >= 'A' && r <= 'Z' && !strings.HasPrefix(name, "GPU") {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// facts writes each kind of fact, in the order of the source.
func (g *generator) facts() {
	g.out.WriteString("\n## Facts\n\nEach is `{\"seq\", \"kind\", \"at\", \"mono\", \"boot\", \"fact\"}`: `seq` counts from 1 without gaps, `mono` is seconds of the\n" +
		"clock since boot (which also counts suspends) and `boot` names that boot. `fact` holds the keys below.\n\n| kind | keys of `fact` | |\n|---|---|---|\n")
	f, err := parser.ParseFile(token.NewFileSet(), "../fact.go", nil, 0)
	if err != nil {
		g.t.Fatal(err)
	}
	kinds := map[string]string{} // constant → kind
	var order []string           // types
	byType := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			if id, ok := n.Type.(*ast.Ident); ok && id.Name == "FactKind" {
				kinds[n.Names[0].Name], _ = strconv.Unquote(n.Values[0].(*ast.BasicLit).Value)
			}
		case *ast.FuncDecl:
			if n.Name.Name == "Kind" {
				typ := n.Recv.List[0].Type.(*ast.Ident).Name
				order = append(order, typ)
				byType[typ] = n.Body.List[0].(*ast.ReturnStmt).Results[0].(*ast.Ident).Name
			}
		}
		return true
	})
	for _, typ := range order {
		var keys []string
		for _, fl := range g.types[typ].Type.(*ast.StructType).Fields.List {
			if key, _, ok := g.field(typ, fl); ok {
				keys = append(keys, "`"+key+"`")
			}
		}
		fmt.Fprintf(&g.out, "| `%s` | %s | %s |\n", kinds[byType[typ]], strings.Join(keys, " "), strings.ReplaceAll(g.docs[typ], "|", `\|`))
	}
	g.queue = nil
}
