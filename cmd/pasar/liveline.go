package main

import (
	"bytes"
	"strings"

	"pasar/ui"
	"pasar/vt"
)

// maxLive bounds the line under way that is kept: more than any progress bar between two of its steps.
const maxLive = 8 << 10

// A liveLine is the line that a job is still writing, a progress bar or a prompt, as it is shown on a
// terminal before it ends. It takes one row, and is taken back before anything else is written. A nil
// one shows nothing.
type liveLine struct {
	width int
	raw   []byte // since the last line end
	shown string
}

func (l *liveLine) add(raw []byte) {
	if l == nil {
		return
	}
	if i := bytes.LastIndexByte(raw, '\n'); i >= 0 {
		l.raw, raw = l.raw[:0], raw[i+1:]
	}
	l.raw = append(l.raw, raw...)
	if over := len(l.raw) - maxLive; over > 0 {
		l.raw = append(l.raw[:0], l.raw[over:]...)
	}
}

// line is what shows the line as it is now; empty if it is shown already.
func (l *liveLine) line() string {
	if l == nil {
		return ""
	}
	var last string
	t := vt.NewText(func(s string) { last = s })
	_, _ = t.Write(l.raw) // it never fails
	t.Close()
	last = ui.Cut(strings.ReplaceAll(last, "\t", "    "), l.width-1)
	if last == l.shown {
		return ""
	}
	back := l.back()
	l.shown = last
	return back + last
}

// back takes back what is shown.
func (l *liveLine) back() string {
	if l == nil || l.shown == "" {
		return ""
	}
	l.shown = ""
	return "\r\x1b[K"
}
