package pasar_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// A rule is one line of the import table: what a package of pasar's may import of pasar's others.
// Its own X/Xtest, and the Y/Ytest of what it may import, are open to its tests.
type rule struct {
	pkg   string   // under the module; a last element of * stands for any one name
	may   []string // "*" is everything; a last element of * as above
	tests []string // beyond that, only in _test.go files
	why   string   // why it may import nothing else
}

var table = []rule{
	{"pasar", nil, nil,
		"the nouns are at the bottom of everything: an import of ours would be a cycle, and a library's types would be everyone's"},
	{"vt", nil, nil,
		"a screen model is true of terminals, not of jobs; alone it can be fuzzed and measured alone"},
	{"sched", []string{"pasar"}, nil,
		"a decision is a pure function: with the store, a target or the wire in reach it would soon depend on when it is asked"},
	{"sched/schedtest", []string{"pasar", "sched"}, nil,
		"scenarios must speak about the scheduler, not about a daemon around it"},
	{"autopsy", []string{"pasar"}, []string{"autopsy/score"},
		"a verdict rests on evidence that it is given; if it could look for more, it could not be repeated"},
	{"autopsy/score", []string{"pasar", "autopsy", "gpu"}, nil,
		"cases are scored as a daemon would judge them: from evidence alone, with what the Xids of a case mean"},
	{"cloud", []string{"pasar"}, nil,
		"rules about money are pure, so that they can be read and tested without a provider"},
	{"store", []string{"pasar"}, nil,
		"the store keeps sequence, kind and bytes; it must not know what they mean to the scheduler or the daemon"},
	{"ipc", []string{"pasar"}, nil,
		"clients and daemon share the wire and nothing else: whatever it imported, both would carry"},
	{"jobproto", []string{"pasar"}, nil,
		"what a job may say is read in the supervisor and in the command line, neither of which is to pull the other in"},
	{"gpu", []string{"pasar"}, nil,
		"devices are described in pasar's nouns; the vendor's library stays behind gpu/nvml"},
	{"gpu/nvml", []string{"pasar", "gpu"}, nil,
		"the only importer of the vendor's library is a leaf, so that all else builds and runs without it"},
	{"gpu/prometheus", []string{"pasar"}, nil,
		"what is asked of another server over HTTP is the business of one leaf, which knows nothing of devices"},
	{"target", []string{"pasar"}, nil,
		"the interface of a place where jobs run has no policy and no transport"},
	{"target/targettest", []string{"pasar", "target"}, nil,
		"one suite for every target knows none of them"},
	{"config", []string{"pasar"}, nil,
		"settings are handed inward value by value; a package that read them itself could not be tested with others"},
	{"jobfile", nil, nil,
		"job files and the comments of scripts are names and values with their lines; what they mean is for whoever has the flags"},
	{"submission", []string{"pasar"}, nil,
		"words and surroundings become a job in the same way for every client, none of which it may know"},
	{"answer", []string{"pasar", "vt", "ipc", "attemptdir"}, nil,
		"what programs are told is the same whoever they ask; it is made of the daemon's answers, and asks nobody"},
	{"remote", []string{"pasar", "ipc"}, nil,
		"a way to another machine carries the protocol and knows none of its requests, for whichever client"},
	{"ui", []string{"pasar"}, nil,
		"rows and wording are pure: the same for the command line, the console and the web, whoever fetched the snapshot"},
	{"docs", nil, []string{"pasar", "ipc"},
		"texts are embedded where they are served; only their freshness tests look at the code they describe"},
	{"examples", nil, []string{"pasar", "jobproto"},
		"programs that run as jobs; what is in Go there only tests them"},
	{"attemptdir", []string{"pasar"}, nil,
		"the format of an attempt's directory is one thing for whoever writes and reads it, and knows neither side"},
	{"supervisor", []string{"pasar", "vt", "ipc", "jobproto", "attemptdir"}, nil,
		"one process per attempt stays small and never needs the daemon to be alive"},
	{"local", []string{"pasar", "target", "ipc", "gpu", "attemptdir"}, nil,
		"a target runs what it is told; it neither decides nor keeps the journal"},
	{"fleet", []string{"pasar", "target", "ipc"}, nil,
		"the near end of a channel is a target like any other"},
	{"fleet/node", []string{"pasar", "target", "ipc", "gpu", "attemptdir"}, nil,
		"the far end of a channel runs in the supervisor's binary on machines that have no daemon"},
	{"cloud/*", []string{"pasar", "cloud", "target"}, nil,
		"an engine speaks to its provider and to no other engine"},
	{"daemon", []string{"pasar", "sched", "autopsy", "cloud", "target", "ipc"}, nil,
		"the owner loop declares the journal, the runner and the meter that it wants; cmd/pasard plugs the real ones in"},
	{"ui/console", []string{"pasar", "vt", "ui", "ipc", "submission", "docs"}, nil,
		"the console is a client: it sees what any client sees"},
	{"ui/web", []string{"pasar", "vt", "ui", "ipc", "answer", "attemptdir", "submission", "docs"}, nil,
		"the web pages are a client: there is no second way in"},
	{"cmd/pasar", []string{"pasar", "vt", "ipc", "answer", "jobproto", "attemptdir", "config", "jobfile", "submission", "remote", "ui", "docs", "fleet", "sched"}, nil,
		"people and scripts start it all day: it links nothing heavy and reaches the daemon by its socket, from afar too"},
	{"cmd/pasar-console", []string{"pasar", "ipc", "config", "submission", "remote", "ui", "ui/*", "docs"}, nil,
		"a client: it reaches the daemon by the socket, or as the command line does from afar"},
	{"cmd/pasar-mcp", []string{"pasar", "ipc", "config", "ui", "ui/*", "docs"}, nil,
		"a client: it reaches the daemon by the socket alone"},
	{"cmd/pasar-supervisor", []string{"pasar", "ipc", "jobproto", "supervisor", "fleet/node", "gpu"}, nil,
		"a small static binary that is copied to other machines"},
	{"cmd/pasard", []string{"*"}, nil, "it alone wires things together"},
	{"bench", []string{"pasar", "ipc"}, nil,
		"it measures the programs from outside, as their users meet them, and speaks to the daemon as any client"},
	{"test/deaths", []string{"pasar", "autopsy/score"}, nil,
		"it prints scores, and makes none"},
	{"bench/job", nil, nil, "what measured jobs run stands for anybody's program: it knows nothing of pasar"},
}

