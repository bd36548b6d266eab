package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/ui"
)

// markColors are the colours of the levels (ECMA-48, SGR).
var markColors = map[level]string{levelOK: "32", levelNote: "36", levelWarning: "33", levelProblem: "31"}

// printFindings writes the findings for people: a line each, its fix below it, and a summary. On a terminal
// they are wrapped at its width.
func printFindings(w io.Writer, findings []finding, color bool) error {
	marks, checks, width := len(levelProblem), 0, columns(w)
	for _, f := range findings {
		checks = max(checks, len(f.Check))
	}
	var b bytes.Buffer
	for _, f := range findings {
		mark := fmt.Sprintf("%-*s", marks, f.Level)
		if color {
			mark = "\x1b[" + markColors[f.Level] + "m" + mark + "\x1b[0m"
		}
		line := func(format string, args ...any) {
			b.WriteString(ui.Wrap(fmt.Sprintf(format, args...), width, marks+checks+4) + "\n")
		}
		line("%s  %-*s  %s", mark, checks, f.Check, f.Found)
		if f.Fix != "" {
			line("%*s  %*s  fix: %s", marks, "", checks, "", f.Fix)
		}
	}
	b.WriteString(ui.Wrap(summary(findings), width, 0) + "\n")
	_, err := w.Write(b.Bytes())
	return err
}

// columns is how wide a terminal is; 0 for what is none, where nothing is wrapped.
func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}

// summary is the report in a sentence.
func summary(findings []finding) string {
	problems, warnings := count(findings, levelProblem), count(findings, levelWarning)
	switch {
	case problems > 0 && warnings > 0:
		return fmt.Sprintf("%s and %s: see to the problems first.", some(problems, "problem"), some(warnings, "warning"))
	case problems > 0:
		return some(problems, "problem") + " to see to."
	case warnings > 0:
		return fmt.Sprintf("No problems, %s: jobs can run.", some(warnings, "warning"))
	}
	return "All is well: jobs can run."
}

func some(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// printFindingsJSON writes the findings as one JSON object on a line.
func printFindingsJSON(w io.Writer, findings []finding, _ bool) error {
	b, err := json.Marshal(struct {
		Schema   int       `json:"schema"`
		Findings []finding `json:"findings"`
		Problems int       `json:"problems"`
		Warnings int       `json:"warnings"`
	}{pasar.Schema, findings, count(findings, levelProblem), count(findings, levelWarning)})
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
