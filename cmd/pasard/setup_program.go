package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// unitProgram is the path of pasard for the unit: as it is found on the PATH, links and all, so that an
// upgrade that moves a link is followed; else where this program lies. self has its links resolved.
func unitProgram(self, path string) string {
	for _, dir := range filepath.SplitList(path) {
		p := filepath.Join(dir, "pasard")
		if real, err := filepath.EvalSymlinks(p); filepath.IsAbs(dir) && err == nil && real == self {
			return p
		}
	}
	return self
}

// passingPlace says why a program won't stay where it is; empty if it may.
func passingPlace(program string) string {
	real := program
	if r, err := filepath.EvalSymlinks(program); err == nil {
		real = r
	}
	for _, p := range []string{program, real} {
		for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp", "/dev/shm", "/run", "/proc"} {
			if strings.HasPrefix(p, filepath.Clean(dir)+"/") {
				return fmt.Sprintf("%s is in a temporary directory", p)
			}
		}
		// `make build` leaves it in bin of the source tree.
		tree := filepath.Dir(filepath.Dir(p))
		if b, err := os.ReadFile(filepath.Join(tree, "go.mod")); err == nil && strings.HasPrefix(string(b), "module pasar\n") {
			return fmt.Sprintf("%s is in a source tree, where the next build replaces it", p)
		}
	}
	return ""
}

// keptEnv is the environment for the unit: those of marketVars that are set here and make a difference.
// socket is where a daemon listens without PASAR_SOCKET.
func keptEnv(env func(string) string, home, socket string) ([]string, error) {
	usual := map[string]string{
		"XDG_CONFIG_HOME": filepath.Join(home, ".config"),
		"XDG_DATA_HOME":   filepath.Join(home, ".local/share"),
		"XDG_STATE_HOME":  filepath.Join(home, ".local/state"),
		"PASAR_SOCKET":    socket,
	}
	var kept []string
	for _, name := range marketVars {
		v := env(name)
		switch {
		case v == "":
			continue
		case name == "PASAR_CONFIG":
			abs, err := filepath.Abs(v)
			if err != nil {
				return nil, fmt.Errorf("PASAR_CONFIG: %w", err)
			}
			v = abs
		case !filepath.IsAbs(v): // counts for nothing
			continue
		}
		if v != usual[name] {
			kept = append(kept, name+"="+v)
		}
	}
	return kept, nil
}
