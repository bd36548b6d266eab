package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"pasar"
	"pasar/attemptdir"
	"pasar/vt"
)

// A renderer turns raw output, piece by piece, into what is to be shown. What it returns is valid until
// the next call.
type renderer interface {
	render(p piece) []byte
	settle() []byte // what could still change, but hasn't for a while
	finish() []byte // nothing more comes
}

// newRenderer is what standard output calls for: bytes as they are when raw, on a terminal text with its
// colours and nothing else that a terminal would obey, elsewhere plain text.
func (c *call) newRenderer(raw bool) renderer {
	if raw {
		return asIs{}
	}
	return c.newLines(nil)
}

// newLines renders to lines; stamp, if it isn't nil, appends what comes before each.
func (c *call) newLines(stamp func([]byte, piece) []byte) *lines {
	r := &lines{stamp: stamp}
	if c.term.color && !c.json {
		r.text = vt.NewColours(r.emit)
	} else {
		r.text = vt.NewText(r.emit)
	}
	return r
}

type asIs struct{}

func (asIs) render(p piece) []byte { return p.data }
func (asIs) settle() []byte        { return nil }
func (asIs) finish() []byte        { return nil }

// lines renders to lines of text, each with its end.
type lines struct {
	text interface {
		Write([]byte) (int, error)
		Held() int
		Flush()
		Close()
	}
	out []byte

	stamp func(b []byte, of piece) []byte
	begun []piece // with stamp: of each line held that something came for, what came first; without data
	last  piece
}

func (l *lines) emit(line string) {
	if l.stamp != nil {
		of := l.last
		if len(l.begun) > 0 {
			of = l.begun[0]
			l.begun = l.begun[1:]
		}
		l.out = l.stamp(l.out, of)
	}
	l.out = append(appendVisible(l.out, line), '\n')
}

func (l *lines) render(p piece) []byte {
	l.out = l.out[:0]
	if l.stamp == nil {
		_, _ = l.text.Write(p.data) // it never fails
		return l.out
	}
	l.last = piece{at: p.at, stream: p.stream}
	for line := range bytes.Lines(p.data) {
		for len(l.begun) < l.text.Held() { // those that were made by what came before and had nothing on them
			l.begun = append(l.begun, l.last)
		}
		_, _ = l.text.Write(line)
	}
	return l.out
}

func (l *lines) settle() []byte {
	l.out = l.out[:0]
	l.text.Flush()
	return l.out
}

func (l *lines) finish() []byte {
	l.out = l.out[:0]
	l.text.Close()
	return l.out
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

// timeStamp is what --timestamps puts before a line: when its first byte came, in local time.
func timeStamp(b []byte, of piece) []byte {
	if of.at.IsZero() {
		return append(b, "- "...)
	}
	return append(of.at.Local().AppendFormat(b, time.RFC3339), ' ')
}

// rawStamp carries time and stream to where lines become JSON; cutStamp takes it off again.
func rawStamp(b []byte, of piece) []byte {
	ms := int64(-1)
	if !of.at.IsZero() {
		ms = of.at.UnixMilli()
	}
	return fmt.Appendf(b, "%d %d ", ms, of.stream)
}

func cutStamp(line []byte) (text []byte, at *time.Time, stream *string) {
	ms, rest, _ := bytes.Cut(line, []byte(" "))
	s, text, _ := bytes.Cut(rest, []byte(" "))
	if n, err := strconv.ParseInt(string(ms), 10, 64); err == nil && n >= 0 {
		t := time.UnixMilli(n).UTC()
		at = &t
	}
	switch n, _ := strconv.Atoi(string(s)); n {
	case attemptdir.Stdout:
		stream = pasar.Known("stdout")
	case attemptdir.Stderr:
		stream = pasar.Known("stderr")
	}
	return text, at, stream
}
