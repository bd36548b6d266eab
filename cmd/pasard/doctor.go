package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"pasar"
)

// errFindings ends a doctor that found a problem; the findings were printed.
var errFindings = errors.New("the doctor found a problem")

const doctorUsage = `pasard doctor checks the installation and says, for each thing that is not as it should be, what to do
about it. It needs no daemon, starts none, and changes nothing.

usage: pasar doctor [flags]

exit codes: 0 no problem found (there may be warnings), 1 a problem, 64 bad arguments

`

// doctor is `pasard doctor`. It returns errFindings when there is a problem.
func doctor(ctx context.Context, args []string, stdout, _ io.Writer) error {
	fs := pflag.NewFlagSet("doctor", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.SortFlags = false
	asJSON := fs.Bool("json", false, "answer in JSON")
	file := fs.String("config", "", "look at this configuration `FILE` instead of the usual one")
	color := fs.String("color", "auto", "`WHEN` to use colour: always, auto or never")
	fs.Usage = func() { fmt.Fprint(stdout, doctorUsage, "flags:\n", fs.FlagUsages()) }
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return err
		}
		return &exitError{exitUsage, errors.New(pasar.Clean(err.Error())), "`pasar doctor --help` lists the flags"}
	}
	if fs.NArg() > 0 {
		return &exitError{exitUsage, fmt.Errorf("doctor takes no arguments; got %q", pasar.Clean(fs.Arg(0))), ""}
	}
	colored, ok := map[string]bool{"always": true, "never": false, "auto": takesColor(stdout, os.Getenv)}[*color]
	if !ok {
		return &exitError{exitUsage, fmt.Errorf("--color %q: it is always, auto or never", pasar.Clean(*color)), ""}
	}
	if *file != "" {
		abs, err := filepath.Abs(*file)
		if err != nil {
			return &exitError{exitInput, err, ""}
		}
		*file = abs
	}
	env, err := thisMachine()
	if err != nil {
		return err
	}
	defer env.cleanUp()

	findings := env.examine(ctx, *file)
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("check the installation: %w", err)
	}
	print := printFindings
	if *asJSON {
		print = printFindingsJSON
	}
	if err := print(stdout, findings, colored); err != nil {
		return fmt.Errorf("print findings: %w", err)
	}
	if count(findings, levelProblem) > 0 {
		return errFindings
	}
	return nil
}

// takesColor is whether w is a terminal that people want colours on (no-color.org).
func takesColor(w io.Writer, env func(string) string) bool {
	f, ok := w.(*os.File)
	if !ok || env("NO_COLOR") != "" || env("TERM") == "dumb" {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
