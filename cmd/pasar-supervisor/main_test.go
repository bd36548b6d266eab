package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pasar"
)

func TestHelpAndVersionAreOnStandardOutput(t *testing.T) {
	for arg, want := range map[string]string{"--help": "exit codes:", "help": "warm --run DIR", "version": pasar.Version, "--version": "protocol"} {
		var out bytes.Buffer
		if err := run([]string{arg}, &out); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %q, %v", arg, out.String(), err)
		}
	}
}

func TestBadArgumentsAreUsageErrorsInOneLine(t *testing.T) {
	for _, args := range [][]string{nil, {"\x1b[31mnode"}, {"warm"}, {"warm", "--run"}, {"warm", "--run", "/tmp", "more"}, {"warm", "--what"}} {
		err := run(args, new(bytes.Buffer))
		var usage usageError
		if !errors.As(err, &usage) || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%q: %q", args, err)
		}
	}
}
