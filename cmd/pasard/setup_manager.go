package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A serviceManager is the user's systemd and logind, asked by their own commands. Tests have others.
type serviceManager struct {
	root string // the system's files are looked for below it
	uid  int
	user string
	env  func(string) string
	// run runs a command, and returns its standard output; an error says what it complained of.
	run func(ctx context.Context, env []string, argv ...string) (string, error)
}

func thisManager() *serviceManager {
	return &serviceManager{root: "/", uid: os.Geteuid(), user: userName(), env: os.Getenv, run: runCommand}
}

func (m *serviceManager) exists(p string) bool {
	_, err := os.Stat(filepath.Join(m.root, p))
	return err == nil
}

// runtimeDir is the user's, by the environment or where logind puts it.
func (m *serviceManager) runtimeDir() string {
	if d := m.env("XDG_RUNTIME_DIR"); filepath.IsAbs(d) {
		return d
	}
	return "/run/user/" + strconv.Itoa(m.uid)
}

// systemctl asks the user's systemd. It finds it also from a shell that su or cron started.
func (m *serviceManager) systemctl(ctx context.Context, args ...string) (string, error) {
	return m.run(ctx, []string{"XDG_RUNTIME_DIR=" + m.runtimeDir()}, append([]string{"systemctl", "--user", "--no-ask-password"}, args...)...)
}

// lingers is whether the user's systemd outlives the last logout.
func (m *serviceManager) lingers() bool {
	return m.exists("/var/lib/systemd/linger/" + filepath.Base(m.user))
}

// enableLinger asks logind, which may not grant it.
func (m *serviceManager) enableLinger(ctx context.Context) error {
	_, err := m.run(ctx, nil, "loginctl", "--no-ask-password", "enable-linger", m.user)
	return err
}

// check is nil if there is a systemd of the user's that looks for units in dir; else why not, and what to do.
func (m *serviceManager) check(ctx context.Context, dir string) error {
	if !m.exists("/run/systemd/system") {
		e := &exitError{exitRefused, errors.New("systemd is not in charge of this machine, so it can't run pasard as a service"),
			"nothing is lost: the first `pasar` command starts pasard; have what starts this machine run `pasard` to have it at boot"}
		switch text, _ := os.ReadFile(filepath.Join(m.root, "/proc/sys/kernel/osrelease")); {
		case strings.Contains(strings.ToLower(string(text)), "microsoft"):
			e.hint = "in WSL, write `[boot]` and `systemd=true` into /etc/wsl.conf, then `wsl --shutdown`"
		case m.exists("/.dockerenv") || m.exists("/run/.containerenv"):
			e.hint = "in a container there is usually none: run `pasard` beside what the container is for; the first `pasar` command starts it otherwise"
		}
		return e
	}
	path, err := m.systemctl(ctx, "show", "--property=UnitPath", "--value")
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		uid := strconv.Itoa(m.uid)
		e := &exitError{exitRefused, fmt.Errorf("the systemd of %s can't be reached: %w", m.user, err), "`systemctl --user status` says more"}
		switch {
		case !m.exists("/run/user/" + uid):
			e.hint = "log in on the console or by ssh rather than by su or sudo (and with UsePAM=yes), or start it: `sudo systemctl start user@" + uid + ".service`"
		case m.runtimeDir() != "/run/user/"+uid:
			e.hint = "XDG_RUNTIME_DIR is " + m.runtimeDir() + "; try `XDG_RUNTIME_DIR=/run/user/" + uid + " pasar setup`"
		}
		return e
	}
	if !slices.Contains(strings.Fields(path), dir) {
		return &exitError{exitRefused, fmt.Errorf("the systemd of %s doesn't look for units in %s", m.user, dir),
			"it was started with another HOME or XDG_CONFIG_HOME than this shell has; it looks in " + strings.TrimSpace(path)}
	}
	return nil
}

// A unitState is what systemd says of a unit.
type unitState struct {
	load, active, sub, result string // as `systemctl show` has them
	enabled                   string
	pid                       int // of the main process; 0: none
	fragment                  string
	reload                    bool // its file changed since systemd read it
}

func (m *serviceManager) show(ctx context.Context, unit string) (unitState, error) {
	text, err := m.systemctl(ctx, "show", "--property=LoadState,ActiveState,SubState,Result,UnitFileState,MainPID,FragmentPath,NeedDaemonReload", unit)
	return parseUnitState(text), err
}

func parseUnitState(text string) (u unitState) {
	for line := range strings.Lines(text) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch k {
		case "LoadState":
			u.load = v
		case "ActiveState":
			u.active = v
		case "SubState":
			u.sub = v
		case "Result":
			u.result = v
		case "UnitFileState":
			u.enabled = v
		case "MainPID":
			u.pid, _ = strconv.Atoi(v)
		case "FragmentPath":
			u.fragment = v
		case "NeedDaemonReload":
			u.reload = v == "yes"
		}
	}
	return u
}

// said is the last line that the service wrote in which it says what was wrong; empty if the journal has
// none.
func (m *serviceManager) said(ctx context.Context) string {
	text, err := m.run(ctx, nil, "journalctl", "--user", "--user-unit="+serviceUnit, "--output=cat", "--lines=50", "--no-pager", "--quiet")
	if err != nil {
		return ""
	}
	last := ""
	for line := range strings.Lines(text) {
		if s, ok := strings.CutPrefix(strings.TrimSpace(line), "pasard: "); ok {
			last = s
		}
	}
	return last
}

// commandPatience bounds each question to systemd; starting a unit may take as long as the unit allows.
const commandPatience = 6 * time.Minute

// runCommand runs a command of systemd's with nothing on its standard input.
func runCommand(ctx context.Context, env []string, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(append(os.Environ(), "LC_ALL=C.UTF-8", "SYSTEMD_PAGER=", "SYSTEMD_COLORS=0"), env...)
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true} // a Ctrl-C is for us
	out, complaint := &bounded{max: 64 << 10}, &bounded{max: 4 << 10}
	cmd.Stdout, cmd.Stderr = out, complaint
	err := cmd.Run()
	text := out.kept.String()
	switch line := firstLine(complaint.kept.Bytes()); {
	case err == nil:
		return text, nil
	case ctx.Err() != nil:
		return text, context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return text, fmt.Errorf("%s is not installed", argv[0])
	case line != "":
		return text, errors.New(line)
	default:
		return text, fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
}
