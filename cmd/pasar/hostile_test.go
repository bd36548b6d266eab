package main

import (
	"strings"
	"testing"
	"unicode"
)

// Everything that a job or its submitter can name is seen where it is shown, and obeyed nowhere.
func TestHostileWordsAreSeenAndNotObeyed(t *testing.T) {
	h := newHome(t)
	const evil = "a\x1b]52;c;eA==\x07\x1b[2J\rb\bc\u009b31m\u202eabc\nd\tä漢"
	h.pasar("submit", "--gpus", "0", "--hold", "--name", evil, "--note", evil, "--tag", evil, "--by", evil, "--key", evil, "--", "/bin/echo", evil)
	h.pasar("submit", "--gpus", "0", "--name", evil, "--note", evil, "--", "/nowhere/"+evil, evil)
	h.pasar("submit", "--gpus", "0", "--name", evil, "--", "/bin/sh", "-c", "exec false # "+evil)
	for _, args := range [][]string{
		{"wait", "2", "3"}, {"ls"}, {"ls", "--all"}, {"status"}, {"show", "1"}, {"show", "2"}, {"show", "--full", "3"}, {"why", "1"}, {"why", "2"}, {"why", "3"},
		{"why", "1-3"}, {"why", "--json", "2"}, {"why", "--json", "1-3"}, {"why", "--attempt", "1", "3"}, {"stats", "--by", "reason"}, {"stats", "--by", "tag"},
		{"events", "1"}, {"events", "2"}, {"events", "--json", "3"}, {"facts"}, {"facts", "--json"}, {"ls", "--all", "--json"}, {"ls", "--tag", evil}, {"show", evil}, {"cancel", "@" + evil}, {"attach", evil}, {"screen", evil}, {"send", "1", evil}, {"logs", evil},
		{"submit", "--cwd", evil, "true"}, {"submit", "--time", evil, "true"}, {evil}, {"--" + evil}, {"guide", evil}, {"submit", "--size", evil, "true"},
		{"attach", "--detach-keys", evil, "1"}, {"logs", "--since", evil, "1"}, {"send", "--keys", evil, "1"}, {"config", "--check", evil}, {"completion", evil},
	} {
		out := h.pasar(args...)
		if strings.TrimSpace(out) == "" {
			t.Errorf("%q says nothing", args)
		}
		for _, r := range out {
			if unicode.IsControl(r) && r != '\n' || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
				t.Errorf("%q shows %U in %q", args, r, out)
				break
			}
		}
	}
}
