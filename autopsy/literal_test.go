package autopsy

import (
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
)

// What a rule looks for in a line is compared with the line in lower case, and what its expressions say may
// leave it without a line: then it says nothing.
func TestWhatARuleLooksForCanBeFound(t *testing.T) {
	for _, r := range book().rules {
		examples := []string{""}
		if r.must != nil {
			re, err := syntax.Parse("(?i)"+r.also, syntax.Perl)
			if err != nil {
				t.Fatal(err)
			}
			examples = examplesOf(re)
		}
		for _, l := range r.literals {
			if l != strings.ToLower(l) {
				t.Errorf("rule %q looks for %q, which no line of lower case has", r.name, l)
			}
			if !slices.ContainsFunc(examples, func(e string) bool { return r.knowsOneOf(l, e) }) {
				t.Errorf("rule %q knows no line for having %q", r.name, l)
			}
		}
	}
}

// knowsOneOf reports whether a rule knows a line that has a literal and an example of what it matches, or one of them
// if that is the other as well.
func (r *logRule) knowsOneOf(literal, example string) bool {
	return slices.ContainsFunc([]string{literal, example, example + " " + literal, literal + " " + example}, func(line string) bool {
		lower := strings.ToLower(line)
		_, ok := r.match(line, lower)
		return ok && strings.Contains(lower, literal)
	})
}

// examplesOf are texts that an expression matches, one for each of its alternatives at the top.
func examplesOf(re *syntax.Regexp) []string {
	var texts []string
	for re.Op == syntax.OpCapture {
		re = re.Sub[0]
	}
	if re.Op != syntax.OpAlternate {
		return []string{exampleOf(re)}
	}
	for _, s := range re.Sub {
		texts = append(texts, examplesOf(s)...)
	}
	return texts
}

// exampleOf is a short text that an expression matches.
func exampleOf(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		for _, like := range "x1 _-" {
			for i := 0; i < len(re.Rune); i += 2 {
				if re.Rune[i] <= like && like <= re.Rune[i+1] {
					return string(like)
				}
			}
		}
		return string(re.Rune[0])
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return " "
	case syntax.OpConcat:
		var text strings.Builder
		for _, s := range re.Sub {
			text.WriteString(exampleOf(s))
		}
		return text.String()
	case syntax.OpCapture, syntax.OpPlus, syntax.OpAlternate:
		return exampleOf(re.Sub[0])
	case syntax.OpRepeat:
		return strings.Repeat(exampleOf(re.Sub[0]), re.Min)
	}
	return "" // what may be left out, and places
}
