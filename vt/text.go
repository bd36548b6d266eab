package vt

// Bounds of a Text.
const (
	Window  = 64       // lines that can still change: a cursor moved up reaches so far
	MaxLine = 64 << 10 // characters of a line; what is beyond is left out, and the line says so
	maxCol  = 2000     // columns that a cursor moves to over nothing, the widest terminal
	maxKept = 256 << 10
)

// Text renders what a program wrote to a terminal as lines of text: escapes are gone, a progress bar
// is there once in its last state, frames of the alternate screen are left out. Lines have no width
// limit, tabs stay tabs, and bytes that aren't UTF-8 are U+FFFD.
//
// A line comes out once it can't change any more: when Window newer lines are there, or at Flush or
// Close.
type Text struct {
	p parser
	c canvas
}

// NewText makes a renderer that calls emit with each line, without its newline.
func NewText(emit func(line string)) *Text {
	t := &Text{}
	t.c = canvas{emit: emit, lines: []line{{}}}
	t.p.h = &t.c
	return t
}

// Write takes more output. How it is cut into writes makes no difference.
func (t *Text) Write(p []byte) (int, error) { t.p.write(p); return len(p), nil }

// Flush emits the lines above the cursor though it could still be moved up to them. It is for those
// who follow a program that has gone quiet.
func (t *Text) Flush() { t.c.flush() }

// Held is how many lines there are that haven't come out, with the one that the cursor is on.
func (t *Text) Held() int { return len(t.c.lines) }

// Line is the line that the cursor is on, as it is now.
func (t *Text) Line() string { return string(t.c.text(&t.c.lines[t.c.row])) }

// Row is how many of the lines that haven't come out are above the cursor's.
func (t *Text) Row() int { return t.c.row }

// Close emits everything, the unterminated last line too. The Text can't be used afterwards.
func (t *Text) Close() { t.p.close(); t.c.commit() }

// Colours is Text that keeps colours: each line holds SGR sequences, and no other, and ends without
// any in effect.
type Colours struct{ Text }

// NewColours makes a renderer that calls emit with each line, without its newline.
func NewColours(emit func(line string)) *Colours {
	c := &Colours{}
	c.c = canvas{emit: emit, lines: []line{{}}, colours: true}
	c.p.h = &c.c
	return c
}
