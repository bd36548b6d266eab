package autopsy

import (
	"slices"
	"testing"
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

// KnownBy is the names of the rules that know a line of a log.
func KnownBy(log string) map[string]bool {
	known := map[string]bool{}
	r := read(ReadLog([]byte(log), 1), nil)
	for _, causes := range [][]cause{r.alive, r.past} {
		for _, c := range causes {
			if c.rule != nil {
				known[c.rule.name] = true
			}
		}
	}
	return known
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
