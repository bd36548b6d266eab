package ui

import "strings"

// A Role is what a piece of text is to its reader. Each medium gives roles looks of its own; SGR pages have sequences.
type Role uint8

// Roles.
const (
	Plain  Role = iota
	Good        // it runs, it is well
	Warn        // it waits, or should be looked at
	Bad         // it failed, or is in danger
	Calm        // it is on its way out, or paused
	Faint       // it steps back
	Accent      // headings and keys
)

// A Span is a piece of a line that looks the same throughout.
type Span struct {
	Text string // without control characters
	Role Role
	Hue  int // the colour of a job, 1 to Hues, in place of the role's; 0: none
	Bold bool
	Back bool // the colour is behind the text: bars
}

// A Line is one row of text.
type Line []Span

// Width is how many columns a line takes.
func (l Line) Width() (n int) {
	for _, s := range l {
		for _, r := range s.Text {
			n += RuneWidth(r)
		}
	}
	return n
}

// String is a line's text alone.
func (l Line) String() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Lines takes a page of this package apart: its sequences become roles.
func Lines(page string) []Line {
	page = strings.TrimSuffix(page, "\n")
	var out []Line
	for text := range strings.SplitSeq(page, "\n") {
		out = append(out, spans(text))
	}
	return out
}

func spans(text string) Line {
	var line Line
	var look Span
	add := func(s string) {
		if s != "" {
			look.Text = s
			line = append(line, look)
		}
	}
	for {
		before, after, ok := strings.Cut(text, "\x1b[")
		add(before)
		if !ok {
			return line
		}
		code, rest, ok := strings.Cut(after, "m")
		if !ok {
			return line
		}
		text = rest
		switch "\x1b[" + code + "m" {
		case reset:
			look = Span{}
		case bold:
			look.Bold = true
		default:
			look.Role = roleOf("\x1b[" + code + "m")
		}
	}
}
