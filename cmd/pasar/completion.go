package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"pasar"
	"pasar/ipc"
)

var shells = map[string]string{
	"bash": `_pasar() {
	local IFS=$'\n'
	COMPREPLY=($(pasar __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _pasar pasar
`,
	"zsh": `#compdef pasar
_pasar() {
	local -a got
	got=(${(f)"$(pasar __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null | sed 's/:/\\:/g; s/\t/:/')"})
	if (( $#got )); then _describe pasar got; else _files; fi
}
compdef _pasar pasar
`,
	"fish": `complete -c pasar -f -a '(set -l w (commandline -opc) (commandline -ct); pasar __complete -- $w[2..] 2>/dev/null)'
`,
}

func completionCommand() *command {
	names := []string{"bash", "zsh", "fish"}
	return &command{
		name: "completion", section: sectionMore, args: "SHELL", brief: "completion for bash, zsh or fish", takes: takesWords, words: func() []string { return names },
		examples: []example{
			{"source <(pasar completion bash)", "in ~/.bashrc"},
			{"pasar completion fish > ~/.config/fish/completions/pasar.fish", "for fish"},
		},
		setup: func(*flags) action {
			return func(_ context.Context, c *call) error {
				if len(c.args) != 1 {
					return usagef("for which shell?").hint("bash, zsh or fish")
				}
				script, ok := shells[c.args[0]]
				if !ok {
					return usagef("no completion for %q", pasar.Clean(c.args[0])).hint("there is for bash, zsh and fish")
				}
				if c.json {
					return c.printJSON(struct {
						Schema int    `json:"schema"`
						Script string `json:"script"`
					}{pasar.Schema, script})
				}
				return c.print(script)
			}
		},
	}
}

// completeCommand is what the shells' scripts call: the words so far, the last one unfinished. It
// answers with a word a line, a tab, and what it is.
func completeCommand() *command {
	return &command{
		name: "__complete", wordsEndFlags: true,
		setup: func(*flags) action {
			return func(ctx context.Context, c *call) error {
				for _, w := range c.complete(ctx, c.args) {
					if err := c.print(w + "\n"); err != nil {
						return err
					}
				}
				return nil
			}
		},
	}
}

func (c *call) complete(ctx context.Context, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	var out []string
	add := func(word, what string) {
		if strings.HasPrefix(word, last) {
			out = append(out, word+"\t"+what)
		}
	}
	if len(words) == 1 {
		for _, cmd := range commands() {
			if cmd.section != "" {
				add(cmd.name, cmd.brief)
			}
		}
		return out
	}
	cmd := find(words[0])
	if cmd == nil {
		return nil
	}
	if strings.HasPrefix(last, "-") {
		prepared(cmd).VisitAll(func(fl *pflag.Flag) {
			_, usage := pflag.UnquoteUsage(fl)
			add("--"+fl.Name, usage)
		})
		return out
	}
	switch cmd.takes {
	case takesWords:
		for _, w := range cmd.words() {
			add(w, "")
		}
	case takesJob, takesJobs:
		add("last", "your last job")
		for _, v := range c.recent(ctx) {
			add(v.ID.String(), fmt.Sprintf("%s, %s", pasar.Clean(v.Name), v.State))
		}
	}
	return out
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
