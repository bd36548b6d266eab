package ui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"
)

func TestEveryMoodHasAFaceOfItsOwnThatFits(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		seen := map[string]Mood{}
		for _, m := range Moods {
			f := Face(m, ascii)
			if w := narrow.StringWidth(f); w != faceWidth || runeSum(f) != w {
				t.Errorf("%s %s is %d columns", m, f, w)
			}
			if o, taken := seen[f]; taken {
				t.Errorf("%s looks like %s: %s", m, o, f)
			}
			seen[f] = m
			for _, r := range f {
				if runewidth.IsAmbiguousWidth(r) || ascii && r > '~' {
					t.Errorf("%s: %q is not the same everywhere", m, r)
				}
			}
			if m.Role() == Plain {
				t.Errorf("%s has no role", m)
			}
		}
	}
	if len(Moods) != 14 {
		t.Errorf("%d moods", len(Moods))
	}
}

func TestEveryStallIsElevenByThree(t *testing.T) {
	var page strings.Builder
	for _, ascii := range []bool{true, false} {
		for _, m := range append(Moods, "another") {
			lines := Stall(m, ascii)
			if len(lines) != 3 {
				t.Fatalf("%s has %d rows", m, len(lines))
			}
			for _, l := range lines {
				s := l.String()
				if w := narrow.StringWidth(s); w != stallWidth || runeSum(s) != w {
					t.Errorf("%s: %q is %d columns", m, s, w)
				}
				if ascii && strings.ContainsFunc(s, func(r rune) bool { return r > '~' }) {
					t.Errorf("%s: %q is not ASCII", m, s)
				}
				fmt.Fprintln(&page, s)
			}
			fmt.Fprintln(&page, m)
		}
	}
	golden(t, "stalls.txt", page.String())
}
