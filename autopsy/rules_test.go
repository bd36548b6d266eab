package autopsy

import (
	"slices"
	"strings"
	"testing"

	"pasar"
)

// UseRulesWithout takes one rule of logs away for the length of a test.
func UseRulesWithout(t testing.TB, name string) {
	t.Helper()
	whole := book
	less := &rulebook{rules: slices.Clone(whole().rules), index: whole().index}
	i := slices.IndexFunc(less.rules, func(r *logRule) bool { return r.name == name })
	if i < 0 {
		t.Fatalf("no rule %q", name)
	}
	less.rules[i] = &logRule{name: "taken away"} // it has no literals, so it knows no line
	book = func() *rulebook { return less }
	t.Cleanup(func() { book = whole })
}

// RuleNames is the names of the rules of logs, in the order in which they are tried.
func RuleNames() []string {
	var names []string
	for _, r := range book().rules {
		names = append(names, r.name)
	}
	return names
}

// MayKnow is the names of the rules of logs that look for something that a log has.
func MayKnow(log string) []string {
	var names []string
	for _, id := range book().index.find(nil, []byte(strings.ToLower(log))) {
		if id < len(book().rules) {
			names = append(names, book().rules[id].name)
		}
	}
	return names
}

// CodeOf is the reason that a rule of logs gives.
func CodeOf(name string) pasar.Code {
	i := slices.IndexFunc(book().rules, func(r *logRule) bool { return r.name == name })
	return book().rules[i].code
}

func TestRulesOfLogsAreNamedAndCanBeFound(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range book().rules {
		if r.name == "" || seen[r.name] {
			t.Errorf("rule %q of %s: no name, or one of two", r.name, r.code)
		}
		seen[r.name] = true
		if _, ok := factsOf[r.code]; !ok {
			t.Errorf("rule %q gives %q, of which no facts are known", r.name, r.code)
		}
		if r.kind != follows && r.sure == "" {
			t.Errorf("rule %q doesn't say how sure it is", r.name)
		}
	}
}
