package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"pasar"
	"pasar/ipc"
	"pasar/ui"
)

// Answers that leave the completion to the shell.
const (
	shellFiles    = ":files"
	shellCommands = ":commands" // and files
)

// completeName is what a shell's completion calls.
const completeName = "__complete"

// completeCommand is what the shells' scripts call: the words so far, the last one unfinished. It
// answers with a word a line, a tab, and what it is; or with one of the two above.
func completeCommand() *command {
	return &command{
		name: completeName, wordsEndFlags: true,
		setup: func(*flags) action {
			return func(ctx context.Context, c *call) error {
				p := &completer{call: c}
				p.complete(ctx, c.args)
				for _, w := range p.out {
					if err := c.print(w + "\n"); err != nil {
						return err
					}
				}
				return nil
			}
		},
	}
}

// A completer collects what the last word may become.
type completer struct {
	*call
	last string
	out  []string
}

func (p *completer) add(word, what string) {
	if strings.HasPrefix(word, p.last) {
		p.out = append(p.out, word+"\t"+what)
	}
}

func (p *completer) addAll(words []string) {
	for _, w := range words {
		p.add(w, "")
	}
}

// leave leaves the completion to the shell.
func (p *completer) leave(to string) { p.out = []string{to} }

func (p *completer) complete(ctx context.Context, words []string) {
	if len(words) == 0 {
		words = []string{""}
	}
	p.last = words[len(words)-1]
	if len(words) == 1 {
		for _, cmd := range commands() {
			if cmd.section != "" {
				p.add(cmd.name, cmd.brief)
			}
		}
		return
	}
	cmd := find(words[0])
	if cmd == nil {
		return
	}
	f := prepared(cmd)
	at := walk(cmd, f, words[1:len(words)-1])
	name, value, inOne := strings.Cut(p.last, "=")
	switch {
	case at.value != nil:
		p.value(ctx, cmd, at.value)
	case at.words > 0 && cmd.takes == takesCommand:
		p.leave(shellFiles)
	case !at.flagsEnded && inOne && strings.HasPrefix(name, "--"):
		if fl := f.Lookup(name[2:]); fl != nil {
			p.last = value // the shell keeps what stands before the =
			p.value(ctx, cmd, fl)
		}
	case !at.flagsEnded && strings.HasPrefix(p.last, "-"):
		f.VisitAll(func(fl *pflag.Flag) {
			if !fl.Hidden {
				_, usage := pflag.UnquoteUsage(fl)
				p.add("--"+fl.Name, usage)
			}
		})
	default:
		p.argument(ctx, cmd, at.words)
	}
}

// A spot is where the words before the last one lead to.
type spot struct {
	value      *pflag.Flag // the word is this flag's value
	words      int         // arguments so far
	flagsEnded bool
}

func walk(cmd *command, f *flags, words []string) (s spot) {
	for _, w := range words {
		switch {
		case s.value != nil:
			s.value = nil
		case s.flagsEnded || w == "-" || !strings.HasPrefix(w, "-"):
			s.words++
			s.flagsEnded = s.flagsEnded || cmd.wordsEndFlags
		case w == "--":
			s.flagsEnded = true
		case strings.Contains(w, "="):
		case strings.HasPrefix(w, "--"):
			s.value = takesValue(f.Lookup(w[2:]))
		default: // of short flags together the last one may take a value
			s.value = takesValue(f.ShorthandLookup(w[len(w)-1:]))
		}
	}
	return s
}

func takesValue(fl *pflag.Flag) *pflag.Flag {
	if fl == nil || fl.NoOptDefVal != "" {
		return nil
	}
	return fl
}

// value completes a flag's value. Of free text there is nothing to offer.
func (p *completer) value(ctx context.Context, cmd *command, fl *pflag.Flag) {
	if cmd.name == "stats" && fl.Name == "by" {
		p.addAll(statsBy)
		return
	}
	before := "" // of a list
	if i := strings.LastIndexByte(p.last, ','); i >= 0 {
		before = p.last[:i+1]
	}
	switch fl.Name {
	case "retry-on":
		for _, c := range pasar.Codes {
			if c.RetriedByDefault() {
				p.add(before+string(c), "")
			}
		}
	case "state":
		for _, st := range pasar.States {
			p.add(before+string(st), "")
		}
	case "color":
		p.addAll([]string{"auto", "always", "never"})
	case "external":
		p.addAll([]string{"share", "avoid"})
	case "visible":
		p.addAll([]string{"uuid", "index"})
	case "theme":
		p.addAll(themes)
	case "on":
		p.addAll(machineNames())
	case "mem":
		p.addAll([]string{"auto"})
	case "after":
		p.after(ctx)
	case "for":
		p.addAll([]string{"ended", "started"})
	case "tag":
		p.addAll(tags(p.recent(ctx)))
	case "cwd", "write", "check", "config", "job", "param-file":
		p.leave(shellFiles)
	}
}

