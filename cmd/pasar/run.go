package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"pasar"
	"pasar/answer"
	"pasar/config"
	"pasar/ipc"
	"pasar/remote"
)

// An app is one run of the client: its surroundings, and how it talks.
type app struct {
	env    []string
	stdin  *os.File
	stdout *bufio.Writer // flushed at the end, and after each piece of a stream
	stderr io.Writer
	term   terminal // what stdout is
	json   bool
	name   string // of the command, for hints

	settings *config.Config // see app.config
	far      *remote.Remote // see app.afar
	here     bool           // PASAR_URL is not heeded: this is its far end
	client   *ipc.Client
	met      bool   // the daemon of another machine was there before
	reached  string // the socket of client
	noStart  bool   // the daemon was shut down in order: don't start another
	farewell error  // what to say when none comes back

	offline pasar.AttemptKey // whose output was last read without a daemon
}

// A call is a command's arguments within a run.
type call struct {
	*app
	args  []string
	flags *flags
}

// Run runs one command line and returns the exit code.
func Run(ctx context.Context, args, env []string, stdin *os.File, stdout, stderr io.Writer) int {
	a := &app{env: env, stdin: stdin, stdout: bufio.NewWriterSize(stdout, 32<<10), stderr: stderr}
	a.term = look(stdout, env)
	err := a.dispatch(ctx, args)
	if a.client != nil {
		_ = a.client.Close()
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = context.Cause(ctx)
	}
	status := a.finish(err)
	if ferr := a.stdout.Flush(); ferr != nil && status == 0 {
		a.json = false
		status = a.finish(&ipc.Error{Code: ipc.CodeInternal, Message: "write standard output: " + ferr.Error()})
	}
	return status
}

// dispatch finds the command and runs it. Flags that every command has may stand before its name.
func (a *app) dispatch(ctx context.Context, args []string) error {
	var early []string
	words := args
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "-" {
		switch w := args[0]; {
		case w == "--help" || w == "-h":
			args = append([]string{"help"}, args[1:]...)
		case w == "--version":
			args = append([]string{"version"}, args[1:]...)
		case w == "--json":
			a.json = true
			early, args = append(early, w), args[1:]
		case strings.HasPrefix(w, "--color="):
			early, args = append(early, w), args[1:]
		default:
			a.json = asksJSON(words)
			return usagef("unknown flag %s before the command", pasar.Clean(w)).hint("`pasar help` lists the commands; flags come after them")
		}
	}
	if len(args) == 0 {
		switch {
		case a.term.is && !a.json && a.wantsConsole():
			return a.runCommand(ctx, find("console"), early)
		case a.term.is && !a.json:
			return a.glance(ctx, early)
		}
		return usagef("no command given").hint("`pasar help` lists the commands")
	}
	cmd := find(args[0])
	if cmd == nil {
		a.json = asksJSON(words)
		e := usagef("unknown command %q", pasar.Clean(args[0]))
		if n := nearest(args[0], commandNames()); n != "" {
			return e.hint("did you mean `pasar " + n + "`?")
		}
		return e.hint("`pasar help` lists the commands")
	}
	return a.runCommand(ctx, cmd, append(early, args[1:]...))
}

func (a *app) runCommand(ctx context.Context, cmd *command, args []string) error {
	a.name = cmd.name
	f := newFlags(cmd)
	act := cmd.setup(f)
	err := f.Parse(args)
	a.json = a.json || f.json
	switch {
	case f.help || errors.Is(err, pflag.ErrHelp):
		a.json = false
		return a.print(commandHelp(cmd, f, a.term))
	case err != nil:
		a.json = a.json || asksJSON(args)
		return flagError(cmd, f, err)
	}
	if err := a.term.setColor(f.color, a.env); err != nil {
		return err
	}
	return act(ctx, &call{app: a, args: f.Args(), flags: f})
}

// asksJSON looks for --json where a mistake kept the flags from being read.
func asksJSON(args []string) bool {
	for _, w := range args {
		switch w {
		case "--json":
			return true
		case "--":
			return false
		}
	}
	return false
}

// print writes to standard output; an error shows up at the flush.
func (a *app) print(s string) error {
	_, err := a.stdout.WriteString(s)
	return err
}

// printLine writes bytes as one line.
func (a *app) printLine(b []byte) error {
	_, err := a.stdout.Write(answer.Line(b))
	return err
}

// note says something beside the answer.
func (a *app) note(s string) { _, _ = io.WriteString(a.stderr, "pasar: "+s+"\n") }

// getenv is the last value of a variable, as the C library would have it.
func (a *app) getenv(name string) string { return lookup(a.env, name) }

func lookup(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}
