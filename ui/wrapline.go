package ui

import "strings"

// WrapLine breaks a line at spaces so that it fits into so many columns, and in words that are longer than that.
func WrapLine(l Line, width int) []Line {
	if width <= 0 || l.Width() <= width {
		return []Line{l}
	}
	indent := len(l.String()) - len(strings.TrimLeft(l.String(), " "))
	if indent > width/2 {
		indent = 0
	}
	out := []Line{{}}
	used := 0
	next := func() {
		out = append(out, Line{{Text: strings.Repeat(" ", indent)}})
		used = indent
	}
	for _, s := range l {
		for i, word := range strings.SplitAfter(s.Text, " ") {
			n := columns(strings.TrimRight(word, " "))
			if used > indent && used+n > width && (i > 0 || used == width || strings.HasSuffix(lastText(out), " ")) {
				next()
			}
			for used+columns(strings.TrimRight(word, " ")) > width {
				head := headOf(word, max(1, width-used))
				out[len(out)-1] = append(out[len(out)-1], s.with(head))
				word = word[len(head):]
				next()
			}
			out[len(out)-1] = append(out[len(out)-1], s.with(word))
			used += columns(word)
		}
	}
	for i := range out {
		out[i] = trimmed(out[i])
	}
	return out
}

// trimmed is a line without the spaces at its end.
func trimmed(l Line) Line {
	for n := len(l) - 1; n >= 0; n-- {
		if l[n].Text = strings.TrimRight(l[n].Text, " "); l[n].Text != "" {
			return l[:n+1]
		}
	}
	return nil
}

func (s Span) with(text string) Span { s.Text = text; return s }

func lastText(lines []Line) string {
	l := lines[len(lines)-1]
	if len(l) == 0 {
		return ""
	}
	return l[len(l)-1].Text
}

// headOf is the beginning of a text that takes so many columns at most, and one character at least.
func headOf(text string, width int) string {
	n := 0
	for i, r := range text {
		w := columns(string(r))
		if n+w > width && i > 0 {
			return text[:i]
		}
		n += w
	}
	return text
}
