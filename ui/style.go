// Package ui lays out what pasar shows to people: views become rows, pages and sentences.
//
// It is pure: a view, the time and a width go in, text comes out. The words come from the daemon where
// it has them (a reason's sentence, a verdict's summary), so that every client says the same. All
// foreign text is cleaned here once more, since a view may come from a daemon of another version.
package ui

import "pasar"

// A Style says how text may look. The zero Style is plain.
type Style struct {
	Color bool
	Width int // columns to fit into; 0: nothing is cut
}

// SGR sequences (ECMA-48 8.3.117): the sixteen colours of the terminal's own palette only.
const (
	reset  = "\x1b[0m"
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	blue   = "\x1b[34m"
)

func (s Style) paint(code, text string) string {
	if !s.Color || code == "" || text == "" {
		return text
	}
	return code + text + reset
}

// Bold makes text stand out.
func (s Style) Bold(text string) string { return s.paint(bold, text) }

// Dim makes text step back.
func (s Style) Dim(text string) string { return s.paint(dim, text) }

// State colours a word by a job's state.
func (s Style) State(st pasar.State, text string) string { return s.paint(stateColor(st), text) }

func stateColor(st pasar.State) string { return codes[StateRole(st)] }

// codes are the sequences that roles look like.
var codes = map[Role]string{Good: green, Warn: yellow, Bad: red, Calm: blue, Faint: dim}
