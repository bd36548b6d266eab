package docs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documents are all that show commands to people.
func documents(t *testing.T) map[string]string {
	t.Helper()
	docs := map[string]string{}
	for _, pattern := range []string{"*.md", "guide/*.md", "../*.md", "../examples/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			docs[name] = string(b)
		}
	}
	return docs
}

// A commandTable is what `pasar help --json` says.
type commandTable struct {
	Commands []struct {
		Name    string
		Aliases []string
		Flags   []struct{ Name, Short string }
	}
}

// checkExist holds that every command in a document is one that pasar has, with the flags it has.
func checkExist(t *testing.T, m *market) {
	code, out := m.run("pasar help --json")
	var table commandTable
	if err := json.Unmarshal([]byte(out), &table); err != nil || code != 0 {
		t.Fatalf("pasar help --json: exit %d, %v", code, err)
	}
	flags := map[string][]string{}
	for _, c := range table.Commands {
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			for _, f := range c.Flags {
				flags[name] = append(flags[name], "--"+f.Name, "-"+f.Short)
			}
		}
	}
	seen := map[string]bool{}
	for file, text := range documents(t) {
		for _, line := range commandsIn(text) {
			name, rest := splitCommand(line)
			known, ok := flags[name]
			if !ok {
				t.Errorf("%s: there is no command %q: %s", file, name, line)
				continue
			}
			seen[name] = true
			for _, f := range rest {
				if !slices.Contains(known, f) {
					t.Errorf("%s: pasar %s has no flag %s: %s", file, name, f, line)
				}
			}
		}
	}
	if len(seen) < 15 {
		t.Errorf("only %d commands were found in the documents", len(seen))
	}
}

var (
	fence  = regexp.MustCompile("(?s)```sh\n(.*?)```")
	block  = regexp.MustCompile("(?s)```.*?```")
	inline = regexp.MustCompile("`(pasar [^`]+)`")
	start  = regexp.MustCompile(`(?:^|[;&|(]\s*|\$\()pasar ([a-z].*)$`)
)

// Separators of commands don't count inside quotes.
var (
	separators = regexp.MustCompile(`[;|]|&&`)
	quoted     = regexp.MustCompile(`'[^']*'`)
)

const hidden = "\x00"

func hide(s string) string { return strings.ReplaceAll(s, "&&", hidden) }

// commandsIn finds command lines of pasar's, without the program's name.
func commandsIn(text string) []string {
	var lines []string
	add := func(s string) {
		s, _, _ = strings.Cut(s, " #")
		for _, part := range separators.Split(quoted.ReplaceAllStringFunc(s, hide), -1) {
			if m := start.FindStringSubmatch(strings.TrimSpace(part)); m != nil {
				lines = append(lines, strings.ReplaceAll(strings.TrimRight(m[1], " )"), hidden, "&&"))
			}
		}
	}
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(m[1]) {
			add(strings.TrimSuffix(line, "\n"))
		}
	}
	for _, m := range inline.FindAllStringSubmatch(block.ReplaceAllString(text, ""), -1) {
		add(m[1])
	}
	return lines
}

// splitCommand is a command's name and the flags that are its own: those before the job's command.
func splitCommand(line string) (name string, flags []string) {
	words := strings.Fields(line)
	for _, w := range words[1:] {
		if w == "--" || strings.HasPrefix(w, "'") {
			break
		}
		if w = strings.TrimRight(w, ".,:"); strings.HasPrefix(w, "-") {
			w, _, _ = strings.Cut(w, "=")
			flags = append(flags, w)
		}
	}
	return words[0], flags
}

func TestEveryMakeTargetInADocumentExists(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	inFence, inLine := regexp.MustCompile(`(?m)^make ([a-z]+)\b`), regexp.MustCompile("`make ([a-z]+)[^`]*`")
	n := 0
	for file, text := range documents(t) {
		found := inLine.FindAllStringSubmatch(text, -1)
		for _, m := range fence.FindAllStringSubmatch(text, -1) {
			found = append(found, inFence.FindAllStringSubmatch(m[1], -1)...)
		}
		for _, m := range found {
			n++
			if !strings.Contains(string(makefile), "\n"+m[1]+":") {
				t.Errorf("%s: there is no target %s", file, m[1])
			}
		}
	}
	if n < 5 {
		t.Errorf("only %d targets were found in the documents", n)
	}
}

func TestEveryFileThatADocumentLinksExists(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	for file, text := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), m[1])); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// What a program is started with, every user of a machine can read.
func TestNoTokenIsShownInTheArgumentsOfAProgram(t *testing.T) {
	texts := documents(t)
	for _, pattern := range []string{"../cmd/*/*.go", "../ui/web/*.go", "../remote/*.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(names, err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			texts[name] = string(b)
		}
	}
	shown := regexp.MustCompile(`(-H|--header|--oauth2-bearer)[ =]?["'](Authorization|\$)`)
	for file, text := range texts {
		if found := shown.FindString(text); found != "" && !strings.HasSuffix(file, "_test.go") {
			t.Errorf("%s: %s", file, found)
		}
	}
}
