package autopsy_test

import (
	"maps"
	"slices"
	"testing"

	"pasar/autopsy"
	"pasar/autopsy/score"
)

// TestEveryRuleOfLogsIsNeeded takes the rules away one by one: then a death is told wrong, so that
// TestLabelledDeathsAreToldRight fails.
func TestEveryRuleOfLogsIsNeeded(t *testing.T) {
	var cases []score.Case
	for _, path := range files {
		cases = append(cases, readCases(t, path)...)
	}
	knows := map[string][]int{}
	for i, c := range cases {
		for _, name := range slices.Sorted(maps.Keys(autopsy.KnownBy(c.Log))) {
			knows[name] = append(knows[name], i)
		}
	}
	for _, name := range autopsy.RuleNames() {
		t.Run(name, func(t *testing.T) {
			autopsy.UseRulesWithout(t, name)
			for _, i := range knows[name] {
				m, err := score.Grade(cases[i])
				if err != nil {
					t.Fatal(err)
				}
				if !right(m) {
					return
				}
			}
			t.Errorf("of %d deaths in which rule %q knows a line, all are told right without it", len(knows[name]), name)
		})
	}
}
