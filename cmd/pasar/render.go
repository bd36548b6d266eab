package main

import (
	"pasar/vt"
)

// A renderer turns raw output, piece by piece, into what is to be shown. What it returns is valid until
// the next call.
type renderer interface {
	render(raw []byte) []byte
	settle() []byte // what could still change, but hasn't for a while
	finish() []byte // nothing more comes
}

// newRenderer is what standard output calls for: bytes as they are when raw, on a terminal text with its
// colours and nothing else that a terminal would obey, elsewhere plain text.
func (c *call) newRenderer(raw bool) renderer {
	switch {
	case raw:
		return asIs{}
	case c.term.color && !c.json:
		r := &lines{}
		r.text = vt.NewColours(r.emit)
		return r
	}
	r := &lines{}
	r.text = vt.NewText(r.emit)
	return r
}

type asIs struct{}

func (asIs) render(raw []byte) []byte { return raw }
func (asIs) settle() []byte           { return nil }
func (asIs) finish() []byte           { return nil }

// lines renders to lines of text, each with its end.
type lines struct {
	text interface {
		Write([]byte) (int, error)
		Flush()
		Close()
	}
	out []byte
}

func (l *lines) emit(line string) { l.out = append(append(l.out, line...), '\n') }

func (l *lines) render(raw []byte) []byte {
	l.out = l.out[:0]
	_, _ = l.text.Write(raw) // it never fails
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
