package autopsy

import (
	"regexp"
	"strings"

	"pasar"
)

// A reading is what a log says of the end.
type reading struct {
	log    []pasar.Line
	exit   *pasar.Exit // how the main process ended; nil: not known
	alive  []cause     // what nothing in the log shows to have been lived through, in order
	past   []cause     // what was
	last   int         // index of the last line that shows the program getting on; -1: none
	traces traces
	shapes map[string]bool // of the lines that are why, but for numbers, while those are alive: a flood of one is read once
	known  map[known]knownRule
	hits   []int  // of each rule: lines that it knows, since anything was lived through
	misses []int  // of each rule: lines that have its words, and aren't what it knows
	said   *cause // what says it best; nil: nothing
	usage  bool   // within what a program prints of its options
}

// others is how many lines of other processes' work say that an error of one of them was lived through: those
// that still run when one has died are soon done.
const others = 12

// maxAlive bounds how many causes are weighed: of a flood the first say it.
const maxAlive = 128

// ofScript is how many lines of its processes' work say that a script got over an error of its own.
const ofScript = 2

// What a line may be beside what rules know; the ids of these words come after those of the rules.
const (
	mayRaise = iota // an exception, or a logger's error
	mayTrace        // the start of a traceback, or what is said between two
)

var words = []struct {
	what  int
	words []string
}{
	{mayRaise, []string{"error", "fatal", "critical", "exception", "interrupt", "failure", "abort", "exit", "timeout", "warning", "empty"}},
	{mayTrace, []string{"traceback (most", "exception ignored in", "logging error", "handling of the above", "direct cause of", "exception in thread", "error in atexit", "panicked at", "error in ", "graph execution error", "fatal error:", "foam fatal"}},
}

// thrown and calledAt match JavaScript's errors: what happened, and the first line of where.
var (
	thrown   = regexp.MustCompile(`^(?:Uncaught )?\w*Error\b.*`)
	calledAt = regexp.MustCompile(`^\s+at \S`)
)

// usage begins what a program prints of its options, in lines that are indented or begin with one.
var (
	usage    = regexp.MustCompile(`(?i)^usage(?: of \S+)?:`)
	indented = regexp.MustCompile(`^(?:\s|-|\[)`)
)

// mayTry reports whether a line, in lower case, may speak of a new try.
func mayTry(lower string) bool {
	for _, w := range []string{"try", "attempt", "trial", "run ", "run:", "restart"} {
		if strings.Contains(lower, w) {
			return true
		}
	}
	return false
}

// read finds in a log what may be why.
func read(log []pasar.Line, exit *pasar.Exit) *reading {
	r := &reading{log: log, exit: exit, last: -1, traces: traces{of: map[string]*trace{}}, shapes: map[string]bool{}, known: map[known]knownRule{}, misses: make([]int, len(book().rules)), hits: make([]int, len(book().rules))}
	b := book()
	var ids []int
	var lower []byte
	for i := range log {
		lower = appendLower(lower[:0], log[i].Text)
		ids = b.index.find(ids[:0], lower)
		if len(ids) == 0 && len(r.alive) == 0 && r.traces.open == 0 {
			continue
		}
		raising, tracing := false, false
		for ; len(ids) > 0 && ids[len(ids)-1] >= len(b.rules); ids = ids[:len(ids)-1] {
			raising = true
			tracing = tracing || ids[len(ids)-1] == len(b.rules)+mayTrace
		}
		if len(r.alive) > 0 && mayTry(string(lower)) && anotherTry.MatchString(listen(log[i].Text).body) {
			for k := range r.alive {
				r.alive[k].tries++
			}
			r.last = i
		}
		r.line(i, b, ids, raising, tracing)
	}
	r.said = r.why()
	return r
}

