package ui

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"pasar"
)

// An excerpt is the part of an attempt's output that shows why it ended, in the order of the output.
type excerpt struct {
	lines []excerptLine
	facts []string // what the verdict rests on besides the output, cleaned
	roots bool     // one of the lines is the root of it
}

// An excerptLine is one line of it, or the gap where lines were left out.
type excerptLine struct {
	number int // 0: not known
	text   string
	root   bool // the one that says why; others may only bear it out
	rests  bool // the verdict rests on it
	gap    bool
}

// Lines shown before and after one that a verdict rests on.
const (
	linesBefore = 3
	linesAfter  = 1
)

// excerptOf takes what matters from the end of an output: the lines that the verdict rests on, some around
// each, and the last few. Of an output that has none of those lines it is the last so many.
func excerptOf(d *pasar.Verdict, tail []string, last int) (x excerpt) {
	if d == nil {
		d = &pasar.Verdict{}
	}
	base := firstNumber(d.Evidence, tail)
	evidence := d.Evidence[onlyLast(d, tail):]
	places, outside := map[int]excerptLine{}, []excerptLine{}
	root := true
	for _, e := range evidence {
		l := excerptLine{number: e.Number, text: e.Text, rests: true, root: root}
		i := placeOf(e, tail, base)
		switch {
		case i >= 0:
			if sameLine(tail[i], e.Text) { // else it was drawn over on its row
				l.text = tail[i]
			}
			if _, taken := places[i]; taken {
				continue
			}
			places[i] = l
		case e.Number > 0:
			outside = append(outside, l)
		default:
			x.facts = append(x.facts, pasar.Clean(e.Text))
			continue
		}
		x.roots, root = true, false // it is the first
	}
	slices.SortStableFunc(outside, func(a, b excerptLine) int { return a.number - b.number })
	if x.roots {
		last = min(last, linesAfter+linesBefore)
	}
	show := make([]bool, len(tail))
	for i := range tail {
		show[i] = i >= len(tail)-last
	}
	for i := range places {
		for k := max(0, i-linesBefore); k <= min(len(tail)-1, i+linesAfter); k++ {
			show[k] = true
		}
	}
	for _, l := range outside {
		if base == 0 || l.number < base {
			x.add(l)
		}
	}
	before := -1
	for i, t := range tail {
		if !show[i] {
			continue
		}
		if base == 0 && i > before+1 && len(x.lines) > 0 || base == 0 && before < 0 && len(outside) > 0 {
			x.lines = append(x.lines, excerptLine{gap: true})
		}
		l, ok := places[i]
		if !ok {
			l.text = t
		}
		if base > 0 {
			l.number = base + i
		} else if len(outside) > 0 || len(places) > 1 {
			l.number = 0 // of lines that can't be counted only one has a number, or none
		}
		x.add(l)
		before = i
	}
	for _, l := range outside { // from another version, say: behind what there is
		if base > 0 && l.number >= base+len(tail) {
			x.add(l)
		}
	}
	for n := len(x.lines); n > 0 && !x.lines[n-1].gap && !x.lines[n-1].rests && strings.TrimSpace(x.lines[n-1].text) == ""; n-- {
		x.lines = x.lines[:n-1]
	}
	return x
}

// add appends a line, behind a gap if there are lines between.
func (x *excerpt) add(l excerptLine) {
	if n := len(x.lines); n > 0 && x.lines[n-1].number > 0 && l.number > x.lines[n-1].number+1 {
		x.lines = append(x.lines, excerptLine{gap: true})
	}
	x.lines = append(x.lines, l)
}

// firstNumber is the number of the tail's first line, by most of the numbered lines that are in it; 0 if none is.
func firstNumber(evidence []pasar.Line, tail []string) int {
	votes := map[int]int{}
	best := 0
	for _, e := range evidence {
		for i, t := range tail {
			if n := e.Number - i; e.Number > 0 && n > 0 && sameLine(t, e.Text) {
				if votes[n]++; votes[n] > votes[best] {
					best = n
				}
			}
		}
	}
	return best
}

// placeOf is where in the tail a line is that a verdict rests on; -1 if it isn't there.
func placeOf(e pasar.Line, tail []string, base int) int {
	if i := e.Number - base; base > 0 && e.Number > 0 {
		if i >= 0 && i < len(tail) {
			return i
		}
		return -1
	}
	return slices.IndexFunc(tail, func(t string) bool { return sameLine(t, e.Text) })
}

