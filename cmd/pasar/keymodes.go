package main

import (
	"strconv"

	"pasar/vt"
)

// keyModes are the modes of keys and mouse that the terminal was told.
type keyModes struct {
	vt.Modes
	pushed [2]int // of kitty's keyboard protocol, for the main and the alternate screen: the flags set, plus 1; 0: none were
}

// keys returns what gives the terminal the modes that are wanted now: the job's, for who types; else none.
func (d *display) keys() []byte {
	var want vt.Modes
	if d.types && d.job != nil {
		want = d.job.Modes()
		if !d.passing && (d.left > 0 || d.top > 0) {
			want.Mouse, want.MouseEncoding = 0, 0 // its positions would be of another screen
		}
	}
	var b []byte
	now := &d.set
	b = private(b, 1, now.AppCursor, want.AppCursor)
	switch {
	case want.AppKeypad && !now.AppKeypad:
		b = append(b, "\x1b="...)
	case now.AppKeypad && !want.AppKeypad:
		b = append(b, "\x1b>"...)
	}
	b = private(b, 2004, now.Paste, want.Paste)
	b = private(b, 1004, now.Focus, want.Focus)
	if now.Mouse != want.Mouse {
		b = private(b, now.Mouse, now.Mouse != 0, false)
		b = private(b, want.Mouse, false, want.Mouse != 0)
	}
	if now.MouseEncoding != want.MouseEncoding {
		b = private(b, now.MouseEncoding, now.MouseEncoding != 0, false)
		b = private(b, want.MouseEncoding, false, want.MouseEncoding != 0)
	}
	// Each screen of a terminal has its own stack of keyboard flags: what is pushed on one is popped there.
	switch p := &now.pushed[d.screenUsed()]; {
	case *p == 0 && want.Keyboard != 0:
		b = append(b, "\x1b[>"+strconv.Itoa(want.Keyboard)+"u"...)
		*p = want.Keyboard + 1
	case *p != 0 && *p != want.Keyboard+1:
		b = append(b, "\x1b[="+strconv.Itoa(want.Keyboard)+";1u"...)
		*p = want.Keyboard + 1
	}
	now.Modes = want
	return b
}

// screenUsed is which screen of the terminal is shown: 0 the main one, 1 the alternate one.
func (d *display) screenUsed() int {
	if d.history == 0 || d.alternate {
		return 1
	}
	return 0
}

func private(b []byte, mode int, is, want bool) []byte {
	if is == want {
		return b
	}
	final := byte('l')
	if want {
		final = 'h'
	}
	return append(append(append(b, "\x1b[?"...), strconv.Itoa(mode)...), final)
}

// keysOff takes back every mode of keys and mouse, whether it was set or not, but for the keyboard's stacks.
const keysOff = "\x1b[?9;1000;1002;1003;1004;1005;1006;1015;1016;2004l\x1b[?1l\x1b>"
