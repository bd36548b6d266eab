package main

import (
	"bytes"
)

// detachPrefixes are Ctrl-], as a terminal sends it, and in the CSI-u form of the newer keyboard protocols.
var detachPrefixes = [][]byte{{0x1d}, []byte("\x1b[93;5u"), []byte("\x1b[93;5:1u")}

// detachFinals are what comes after it to detach: d.
var detachFinals = [][]byte{{'d'}, []byte("\x1b[100u"), []byte("\x1b[100;1u"), []byte("\x1b[100;1:1u")}

// detachKeys finds the keys that detach in what is typed. The prefix alone is held back until it is known
// what follows; twice it is typed once.
type detachKeys struct {
	held []byte // the prefix as it came, while it is held back
}

// feed returns what goes to the job, and whether to detach.
func (k *detachKeys) feed(b []byte) (pass []byte, detach bool) {
	for len(b) > 0 {
		p := leading(b, detachPrefixes)
		switch {
		case k.held == nil && p > 0:
			k.held = bytes.Clone(b[:p])
			b = b[p:]
		case k.held == nil:
			pass = append(pass, b[0])
			b = b[1:]
		case p > 0:
			pass = append(pass, k.held...)
			k.held, b = nil, b[p:]
		case leading(b, detachFinals) > 0:
			k.held = nil
			return pass, true
		default:
			pass = append(append(pass, k.held...), b[0])
			k.held, b = nil, b[1:]
		}
	}
	return pass, false
}

// expire gives back a prefix that nothing followed for a second.
func (k *detachKeys) expire() []byte {
	p := k.held
	k.held = nil
	return p
}

// leading is the length of the word that b begins with, or 0.
func leading(b []byte, words [][]byte) int {
	for _, w := range words {
		if bytes.HasPrefix(b, w) {
			return len(w)
		}
	}
	return 0
}

// watchKeys reports whether what was typed while watching means to leave, or to take the keyboard. The
// sequence of a cursor key is neither.
func watchKeys(b []byte) (leave, take bool) {
	if len(b) > 0 && b[0] == 0x1b {
		return false, false
	}
	for _, c := range b {
		switch c {
		case 'q', 'Q', 0x03, 0x04:
			return true, false
		case 'i':
			return false, true
		}
	}
	return false, false
}
