package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// examinePrograms looks for pasar's other programs, and asks them for their versions.
func examinePrograms(ctx context.Context, p *patient) []finding {
	out := append(append(examineSupervisor(ctx, p), examineClient(ctx, p)...), examineConsole(ctx, p)...)
	if len(out) == 0 {
		out = append(out, found(programsFine, "", "pasar, pasard, pasar-supervisor and pasar-console are here and of one version, %s", p.version))
	}
	return out
}

func examineSupervisor(ctx context.Context, p *patient) []finding {
	path, err := findSupervisor(p.self)
	if err != nil {
		return []finding{found(supervisorMissing, "install it beside pasard, or in ../libexec/pasar: no job starts without", "%v", err)}
	}
	const again = "install pasar's programs again, all of one version"
	text, err := p.run(ctx, path, "version")
	version, ok := parseVersion("pasar-supervisor", string(text))
	switch {
	case err != nil:
		return []finding{found(supervisorBroken, again+": no job starts without", "%s does not run: %v", path, err)}
	case !ok:
		return []finding{found(supervisorBroken, again+": no job starts without", "%s does not tell its version: %q", path, firstLine(text))}
	case version != p.version:
		return []finding{found(supervisorOther, again, "%s is version %s, but pasard is %s", path, version, p.version)}
	}
	return nil
}

// parseVersion reads "PROGRAM VERSION (protocol …)".
func parseVersion(program, s string) (string, bool) {
	f := strings.Fields(s)
	if len(f) < 2 || f[0] != program {
		return "", false
	}
	return f[1], true
}

func examineConsole(ctx context.Context, p *patient) []finding {
	const again = "install pasar's programs again, all of one version"
	path, err := findBeside(p.self, "pasar-console")
	if err != nil {
		return []finding{found(consoleMissing, "install it beside pasard, or in ../libexec/pasar: without it there is no `pasar console`", "%v", err)}
	}
	text, err := p.run(ctx, path, "--version")
	switch version, ok := parseVersion("pasar-console", string(text)); {
	case err != nil:
		return []finding{found(consoleBroken, again, "%s does not run: %v", path, err)}
	case !ok:
		return []finding{found(consoleBroken, again, "%s does not tell its version: %q", path, firstLine(text))}
	case version != p.version:
		return []finding{found(consoleOther, again, "%s is version %s, but pasard is %s", path, version, p.version)}
	}
	return nil
}

func examineClient(ctx context.Context, p *patient) []finding {
	path := ""
	if real, err := filepath.EvalSymlinks(p.self); err == nil {
		if beside := filepath.Join(filepath.Dir(real), "pasar"); isFile(beside) {
			path = beside
		}
	}
	if path == "" {
		var err error
		if path, err = p.lookPath("pasar"); err != nil {
			return []finding{found(clientMissing, "install pasar beside pasard, or put it on the PATH", "pasar is neither beside %s nor on the PATH", p.self)}
		}
	}
	var said struct{ Version string }
	text, err := p.run(ctx, path, "version", "--json")
	if err == nil {
		err = json.Unmarshal(text, &said)
	}
	if err == nil && said.Version == "" {
		err = fmt.Errorf("it does not tell its version: %q", firstLine(text))
	}
	switch {
	case err != nil:
		return []finding{found(clientBroken, "install pasar's programs again; is that another program of this name?", "%s: %v", path, err)}
	case said.Version != p.version:
		return []finding{found(clientOther, "install pasar's programs again, all of one version", "%s is version %s, but pasard is %s", path, said.Version, p.version)}
	}
	return nil
}

func isFile(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular()
}

func firstLine(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\n")
	return s[:min(len(s), 80)]
}

func examineGit(_ context.Context, p *patient) []finding {
	path, err := p.lookPath("git")
	if err != nil {
		return []finding{found(gitMissing, "install git", "not found: commits and uncommitted changes of what jobs run are not recorded")}
	}
	return []finding{found(gitFine, "", "%s", path)}
}
