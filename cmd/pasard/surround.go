package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pasar"
	"pasar/ipc"
	"pasar/submission"
)

// surround is what surrounds a job whose client has no process here: what surrounds the daemon, or with noEnv what is bare
// of it, and what is added; and the directory that the client means, where a relative one is below the home directory.
func surround(dir string, noEnv bool, add []pasar.Arg, umask int) (pasar.Surroundings, string, error) {
	around, err := surroundings(noEnv, add, umask)
	if err != nil {
		what, hint := submission.Explain(err)
		return around, "", &ipc.Error{Code: ipc.CodeBadRequest, Message: what, Hint: hint}
	}
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return around, "", err
		}
		dir = filepath.Join(home, strings.TrimPrefix(dir, "~/"))
	}
	if dir, err = submission.Dir(dir); err != nil {
		err = &ipc.Error{Code: ipc.CodeBadRequest, Message: err.Error(), Hint: "the directory is one of the machine that runs the job; without --cwd it is your home there"}
	}
	return around, dir, err
}

func surroundings(noEnv bool, add []pasar.Arg, umask int) (pasar.Surroundings, error) {
	more := make([]string, len(add))
	for i, kv := range add {
		more[i] = string(kv)
	}
	given := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "PASAR_URL=") }) // jobs mean this daemon
	env, err := submission.Env(given, noEnv, more)
	if err != nil {
		return pasar.Surroundings{}, err
	}
	// Limits are handed down as they were given: to ask for them would set this process's own back (see package
	// submission), which a daemon needs.
	return pasar.Surroundings{Env: env, Umask: umask}, nil // the present umask is for the daemon's files
}
