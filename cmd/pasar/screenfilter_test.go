package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func filtered1(in string, types bool) string {
	f := &screenFilter{types: types}
	return string(f.filter([]byte(in)))
}

func TestAJobMayDrawAndNothingElse(t *testing.T) {
	for in, want := range map[string]string{
		"plain é 漢字\r\n\t\b\a":                          "plain é 漢字\r\n\t\b\a",
		"\x1b[31;1mred\x1b[0m":                          "\x1b[31;1mred\x1b[0m",
		"\x1b[38:2::1:2:3mrgb":                          "\x1b[38:2::1:2:3mrgb",
		"\x1b[2J\x1b[H\x1b[10;20H":                      "\x1b[2J\x1b[H\x1b[10;20H",
		"\x1b(0lqk\x1b(B":                               "\x1b(0lqk\x1b(B",
		"\x1b7\x1b8\x1bM\x1b=\x1b>":                     "\x1b7\x1b8\x1bM\x1b=\x1b>",
		"\x1b[?25l\x1b[?1049h":                          "\x1b[?25l\x1b[?1049h",
		"\x1b[?25;2026;1049h":                           "\x1b[?25;1049h", // but not synchronized output
		"\x1b[?2004h\x1b[?1000;1006h":                   "",               // only for who types
		"\x1b]0;title\a.":                               ".",              // title
		"\x1b]52;c;aGk=\x1b\\.":                         ".",              // clipboard
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\":      "link",           // hyperlink
		"\x1bPq#0;2\x1b\\.":                             ".",              // sixel
		"\x1b_Gf=100\x1b\\.\x1b^pm\x1b\\.\x1bXs\x1b\\.": "...",            // APC PM SOS
		"\x1b[c\x1b[>c\x1b[6n\x1b[5n\x1b[?6n\x1b[x":     "",               // queries
		"\x1b[?2026$p\x1b[21t\x1b[8;9;9t":               "",               // mode and window
		"\x1b[>4;2m\x1b[>1u\x1b[<u\x1b[=1u":             "",               // keyboard protocols
		"\x1b[99999999999A.":                            ".",              // a count that only costs time
		"\x1b[5 q":                                      "\x1b[5 q",       // cursor shape
		"\x1b[!p":                                       "\x1b[!p",        // soft reset
		"\x05\x0e\x0f\x00\x7f.":                         ".",              // answerback, shifts
		"\x1b]unterminated \x18.":                       ".",              // CAN ends a string
		"\x1b]a\x1b[31mb":                               "\x1b[31mb",      // so does a new sequence
		"\xc2\x9b31mx\xc2\x85y":                         "31mxy",          // C1 as UTF-8
		"\x9b31m":                                       "\ufffd31m",      // C1 as a byte
		"\xff\xfea":                                     "\ufffd\ufffda",
		"\xe6\xbc":                                      "", // half a character, so far
	} {
		if got := filtered1(in, false); got != want {
			t.Errorf("%q passes as %q, want %q", in, got, want)
		}
	}
	if got := filtered1("\x1b[?2004h\x1b[?1000;1006h", true); got != "\x1b[?2004h\x1b[?1000;1006h" {
		t.Errorf("who types gets %q", got)
	}
}

func TestLeavingUndoesWhatTheJobDid(t *testing.T) {
	f := &screenFilter{}
	if u := f.undo(); strings.Contains(u, "1049") || strings.Contains(u, "\x1b[r") || !strings.Contains(u, "25h") {
		t.Errorf("after nothing: %q", u)
	}
	f.filter([]byte("\x1b[?1049h\x1b[2;5r"))
	if u := f.undo(); !strings.Contains(u, "\x1b[?1049l") || !strings.Contains(u, "\x1b[r") {
		t.Errorf("after the alternate screen and a region: %q", u)
	}
	f.filter([]byte("\x1b[?1049l"))
	if strings.Contains(f.undo(), "1049") {
		t.Error("the alternate screen is left twice")
	}
}

func FuzzScreenFilter(f *testing.F) {
	for _, s := range []string{"a\x1b[31mb", "\x1b]0;t\a", "\x1bP\x1b\\", "\xe6\xbc\xa2", "\x1b[?1;2h", "\x1b[\x1b]\x1b", "\x1b(\x18("} {
		f.Add([]byte(s), 1)
	}
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		whole := filtered1(string(b), false)
		split := &screenFilter{}
		if len(b) > 0 {
			cut = int(uint(cut) % uint(len(b)))
		} else {
			cut = 0
		}
		got := string(split.filter(b[:cut]))
		got += string(split.filter(b[cut:]))
		if got != whole {
			t.Fatalf("cut at %d: %q, whole: %q", cut, got, whole)
		}
		if !utf8.ValidString(whole) || len(whole) > 3*len(b)+8 {
			t.Fatalf("%q became %q", b, whole)
		}
		for _, bad := range []string{"\x1b]", "\x1bP", "\x1b_", "\x1b^", "\x1bX", "\x05", "\u009b"} {
			if strings.Contains(whole, bad) {
				t.Fatalf("%q passes %q", b, bad)
			}
		}
		if again := filtered1(whole, false); again != whole && !bytes.Contains(b, []byte{0x1b}) {
			t.Fatalf("filtering twice changes %q to %q", whole, again)
		}
	})
}
