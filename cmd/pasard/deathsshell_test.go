package main

import "pasar"

// shellDeaths are of scripts and of the tools that they call.
var shellDeaths = []death{
	{name: "a command that isn't there, in a script", bash: "set -e\necho preparing\nnvidia-smii -L\necho done\n",
		reason: pasar.CodeBadCommand, root: "nvidia-smii: command not found"},
	{name: "a command that isn't there, in sh", sh: "echo preparing; accelerat launch train.py",
		reason: pasar.CodeBadCommand, root: "accelerat: not found"},
	{name: "deep in a pipeline, with a code alone", bash: "set -e -o pipefail\necho counting\nprintf 'a\\nb\\n' | (cat; exit 9) | sort >top.txt\necho done\n",
		reason: pasar.CodeExit, summary: "code 9"},
	{name: "grep finds nothing", bash: "set -e\necho checking\ngrep -q ready /dev/null\necho done\n", reason: pasar.CodeExit, summary: "code 1"},
	{name: "make: a recipe with a code alone", bash: "make\n", needs: []string{"make"}, files: map[string]string{"Makefile": "all:\n\t@echo evaluating; exit 3\n"},
		reason: pasar.CodeExit, root: "make: *** [Makefile:2: all] Error 3", summary: "code 2"},
}

// in has programs speak a language, without a locale of it.
func in(language string) []string { return []string{"LANG=C.UTF-8", "LANGUAGE=" + language} }

// translated is what must be there for programs to speak a language.
func translated(language, of string) []string {
	return []string{"/usr/share/locale/" + language + "/LC_MESSAGES/" + of + ".mo", "/usr/share/locale/" + language + "/LC_MESSAGES/libc.mo"}
}

// systemDeaths are for want of room: on disks, in /dev/shm, of memory.
var systemDeaths = []death{}

// limitDeaths are by limits on processes.
var limitDeaths = []death{}

// runtimeDeaths are of other languages that bring a runtime.
var runtimeDeaths = []death{}
