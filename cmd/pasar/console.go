package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/term"

	"pasar"
	"pasar/ipc"
)

// consoleProgram draws the console. It is a program of its own, since what it links would slow every command down.
const consoleProgram = "pasar-console"

// themes are what the console may look like.
var themes = []string{"auto", "light", "dark"}

func consoleCommand() *command {
	return &command{
		name: "console", section: sectionJobs, brief: "watch the market full-screen",
		long: "It runs " + consoleProgram + ", which ? explains and q leaves; jobs go on. `pasar` alone on a terminal does the same, except inside a job.",
		examples: []example{
			{"pasar console", "or just pasar"},
			{"pasar console --read-only", "to look, with no key that changes anything"},
		},
		setup: func(f *flags) action {
			readOnly := f.Bool("read-only", false, "no key changes anything")
			ascii := f.Bool("ascii", false, "draw with ASCII alone")
			theme := f.String("theme", "auto", "`THEME` of a terminal that is light or dark; auto: as the terminal says")
			return func(ctx context.Context, c *call) error {
				switch {
				case c.json:
					return usagef("console has no JSON").hint("`pasar ls --json` lists the jobs, `pasar facts -f --json` tells what happens")
				case !slices.Contains(themes, *theme):
					return usagef("--theme %q: it is auto, light or dark", pasar.Clean(*theme))
				}
				if err := c.noArgs(); err != nil {
					return err
				}
				if why := c.noFullScreen(); why != "" {
					return usagef("console: %s", why).hint("`pasar ls --watch` needs less of a terminal; `pasar ls` and `pasar status` need none")
				}
				bin, err := findBeside(consoleProgram)
				if err != nil {
					return problemf(ipc.CodeUnsupported, "%v", err).hint("install pasar's programs again, all of one version; `pasar ls --watch` works without")
				}
				args := []string{consoleProgram, "--theme", *theme}
				if *readOnly {
					args = append(args, "--read-only")
				}
				if *ascii {
					args = append(args, "--ascii")
				}
				return c.becomeConsole(ctx, bin, args)
			}
		},
	}
}

// becomeConsole makes sure that a daemon answers, then runs the console in place of this program, and returns only if
// that fails.
func (c *call) becomeConsole(ctx context.Context, bin string, args []string) error {
	if err := c.ask(ctx, func(*ipc.Client) error { return nil }); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return problemf(ipc.CodeInternal, "find pasar itself: %v", err)
	}
	env := c.env
	if c.flags.color == "never" {
		env = append(env[:len(env):len(env)], "NO_COLOR=1")
	}
	if c.far == nil { // else it goes by PASAR_URL, too
		args = append(args, "--socket", c.reached)
	}
	err = syscall.Exec(bin, append(args, "--pasar", self), env)
	return problemf(ipc.CodeUnsupported, "run %s: %v", bin, err).hint("install pasar's programs again, all of one version")
}

// wantsConsole reports whether `pasar` alone is to show the console: to somebody at a terminal that can, and not to a job,
// which would wait in it for a key.
func (a *app) wantsConsole() bool {
	if a.noFullScreen() != "" || a.getenv("PASAR_JOB_ID") != "" {
		return false
	}
	_, err := findBeside(consoleProgram)
	return err == nil
}

// noFullScreen says why nothing can be shown full-screen here; empty if it can.
func (a *app) noFullScreen() string {
	switch t := a.getenv("TERM"); {
	case !a.term.is:
		return "standard output is no terminal"
	case a.stdin == nil || !term.IsTerminal(int(a.stdin.Fd())):
		return "standard input is no terminal"
	case t == "" || t == "dumb":
		return fmt.Sprintf("this terminal can't show a full screen (TERM is %q)", t)
	}
	return ""
}

// findBeside looks for one of pasar's programs that needn't be on the PATH: in ../libexec/pasar and beside this one, links
// resolved.
func findBeside(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", name, err)
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	dir := filepath.Dir(self)
	libexec := filepath.Join(filepath.Dir(dir), "libexec", "pasar")
	for _, d := range []string{libexec, dir} {
		if bin := filepath.Join(d, name); isProgram(bin) {
			return bin, nil
		}
	}
	return "", fmt.Errorf("%s is neither in %s nor beside %s", name, pasar.Clean(libexec), strings.TrimSuffix(filepath.Base(self), " (deleted)"))
}