// A dependency is a module from outside and who may import it. Types of a library stay in the package
// that needed it.
type dependency struct {
	module string
	pkgs   []string // "*" is everyone
	tests  []string // beyond that, only in _test.go files
	why    string
}

var dependencies = []dependency{
	{"github.com/creack/pty", []string{"supervisor"}, []string{"*"}, "opens a terminal's two ends"},
	{"github.com/vmihailenco/msgpack/v5", []string{"ipc", "daemon"}, nil, "the encoding of frames, and of the daemon's snapshots, which a client waits for at start; elsewhere frames are ipc's structs"},
	{"github.com/BurntSushi/toml", []string{"config", "jobfile"}, nil, "reads the configuration and job files, with the line of a mistake"},
	{"github.com/goccy/go-yaml", []string{"jobfile"}, nil, "reads job files in YAML, with lines; of it only the parser, which compiles no patterns at start as the others do"},
	{"zombiezen.com/go/sqlite", []string{"store"}, nil, "the database; elsewhere it is a journal"},
	{"github.com/coreos/go-systemd/v22", []string{"local", "cmd/pasard"}, nil, "transient units over the bus, readiness, the watchdog, sockets that systemd opened"},
	{"github.com/godbus/dbus/v5", []string{"local", "cmd/pasard"}, nil, "the bus beneath go-systemd: its values and errors, and logind's answers"},
	{"github.com/spf13/pflag", []string{"cmd/pasar", "cmd/pasard", "cmd/pasar-console"}, nil, "flags as people know them, at next to no start-up time"},
	{"github.com/rivo/tview", []string{"ui/console"}, nil, "an application's loop, focus, forms and the mouse; pasar-console alone links it"},
	{"github.com/gdamore/tcell/v2", []string{"ui/console", "cmd/pasar-console"}, nil, "a terminal's input and output under tview: keys, cells and colours of any terminal"},
	{"github.com/coder/websocket", []string{"ui/web"}, []string{"cmd/pasard"}, "frames and handshakes of WebSockets, over which a page attaches to a terminal"},
	{"github.com/NVIDIA/go-nvml", []string{"gpu/nvml"}, nil, "the vendor's own binding of its library: structs of thirty versions that aren't ours to keep"},
	{"golang.org/x/sys", []string{"*"}, nil, "system calls that package syscall lacks"},
	{"golang.org/x/term", []string{"cmd/pasar", "cmd/pasar-console"}, nil, "raw mode and the size of a client's terminal"},
	{"github.com/prometheus/client_golang", []string{"ui/web"}, nil, "Prometheus's formats, of which a client may ask for one, with their escapes and rules"},
	{"github.com/mattn/go-runewidth", []string{"vt", "ui", "cmd/pasar"}, nil, "how many cells a character takes"},
	{"github.com/chromedp/chromedp", nil, []string{"cmd/pasard"}, "drives a real browser over the pages"},
	{"github.com/chromedp/cdproto", nil, []string{"cmd/pasard"}, "the browser's protocol under chromedp: what a page's console says, what its policy refused"},
	{"github.com/rogpeppe/go-internal", nil, []string{"*"}, "command-line tests as scripts"},
}

