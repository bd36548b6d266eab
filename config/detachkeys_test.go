package config

import (
	"strings"
	"testing"
)

func TestDetachKeysAreReadAsDockerWritesThem(t *testing.T) {
	for s, want := range map[string]string{
		DefaultDetachKeys: "Ctrl-] then d", "ctrl-p,ctrl-q": "Ctrl-P then Ctrl-Q", `ctrl-\`: `Ctrl-\`, "CTRL-B,D": "Ctrl-B then D", "ctrl-@,ctrl-@": "Ctrl-@ then Ctrl-@",
	} {
		keys, err := ParseDetachKeys(s)
		if err != nil || SayKeys(keys) != want {
			t.Errorf("%q: %q, %v", s, SayKeys(keys), err)
		}
	}
	for s, want := range map[string]string{
		"": `not ""`, "ctrl-],": `not ""`, "ctrl-1,d": `not "ctrl-1"`, "ctrl-],é": `not "é"`, "ctrl-], d": `not " d"`, "ctrl-": `not "ctrl-"`,
		"d,d": "first key with ctrl-", "ctrl-d": "which jobs need: it ends the input", "ctrl-[,d": "Escape",
		"ctrl-],a,b,c,d": "at most 4 keys",
	} {
		if _, err := ParseDetachKeys(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", s, err, want)
		}
	}
}
