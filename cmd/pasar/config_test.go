package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pasar/config"
	"pasar/docs"
)

func TestTheConfigGuideListsEveryKey(t *testing.T) {
	var table strings.Builder
	table.WriteString("| key | default | changes | |\n|---|---|---|---|\n")
	for _, d := range config.Describe() {
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", d.Key, d.Default, d.Applies, d.About)
	}
	const begin, end = "-update` -->\n", "<!-- end of keys -->"
	path := filepath.Join("..", "..", "docs", "guide", "config.md")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(b), begin)
	old, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatal("the guide has no marks")
	}
	if *update {
		if err := os.WriteFile(path, []byte(head+begin+table.String()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != table.String() {
		t.Errorf("%s is out of date; write it anew with -update:\n%swant\n%s", path, old, table.String())
	}
}

func TestTheConfigGuidesSampleIsRight(t *testing.T) {
	text, err := docs.Guide("config")
	if err != nil {
		t.Fatal(err)
	}
	_, sample, ok := strings.Cut(text, "```toml\n")
	sample, _, ok2 := strings.Cut(sample, "```")
	if !ok || !ok2 {
		t.Fatal("no sample")
	}
	file := filepath.Join(t.TempDir(), "c.toml")
	if err := os.WriteFile(file, []byte(sample), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := runIn(t, t.Context(), noDaemon(t), "config", "--check", file); r.code != 0 {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
}

func TestConfigSaysWhatEachKeyDoesAndWhenItChanges(t *testing.T) {
	shown := runIn(t, t.Context(), noDaemon(t), "config")
	described := runIn(t, t.Context(), noDaemon(t), "config", "--describe")
	asJSON := runIn(t, t.Context(), noDaemon(t), "config", "--json")
	for _, d := range config.Describe() {
		if d.Applies == config.NotYet {
			continue
		}
		if !strings.Contains(shown.out, "\n"+d.Key+" ") || !strings.Contains(described.out, d.About) || !strings.Contains(asJSON.out, `"about":"`+d.About) {
			t.Errorf("%s is not told of", d.Key)
		}
	}
	if !strings.Contains(shown.out, "16 GiB, at most a quarter of RAM") || !strings.Contains(shown.out, "at restart") {
		t.Error(shown.out)
	}
}
