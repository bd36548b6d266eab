package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryCaseNamesATestThatIsThere reads docs/cases.md: what is in its last column must exist.
func TestEveryCaseNamesATestThatIsThere(t *testing.T) {
	b, err := os.ReadFile("cases.md")
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{} // by package
	source := func(pkg string) string {
		if s, ok := sources[pkg]; ok {
			return s
		}
		files, _ := filepath.Glob(filepath.Join("..", pkg, "*_test.go"))
		var all strings.Builder
		for _, f := range files {
			if b, err := os.ReadFile(f); err == nil {
				all.Write(b)
			}
		}
		sources[pkg] = all.String()
		return all.String()
	}
	cases := 0
	for line := range strings.Lines(string(b)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.HasPrefix(strings.TrimSpace(cells[1]), "-") || strings.TrimSpace(cells[3]) == "held by" {
			continue
		}
		cases++
		held := regexp.MustCompile("`[^`]+`").FindAllString(cells[3], -1)
		if len(held) == 0 {
			t.Errorf("nothing holds %s", line)
		}
		for _, h := range held {
			where, what, _ := strings.Cut(strings.Trim(h, "`"), " ")
			switch {
			case where == "test/systemd":
				if _, err := os.Stat("../test/systemd/run.sh"); err != nil {
					t.Error(err)
				}
			case where == "bench":
				if main, err := os.ReadFile("../bench/main.go"); err != nil || !strings.Contains(string(main), `{"`+what+`", `) {
					t.Errorf("case %s: there is no row %s of the report", cells[1], what)
				}
			case !strings.Contains(source(where), "\nfunc "+what+"("):
				t.Errorf("case %s: there is no %s in %s", cells[1], what, where)
			}
		}
	}
	if cases < 80 {
		t.Errorf("%d cases were found", cases)
	}
}
