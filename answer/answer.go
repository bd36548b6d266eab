// Package answer is what programs are told: the JSON that commands print with --json and that the HTTP API answers
// with, the same bytes.
package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"pasar"
)

// Encode is one value on one line, its newline included.
func Encode(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return Line(b), nil
}

// Line is JSON as it is written: escaped, and with one newline at its end whether or not b has one. It may be b itself.
func Line(b []byte) []byte {
	b = Escaped(b)
	if n := len(b); n > 0 && b[n-1] == '\n' {
		return b
	}
	return append(b[:len(b):len(b)], '\n') // never into what may lie behind it
}

// Escaped is JSON in which every character that a terminal might act on is an escape of JSON: the same values. Such
// characters are in strings only. It may be b itself.
func Escaped(b []byte) []byte {
	if !slices.ContainsFunc(b, beyondASCII) || !bytes.ContainsFunc(b, actsOn) { // the first is far quicker
		return b
	}
	var out []byte
	for _, r := range string(b) {
		if actsOn(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
	return out
}

func beyondASCII(c byte) bool { return c > '~' }

func actsOn(r rune) bool {
	return r > '~' && r != utf8.RuneError && pasar.Clean(string(r)) != string(r)
}
