package autopsy_test

import (
	"testing"

	"pasar/autopsy/score"
)

// files of labelled deaths, all of which are told right: of programs that really ran, written after what programs
// print, and one or more for each rule that those don't need.
var files = []string{"testdata/produced.jsonl", "testdata/written.jsonl", "testdata/rules.jsonl"}

func TestLabelledDeathsAreToldRight(t *testing.T) {
	for _, path := range files {
		for i, c := range readCases(t, path) {
			if raced && i%8 != 0 { // `make test` does all without the race detector
				continue
			}
			t.Run(c.ID, func(t *testing.T) {
				t.Parallel()
				m, err := score.Grade(c)
				if err != nil {
					t.Fatal(err)
				}
				if !right(m) {
					t.Errorf("%s: %s\n%v\nwant %+v", m.Verdict.Reason, m.Verdict.Summary, m.Verdict.Evidence, c.Expect)
				}
			})
		}
	}
}

func right(m score.Mark) bool { return m.Reason && m.Root && m.Summary }

func readCases(t testing.TB, path string) []score.Case {
	t.Helper()
	cases, err := score.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}
