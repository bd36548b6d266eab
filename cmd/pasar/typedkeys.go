package main

import (
	"bytes"
	"strconv"
	"strings"

	"pasar/config"
)

// A typedKey is one key in what a terminal sends, or a sequence that is none of interest here.
type typedKey struct {
	raw    []byte       // as it came
	keys   []config.Key // what it may be meant as; more than one where the keyboard's layout isn't Latin
	silent bool         // a key let go, or Shift and the like by itself
}

func (k typedKey) is(want config.Key) bool {
	for _, key := range k.keys {
		if key == want {
			return true
		}
	}
	return false
}

// maxKey bounds the sequence of one key; a longer one is taken byte by byte.
const maxKey = 64

// nextKey takes the first key off b; ok is false where b ends within a sequence. A lone Escape is a key:
// what it might begin would have come with it.
func nextKey(b []byte) (k typedKey, rest []byte, ok bool) {
	one := func(n int) (typedKey, []byte, bool) { return typedKey{raw: b[:n]}, b[n:], true }
	c := b[0]
	if c != 0x1b {
		k, rest, ok = one(1)
		switch {
		case c < 0x20:
			k.keys = []config.Key{{Char: lower(c | 0x40), Ctrl: true}}
		case c < 0x7f:
			k.keys = []config.Key{{Char: c}}
		}
		return k, rest, ok
	}
	switch {
	case len(b) > 2 && b[1] == 'O': // a cursor or function key
		return one(3)
	case len(b) < 2 || b[1] != '[':
		return one(1)
	}
	for i := 2; i < len(b) && i < maxKey; i++ {
		switch {
		case b[i] >= 0x40 && b[i] <= 0x7e:
			k, rest, ok = one(i + 1)
			k.decode(string(b[2:i]), b[i])
			return k, rest, ok
		case b[i] < 0x20 || b[i] > 0x7e:
			return one(1)
		}
	}
	if len(b) >= maxKey {
		return one(1)
	}
	return typedKey{}, b, false
}

// Bits of the modifiers in a key's sequence, which holds them plus 1.
const (
	modShift = 1
	modCtrl  = 4
	modLocks = 64 | 128 // Caps Lock and Num Lock change no key of ours
)

// decode reads a key in the forms of the newer keyboard protocols: CSI code:shifted:base ; modifiers:event u,
// as kitty's defines it, and xterm's CSI 27 ; modifiers ; code ~.
func (k *typedKey) decode(params string, final byte) {
	fields := strings.Split(params, ";")
	var codes []string
	mods, event := 0, ""
	switch {
	case final == 'u':
		codes = strings.Split(fields[0], ":")
		if len(fields) > 1 {
			var m string
			m, event, _ = strings.Cut(fields[1], ":")
			mods = number(m) - 1
		}
	case final == '~' && len(fields) == 3 && fields[0] == "27":
		codes, mods = fields[2:], number(fields[1])-1
	default:
		return
	}
	main := number(codes[0])
	k.silent = event == "3" || main >= 57441 && main <= 57454 || main >= 57358 && main <= 57360
	mods = max(0, mods) &^ modLocks
	if len(codes) > 1 && mods&modShift != 0 && codes[1] != "" {
		codes = codes[1:2] // what Shift makes of it is what is meant
		mods &^= modShift
	}
	if mods != 0 && mods != modCtrl {
		return
	}
	for _, c := range codes {
		if n := number(c); n > ' ' && n < 0x7f {
			key := config.Key{Char: byte(n), Ctrl: mods == modCtrl}
			if key.Ctrl {
				key.Char = lower(key.Char)
			}
			k.keys = append(k.keys, key)
		}
	}
}

// number is a field's value; 0 if it is none.
func number(s string) int {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return 0
	}
	return int(n)
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// watchKeys reports whether what was typed while watching means to leave, or to take the keyboard. Taking it
// must be typed by itself: in something pasted an i would send the rest to the job.
func watchKeys(b []byte) (leave, take bool) {
	for rest := b; len(rest) > 0; {
		k, after, ok := nextKey(rest)
		if !ok {
			break
		}
		if len(k.raw) == 1 && k.raw[0] == 0x1b && len(after) > 0 {
			after = after[1:] // a key with Alt
		}
		for _, key := range k.keys {
			if k.silent {
				break
			}
			switch key {
			case config.Key{Char: 'q'}, config.Key{Char: 'Q'}, config.Key{Char: 'c', Ctrl: true}, config.Key{Char: 'd', Ctrl: true}:
				return true, false
			case config.Key{Char: 'i'}:
				take = bytes.Equal(k.raw, b)
			}
		}
		rest = after
	}
	return false, take
}