// badNames are names that say nothing about what is inside.
var badNames = []string{"util", "utils", "common", "types", "manager", "helper", "helpers", "misc", "base"}

func TestImportsGoOneWay(t *testing.T) {
	for _, p := range checkImports(os.DirFS(".")) {
		t.Error(p)
	}
}

func TestEveryBanHasAReason(t *testing.T) {
	for _, r := range table {
		if len(r.why) < 20 {
			t.Errorf("%s: no reason is given", r.pkg)
		}
	}
	for _, d := range dependencies {
		if d.why == "" {
			t.Errorf("%s: no reason is given", d.module)
		}
	}
}

func TestTheImportCheckFindsWhatIsBroken(t *testing.T) {
	for _, c := range []struct{ file, imports, want string }{
		{"sched/x.go", `"pasar/store"`, "sched imports store: "},
		{"sched/x.go", `"pasar/store"`, "a decision is a pure function"},
		{"pasar.go", `"pasar/ipc"`, "pasar imports ipc: "},
		{"ui/x.go", `"pasar/daemon"`, "ui imports daemon: "},
		{"ui/x_test.go", `"pasar/daemon"`, "ui imports daemon: "},
		{"store/x.go", `"pasar/target/targettest"`, "store imports target/targettest: only tests may"},
		{"local/x.go", `"pasar/target/targettest"`, "local imports target/targettest: only tests may"},
		{"store/x_test.go", `"pasar/target/targettest"`, "store imports target/targettest: "},
		{"docs/x.go", `"pasar/ipc"`, "docs imports ipc: "},
		{"cloud/modal/x.go", `"pasar/cloud/slurm"`, "cloud/modal imports cloud/slurm: "},
		{"market/x.go", `"fmt"`, "market is not in the import table"},
		{"ui/util/x.go", `"fmt"`, "ui/util: a name that says nothing"},
		{"daemon/x.go", `"zombiezen.com/go/sqlite/sqlitex"`, "daemon imports zombiezen.com/go/sqlite/sqlitex: only store"},
		{"store/x.go", `"github.com/some/thing"`, "store imports github.com/some/thing, which is not in the table of dependencies"},
		{"store/x.go", `"github.com/rogpeppe/go-internal/testscript"`, "only tests may"},
		{"store/x.go", `"C"`, "store imports C: pasar is built without cgo"},
		{"store/x.go", `fmt`, "store/x.go:2:"},
		{"local/x_test.go", `"pasar/target/targettest"`, ""},
		{"store/x_test.go", `"pasar/store"`, ""},
		{"docs/x_test.go", `"pasar/ipc"`, ""},
		{"cmd/pasard/x.go", `"pasar/store"`, ""},
		{"cloud/modal/x.go", `"pasar/target"`, ""},
		{"store/testdata/x.go", `"pasar/daemon"`, ""},
		{"store/x_test.go", `"github.com/rogpeppe/go-internal/testscript"`, ""},
	} {
		got := strings.Join(checkImports(fstest.MapFS{
			c.file: {Data: []byte("package x\nimport " + c.imports + "\n")},
		}), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s with %s: %q; want %q", c.file, c.imports, got, c.want)
		}
	}
}

