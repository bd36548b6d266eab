package ui

import (
	"strings"

	"github.com/mattn/go-runewidth"
)

// Wrap breaks one line at spaces so that it fits into so many columns; what follows the first row is
// indented. A word is never broken, however long. With a width of 0 the text stays as it is.
func Wrap(text string, width, indent int) string {
	if width <= 0 || columns(text) <= width {
		return text
	}
	if indent > 2*width/3 {
		indent = 0
	}
	head := text[:len(text)-len(strings.TrimLeft(text, " "))]
	var b strings.Builder
	b.WriteString(head)
	used, empty := len(head), true
	for i, word := range strings.Split(text[len(head):], " ") {
		n := columns(word)
		switch {
		case i == 0:
		case !empty && used+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			used, empty = indent, true
		default: // runs of spaces stay, as between columns
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
		empty = empty && n == 0
	}
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// Fit wraps each line of a text; of a line in columns the rest stays in the last one.
func Fit(text string, width int) string {
	if width <= 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = Wrap(l, width, hanging(l))
	}
	return strings.Join(lines, "\n")
}

// hanging is where a line's last column begins: behind the first gap of two spaces or more.
func hanging(line string) int {
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	if i := strings.Index(text, "  "); i >= 0 {
		rest := strings.TrimLeft(text[i:], " ")
		return indent + columns(text[:len(text)-len(rest)])
	}
	return indent
}

// Reflow joins the lines of each paragraph, so that they can be wrapped anew.
func Reflow(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = strings.ReplaceAll(p, "\n", " ")
	}
	return strings.Join(paragraphs, "\n\n")
}

// columns counts those that text takes; what colours it takes none.
func columns(s string) int {
	n := 0
	for {
		before, after, ok := strings.Cut(s, "\x1b[")
		n += runewidth.StringWidth(before)
		if !ok {
			return n
		}
		if _, s, ok = strings.Cut(after, "m"); !ok {
			return n
		}
	}
}
