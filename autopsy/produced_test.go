package autopsy_test

import (
	"testing"

	"pasar/autopsy/score"
)

// The deaths of produced.jsonl were produced by running the programs of TestDeathsAreTold in cmd/pasard, which
// writes the file anew.
func TestDeathsThatHappenedAreAllTold(t *testing.T) {
	cases, err := score.ReadFile("testdata/produced.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	report, err := score.Cases(cases)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range report {
		t.Run(m.Case.ID, func(t *testing.T) {
			v, want := m.Verdict, m.Case.Expect
			if !m.Reason {
				t.Errorf("reason %s, want %s", v.Reason, want.Reason)
			}
			if !m.Root {
				t.Errorf("root line %+v, want %q", v.Evidence, *want.RootLine)
			}
			if !m.Summary {
				t.Errorf("summary %q, want %q", v.Summary, want.Summary)
			}
		})
	}
}
