package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"pasar"
)

// isService reports whether systemd is to listen at socket: whether `pasar setup` wrote that into a unit of
// this home. Nothing is asked of systemd for that.
func isService(env []string, socket string) bool {
	home := lookup(env, "HOME")
	if !filepath.IsAbs(home) {
		return false
	}
	b, err := os.ReadFile(filepath.Join(home, ".config/systemd/user/pasard.socket"))
	if err != nil {
		return false
	}
	want := "ListenStream=" + strings.ReplaceAll(socket, "%", "%%") // a percent sign begins a specifier
	for line := range strings.Lines(string(b)) {
		if strings.TrimSpace(line) == want {
			return true
		}
	}
	return false
}

// startService has systemd start the daemon and returns when it is ready. A unit that failed before is given
// another try. If it fails again systemd no longer listens, and the error says why.
func startService(ctx context.Context, env []string) error {
	if lookup(env, "XDG_RUNTIME_DIR") == "" {
		env = append(env[:len(env):len(env)], fmt.Sprintf("XDG_RUNTIME_DIR=/run/user/%d", os.Geteuid()))
	}
	const units = "pasard.socket pasard.service"
	_, _ = systemctl(ctx, env, "reset-failed", units)
	said, err := systemctl(ctx, env, "start", units)
	if err == nil || ctx.Err() != nil {
		return err
	}
	_, _ = systemctl(ctx, env, "stop", "pasard.socket") // so that another daemon can listen there
	if said != "" {
		err = errors.New(said)
	}
	return err
}

// systemctl runs a verb on the user's units, and returns the first line that it complains in.
func systemctl(ctx context.Context, env []string, verb, units string) (said string, err error) {
	bin := findProgram("systemctl", lookup(env, "PATH"))
	if bin == "" {
		return "", errors.New("systemctl is not on the PATH")
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer r.Close()
	argv := append([]string{"systemctl", "--user", "--no-ask-password", verb}, strings.Fields(units)...)
	p, err := os.StartProcess(bin, argv, &os.ProcAttr{Dir: "/", Env: append(env[:len(env):len(env)], "LC_ALL=C.UTF-8"),
		Files: []*os.File{null, null, w}, Sys: &syscall.SysProcAttr{Setpgid: true}})
	_ = w.Close()
	if err != nil {
		return "", err
	}
	unhook := context.AfterFunc(ctx, func() { _ = unix.Kill(-p.Pid, unix.SIGTERM) })
	defer unhook()
	text, _ := io.ReadAll(io.LimitReader(r, 4<<10))
	st, err := p.Wait()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err == nil && !st.Success() {
		err = fmt.Errorf("systemctl %s: %s", verb, st)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return pasar.Clean(line), err
}

// findProgram looks on the PATH; empty if it isn't there.
func findProgram(name, path string) string {
	for _, dir := range filepath.SplitList(path) {
		if bin := filepath.Join(dir, name); filepath.IsAbs(dir) && isProgram(bin) {
			return bin
		}
	}
	return ""
}
