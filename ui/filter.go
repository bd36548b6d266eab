package ui

import (
	"slices"
	"strings"

	"pasar"
)

// A Filter chooses jobs by words, all of which must match. A word is in a job's name, tags, state, submitter, on whose
// behalf it runs, note, command or reason, whatever its case. "#42" and "42" are a job's id, or of its group; "@vision"
// is a tag, "state:failed" a state, "by:ada" a person; "-" before a word: it must not match. The zero Filter takes all.
type Filter struct{ words []word }

// A word of a filter.
type word struct {
	text string // in lower case
	kind wordKind
	not  bool
}

type wordKind uint8

const (
	anywhere wordKind = iota
	inID
	inTags
	inState
	inPeople
)

// ParseFilter reads a filter as people type it; every text is one.
func ParseFilter(text string) Filter {
	var f Filter
	for _, t := range strings.Fields(strings.ToLower(text)) {
		var w word
		if rest, ok := strings.CutPrefix(t, "-"); ok {
			w.not, t = true, rest
		}
		for _, p := range []struct {
			prefix string
			kind   wordKind
		}{{"#", inID}, {"@", inTags}, {"tag:", inTags}, {"state:", inState}, {"by:", inPeople}, {"", anywhere}} {
			if rest, ok := strings.CutPrefix(t, p.prefix); ok {
				w.text, w.kind = rest, p.kind
				break
			}
		}
		if w.text != "" { // one that is still being typed
			f.words = append(f.words, w)
		}
	}
	return f
}

// Match reports whether a filter takes a job.
func (f Filter) Match(v *pasar.JobView) bool {
	for _, w := range f.words {
		if v == nil || w.matches(v) == w.not {
			return false
		}
	}
	return true
}

func (w *word) matches(v *pasar.JobView) bool {
	in := func(s string) bool { return strings.Contains(strings.ToLower(s), w.text) }
	within := func(s *string) bool { return s != nil && in(*s) }
	is := func(s string) bool { return strings.ToLower(s) == w.text }
	id := func() bool { return v.ID.String() == w.text || v.Group != nil && v.Group.String() == w.text }
	switch w.kind {
	case inID:
		return id()
	case inTags:
		return slices.ContainsFunc(v.Tags, is)
	case inState:
		return is(string(v.State))
	case inPeople:
		return is(v.Submitter) || v.By != nil && is(*v.By)
	}
	return id() || in(v.Name) || in(string(v.State)) || slices.ContainsFunc(v.Tags, in) || in(v.Submitter) || within(v.By) ||
		within(v.Reason) || within(v.Note) || in(v.Command) // the longest last
}
