package web

import (
	"os"
	"strings"
	"testing"
)

func TestEveryPathOfTheAPIIsInTheDocuments(t *testing.T) {
	b, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, list := range allRoutes() {
		for _, rt := range list {
			path := strings.ReplaceAll(rt.pattern, "{id}", "42")
			if !strings.Contains(path, " /api/") {
				continue
			}
			n++
			if !strings.Contains(string(b), "`"+path+"`") {
				t.Errorf("docs/json.md doesn't say what %s answers with", path)
			}
		}
	}
	if n < 25 {
		t.Errorf("only %d paths were found", n)
	}
}
