package answer

import (
	"bytes"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"pasar/vt"
)

// A Piece is output of one time and one stream.
type Piece struct {
	Data   []byte
	At     time.Time // zero: not known
	Stream int       // attemptdir.Stdout, Stderr, or Unknown
	Offset int64     // in the output, of the first byte
	Next   int64     // of a line that is stamped: who begins at this offset has the lines that follow it
}

// Text renders raw output, piece by piece, to lines of text, each with its end: what programs drew over is gone, and
// what would turn text around is seen. What its methods return is valid until the next call.
type Text struct {
	text interface {
		Write([]byte) (int, error)
		Held() int
		Line() string
		Row() int
		Flush()
		Close()
	}
	out []byte

	stamp func(b []byte, of Piece) []byte
	begun []Piece // with stamp: of each line held that something came for, what came first; without data
	last  Piece
	next  int64 // with stamp: where a line begins that nothing has come for
}

// NewText renders without colours; stamp, if it isn't nil, appends what comes before each line.
func NewText(stamp func(b []byte, of Piece) []byte) *Text {
	t := &Text{stamp: stamp}
	t.text = vt.NewText(t.emit)
	return t
}

// NewColours renders with colours; else it is NewText.
func NewColours(stamp func(b []byte, of Piece) []byte) *Text {
	t := &Text{stamp: stamp}
	t.text = vt.NewColours(t.emit)
	return t
}

func (t *Text) emit(line string) {
	if t.stamp != nil {
		of := t.last
		if len(t.begun) > 0 {
			of = t.begun[0]
			t.begun = t.begun[1:]
		}
		if of.Next = t.next; len(t.begun) > 0 {
			of.Next = t.begun[0].Offset
		}
		t.out = t.stamp(t.out, of)
	}
	t.out = append(appendVisible(t.out, line), '\n')
}

// Render is what a piece of output has made certain.
func (t *Text) Render(p Piece) []byte {
	t.out = t.out[:0]
	if t.stamp == nil {
		_, _ = t.text.Write(p.Data) // it never fails
		return t.out
	}
	t.last = Piece{At: p.At, Stream: p.Stream, Offset: p.Offset}
	for line := range bytes.Lines(p.Data) {
		t.begin()
		_, _ = t.text.Write(line)
		t.last.Offset += int64(len(line))
		t.next = t.last.Offset
	}
	return t.out
}

// begin notes what comes first for the lines that were made by what came before and have nothing on them.
func (t *Text) begin() {
	t.begun = t.begun[:min(len(t.begun), t.text.Held())] // those below the cursor may have been erased
	for len(t.begun) < t.text.Held() {
		t.begun = append(t.begun, t.last)
	}
	t.next = t.last.Offset
}

// Rest is the line under way, as it is now: what comes next may go on with it, or draw over it. It has no end, and is
// empty if there is none.
func (t *Text) Rest() []byte {
	t.out = t.out[:0]
	line := t.text.Line()
	if line == "" {
		return t.out
	}
	if t.stamp != nil {
		of := t.last
		if n := t.text.Row(); n < len(t.begun) {
			of = t.begun[n]
		}
		of.Next = of.Offset
		t.out = t.stamp(t.out, of)
	}
	t.out = appendVisible(t.out, line)
	return t.out
}

// Settle is what could still change, but hasn't for a while.
func (t *Text) Settle() []byte {
	t.out = t.out[:0]
	t.text.Flush()
	return t.out
}

// Finish is the rest: nothing more comes.
func (t *Text) Finish() []byte {
	t.out = t.out[:0]
	t.text.Close()
	return t.out
}

// appendVisible appends a line of text in which what would turn others around, or break the line, is seen
// instead: bidirectional controls and line separators become \u202e and the like, as in pasar.Clean. Colours
// stay.
func appendVisible(b []byte, line string) []byte {
	for {
		i := strings.IndexFunc(line, hidden)
		if i < 0 {
			return append(b, line...)
		}
		r, n := utf8.DecodeRuneInString(line[i:])
		b = fmt.Appendf(append(b, line[:i]...), `\u%04x`, r)
		line = line[i+n:]
	}
}

func hidden(r rune) bool {
	return r >= 0x061c && (unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' || r == '\ufeff')
}
