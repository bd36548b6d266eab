package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// examineService looks at the units of `pasar setup`: the files, then what systemd says of them.
func examineService(ctx context.Context, p *patient) []finding {
	if p.cfg == nil || !p.exists("/run/systemd/system") || !filepath.IsAbs(p.home) {
		return nil // the logins' finding
	}
	dir := unitDir(p.home)
	files, err := planFiles(dir, nil)
	if err != nil {
		return []finding{found(serviceUnread, "see to the permissions of "+dir, "%v", err)}
	}
	unit, socket := files[0], files[1]
	if unit.old == "" && socket.old == "" {
		return []finding{found(serviceNone, "`pasar setup`, if pasard is to be there at boot and to come back when it dies",
			"none: pasard is started by the first command that needs it")}
	}
	var out []finding
	switch {
	case unit.old == "":
		return []finding{found(serviceHalf, "`pasar setup` completes it", "%s is there, but no %s", socketUnit, serviceUnit)}
	case unit.old == "\x00":
		if to, err := os.Readlink(unit.Path); err == nil && to == os.DevNull {
			return []finding{found(serviceMasked, "`systemctl --user unmask "+serviceUnit+"`, or leave it so", "%s is masked, so that systemd never starts it", serviceUnit)}
		}
		if b, err := os.ReadFile(unit.Path); err == nil {
			unit.old = string(b)
		}
	}
	written, err := readService(unit.old, socket.old)
	if err != nil {
		return []finding{found(serviceUnread, "`pasar setup --force` writes it anew", "%s: %v", unit.Path, err)}
	}
	out = append(out, p.examineUnits(unit, socket, written)...)
	return append(out, p.examineState(ctx, written)...)
}

// readService is what the units were written for.
func readService(unit, socket string) (service, error) {
	program, err := unquoteUnit(unitValue(unit, "ExecStart"))
	if err != nil || !filepath.IsAbs(program) {
		return service{}, fmt.Errorf("its ExecStart= is none of pasard's")
	}
	s := service{program: program, socket: strings.ReplaceAll(unitValue(socket, "ListenStream"), "%%", "%")}
	for line := range strings.Lines(unit) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "Environment="); ok {
			if kv, err := unquoteUnit(v); err == nil {
				s.env = append(s.env, kv)
			}
		}
	}
	return s, nil
}

// examineUnits compares the files with what setup would write now.
func (p *patient) examineUnits(unit, socket *unitFile, s service) []finding {
	const again = "`pasar setup` writes it anew"
	var out []finding
	if _, err := os.Stat(s.program); err != nil {
		out = append(out, found(serviceBroken, again, "it runs %s, which isn't there", s.program))
	} else if a, err := filepath.EvalSymlinks(s.program); err == nil {
		if b, err := filepath.EvalSymlinks(p.self); err == nil && a != b {
			out = append(out, found(serviceOther, "`pasar setup` of the one that is to run", "it runs %s, but this is %s", s.program, p.self))
		}
	}
	if s.socket != "" && s.socket != p.cfg.Paths.Socket {
		out = append(out, found(serviceElsewhere, again, "systemd listens at %s, but by the configuration it is %s", s.socket, p.cfg.Paths.Socket))
	}
	want := s.units()
	switch {
	case !unit.owned || !socket.owned:
		out = append(out, found(serviceEdited, "nothing to do, if that was meant; `systemctl --user edit "+serviceUnit+"` keeps changes apart",
			"its units were changed by hand, or aren't setup's"))
	case s.socket != "" && (unit.old != want[serviceUnit] || socket.old != want[socketUnit]):
		out = append(out, found(serviceOutdated, again, "its units were written by another version of pasar"))
	}
	return out
}

// examineState asks systemd.
func (p *patient) examineState(ctx context.Context, s service) []finding {
	u, err := p.manager.show(ctx, serviceUnit)
	if err != nil {
		return []finding{found(serviceUnreached, "`pasar setup` says what to do", "the systemd of %s can't be reached: %v", p.user, err)}
	}
	l := unitState{active: "active"}
	if s.socket != "" {
		if l, err = p.manager.show(ctx, socketUnit); err != nil {
			return []finding{found(serviceUnreached, "`pasar setup` says what to do", "the systemd of %s can't be reached: %v", p.user, err)}
		}
	}
	const start = "`systemctl --user start pasard.socket pasard`"
	var out []finding
	if u.enabled == "disabled" {
		out = append(out, found(serviceOff, "`pasar setup` enables it", "%s is not enabled: nothing starts it at boot", serviceUnit))
	}
	answers := p.daemon.state == socketAnswers
	switch {
	case u.active == "failed":
		out = append(out, found(serviceFailed, "`journalctl --user -u pasard` tells why; then `pasar setup`", "it failed (%s)", or(u.result, "systemd doesn't say how")))
	case l.active == "failed":
		out = append(out, found(serviceFailed, "`journalctl --user -u pasard` tells why; then `pasar setup`", "its socket failed (%s)", or(l.result, "systemd doesn't say how")))
	case answers && u.pid != 0 && p.daemon.pid != u.pid:
		out = append(out, found(serviceBeside, "`pasar setup` has it hand over", "pasard (pid %d) runs beside the service (pid %d)", p.daemon.pid, u.pid))
	case answers && u.pid == 0:
		out = append(out, found(serviceBeside, "`pasar setup` has it hand over", "pasard (pid %d) was started beside the service, which does not run", p.daemon.pid))
	case u.active == "active":
		out = append(out, found(serviceUp, "", "systemd runs it (pid %d), and starts it at boot", u.pid))
	case l.active == "active" && s.socket != "":
		out = append(out, found(serviceAsleep, "", "systemd listens for it and starts it when a command needs it"))
	default:
		out = append(out, found(serviceStopped, start+", or any command that needs it", "it was stopped"))
	}
	return out
}
