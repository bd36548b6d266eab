// Command pasard is the daemon: it owns the jobs of one user on one machine, and is safe to kill at
// any moment.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"pasar"
)

// Exit codes, as every pasar command has them.
const (
	exitUsage   = 64
	exitInput   = 65
	exitRefused = 70
)

const usage = `pasard is pasar's daemon. It stays in the foreground and logs to standard error.

usage: pasard [flags]          run the daemon (pasar does this by itself)
       pasard doctor [--json]  check the installation
       pasard setup [flags]    make it a service of your systemd

`

// errTold ends a command that has told what was wrong.
var errTold = errors.New("told already")

// An exitError is an error with the exit code and the hint that go with it.
type exitError struct {
	code int
	err  error
	hint string
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	os.Exit(Run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Run is the whole program; it returns the exit code.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := run(ctx, args, stdout, stderr)
	if err == nil || errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	var e *exitError
	if !errors.As(err, &e) {
		e = &exitError{code: 1, err: err}
	}
	if e.err != errFindings && e.err != errTold {
		fmt.Fprintf(stderr, "pasard: %v\n", e.err)
	}
	if e.hint != "" {
		fmt.Fprintf(stderr, "hint: %s\n", e.hint)
	}
	return e.code
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == "doctor" {
		return doctor(ctx, args[1:], stdout, stderr)
	}
	if len(args) > 0 && args[0] == "setup" {
		return setupCommand(ctx, args[1:], stdout)
	}
	if len(args) > 0 && args[0] == "probe" {
		return probeCommand(args[1:], os.Stdin, stdout)
	}
	fs := pflag.NewFlagSet("pasard", pflag.ContinueOnError)
	fs.SetOutput(stdout)
	fs.Usage = func() { fmt.Fprint(stdout, usage, "flags:\n", fs.FlagUsages()) }
	configFile := fs.String("config", "", "read this configuration `FILE` instead of the usual one")
	version := fs.Bool("version", false, "print the version")
	autostart := fs.Bool("autostart", false, "exit 0 when another daemon runs already (for clients that start one)")
	level := fs.String("log", "info", "log `LEVEL`: debug, info, warn or error")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return err
		}
		return &exitError{exitUsage, err, "`pasard --help` lists the flags"}
	}
	if fs.NArg() > 0 {
		return &exitError{exitUsage, fmt.Errorf("unexpected argument %q", pasar.Clean(fs.Arg(0))), "`pasard --help` says how it is used"}
	}
	if *version {
		_, err := fmt.Fprintln(stdout, versionLine())
		return err
	}
	return serve(ctx, options{config: *configFile, autostart: *autostart, level: *level, stderr: stderr})
}
