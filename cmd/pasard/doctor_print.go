package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"pasar"
)

// markColors are the colours of the levels (ECMA-48, SGR).
var markColors = map[level]string{levelOK: "32", levelNote: "36", levelWarning: "33", levelProblem: "31"}

// printFindings writes the findings for people: a line each, its fix below it, and a summary.
func printFindings(w io.Writer, findings []finding, color bool) error {
	marks, checks := len(levelProblem), 0
	for _, f := range findings {
		checks = max(checks, len(f.Check))
	}
	var b bytes.Buffer
	for _, f := range findings {
		mark := fmt.Sprintf("%-*s", marks, f.Level)
		if color {
			mark = "\x1b[" + markColors[f.Level] + "m" + mark + "\x1b[0m"
		}
		fmt.Fprintf(&b, "%s  %-*s  %s\n", mark, checks, f.Check, f.Found)
		if f.Fix != "" {
			fmt.Fprintf(&b, "%*s  %*s  fix: %s\n", marks, "", checks, "", f.Fix)
		}
	}
	fmt.Fprintln(&b, summary(findings))
	_, err := w.Write(b.Bytes())
	return err
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
