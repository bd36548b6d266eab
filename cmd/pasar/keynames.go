package main

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"pasar"
)

// A namedKey is how a terminal sends a key that has a name.
type namedKey struct {
	plain  string // its bytes; empty: see final and tilde
	final  byte   // CSI final: SS3 final where the program asked for application cursor keys
	number int    // CSI number ~
	ss3    bool   // SS3 final always, as F1 to F4 are
}

// namedKeys are the keys by name, in lower case; the names are tmux's, with those that people try.
var namedKeys = map[string]namedKey{
	"enter": {plain: "\r"}, "return": {plain: "\r"}, "escape": {plain: "\x1b"}, "esc": {plain: "\x1b"}, "tab": {plain: "\t"}, "btab": {plain: "\x1b[Z"},
	"space": {plain: " "}, "bspace": {plain: "\x7f"}, "backspace": {plain: "\x7f"}, "comma": {plain: ","},
	"up": {final: 'A'}, "down": {final: 'B'}, "right": {final: 'C'}, "left": {final: 'D'}, "home": {final: 'H'}, "end": {final: 'F'},
	"ic": {number: 2}, "insert": {number: 2}, "dc": {number: 3}, "delete": {number: 3},
	"ppage": {number: 5}, "pageup": {number: 5}, "pgup": {number: 5}, "npage": {number: 6}, "pagedown": {number: 6}, "pgdn": {number: 6},
	"f1": {final: 'P', ss3: true}, "f2": {final: 'Q', ss3: true}, "f3": {final: 'R', ss3: true}, "f4": {final: 'S', ss3: true},
	"f5": {number: 15}, "f6": {number: 17}, "f7": {number: 18}, "f8": {number: 19}, "f9": {number: 20}, "f10": {number: 21}, "f11": {number: 23}, "f12": {number: 24},
}

// keysHelp is how keys are written.
const keysHelp = "keys are written as in tmux: C-c, M-x, Enter, Escape, Tab, Space, BSpace, Up, Home, PageUp, Delete, F1, C-Right, or a character"

// A keyPress is a key with what is held.
type keyPress struct {
	named            *namedKey
	char             string // if it has no name
	ctrl, meta, shft bool
}

// parseKeys reads keys with commas between.
func parseKeys(s string) ([]keyPress, error) {
	var keys []keyPress
	for word := range strings.SplitSeq(s, ",") {
		k, ok := parsePress(word)
		if !ok {
			return nil, usagef("%q is no key", pasar.Clean(word)).hint(keysHelp)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

func parsePress(word string) (k keyPress, ok bool) {
	for len(word) > 2 && word[1] == '-' {
		switch word[0] {
		case 'C', 'c':
			k.ctrl = true
		case 'M', 'm':
			k.meta = true
		case 'S', 's':
			k.shft = true
		default:
			return k, false
		}
		word = word[2:]
	}
	if n, found := namedKeys[strings.ToLower(word)]; found {
		k.named = &n
		return k, n.plain == "" || !k.ctrl && !k.shft
	}
	if utf8.RuneCountInString(word) != 1 || !utf8.ValidString(word) || word[0] < ' ' {
		return k, false
	}
	k.char = word
	if k.ctrl {
		c := word[0]
		if c == '?' {
			k.char, k.ctrl = "\x7f", false
		} else if c = lower(c) &^ 0x20; len(word) > 1 || c < 0x40 || c > 0x5f {
			return k, false
		}
	}
	return k, !k.shft
}

// bytes is what a terminal sends for the key. The cursor keys differ where the program asked for it.
func (k keyPress) bytes(appCursor bool) string {
	s := ""
	mods := 1
	if k.shft {
		mods++
	}
	if k.ctrl {
		mods += 4
	}
	n := k.named
	switch {
	case n == nil && k.ctrl:
		s = string(rune(k.char[0] & 0x1f))
	case n == nil:
		s = k.char
	case n.plain != "":
		s = n.plain
	default:
		if k.meta {
			mods += 2
		}
		return n.sequence(mods, appCursor)
	}
	if k.meta {
		s = "\x1b" + s
	}
	return s
}

func (n *namedKey) sequence(mods int, appCursor bool) string {
	m := ""
	if mods > 1 {
		m = ";" + strconv.Itoa(mods)
	}
	switch {
	case n.number > 0:
		return "\x1b[" + strconv.Itoa(n.number) + m + "~"
	case m != "":
		return "\x1b[1" + m + string(rune(n.final))
	case n.ss3 || appCursor:
		return "\x1bO" + string(rune(n.final))
	}
	return "\x1b[" + string(rune(n.final))
}

// cursorKey reports whether the program's cursor mode changes the key.
func (k keyPress) cursorKey() bool { return k.named != nil && k.named.final != 0 && !k.named.ss3 }
