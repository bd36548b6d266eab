package autopsy

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"pasar"
)

// A logRule knows a kind of line that says why a program failed. It speaks of one line, without what a
// launcher or a logger put before it.
type logRule struct {
	name   string // for tests and for whoever reads the table
	has    string // what the line has, in lower case; several, apart by |, are alternatives. Each of three bytes or more.
	also   string // a regular expression that matches as well, in any case; its first group, if there is one, is the telling part
	but    string // one that doesn't
	code   pasar.Code
	says   string // what it makes of the line: the summary before the quotation; empty: what the code's facts say
	hint   string // what to try; empty: what the code's facts say
	sure   pasar.Confidence
	remote bool // it may come of a remote service: if one was warned of before, that is why
	latest bool // of several such lines the last says it
	stays  bool // another try is of no more use than before, whatever holds for its reason
	last   bool // whatever the program did after it, it did on its way out
	kind   lineKind

	blame pasar.Blame // empty: what the code's facts say

	literals      []string
	must, mustNot *regexp.Regexp
}

// A lineKind is what a line is to the others of its episode.
type lineKind int

const (
	tells     lineKind = iota // it says why
	announces                 // it says that something failed, and another line of the same reason says what: that one is better
	echoes                    // it only repeats how a process ended, and is why if nothing else is
	follows                   // it comes of something else, and is never why
)

// rulesOfLogs are the rules that read the log, by mechanism.
var rulesOfLogs = [][]logRule{shellLog, followingLog, memoryLog, deviceLog, commLog, systemLog, environmentLog, remoteLog, accessLog, programLog, signalLog, vagueLog}

// A rulebook is the rules made ready, in the order in which they are tried on a line: the first that fits is it.
type rulebook struct {
	rules []*logRule
	index finder
}

// book is made when the first log is read: few lives of a daemon are so short that none is.
var book = sync.OnceValue(func() *rulebook { return newRulebook(rulesOfLogs) })

func newRulebook(groups [][]logRule) *rulebook {
	b := &rulebook{}
	for _, g := range groups {
		for i := range g {
			r := g[i] // a copy: the table stays as it is written
			r.literals = strings.Split(r.has, "|")
			if r.also != "" {
				r.must = regexp.MustCompile("(?i)" + r.also)
			}
			if r.but != "" {
				r.mustNot = regexp.MustCompile("(?i)" + r.but)
			}
			for _, l := range r.literals {
				b.index.add(l, len(b.rules))
			}
			b.rules = append(b.rules, &r)
		}
	}
	for _, w := range words {
		for _, word := range w.words {
			b.index.add(word, len(b.rules)+w.what)
		}
	}
	return b
}

// match is where in a line's text the telling part is; false if the rule doesn't know the line.
func (r *logRule) match(body, lower string) (span [2]int, ok bool) {
	if r.must == nil {
		for _, l := range r.literals {
			if i := strings.Index(lower, l); i >= 0 {
				return [2]int{min(i, len(body)), min(i+len(l), len(body))}, r.mustNot == nil || !r.mustNot.MatchString(body)
			}
		}
		return span, false
	}
	if !slices.ContainsFunc(r.literals, func(l string) bool { return strings.Contains(lower, l) }) {
		return span, false
	}
	m := r.must.FindStringSubmatchIndex(body)
	if m == nil || r.mustNot != nil && r.mustNot.MatchString(body) {
		return span, false
	}
	if len(m) > 3 && m[2] >= 0 {
		return [2]int{m[2], m[3]}, true
	}
	return [2]int{m[0], m[1]}, true
}

// A finder finds which of many texts are in a line, by their first three bytes.
type finder struct {
	slot    [1 << 16]uint16 // by the hash of three bytes: 1 + the index of what begins so; 0: nothing does
	buckets [][]entry
}

type entry struct {
	text string
	id   int
}

const finderKey = 3

func (f *finder) add(text string, id int) {
	if len(text) < finderKey {
		panic("autopsy: a text to find has less than three bytes: " + text)
	}
	h := hash(text, 0)
	if f.slot[h] == 0 {
		f.buckets = append(f.buckets, nil)
		f.slot[h] = uint16(len(f.buckets))
	}
	b := &f.buckets[f.slot[h]-1]
	*b = append(*b, entry{text, id})
}

// hash is Knuth's multiplicative hash of three bytes, to 16 bits.
func hash[T string | []byte](s T, i int) uint16 {
	return uint16((uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16) * 2654435761 >> 16)
}

// find appends the ids of what is in a line of lower case, in ascending order and each once.
func (f *finder) find(ids []int, line []byte) []int {
	start := len(ids)
	for i := 0; i+finderKey <= len(line); i++ {
		slot := f.slot[hash(line, i)]
		if slot == 0 {
			continue
		}
		for _, e := range f.buckets[slot-1] {
			if len(line)-i >= len(e.text) && string(line[i:i+len(e.text)]) == e.text && !slices.Contains(ids[start:], e.id) {
				ids = append(ids, e.id)
			}
		}
	}
	slices.Sort(ids[start:])
	return ids
}

// appendLower appends a text in lower case.
func appendLower(dst []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case c >= 0x80:
			return append(dst[:len(dst)-i], strings.ToLower(s)...)
		}
		dst = append(dst, c)
	}
	return dst
}
