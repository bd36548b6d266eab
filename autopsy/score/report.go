package score

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"pasar"
	"pasar/autopsy"
)

// A Mark is how a verdict did on a case.
type Mark struct {
	Case    Case
	Verdict pasar.Verdict
	Reason  bool
	Root    bool // also if no root line is expected
	Summary bool
}

// Grade holds the verdict on a case against its label.
func Grade(c Case) (Mark, error) {
	e, err := c.Evidence()
	if err != nil {
		return Mark{}, err
	}
	m := Mark{Case: c, Verdict: autopsy.Attribute(e)}
	m.Reason = m.Verdict.Reason == c.Expect.Reason
	m.Root = c.Expect.RootLine == nil || strings.Contains(root(m.Verdict), *c.Expect.RootLine)
	m.Summary = true
	for _, s := range c.Expect.Summary {
		m.Summary = m.Summary && strings.Contains(strings.ToLower(m.Verdict.Summary), strings.ToLower(s))
	}
	return m, nil
}

// root is the line that a verdict names as the cause.
func root(v pasar.Verdict) string {
	if len(v.Evidence) == 0 {
		return ""
	}
	return v.Evidence[0].Text
}

// A Report is the marks of many cases.
type Report []Mark

// Cases grades cases.
func Cases(cases []Case) (Report, error) {
	r := make(Report, 0, len(cases))
	for _, c := range cases {
		m, err := Grade(c)
		if err != nil {
			return nil, err
		}
		r = append(r, m)
	}
	return r, nil
}

// Of is the marks of one difficulty.
func (r Report) Of(difficulty string) Report {
	return slices.DeleteFunc(slices.Clone(r), func(m Mark) bool { return m.Case.Difficulty != difficulty })
}

// A Share is so many right of so many.
type Share struct{ Right, Of int }

// Percent is 100 if there was nothing to get wrong.
func (s Share) Percent() float64 {
	if s.Of == 0 {
		return 100
	}
	return 100 * float64(s.Right) / float64(s.Of)
}

func (s Share) String() string { return fmt.Sprintf("%.1f%% (%d of %d)", s.Percent(), s.Right, s.Of) }

// Reasons is how many reasons are right.
func (r Report) Reasons() Share { return r.share(func(m *Mark) (bool, bool) { return m.Reason, true }) }

// Roots is how many root lines are right, of the cases that name one.
func (r Report) Roots() Share {
	return r.share(func(m *Mark) (bool, bool) { return m.Root, m.Case.Expect.RootLine != nil })
}

// Summaries is how many summaries say all that is expected, of the cases that expect something.
func (r Report) Summaries() Share {
	return r.share(func(m *Mark) (bool, bool) { return m.Summary, len(m.Case.Expect.Summary) > 0 })
}

func (r Report) share(f func(*Mark) (right, counts bool)) (s Share) {
	for i := range r {
		right, counts := f(&r[i])
		if counts {
			s.Of++
			if right {
				s.Right++
			}
		}
	}
	return s
}

// A Confusion is a wanted reason and another that was given.
type Confusion struct{ Wanted, Got pasar.Code }

// Confusions is the ids of the cases of each.
func (r Report) Confusions() map[Confusion][]string {
	c := map[Confusion][]string{}
	for _, m := range r {
		if !m.Reason {
			k := Confusion{m.Case.Expect.Reason, m.Verdict.Reason}
			c[k] = append(c[k], m.Case.ID)
		}
	}
	return c
}

// Write prints the scores, easy and hard apart, then the confusions; the last line has all of it in one.
func (r Report) Write(w io.Writer) {
	fmt.Fprintf(w, "%-8s %-24s %-24s %s\n", "", "reason", "root line", "summary")
	for _, d := range []string{"easy", "hard"} {
		part := r.Of(d)
		fmt.Fprintf(w, "%-8s %-24s %-24s %s\n", d, part.Reasons(), part.Roots(), part.Summaries())
	}
	confusions := r.Confusions()
	if len(confusions) > 0 {
		fmt.Fprintln(w, "\nwanted, got, cases:")
	}
	for _, k := range slices.SortedFunc(maps.Keys(confusions), func(a, b Confusion) int {
		return cmp.Or(len(confusions[b])-len(confusions[a]), cmp.Compare(a.Wanted, b.Wanted), cmp.Compare(a.Got, b.Got))
	}) {
		fmt.Fprintf(w, "  %-15s %-15s %d  %s\n", k.Wanted, k.Got, len(confusions[k]), strings.Join(confusions[k], " "))
	}
	fmt.Fprintf(w, "\ndeaths: reason %.1f%% root %.1f%% summary %.1f%% cases %d\n",
		r.Reasons().Percent(), r.Roots().Percent(), r.Summaries().Percent(), len(r))
}