// argument completes an argument, of which index stand before it.
func (p *completer) argument(ctx context.Context, cmd *command, index int) {
	switch cmd.takes {
	case takesWords:
		if index == 0 {
			p.addAll(cmd.words())
		}
	case takesCommand:
		p.leave(shellCommands)
	case takesJob, takesJobs:
		if cmd.takes == takesJobs || index == 0 {
			p.jobs(ctx, cmd)
		}
	case takesFile:
		p.leave(shellFiles)
	}
}

// fitting is the states in which a command makes sense of a job; of one that isn't here, all.
var fitting = map[string][]pasar.State{
	"cancel":  unfinished,
	"attach":  {pasar.Starting, pasar.Running, pasar.Stopping},
	"bid":     unfinished,
	"hold":    {pasar.Awaiting, pasar.Queued},
	"release": {pasar.Awaiting, pasar.Queued},
	"promote": {pasar.Queued},
	"edit":    {pasar.Queued, pasar.Paused},
	"pause":   {pasar.Starting, pasar.Running},
	"resume":  {pasar.Paused},
	"restart": {pasar.Completed, pasar.Failed, pasar.Cancelled},
	"wait":    unfinished,
}

func fits(cmd *command, v *view) bool {
	held := v.Waiting != nil && v.Waiting.Why == pasar.WaitHeld
	switch states := fitting[cmd.name]; {
	case states != nil && !slices.Contains(states, v.State):
		return false
	case cmd.name == "pause":
		return v.Pausable || v.ResumeCommand != nil
	case cmd.name == "hold":
		return !held
	case cmd.name == "release":
		return held
	}
	return true
}

func (p *completer) jobs(ctx context.Context, cmd *command) {
	views := slices.DeleteFunc(p.recent(ctx), func(v *view) bool { return !fits(cmd, v) })
	if strings.HasPrefix(p.last, "@") {
		for _, t := range tags(views) {
			p.add("@"+t, "")
		}
		return
	}
	if strings.HasPrefix(p.last, "g") {
		p.groups(views)
		return
	}
	p.add("last", "your last job")
	for _, v := range views {
		p.add(v.ID.String(), fmt.Sprintf("%s, %s", ui.Cut(pasar.Clean(v.Name), 40), v.State))
	}
}

// groups offers the arrays and sweeps that some jobs are part of.
func (p *completer) groups(views []*view) {
	seen := map[pasar.JobID]bool{}
	for _, v := range views {
		if v.Group != nil && !seen[*v.Group] {
			seen[*v.Group] = true
			p.add("group:"+v.Group.String(), ui.Cut(pasar.Clean(v.Name), 40))
		}
	}
}

// after offers jobs that another may come after, the last of a list.
func (p *completer) after(ctx context.Context) {
	before := ""
	if i := strings.LastIndexByte(p.last, ','); i >= 0 {
		before = p.last[:i+1]
	}
	p.add(before+"last", "your last job")
	for _, v := range p.recent(ctx) {
		if !v.State.Finished() {
			p.add(before+v.ID.String(), fmt.Sprintf("%s, %s", ui.Cut(pasar.Clean(v.Name), 40), v.State))
		}
	}
}

// tags are those of some jobs that are a word to any shell, each once.
func tags(views []*view) []string {
	var out []string
	for _, v := range views {
		for _, t := range v.Tags {
			if t == pasar.Clean(t) && pasar.Quote(pasar.Args([]string{t})) == t {
				out = append(out, t)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// recent is the jobs that a person may mean; none without a daemon, or if it takes long.
func (c *call) recent(ctx context.Context) []*view {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if c.connectOnly(ctx) != nil {
		return nil
	}
	var views []*view
	_ = c.client.List(ctx, ipc.ListRequest{Limit: 200}, func(lines []byte) error {
		for line := range strings.Lines(string(lines)) {
			if v, err := parseView([]byte(line)); err == nil {
				views = append(views, v)
			}
		}
		return nil
	})
	return views
}
