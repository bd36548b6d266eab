package main

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// examineLogins says what becomes of pasard and of jobs when their user logs out.
func examineLogins(_ context.Context, p *patient) []finding {
	if !p.exists("/run/systemd/system") {
		return []finding{found(systemdNone, "start pasard from what starts this machine to have it at boot",
			"systemd is not in charge here: nothing ends jobs at logout, nothing starts pasard at boot")}
	}
	const linger = "loginctl enable-linger"
	const service = "`pasar setup`, which makes it a service"
	uid := strconv.Itoa(p.uid)
	lingers := p.exists("/var/lib/systemd/linger/" + filepath.Base(p.user))
	kills, where := p.killsUserProcesses()
	session, up := p.session(), p.daemon.state == socketAnswers
	switch {
	case kills && !lingers:
		return []finding{found(killedAtLogout, linger+", then "+service+"; or KillUserProcesses=no in "+where,
			"KillUserProcesses=yes in %s, and linger is off for %s: logging out kills pasard and every job", where, p.user)}
	case kills && up && session != "":
		return []finding{found(killedWithSession, service+"; jobs that have no unit of their own are to be started again after it",
			"KillUserProcesses=yes in %s, and pasard (pid %d) belongs to the login %s: it is killed when that ends, with jobs that have no unit of their own", where, p.daemon.pid, session)}
	case kills && !up && session != "":
		return []finding{found(killedIfInSession, service,
			"KillUserProcesses=yes in %s: a pasard started from a login is killed when that ends, with jobs that have no unit of their own", where)}
	case !lingers && up && p.underManager():
		return []finding{found(endsWithManager, linger, "linger is off for %s, and pasard (pid %d) runs under that user's systemd: it and every job are killed at the last logout", p.user, p.daemon.pid)}
	case !lingers:
		return []finding{found(lingerOff, linger, "linger is off for %s: jobs outlive a logout, but nothing of yours is started at boot", p.user)}
	case !p.exists("/run/user/" + uid + "/systemd"):
		return []finding{found(managerDown, "systemctl start user@"+uid+".service", "linger is on for %s, but the user's systemd does not run", p.user)}
	}
	return []finding{found(lingerOn, "", "linger is on for %s: jobs and the user's systemd outlive a logout", p.user)}
}

// session is the login that the daemon, or else this program, belongs to: "session-3.scope". Empty: to
// none, or to the user's systemd.
func (p *patient) session() string {
	for _, part := range strings.Split(p.cgroup(), "/") {
		if strings.HasPrefix(part, "session-") && strings.HasSuffix(part, ".scope") {
			return part
		}
	}
	return ""
}

// underManager is whether the daemon, or else this program, belongs to the user's systemd.
func (p *patient) underManager() bool {
	uid := strconv.Itoa(p.uid)
	return strings.HasPrefix(p.cgroup()+"/", "/user.slice/user-"+uid+".slice/user@"+uid+".service/")
}

// cgroup is the path of the daemon's cgroup, or else of this program's, as systemd sees it.
func (p *patient) cgroup() string {
	text, _ := p.read(p.proc("cgroup"))
	unified := ""
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(f) < 3:
		case f[1] == "name=systemd": // beside cgroup v1, this is where it keeps its units
			return f[2]
		case f[0] == "0" && f[1] == "":
			unified = f[2]
		}
	}
	return unified
}

// Where systemd looks for its configuration (logind.conf(5)): of files with one name the first counts,
// and drop-ins count after the main file, in the order of their names.
var systemdDirs = []string{"/etc/systemd", "/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd"}

// killsUserProcesses is whether logind kills what this user leaves behind in a session, and the file
// that says so.
func (e *doctorEnv) killsUserProcesses() (kills bool, where string) {
	var files []string
	for _, dir := range systemdDirs {
		if f := dir + "/logind.conf"; e.exists(f) {
			files = append(files, f)
			break
		}
	}
	dropIns := map[string]string{}
	for _, dir := range systemdDirs {
		found, _ := filepath.Glob(e.path(dir + "/logind.conf.d/*.conf"))
		for _, f := range found {
			if name := filepath.Base(f); dropIns[name] == "" {
				dropIns[name] = dir + "/logind.conf.d/" + name
			}
		}
	}
	names := make([]string, 0, len(dropIns))
	for name := range dropIns {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		files = append(files, dropIns[name])
	}
	var only []string
	except := []string{"root"}
	for _, f := range files {
		text, _ := e.read(f)
		for k, v := range parseLogind(text) {
			switch k {
			case "KillUserProcesses":
				kills, where = slices.Contains([]string{"yes", "true", "on", "1", "y", "t"}, strings.ToLower(v)), f
			case "KillOnlyUsers":
				only = strings.Fields(v)
			case "KillExcludeUsers":
				except = strings.Fields(v)
			}
		}
	}
	if slices.Contains(except, e.user) || len(only) > 0 && !slices.Contains(only, e.user) {
		return false, ""
	}
	return kills, where
}

// parseLogind reads the section [Login]; a later line overrides an earlier one.
func parseLogind(text string) map[string]string {
	settings := map[string]string{}
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			section = strings.Trim(line, "[]")
		case section == "Login":
			if k, v, ok := strings.Cut(line, "="); ok {
				settings[strings.TrimSpace(k)] = strings.TrimSpace(v)
			}
		}
	}
	return settings
}
