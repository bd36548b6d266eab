// Command pasar-console is the full-screen console, which `pasar console` becomes: a program of its own, so that pasar
// itself stays quick to start.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"pasar"
	"pasar/config"
	"pasar/ipc"
	"pasar/remote"
	"pasar/ui/console"
)

const usage = `pasar-console shows the market full-screen. ` + "`pasar console`" + ` runs it, and starts the daemon first if need be.

usage: pasar-console [flags]

`

const exits = `
exit codes: 0 left, 64 bad arguments or no terminal, 65 bad configuration, 69 no daemon, 70 failed, 77 not allowed, 130 interrupted
`

// Exit codes, as every pasar command has them.
const exitInterrupted = 130

var exitCodes = map[ipc.Code]int{ipc.CodeUsage: 64, ipc.CodeBadInput: 65, ipc.CodeNoDaemon: 69, ipc.CodeNotAllowed: 77, ipc.CodeInterrupted: exitInterrupted}

const exitFailed = 70

var themes = []string{"auto", "light", "dark"}

// A program is one run: its surroundings, and what shows the console.
type program struct {
	env            []string
	stdin          *os.File
	stdout, stderr io.Writer
	show           func(context.Context, console.Options) error
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT)
	context.AfterFunc(ctx, stop) // a second signal ends the program, should the first not be heeded
	p := &program{os.Environ(), os.Stdin, os.Stdout, os.Stderr, console.Run}
	os.Exit(p.Run(ctx, os.Args[1:]))
}

// Run is the whole program; it returns the exit code.
func (p *program) Run(ctx context.Context, args []string) int {
	err := p.run(ctx, args)
	switch {
	case ctx.Err() != nil:
		return exitInterrupted // whoever interrupted it knows
	case err == nil || errors.Is(err, pflag.ErrHelp):
		return 0
	}
	var e *ipc.Error
	if !errors.As(err, &e) {
		e = &ipc.Error{Code: ipc.CodeInternal, Message: err.Error()}
	}
	if e.Code == ipc.CodeInterrupted {
		return exitInterrupted
	}
	_, _ = fmt.Fprintf(p.stderr, "pasar-console: %s\n", pasar.Clean(e.Message))
	for h := range strings.SplitSeq(e.Hint, "\n") {
		if h != "" {
			_, _ = fmt.Fprintf(p.stderr, "hint: %s\n", pasar.Clean(h))
		}
	}
	if code, ok := exitCodes[e.Code]; ok {
		return code
	}
	return exitFailed
}

func (p *program) run(ctx context.Context, args []string) error {
	fs := pflag.NewFlagSet("pasar-console", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.SortFlags = false
	fs.Usage = func() { _, _ = fmt.Fprint(p.stdout, usage, "flags:\n", fs.FlagUsages(), exits) }
	o := console.Options{Env: p.env}
	fs.BoolVar(&o.ReadOnly, "read-only", false, "no key changes anything")
	fs.BoolVar(&o.ASCII, "ascii", false, "draw with ASCII alone, as where the locale has no UTF-8")
	fs.StringVar(&o.Theme, "theme", "auto", "`THEME` of a terminal that is light or dark; auto: as the terminal says")
	fs.StringVar(&o.Socket, "socket", "", "`PATH` of the daemon's socket; else as PASAR_URL or the configuration has it")
	fs.StringVar(&o.Pasar, "pasar", "", "`PATH` of pasar, to attach with; without, nothing can be attached to")
	version := fs.Bool("version", false, "print the version")
	err := fs.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return err
	case err != nil:
		return refused("`pasar-console --help` lists the flags", "%v", err)
	case fs.NArg() > 0:
		return refused("`pasar-console --help` lists the flags", "unexpected argument %q", fs.Arg(0))
	case *version:
		_, err := fmt.Fprintf(p.stdout, "pasar-console %s (protocol %d)\n", pasar.Version, ipc.MaxVersion)
		return err
	case !slices.Contains(themes, o.Theme):
		return refused("", "--theme %q: it is auto, light or dark", o.Theme)
	}
	if err := p.needTerminal(); err != nil {
		return err
	}
	cfg, err := config.Load("", p.getenv)
	if err != nil {
		return &ipc.Error{Code: ipc.CodeBadInput, Message: err.Error(), Hint: "`pasar config --check FILE` checks a file"}
	}
	url := p.getenv("PASAR_URL")
	switch {
	case o.Socket != "":
	case url != "":
		far, err := remote.New(url, remote.Options{Env: p.env}) // nobody can answer what ssh asks on a full screen
		if err != nil {
			return err
		}
		o.Afar = far
	default:
		o.Socket = cfg.Paths.Socket
	}
	if o.Theme == "auto" {
		o.Theme = "dark"
		if p.isLight() {
			o.Theme = "light"
		}
	}
	o.ASCII = o.ASCII || !p.isUTF8()
	o.Bid, o.Grace, o.NeedTime = cfg.DefaultBid, cfg.DefaultGrace, cfg.RequireTime && o.Afar == nil
	return p.show(ctx, o)
}

// needTerminal refuses what can't show a screen.
func (p *program) needTerminal() error {
	const hint = "`pasar ls --watch` needs less of a terminal; `pasar ls` and `pasar status` need none"
	out, ok := p.stdout.(*os.File)
	switch t := p.getenv("TERM"); {
	case !ok || !term.IsTerminal(int(out.Fd())):
		return refused(hint, "standard output is no terminal")
	case !term.IsTerminal(int(p.stdin.Fd())):
		return refused(hint, "standard input is no terminal")
	case t == "" || t == "dumb":
		return refused(hint, "this terminal can't show a full screen (TERM is %q)", t)
	}
	return nil
}

// getenv is the last value of a variable, as the C library would have it.
func (p *program) getenv(name string) string {
	for _, kv := range slices.Backward(p.env) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

func refused(hint, format string, args ...any) error {
	return &ipc.Error{Code: ipc.CodeUsage, Message: fmt.Sprintf(format, args...), Hint: hint}
}
