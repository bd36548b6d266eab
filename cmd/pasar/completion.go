package main

import (
	"context"

	"pasar"
)

// shells are the scripts around `pasar __complete`. Where it says so they complete files, or programs and
// files, as the shell itself does.
var shells = map[string]string{
	"bash": `_pasar() {
	local IFS=$'\n' cur="${COMP_WORDS[COMP_CWORD]}"
	COMPREPLY=($(pasar __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
	case "${COMPREPLY[0]}" in
	:files) COMPREPLY=($(compgen -f -- "$cur")); compopt -o filenames 2>/dev/null ;;
	:commands) COMPREPLY=($(compgen -c -- "$cur"; compgen -f -- "$cur")); compopt -o filenames 2>/dev/null ;;
	esac
	return 0
}
complete -F _pasar pasar
`,
	"zsh": `#compdef pasar
_pasar() {
	local -a got
	got=(${(f)"$(pasar __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
	case "${got[1]}" in
	:files) _files ;;
	:commands) _alternative 'commands:command:_command_names -e' 'files:file:_files' ;;
	*)
		got=(${${got//:/\\:}/$'\t'/:})
		(( $#got )) && _describe pasar got ;;
	esac
}
compdef _pasar pasar
`,
	"fish": `function __pasar_complete
	set -l words (commandline -opc) (commandline -ct)
	set -l got (pasar __complete -- $words[2..] 2>/dev/null)
	switch "$got[1]"
		case :files
			__fish_complete_path (commandline -ct)
		case :commands
			complete -C (commandline -ct)
			__fish_complete_path (commandline -ct)
		case '*'
			string join \n -- $got
	end
end
complete -c pasar -f -a '(__pasar_complete)'
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
