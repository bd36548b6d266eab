package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"pasar"
	"pasar/ui"
)

func helpCommand() *command {
	return &command{
		name: "help", section: sectionMore, args: "[COMMAND]", brief: "show what there is, or one command",
		long:  "`pasar help --json` is the whole command table, for programs.",
		takes: takesWords, words: commandNames,
		setup: func(*flags) action {
			return func(_ context.Context, c *call) error {
				switch {
				case len(c.args) > 1:
					return usagef("help takes one command")
				case len(c.args) == 1:
					cmd := find(c.args[0])
					if cmd == nil {
						e := usagef("unknown command %q", pasar.Clean(c.args[0]))
						if n := nearest(c.args[0], commandNames()); n != "" {
							return e.hint("did you mean `pasar help " + n + "`?")
						}
						return e.hint("`pasar help` lists the commands, `pasar guide` has topics")
					}
					if c.json {
						return c.printJSON(describe(cmd))
					}
					return c.print(commandHelp(cmd, prepared(cmd), c.term))
				case c.json:
					return c.printJSON(describeAll())
				}
				return c.print(ui.Fit(overview(), c.term.width))
			}
		},
	}
}

// prepared is the flags of a command that isn't being run.
func prepared(cmd *command) *flags {
	f := newFlags(cmd)
	cmd.setup(f)
	return f
}

func overview() string {
	var b strings.Builder
	b.WriteString("pasar runs jobs by bid on this machine's GPUs, and says why they died.\n\nusage: pasar COMMAND [flags] [arguments]\n")
	for _, section := range []string{sectionJobs, sectionChange, sectionMachine, sectionMore} {
		b.WriteString("\n" + section + "\n")
		for _, c := range commands() {
			if c.section != section {
				continue
			}
			brief := c.brief
			if len(c.aliases) > 0 {
				brief += " (" + strings.Join(c.aliases, ", ") + ")"
			}
			fmt.Fprintf(&b, "  %-11s %s\n", c.name, brief)
		}
	}
	b.WriteString(`
Jobs are named 42, 3,5-8, last, @tag or group:7. Where one job is meant and none is named, it is your last one.
Times need units (90m, 2h30m, 1d, 1:30:00), sizes too (24G is 24 GiB).
Every command has --json and --help. ` + "`pasar guide`" + ` tells an agent all it needs.

Environment
  PASAR_URL      another machine, whose daemon is meant: ssh://[USER@]HOST[:PORT][/PATH/TO/PASAR] or http://HOST:PORT
  PASAR_TOKEN    for http://: what ` + "`pasar token`" + ` prints there
  PASAR_SOCKET   the daemon's socket
  PASAR_ADDRESS  where the daemon serves HTTP; off for nowhere
  PASAR_CONFIG   the configuration file
  NO_COLOR       no colour

Exit codes: 64 bad arguments, 65 bad input file, 69 no daemon, 70 refused, 77 not allowed, 130 interrupted.
`)
	return b.String()
}

func commandHelp(cmd *command, f *flags, t terminal) string {
	var b strings.Builder
	fmt.Fprintf(&b, "pasar %s: %s\n\nusage: pasar %s [flags]", cmd.name, cmd.brief, cmd.name)
	if cmd.args != "" {
		b.WriteString(" " + cmd.args)
	}
	b.WriteByte('\n')
	if len(cmd.aliases) > 0 {
		b.WriteString("also:  pasar " + strings.Join(cmd.aliases, ", pasar ") + "\n")
	}
	if cmd.long != "" {
		long := strings.TrimSpace(cmd.long)
		if t.width > 0 {
			long = ui.Reflow(long)
		}
		b.WriteString("\n" + long + "\n")
	}
	b.WriteString("\nFlags\n")
	f.VisitAll(func(fl *pflag.Flag) {
		if !common(fl.Name) {
			b.WriteString(flagHelp(fl))
		}
	})
	f.VisitAll(func(fl *pflag.Flag) {
		if common(fl.Name) {
			b.WriteString(flagHelp(fl))
		}
	})
	if len(cmd.examples) > 0 {
		b.WriteString("\nExamples\n")
		for _, e := range cmd.examples {
			fmt.Fprintf(&b, "  %s\n      %s\n", e.line, e.does)
		}
	}
	b.WriteString("\nExit codes\n")
	if cmd.jobCodes {
		b.WriteString("  0 completed, 1 failed, 2 failed for memory, 3 cancelled")
		if f.Lookup("timeout") != nil {
			b.WriteString(", 4 --timeout passed first")
		}
		b.WriteString(", 5 paused;\n  of several jobs the worst counts (2 over 1 over 3);\n" +
			"  2 is for the reasons " + strings.Join(memoryCodes(), ", ") + " (pasar guide reasons)\n")
	}
	b.WriteString("  64 bad arguments, 65 bad input file, 69 no daemon, 70 refused, 77 not allowed, 130 interrupted\n")
	return ui.Fit(b.String(), t.width)
}

func common(name string) bool { return name == "json" || name == "color" || name == "help" }

func flagHelp(fl *pflag.Flag) string {
	if fl.Hidden {
		return ""
	}
	kind, usage := pflag.UnquoteUsage(fl)
	name := "--" + fl.Name
	if fl.Shorthand != "" {
		name = "-" + fl.Shorthand + ", " + name
	}
	if kind != "" {
		name += " " + kind
	}
	if len(name) > 20 {
		return "  " + name + "\n                        " + usage + "\n"
	}
	return fmt.Sprintf("  %-20s  %s\n", name, usage)
}

// A commandView is a row of the command table as JSON.
type commandView struct {
	Schema   int        `json:"schema"`
	Name     string     `json:"name"`
	Aliases  []string   `json:"aliases"`
	Args     *string    `json:"args"`
	Brief    string     `json:"brief"`
	Long     *string    `json:"long"`
	Flags    []flagView `json:"flags"`
	Examples []string   `json:"examples"`
}

type flagView struct {
	Name  string  `json:"name"`
	Short *string `json:"short"`
	Type  *string `json:"type"` // null: a switch
	Usage string  `json:"usage"`
}

func describe(cmd *command) commandView {
	v := commandView{Schema: pasar.Schema, Name: cmd.name, Aliases: cmd.aliases, Args: pasar.Known(cmd.args), Brief: cmd.brief,
		Long: pasar.Known(strings.TrimSpace(cmd.long)), Flags: []flagView{}, Examples: []string{}}
	if v.Aliases == nil {
		v.Aliases = []string{}
	}
	prepared(cmd).VisitAll(func(fl *pflag.Flag) {
		if !fl.Hidden {
			kind, usage := pflag.UnquoteUsage(fl)
			v.Flags = append(v.Flags, flagView{fl.Name, pasar.Known(fl.Shorthand), pasar.Known(kind), usage})
		}
	})
	for _, e := range cmd.examples {
		v.Examples = append(v.Examples, e.line)
	}
	return v
}

func describeAll() any {
	var v struct {
		Schema   int           `json:"schema"`
		Commands []commandView `json:"commands"`
	}
	v.Schema = pasar.Schema
	for _, c := range commands() {
		if c.section != "" {
			v.Commands = append(v.Commands, describe(c))
		}
	}
	return v
}
