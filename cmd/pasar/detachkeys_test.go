package main

import (
	"bytes"
	"strings"
	"testing"

	"pasar/config"
)

func detaching(t *testing.T, keys string) *detachKeys {
	t.Helper()
	want, err := config.ParseDetachKeys(keys)
	if err != nil {
		t.Fatal(err)
	}
	return &detachKeys{want: want}
}

func TestTheKeysThatDetachAreFoundInEveryForm(t *testing.T) {
	const usual = config.DefaultDetachKeys
	for _, tc := range []struct {
		keys, in, pass string
		detach         bool
	}{
		{usual, "abc", "abc", false},
		{usual, "ab\x1dd", "ab", true},
		{usual, "\x1d\x1dd", "\x1dd", false},     // twice types it
		{usual, "\x1dx", "\x1dx", false},         // something else follows
		{usual, "\x1d\x1d\x1dd", "\x1d", true},   // typed once, then the keys
		{usual, "\x1b\x1dd", "\x1b", true},       // after Escape
		{usual, "\x1b[93;5ud", "", true},         // CSI-u
		{usual, "\x1b[93;5u\x1b[100u", "", true}, // both
		{usual, "\x1b[A\x1b[93;5u\x1b[93;5u", "\x1b[A\x1b[93;5u", false},
		{usual, "\x1b[27;5;93~d", "", true},                                       // xterm's modifyOtherKeys
		{usual, "\x1b[93;5:1u\x1b[93;5:3u\x1b[57442;1:3u\x1b[100;1:1u", "", true}, // kitty's, with keys let go
		{usual, "\x1b[57442;5u\x1b[93;5:1u\x1b[93;5:3ux", "\x1b[57442;5u\x1b[93;5:1u\x1b[93;5:3ux", false},
		{usual, "\x1b[93;69u\x1b[100;129u", "", true},                    // with Caps and Num Lock on
		{usual, "\x1b[1098::93;5u\x1b[1074::100u", "", true},             // on a Cyrillic layout
		{usual, "\x1b[93;6u\x1b[100u", "\x1b[93;6u\x1b[100u", false},     // Shift is another key
		{usual, "\x1b[93;5u\x1b[100;5u", "\x1b[93;5u\x1b[100;5u", false}, // Ctrl-D isn't d
		{usual, "d", "d", false},
		{"ctrl-p,ctrl-q", "\x10\x11", "", true},
		{"ctrl-p,ctrl-q", "\x10\x10\x11", "\x10\x11", false},
		{"ctrl-p,ctrl-q", "\x1d\x1b[112;5u\x1b[113;5u", "\x1d", true},
		{"ctrl-^,x", "\x1b[54:94;6ux", "", true}, // where ^ is Shift-6
		{`ctrl-\`, "a\x1c", "a", true},
		{"ctrl-a,ctrl-a", "\x01\x01", "", true},
		{"ctrl-a,b,c", "\x01bx\x01bc", "\x01bx", true},
		{"ctrl-a,b,c", "\x01b\x01bc", "\x01b", true},
		{usual, "\x1b[", "", false},
		{usual, "\x1b[200~pasted\x1b[201~", "\x1b[200~pasted\x1b[201~", false},
		{usual, "\x1b[" + strings.Repeat("1", 100), "\x1b[" + strings.Repeat("1", 100), false},
	} {
		k := detaching(t, tc.keys)
		if pass, detach := k.feed([]byte(tc.in)); string(pass) != tc.pass || detach != tc.detach {
			t.Errorf("%q in %q: passes %q, detaches %v", tc.keys, tc.in, pass, detach)
		}
		k = detaching(t, tc.keys)
		var pass []byte
		detach := false
		for i := range tc.in { // cut anywhere, but behind a lone Escape, which is a key
			p, d := k.feed([]byte(tc.in[i : i+1]))
			pass, detach = append(pass, p...), detach || d
			if d {
				break
			}
		}
		if strings.Contains(tc.in, "\x1b") {
			continue
		}
		if string(pass) != tc.pass || detach != tc.detach {
			t.Errorf("%q in %q, key by key: passes %q, detaches %v", tc.keys, tc.in, pass, detach)
		}
	}
}

func TestAKeyHeldBackPassesInTime(t *testing.T) {
	k := detaching(t, config.DefaultDetachKeys)
	if p, _ := k.feed([]byte("\x1d")); len(p) != 0 || k.patience() != keysPatience || string(k.expire()) != "\x1d" || k.expire() != nil || k.patience() != 0 {
		t.Error("a lone prefix passes once, later")
	}
	if p, _ := k.feed([]byte("x\x1b[93")); string(p) != "x" || k.patience() != sequencePatience {
		t.Errorf("the start of a sequence passes: %q", p)
	}
	if p, d := k.feed([]byte(";5ud")); len(p) != 0 || !d {
		t.Errorf("a sequence in two parts: %q %v", p, d)
	}
}

func TestALargePastePassesWhole(t *testing.T) {
	k := detaching(t, config.DefaultDetachKeys)
	paste := bytes.Repeat([]byte("0123456789abcdef\r"), 1<<16)
	for chunk := range bytes.Lines(paste) {
		if p, d := k.feed(chunk); !bytes.Equal(p, chunk) || d {
			t.Fatal("a paste is changed")
		}
	}
	paste = append([]byte("\x1b[200~"), paste...)
	if p, d := k.feed(paste); !bytes.Equal(p, paste) || d {
		t.Error("a bracketed paste is changed")
	}
}

func TestWatchingLeavesOrTakesTheKeyboardAndNothingElse(t *testing.T) {
	for in, want := range map[string][2]bool{"q": {true, false}, "\x03": {true, false}, "\x04": {true, false}, "i": {false, true},
		"\x1b[105u": {false, true}, "\x1b[99;5u": {true, false}, "\x1b[113;1:3u": {}, "hi": {}, "ix": {}, "xq": {true, false},
		"x": {}, "\x1b[Q": {}, "\x1bq": {}, "\x1bOq": {}, "\x1b[<0;3;4M": {}, "\x1b[": {}, "\x1b": {}, "": {}} {
		if leave, take := watchKeys([]byte(in)); leave != want[0] || take != want[1] {
			t.Errorf("%q: leave %v, take %v", in, leave, take)
		}
	}
}

func FuzzDetachKeys(f *testing.F) {
	for _, s := range []string{"a\x1db", "\x1d\x1d", "\x1b[93;5u\x1b[93;5:3ux", "\x1b[", "\x1b[27;5;93~", "\x1b[1;1;1;1;1u"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		k := detaching(t, config.DefaultDetachKeys)
		pass, detach := k.feed(bytes.Clone(in))
		pass = append(bytes.Clone(pass), k.expire()...)
		switch {
		case detach:
		case !bytes.Contains(in, []byte{0x1d}) && !bytes.Contains(in, []byte("93")) && !bytes.Equal(pass, in):
			t.Fatalf("%q became %q", in, pass)
		case len(pass) > len(in):
			t.Fatalf("%q grew to %q", in, pass)
		}
		watchKeys(in)
	})
}
