// Command deaths scores the verdicts on files of labelled deaths: `make deaths`.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"pasar"
	"pasar/autopsy/score"
)

func main() {
	verbose := flag.Bool("v", false, "print each case that is not wholly right, with its verdict")
	flag.Usage = func() {
		_, _ = fmt.Fprintln(flag.CommandLine.Output(), "usage: deaths [-v] FILE...\n\nScores the verdicts on files of labelled deaths (JSON lines).")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(os.Stdout, *verbose, flag.Args()); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "deaths:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, verbose bool, paths []string) error {
	var cases []score.Case
	for _, path := range paths {
		more, err := score.ReadFile(path)
		if err != nil {
			return err
		}
		cases = append(cases, more...)
	}
	report, err := score.Cases(cases)
	if err != nil {
		return err
	}
	if verbose {
		wrongs(w, report)
	}
	report.Write(w)
	return nil
}

// wrongs prints what is wrong of each case where something is.
func wrongs(w io.Writer, report score.Report) {
	for _, m := range report {
		if m.Reason && m.Root && m.Summary {
			continue
		}
		v, want := m.Verdict, m.Case.Expect
		_, _ = fmt.Fprintf(w, "%s (%s)\n  reason  %s\n", m.Case.ID, m.Case.Difficulty, v.Reason)
		if !m.Reason {
			_, _ = fmt.Fprintf(w, "   wanted %s\n", want.Reason)
		}
		_, _ = fmt.Fprintf(w, "  summary %s\n", v.Summary)
		if !m.Summary {
			_, _ = fmt.Fprintf(w, "   wanted %q\n", strings.Join(want.Summary, `" "`))
		}
		for _, l := range v.Evidence[:min(1, len(v.Evidence))] {
			_, _ = fmt.Fprintf(w, "  root    %s\n", pasar.Clean(l.Text))
		}
		if !m.Root {
			_, _ = fmt.Fprintf(w, "   wanted %s\n", *want.RootLine)
		}
		_, _ = fmt.Fprintln(w)
	}
}
