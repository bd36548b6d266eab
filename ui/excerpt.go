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
	roots bool     // some line is one that the verdict rests on
}

// An excerptLine is one line of it; one without text and number 0 stands for lines that were left out.
type excerptLine struct {
	number int // 0: not known
	text   string
	root   bool
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
	places, above := map[int]bool{}, []excerptLine{}
	instead := map[int]string{}
	base, counted := 0, false // line number of tail[0]
	if d != nil {
		for _, e := range d.Evidence {
			i := slices.IndexFunc(tail, func(t string) bool { return sameLine(t, e.Text) })
			switch {
			case i >= 0:
				places[i] = true
				if e.Number > i && !counted {
					base, counted = e.Number-i, true
				}
			case e.Number > 0:
				above = append(above, excerptLine{number: e.Number, text: e.Text, root: true})
			default:
				x.facts = append(x.facts, pasar.Clean(e.Text))
			}
		}
	}
	if counted { // what a carriage return drew over isn't in the tail; its line is
		above = slices.DeleteFunc(above, func(l excerptLine) bool {
			i := l.number - base
			if i < 0 || i >= len(tail) {
				return false
			}
			places[i], instead[i] = true, l.text
			return true
		})
	}
	slices.SortStableFunc(above, func(a, b excerptLine) int { return a.number - b.number })
	x.roots = len(places)+len(above) > 0
	if x.roots {
		last = min(last, linesAfter+linesBefore)
	}
	show := map[int]bool{}
	for i := range tail {
		show[i] = i >= len(tail)-last
	}
	for i := range places {
		for k := max(0, i-linesBefore); k <= min(len(tail)-1, i+linesAfter); k++ {
			show[k] = true
		}
	}
	add := func(l excerptLine) {
		if n := len(x.lines); n > 0 && l.number > 0 && x.lines[n-1].number > 0 && l.number > x.lines[n-1].number+1 {
			x.lines = append(x.lines, excerptLine{gap: true})
		}
		x.lines = append(x.lines, l)
	}
	for _, l := range above {
		if !counted || l.number < base {
			add(l)
		}
	}
	before := -1
	for i, t := range tail {
		if !show[i] {
			continue
		}
		if i > before+1 && before >= 0 && !counted || len(above) > 0 && before < 0 && !counted {
			x.lines = append(x.lines, excerptLine{gap: true})
		}
		l := excerptLine{text: t, root: places[i]}
		if text, ok := instead[i]; ok {
			l.text = text
		}
		if counted {
			l.number = base + i
		}
		add(l)
		before = i
	}
	for _, l := range above { // from another version, say: behind what there is
		if counted && l.number >= base+len(tail) {
			add(l)
		}
	}
	for n := len(x.lines); n > 0 && !x.lines[n-1].gap && !x.lines[n-1].root && strings.TrimSpace(x.lines[n-1].text) == ""; n-- {
		x.lines = x.lines[:n-1]
	}
	return x
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
		return "output, the lines that show it marked >"
	}
	return "last output"
}

// render lays the lines out. Lines that the verdict rests on are wrapped; others are cut to the width.
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
