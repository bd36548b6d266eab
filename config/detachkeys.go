package config

import (
	"fmt"
	"strings"
)

// DefaultDetachKeys are Ctrl-] and then d: telnet's escape, which programs leave alone.
const DefaultDetachKeys = "ctrl-],d"

// A Key is one key on a keyboard: a printable ASCII character, lower case when Ctrl is held with it.
type Key struct {
	Char byte
	Ctrl bool
}

// String is the key as people say it: "Ctrl-]", "d".
func (k Key) String() string {
	if k.Ctrl {
		return "Ctrl-" + strings.ToUpper(string(k.Char))
	}
	return string(k.Char)
}

// maxDetachKeys bounds a sequence: more would be held back from the job for no gain.
const maxDetachKeys = 4

// needed are keys of which no job can do without: as the first key to detach they would all be held back.
var needed = map[byte]string{
	'c': "it interrupts", 'd': "it ends the input", 'z': "it suspends", 'm': "it is Enter", 'j': "it is a line end",
	'i': "it is Tab", 'h': "it is Backspace", '[': "it is Escape, with which cursor keys begin",
}

// ParseDetachKeys reads the keys that leave a job's terminal, one after the other, as docker writes them:
// "ctrl-],d", "ctrl-p,ctrl-q". The first is one with ctrl-, since others are typed all the time.
func ParseDetachKeys(s string) ([]Key, error) {
	var keys []Key
	for word := range strings.SplitSeq(s, ",") {
		k, err := parseKey(word)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	switch first := keys[0]; {
	case len(keys) > maxDetachKeys:
		return nil, fmt.Errorf("want at most %d keys", maxDetachKeys)
	case !first.Ctrl:
		return nil, fmt.Errorf("want a first key with ctrl-, such as %s: %s alone is typed all the time", DefaultDetachKeys, first)
	case needed[first.Char] != "":
		return nil, fmt.Errorf("want another first key than %s, which jobs need: %s", first, needed[first.Char])
	}
	return keys, nil
}

func parseKey(word string) (Key, error) {
	char, ctrl := strings.CutPrefix(strings.ToLower(word), "ctrl-")
	switch {
	case !ctrl && len(word) == 1 && word[0] > ' ' && word[0] < 0x7f:
		return Key{Char: word[0]}, nil
	case ctrl && len(char) == 1 && (char[0] >= 'a' && char[0] <= 'z' || strings.IndexByte(`@[\]^_`, char[0]) >= 0):
		return Key{Char: char[0], Ctrl: true}, nil
	}
	return Key{}, fmt.Errorf(`want keys such as ctrl-] or d with commas between, where ctrl- goes with a to z, @ [ \ ] ^ _; not %q`, word)
}

// SayKeys is a sequence as people say it: "Ctrl-] then d".
func SayKeys(keys []Key) string {
	words := make([]string, len(keys))
	for i, k := range keys {
		words[i] = k.String()
	}
	return strings.Join(words, " then ")
}

func isDetachKeys(v any) error {
	s, ok := v.(string)
	if !ok {
		return fmt.Errorf("bad value %s: want keys in quotes, such as %q", text(v), DefaultDetachKeys)
	}
	if _, err := ParseDetachKeys(s); err != nil {
		return fmt.Errorf("bad value %q: %w", s, err)
	}
	return nil
}
