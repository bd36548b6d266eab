package jobproto

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"pasar"
)

// MaxMarker is how many bytes a marker may have.
const MaxMarker = 64 << 10

// keyCheckpoint is the one key of a marker that counts.
const keyCheckpoint = "checkpoint"

// DecodeMarker reads what a job wrote to say that it saved: {"checkpoint": "/path"}. Other keys are the
// job's own and may hold anything. The path isn't looked at. An error is safe to show and a clause that goes on
// after "the marker".
func DecodeMarker(b []byte) (path string, err error) {
	switch {
	case len(b) > MaxMarker:
		return "", fmt.Errorf("is larger than %s", pasar.Bytes(MaxMarker))
	case len(bytes.TrimSpace(b)) == 0:
		return "", errors.New("is empty")
	case !utf8.Valid(b):
		return "", errors.New("is not UTF-8")
	}
	// By token, since encoding/json would take a key in other letters, and the last of several, without a word.
	dec := json.NewDecoder(bytes.NewReader(b))
	if t, err := dec.Token(); err != nil {
		return "", errNoJSON
	} else if t != json.Delim('{') {
		return "", errors.New("is not a JSON object")
	}
	var value any
	found := false
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return "", errNoJSON
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return "", errNoJSON
		}
		if key != keyCheckpoint {
			continue
		}
		if found {
			return "", errors.New(`has the key "checkpoint" twice`)
		}
		found = true
		if err := json.Unmarshal(raw, &value); err != nil {
			return "", errNoJSON
		}
	}
	if _, err := dec.Token(); err != nil { // the closing brace
		return "", errNoJSON
	}
	if _, err := dec.Token(); err != io.EOF {
		return "", errors.New("has something after its JSON object")
	}
	path, text := value.(string)
	switch {
	case !found || value == nil || text && path == "":
		return "", errors.New(`names no checkpoint: the key "checkpoint" is missing or empty`)
	case !text:
		return "", errors.New(`names no checkpoint: the value of "checkpoint" is not a string`)
	case len(path) > MaxPath:
		return "", fmt.Errorf("names a path of %d bytes; at most %d", len(path), MaxPath)
	case strings.IndexByte(path, 0) >= 0:
		return "", errors.New("names a path that holds a NUL byte")
	}
	return path, nil
}

// errNoJSON leaves out what the reader of JSON found: a marker is short, and whoever wrote it sees it.
var errNoJSON = errors.New(`is not JSON: {"checkpoint": "/path"} was wanted`)
