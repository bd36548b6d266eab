// Package answer is what programs are told: the JSON that commands print with --json and that HTTP answers with, the
// same bytes for both.
package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"pasar"
	"pasar/ipc"
)

// Escaped is JSON in which every character that a terminal might act on is an escape of JSON: the same values. Such
// characters are in strings only.
func Escaped(b []byte) []byte {
	if !bytes.ContainsFunc(b, actsOn) {
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

func actsOn(r rune) bool {
	return r > '~' && r != utf8.RuneError && pasar.Clean(string(r)) != string(r)
}

// Line is one JSON value as it is given out: escaped, and with one newline at its end.
func Line(b []byte) []byte {
	b = Escaped(b)
	if len(b) == 0 || b[len(b)-1] != '\n' {
		b = append(b[:len(b):len(b)], '\n')
	}
	return b
}

// Encode is a value as it is given out.
func Encode(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return Line(b), nil
}

// An ErrorView is an error as JSON.
type ErrorView struct {
	Code    ipc.Code `json:"code"`
	Message string   `json:"message"`
	Hint    *string  `json:"hint"`
}

// ViewError is an error's view, without control characters.
func ViewError(e *ipc.Error) *ErrorView {
	return &ErrorView{e.Code, pasar.Clean(e.Message), pasar.Known(e.Hint)}
}

// Error is an error as it is given out.
func Error(e *ipc.Error) []byte {
	b, err := Encode(struct {
		Schema int        `json:"schema"`
		Error  *ErrorView `json:"error"`
	}{pasar.Schema, ViewError(e)})
	if err != nil { // it is plain text
		panic(err)
	}
	return b
}