// line takes in one line. Whether it may be an exception, or within a traceback, is known.
func (r *reading) line(i int, b *rulebook, ids []int, mayRaise, tracing bool) {
	flood := ""
	if len(r.alive) > 0 && r.traces.open == 0 && !tracing {
		if flood = shapeOf(r.log[i].Text[:min(len(r.log[i].Text), rankBytes)], r.log[i].Text); r.shapes[flood] {
			return
		}
	}
	s := listen(r.log[i].Text)
	p := r.traces.take(&s, i, tracing)
	if p.part == frame {
		return
	}
	if p.part == ignored {
		if c, ok := r.causeOf(i, &s, placed{part: exception, at: -1}, b, ids, mayRaise); ok && c.rule != nil && c.kind == tells {
			c.rank, c.kind = ofNoMatter, echoes
			r.add(c)
		}
		return
	}
	if r.usage = (r.usage || usage.MatchString(s.body)) && (indented.MatchString(s.body) || usage.MatchString(s.body)); r.usage && p.part == plain && !usage.MatchString(s.body) {
		return // what a program prints of its options holds any phrase
	}
	if p.part == plain && mayRaise && thrown.MatchString(s.body) && i+1 < len(r.log) && calledAt.MatchString(r.log[i+1].Text) {
		p.part = exception
	}
	if len(r.alive) > 0 && s.level != failure && started.MatchString(s.body) {
		r.past, r.alive = append(r.past, r.alive...), nil
		r.last = i
		return
	}
	shape := ""
	if p.part == plain && len(r.alive) > 0 {
		if shape = shapeOf(s.source, s.body); r.shapes[shape] {
			r.shapes[flood] = flood != ""
			return
		}
	}
	if c, ok := r.causeOf(i, &s, p, b, ids, mayRaise); ok {
		if shape != "" {
			r.shapes[shape] = true
		}
		r.add(c)
		return
	}
	if len(r.alive) == 0 || p.part == exception {
		return
	}
	if s.goesOn() && !r.drawnBefore(&s) {
		r.last = i
		r.goOn(s.source)
	}
}

// add takes in a cause, unless it only says again what one before it does: of those the first counts.
func (r *reading) add(c cause) {
	for i := range r.alive {
		if a := &r.alive[i]; a.rule == c.rule && a.said.source == c.said.source && a.code == c.code && a.rank == c.rank &&
			a.raised == c.raised && a.chained == c.chained && a.tries == c.tries && (c.rule != nil || a.raised) && a.isKill() == c.isKill() {
			if c.rule != nil && c.rule.latest {
				*a = c
			}
			return
		}
	}
	if len(r.alive) == maxAlive {
		return
	}
	c.tool = aTool.MatchString(c.said.body)
	r.alive = append(r.alive, c)
}

// drawnBefore reports whether a line is a progress bar in the state that it was last in.
func (r *reading) drawnBefore(s *said) bool {
	state := count.FindString(s.body)
	if state == "" {
		return false
	}
	before := r.barBefore(s.source)
	return before == state
}

// count matches the state of a progress bar.
var count = regexp.MustCompile(`\d+%[^\d]*\d*/?\d*`)

// barBefore is the state of the last bar before the first cause that is alive, of that source.
func (r *reading) barBefore(source string) string {
	first := r.alive[0].at
	for i := first - 1; i >= max(0, first-20); i-- {
		if s := listen(r.log[i].Text); s.source == source {
			if state := count.FindString(s.body); state != "" {
				return state
			}
		}
	}
	return ""
}

// goOn takes what a source's own work shows to have been lived through out of the causes.
func (r *reading) goOn(source string) {
	kept := r.alive[:0]
	for _, c := range r.alive {
		if c.rule != nil && c.rule.last && !c.raised {
			kept = append(kept, c)
			continue
		}
		if c.said.source != source {
			enough := max(others, 4*len(r.traces.of))
			if c.said.source == "" {
				enough = ofScript
			}
			if c.passed++; c.passed < enough {
				kept = append(kept, c)
				continue
			}
		}
		r.past = append(r.past, c)
	}
	if len(kept) < len(r.alive) {
		clear(r.shapes)
		clear(r.hits)
	}
	r.alive = kept
}

// rankBytes is how much of a line's beginning may say whose it is, so that a number in it counts.
const rankBytes = 16

// shapeOf is a line's source and text, in that with every number as one 0.
func shapeOf(source, text string) string {
	b := make([]byte, 0, len(source)+1+len(text))
	b = append(append(b, source...), 0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= '0' && c <= '9' {
			if b[len(b)-1] != '0' {
				b = append(b, '0')
			}
			continue
		}
		b = append(b, c)
	}
	return string(b)
}

// started matches services that say that they are up: what went wrong before is over.
var started = regexp.MustCompile(`(?i)\bapplication startup complete`)
