package submission

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"pasar"
)

// Shell runs lines.
const Shell = "/bin/sh"

// Argv is the argument vector to run: the words exactly; or Shell with one line, if shell is set, or if there is one word
// with spaces in it.
func Argv(words []string, shell bool) ([]string, error) {
	switch {
	case len(words) == 0:
		return nil, refusef("no command given").with("`pasar submit [flags] CMD…`; `pasar submit --help` has examples")
	case words[0] == "":
		return nil, refusef("the command is empty")
	case shell:
		return []string{Shell, "-c", strings.Join(words, " ")}, nil
	case len(words) == 1 && strings.ContainsAny(words[0], " \t\n"):
		return []string{Shell, "-c", words[0]}, nil
	}
	return words, nil
}

// maxShown is how many characters of a directory a refusal repeats.
const maxShown = 300

// Dir is the directory to run in, absolute and there; of an empty name it is this process's.
func Dir(dir string) (string, error) {
	here, err := os.Getwd()
	if err != nil && !filepath.IsAbs(dir) {
		return "", refusef("this directory can't be found: %v", err).with("name another with --cwd")
	}
	if dir == "" {
		return here, nil
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(here, dir)
	}
	fi, err := os.Stat(dir)
	shown := pasar.Clean(dir)
	if r := []rune(shown); len(r) > maxShown {
		shown = string(r[:maxShown]) + "…"
	}
	var path *os.PathError
	switch {
	case os.IsNotExist(err):
		return "", refusef("--cwd %s: there is no such directory", shown).with("make it first; without --cwd the job runs in this one")
	case errors.As(err, &path):
		return "", refusef("--cwd %s: %v", shown, path.Err)
	case err != nil:
		return "", refusef("--cwd %s: %v", shown, err)
	case !fi.IsDir():
		return "", refusef("--cwd %s is not a directory", shown)
	}
	return filepath.Clean(dir), nil
}

// Missing says that the program of argv isn't there now, which it may be when the job starts; empty if it is. The job runs
// in cwd with env.
func Missing(argv []string, cwd string, env []string) string {
	prog := argv[0]
	if strings.Contains(prog, "/") {
		path := prog
		if !filepath.IsAbs(path) {
			path = filepath.Join(cwd, path)
		}
		if _, err := os.Stat(path); err != nil {
			return pasar.Clean(prog) + " does not exist"
		}
		if !isProgram(path) {
			return pasar.Clean(prog) + " is not executable"
		}
		return ""
	}
	for _, dir := range filepath.SplitList(lookup(env, "PATH")) {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(cwd, dir)
		}
		if isProgram(filepath.Join(dir, prog)) {
			return ""
		}
	}
	return pasar.Clean(prog) + " is not on the PATH"
}

func isProgram(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular() && fi.Mode().Perm()&0o111 != 0
}