// onlyLast counts the lines of an output that a verdict quotes, if they are just its last ones, for want of one that
// says why.
func onlyLast(d *pasar.Verdict, tail []string) int {
	switch d.Reason {
	case pasar.CodeExit, pasar.CodeSignal, pasar.CodeInterrupted, pasar.CodeTimeLimit, pasar.CodeLost, pasar.CodeOOM:
	default:
		return 0
	}
	n := len(d.Evidence)
	for n > 0 && d.Evidence[n-1].Number == 0 && !slices.ContainsFunc(tail, func(t string) bool { return sameLine(t, d.Evidence[n-1].Text) }) {
		n-- // facts
	}
	if n < 2 {
		return 0
	}
	var said []string
	for _, t := range tail {
		if strings.TrimSpace(t) != "" {
			said = append(said, t)
		}
	}
	if len(said) < n || !slices.EqualFunc(said[len(said)-n:], d.Evidence[:n], func(t string, e pasar.Line) bool { return sameLine(t, e.Text) }) {
		return 0
	}
	return n
}

// sameLine reports whether a line of the output is the one a verdict quotes, which has been cleaned and may have
// been cut.
func sameLine(line, quoted string) bool {
	line, quoted = visible(line), visible(quoted)
	if begin, cut := strings.CutSuffix(quoted, "…"); cut && begin != "" {
		return strings.HasPrefix(line, begin)
	}
	return line == quoted && line != ""
}

// visible is text without what can't be seen, and without blanks around it. What pasar.Clean makes of a character that
// it doesn't let through counts as unseen as well, so that a line is the same before it was cleaned and after.
func visible(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if n := escape(s[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r != utf8.RuneError && unicode.IsPrint(r) {
			b.WriteRune(r)
		}
		i += n
	}
	return strings.TrimSpace(b.String())
}

// escape is how long the escape is that a text begins with: \x1b, \u202e, \n, \r or \t.
func escape(s string) int {
	if len(s) < 2 || s[0] != '\\' {
		return 0
	}
	digits := 0
	switch s[1] {
	case 'n', 'r', 't':
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	default:
		return 0
	}
	if len(s) < 2+digits || strings.Trim(s[2:2+digits], "0123456789abcdef") != "" {
		return 0
	}
	return 2 + digits
}

// title says what the lines are.
func (x *excerpt) title() string {
	if x.roots {
		return "output, the line that shows it marked >"
	}
	return "last output"
}

// render lays the lines out. Lines that the verdict rests on are wrapped; those around them are cut to the width.
func (x *excerpt) render(s Style) (out []string) {
	digits := 0
	for _, l := range x.lines {
		if l.number > 0 {
			digits = max(digits, len(fmt.Sprint(l.number)))
		}
	}
	for _, l := range x.lines {
		head := "  "
		if l.root {
			head = "> "
		}
		if digits > 0 {
			number := strings.Repeat(" ", digits)
			if l.number > 0 {
				number = fmt.Sprintf("%*d", digits, l.number)
			}
			head += number + "  "
		}
		text := strings.TrimRight(pasar.Clean(strings.ReplaceAll(l.text, "\t", "    ")), " ")
		switch {
		case l.gap:
			out = append(out, strings.TrimRight(strings.Repeat(" ", len(head)-2)+"…", " "))
		case l.root && s.Width > 0:
			out = append(out, Wrap(s.paint(bold, head+text), s.Width, len(head)))
		case l.rests && s.Width > 0:
			out = append(out, Wrap(head+text, s.Width, len(head)))
		default:
			line := head + text
			if s.Width > 0 && runewidth.StringWidth(line) > s.Width {
				line = Cut(line, s.Width)
			}
			if l.root {
				line = s.paint(bold, line)
			}
			out = append(out, strings.TrimRight(line, " "))
		}
	}
	return out
}

// Outside reports whether a verdict rests on a line of the output that isn't among these.
func Outside(d *pasar.Verdict, tail []string) bool {
	return slices.ContainsFunc(d.Evidence, func(e pasar.Line) bool {
		return e.Number > 0 && !slices.ContainsFunc(tail, func(t string) bool { return sameLine(t, e.Text) })
	})
}
