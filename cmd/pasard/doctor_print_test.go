package main

import (
	"strings"
	"testing"

	"github.com/creack/pty"
)

func TestTheReportFitsATerminalAndNoWordIsBroken(t *testing.T) {
	tty, side, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	defer side.Close()
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: 60}); err != nil {
		t.Fatal(err)
	}
	findings := []finding{found(dataOpen, strings.Repeat("mend it ", 15)+"end", "%s", strings.Repeat("others can enter ", 10))}
	if err := printFindings(side, findings, true); err != nil {
		t.Fatal(err)
	}
	var seen strings.Builder
	for b := make([]byte, 4096); !strings.Contains(seen.String(), "jobs can run."); {
		n, err := tty.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		seen.Write(b[:n])
	}
	lines := strings.Split(strings.NewReplacer("\x1b[33m", "", "\x1b[0m", "").Replace(seen.String()), "\r\n")
	if len(lines) < 8 {
		t.Errorf("%d lines", len(lines))
	}
	for i, l := range lines {
		if len(l) > 60 {
			t.Errorf("%d columns: %q", len(l), l)
		}
		if i > 0 && strings.Contains(l, "mend") && !strings.HasPrefix(l, strings.Repeat(" ", 25)) {
			t.Errorf("not under its column: %q", l)
		}
	}
}
