package autopsy_test

import (
	"cmp"
	"slices"
	"testing"

	"pasar/autopsy"
	"pasar/autopsy/score"
)

// TestEveryRuleOfLogsIsNeeded takes the rules away one by one: then a death is told wrong, so that
// TestLabelledDeathsAreToldRight fails.
func TestEveryRuleOfLogsIsNeeded(t *testing.T) {
	if raced {
		t.Skip("rules are taken away without the race detector: `make test` does both")
	}
	var cases []score.Case
	for _, path := range files {
		cases = append(cases, readCases(t, path)...)
	}
	may := map[string][]int{}
	for i, c := range cases {
		for _, name := range autopsy.MayKnow(c.Log) {
			may[name] = append(may[name], i)
		}
	}
	for _, name := range autopsy.RuleNames() {
		t.Run(name, func(t *testing.T) {
			code, deaths := autopsy.CodeOf(name), may[name]
			slices.SortStableFunc(deaths, func(a, b int) int { // what is read soonest, of what is likelier to need it
				ofCode := func(i int) int {
					if cases[i].Expect.Reason == code {
						return 0
					}
					return 1
				}
				return cmp.Or(ofCode(a)-ofCode(b), len(cases[a].Log)-len(cases[b].Log))
			})
			autopsy.UseRulesWithout(t, name)
			for _, i := range deaths {
				m, err := score.Grade(cases[i])
				if err != nil {
					t.Fatal(err)
				}
				if !right(m) {
					return
				}
			}
			t.Errorf("of %d deaths with what rule %q looks for, all are told right without it", len(deaths), name)
		})
	}
}
