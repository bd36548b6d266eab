package web

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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

// asWritten is a route's pattern as the guide has it.
func asWritten(pattern string) string {
	return strings.NewReplacer("{id}", "42", "{topic}", "TOPIC", "{file...}", "FILE", "{file}", "busy.svg", "{$}", "").Replace(pattern)
}

// rowsOf are what the rows of the guide's table of requests are about, of each the requests, without their queries.
func rowsOf(t *testing.T, guide string) (rows [][]string) {
	t.Helper()
	_, table, ok := strings.Cut(guide, "| request | as |\n|---|---|\n")
	if table, _, _ = strings.Cut(table, "\n\n"); !ok {
		t.Fatal("the guide has no table of requests")
	}
	span := regexp.MustCompile("`([^`]+)`")
	for row := range strings.Lines(table) {
		var requests []string
		method, dir := "GET", "" // a WebSocket is asked for so
		for _, m := range span.FindAllStringSubmatch(strings.Split(row, " | ")[0], -1) {
			word, _, _ := strings.Cut(m[1], "?")
			if verb, path, ok := strings.Cut(word, " "); ok {
				method, word = verb, path
			}
			switch {
			case strings.HasPrefix(word, "/"):
				dir = word[:strings.LastIndexByte(word, '/')+1]
			case regexp.MustCompile("^[a-z]+$").MatchString(word): // the same of another verb
				word = dir + word
			default:
				continue // a header
			}
			requests = append(requests, method+" "+word)
		}
		rows = append(rows, requests)
	}
	return rows
}

func TestTheGuideHasARowForEveryRequest(t *testing.T) {
	b, err := os.ReadFile("../../docs/guide/api.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := rowsOf(t, string(b))
	told := slices.Concat(rows...)
	var all, open []string
	for _, list := range allRoutes() {
		for _, rt := range list {
			path := asWritten(rt.pattern)
			if all = append(all, path); rt.who == anybody {
				open = append(open, path)
			}
			if !slices.Contains(told, path) {
				t.Errorf("the guide has no row for %s", path)
			}
		}
	}
	for _, path := range told {
		if !slices.Contains(all, path) {
			t.Errorf("the guide has a row for %s, which there is not", path)
		}
	}
	slices.Sort(open)
	if last := slices.Sorted(slices.Values(rows[len(rows)-1])); !slices.Equal(last, open) {
		t.Errorf("open to everybody are %q; the guide says %q", open, last)
	}
}

func TestTheGuideHasEveryStatusOfAnError(t *testing.T) {
	b, err := os.ReadFile("../../docs/guide/api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(b), "An error has the JSON of every error, and a status: ")
	list, _, ok := strings.Cut(list, "\n\n")
	if !ok {
		t.Fatal("the guide lists no statuses")
	}
	numbers := map[string]int{} // by the names of package http
	for n := 400; n < 600; n++ {
		numbers[strings.ReplaceAll(http.StatusText(n), " ", "")] = n
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`http\.Status([A-Z]\w+)`).FindAllSubmatch(src, -1) {
			status := numbers[string(m[1])]
			if status == 0 || strings.HasSuffix(file, "_test.go") {
				continue
			}
			n++
			if !slices.Contains(strings.Fields(list), strconv.Itoa(status)) {
				t.Errorf("%s answers with %d, which the guide doesn't list", file, status)
			}
		}
	}
	if n < 30 {
		t.Errorf("only %d statuses were found", n)
	}
}
