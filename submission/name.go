package submission

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"pasar"
)

// launchers run the program that a job is about: the job is named for that one.
var launchers = []string{"python", "bash", "sh", "dash", "zsh", "fish", "perl", "ruby", "node", "Rscript", "julia", "torchrun", "accelerate",
	"deepspeed", "mpirun", "srun", "env", "nice", "time", "timeout", "stdbuf", "uv", "poetry", "conda", "pipenv", "micromamba", "ipython"}

// syntax begins shell lines that no program is the first word of.
var syntax = []string{"for", "while", "until", "if", "case", "cd", "set", "export", "trap", "exec", "eval", "read", "[", "[[", "!"}

// Name names a job for its command: the script of `python train.py`, the module of `python -m pkg.train`,
// the first command of a shell line, else the program.
func Name(argv []string) string {
	if len(argv) == 3 && argv[0] == Shell && argv[1] == "-c" {
		line := strings.TrimLeft(argv[2], " \t\n({")
		if i := strings.IndexAny(line, "|;&<>\n"); i > 0 {
			line = line[:i] // the first of several commands
		}
		argv = strings.Fields(line)
		if len(argv) > 0 && slices.Contains(syntax, argv[0]) {
			return "sh"
		}
	}
	for len(argv) > 1 && isAssignment(argv[0]) {
		argv = argv[1:]
	}
	if len(argv) == 0 {
		return ""
	}
	name, _ := Program(argv)
	name = filepath.Base(name)
	for _, ext := range []string{".py", ".sh", ".R", ".jl", ".pl", ".rb", ".js"} {
		if s, ok := strings.CutSuffix(name, ext); ok && s != "" {
			name = s
		}
	}
	return tidy(name)
}

// Program is the program, script or module that a command is about, behind whatever launches it, and whether it
// is a file.
func Program(argv []string) (word string, isFile bool) {
	word = argv[0]
	for rest := argv[1:]; isLauncher(word); {
		i := slices.IndexFunc(rest, func(s string) bool {
			return !strings.HasPrefix(s, "-") && s != "run" && s != "launch" && s != "exec" && !isAssignment(s) && !isAmount(s)
		})
		if m := slices.Index(rest, "-m"); m >= 0 && m+1 < len(rest) && (i < 0 || m < i) {
			return rest[m+1], false
		}
		if c := slices.Index(rest, "-c"); i < 0 || c >= 0 && c < i {
			return word, false
		}
		word, rest = rest[i], rest[i+1:]
		if len(rest) == 0 {
			break
		}
	}
	return word, true
}

func isLauncher(word string) bool {
	return slices.Contains(launchers, strings.TrimRight(filepath.Base(word), "0123456789."))
}

func isAssignment(word string) bool {
	k, _, ok := strings.Cut(word, "=")
	return ok && k != "" && !strings.ContainsAny(k, "/-. ")
}

// isAmount reports whether a word is a number or a time, as `nice` and `timeout` take.
func isAmount(word string) bool {
	_, err := strconv.ParseFloat(strings.TrimRight(word, "smhd"), 64)
	return err == nil
}

// tidy makes any bytes a name: valid UTF-8 without control characters, within MaxName.
func tidy(s string) string {
	s = pasar.Clean(s)
	for len(s) > pasar.MaxName {
		_, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
	}
	return s
}
