package main

import (
	"strings"
	"testing"
)

func TestKeysByNameAreWhatATerminalSends(t *testing.T) {
	for names, want := range map[string][2]string{ // in the usual cursor mode, and in the application's
		"C-c": {"\x03", "\x03"}, "c-C": {"\x03", "\x03"}, "C-[": {"\x1b", "\x1b"}, "C-@": {"\x00", "\x00"}, "C-]": {"\x1d", "\x1d"}, "C-?": {"\x7f", "\x7f"},
		"M-x": {"\x1bx", "\x1bx"}, "C-M-x": {"\x1b\x18", "\x1b\x18"}, "M-Enter": {"\x1b\r", "\x1b\r"},
		"Enter,Tab,Space,BSpace,Escape,BTab,Comma": {"\r\t \x7f\x1b\x1b[Z,", "\r\t \x7f\x1b\x1b[Z,"},
		"Up,down,LEFT,Right":                       {"\x1b[A\x1b[B\x1b[D\x1b[C", "\x1bOA\x1bOB\x1bOD\x1bOC"},
		"Home,End":                                 {"\x1b[H\x1b[F", "\x1bOH\x1bOF"},
		"C-Up,S-Left,M-End":                        {"\x1b[1;5A\x1b[1;2D\x1b[1;3F", "\x1b[1;5A\x1b[1;2D\x1b[1;3F"},
		"PageUp,NPage,Delete,IC,C-Delete":          {"\x1b[5~\x1b[6~\x1b[3~\x1b[2~\x1b[3;5~", "\x1b[5~\x1b[6~\x1b[3~\x1b[2~\x1b[3;5~"},
		"F1,F5,F12,S-F1":                           {"\x1bOP\x1b[15~\x1b[24~\x1b[1;2P", "\x1bOP\x1b[15~\x1b[24~\x1b[1;2P"},
		"a,é,漢,-":                                  {"aé漢-", "aé漢-"},
	} {
		keys, err := parseKeys(names)
		if err != nil {
			t.Errorf("%s: %v", names, err)
			continue
		}
		for i, app := range []bool{false, true} {
			got := ""
			for _, k := range keys {
				got += k.bytes(app)
			}
			if got != want[i] {
				t.Errorf("%s: %q, want %q", names, got, want[i])
			}
		}
	}
	for _, bad := range []string{"", "a,", "Entr", "C-é", "C-1", "X-a", "S-a", "C-Enter", "\x03", "C-", "\xff", "a\x1b[31m"} {
		if _, err := parseKeys(bad); err == nil || strings.ContainsAny(err.Error(), "\x1b\x03") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