// checkImports says what in a source tree is against the tables.
func checkImports(tree fs.FS) []string {
	var problems []string
	unlisted := map[string]bool{}
	err := walkGo(tree, func(file string, src []byte) error {
		pkg := packageOf(file)
		r, listed := ruleFor(pkg)
		if !listed && !unlisted[pkg] {
			unlisted[pkg] = true
			problems = append(problems, pkg+" is not in the import table: add a line that says what it may import, and why no more")
		}
		if slices.Contains(badNames, path.Base(pkg)) {
			problems = append(problems, pkg+": a name that says nothing about what is inside")
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ImportsOnly)
		if err != nil {
			problems = append(problems, err.Error())
			return nil
		}
		for _, spec := range f.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if p := checkImport(r, pkg, imp, strings.HasSuffix(file, "_test.go")); p != "" {
				problems = append(problems, fmt.Sprintf("%s: %s", file, p))
			}
		}
		return nil
	})
	if err != nil {
		problems = append(problems, err.Error())
	}
	return problems
}

func checkImport(r rule, pkg, imp string, test bool) string {
	if imp == "C" {
		return pkg + " imports C: pasar is built without cgo, so that one binary runs anywhere"
	}
	first, _, _ := strings.Cut(imp, "/")
	if first == "pasar" {
		return checkInternal(r, pkg, packageOf(strings.TrimPrefix(imp, "pasar/")+"/x.go"), imp == "pasar", test)
	}
	if !strings.Contains(first, ".") {
		return "" // the standard library
	}
	for _, d := range dependencies {
		if imp != d.module && !strings.HasPrefix(imp, d.module+"/") {
			continue
		}
		switch {
		case matchAny(d.pkgs, pkg), test && matchAny(d.tests, pkg):
			return ""
		case matchAny(d.tests, pkg):
			return fmt.Sprintf("%s imports %s: only tests may", pkg, imp)
		}
		return fmt.Sprintf("%s imports %s: only %s may (%s)", pkg, imp, strings.Join(d.pkgs, " and "), d.why)
	}
	return fmt.Sprintf("%s imports %s, which is not in the table of dependencies", pkg, imp)
}

func checkInternal(r rule, pkg, imp string, root, test bool) string {
	if root {
		imp = "pasar"
	}
	if x := path.Dir(imp); path.Base(imp) == path.Base(x)+"test" {
		switch {
		case !test:
			return fmt.Sprintf("%s imports %s: only tests may", pkg, imp)
		case x == pkg || matchAny(r.may, x):
			return ""
		}
	}
	if matchAny(r.may, imp) || test && (imp == pkg || matchAny(r.tests, imp)) {
		return ""
	}
	return fmt.Sprintf("%s imports %s: %s", pkg, imp, r.why)
}

func matchAny(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return p == "*" || match(p, pkg) })
}

func match(pattern, pkg string) bool {
	ok, err := path.Match(pattern, pkg)
	return err == nil && ok
}

func ruleFor(pkg string) (rule, bool) {
	for _, r := range table {
		if match(r.pkg, pkg) {
			return r, true
		}
	}
	return rule{}, false
}

// packageOf names the package of a file by its directory under the module; the root's is "pasar".
func packageOf(file string) string {
	if dir := path.Dir(file); dir != "." {
		return dir
	}
	return "pasar"
}

// walkGo calls f with each Go file of the tree that belongs to a package of ours.
func walkGo(tree fs.FS, f func(file string, src []byte) error) error {
	return fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := path.Base(name); d.IsDir() && name != "." &&
			(base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || name == "bin" || name == "shared") {
			return fs.SkipDir
		}
		if d.IsDir() || path.Ext(name) != ".go" {
			return nil
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		return f(name, src)
	})
}
