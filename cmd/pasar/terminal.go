package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// A terminal is what standard output is.
type terminal struct {
	is    bool
	width int // columns; 0 off a terminal: nothing is cut
	color bool
}

// look finds out whether w is a terminal and how wide. NO_COLOR (no-color.org) and a dumb terminal
// mean no colour.
func look(w io.Writer, env []string) terminal {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return terminal{}
	}
	t := terminal{is: true, width: 80, color: lookup(env, "NO_COLOR") == "" && lookup(env, "TERM") != "dumb"}
	if cols, _, err := term.GetSize(int(f.Fd())); err == nil && cols > 0 {
		t.width = cols
	}
	return t
}

// setColor applies --color: always, never, or auto (as look found).
func (t *terminal) setColor(when string, env []string) error {
	switch when {
	case "", "auto":
	case "always":
		t.color = true
	case "never":
		t.color = false
	default:
		return usagef("--color %q: it is always, auto or never", when)
	}
	return nil
}
