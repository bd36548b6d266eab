package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/config"
)

var updateUnits = flag.Bool("update", false, "write the golden files anew")

// fakeManager is a machine with systemd, a user ada who lingers, and pasar installed in her home.
type fakeManager struct {
	t       *testing.T
	home    string
	root    string
	vars    map[string]string
	asked   []string          // commands, without what is the same in all
	refuse  map[string]string // command → what it complains of
	daemons map[string]int    // socket → pid of who answers there
	started bool              // the service
	onAsk   func(command string)
	said    []string
	*setup
}

func newFakeManager(t *testing.T) *fakeManager {
	t.Helper()
	f := &fakeManager{t: t, home: shortDir(t), root: t.TempDir(), refuse: map[string]string{}, daemons: map[string]int{}}
	f.vars = map[string]string{"HOME": f.home, "PATH": f.home + "/.local/bin:/usr/bin", "XDG_RUNTIME_DIR": f.home + "/run"}
	for _, p := range []string{"/run/systemd/system/x", "/var/lib/systemd/linger/ada", "/run/user/7/bus"} {
		f.write(filepath.Join(f.root, p), "")
	}
	for _, p := range []string{".local/bin/pasard", ".local/libexec/pasar/pasar-supervisor"} {
		f.write(filepath.Join(f.home, p), "")
		if err := os.Chmod(filepath.Join(f.home, p), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f.again()
	return f
}

// again makes a fresh run in the same home.
func (f *fakeManager) again() {
	f.asked, f.said = nil, nil
	f.setup = &setup{
		serviceManager: &serviceManager{root: f.root, uid: 7, user: "ada", env: func(k string) string { return f.vars[k] }, run: f.command},
		home:           f.home, self: f.home + "/.local/bin/pasard", force: true, // homes of tests are in /tmp
		load: func() (*config.Config, error) {
			c, err := config.Load("", func(k string) string { return f.vars[k] })
			if c != nil && f.vars["PASAR_SOCKET"] == "" {
				c.Paths.Run = filepath.Join(c.Paths.Data, "run")
				c.Paths.OtherSocket = filepath.Join(f.vars["XDG_RUNTIME_DIR"], "pasar/pasard.sock")
				if f.lingers() {
					c.Paths.OtherSocket = c.Paths.Run + "/pasard.sock"
					c.Paths.Run = filepath.Join(f.vars["XDG_RUNTIME_DIR"], "pasar")
				}
				c.Paths.Socket = c.Paths.Run + "/pasard.sock"
			}
			return c, err
		},
		call: f.call,
		tell: func(line string) { f.said = append(f.said, line) },
	}
}

func (f *fakeManager) write(path, text string) {
	f.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fakeManager) unit(name string) string { return filepath.Join(f.unitDir(), name) }

func (f *fakeManager) read(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(b)
}

// command is systemctl, loginctl and journalctl.
func (f *fakeManager) command(_ context.Context, _ []string, argv ...string) (string, error) {
	words := slices.DeleteFunc(slices.Clone(argv), func(w string) bool { return strings.HasPrefix(w, "--no-ask") || w == "--user" })
	command := strings.Join(words, " ")
	f.asked = append(f.asked, command)
	if f.onAsk != nil {
		f.onAsk(command)
	}
	for c, why := range f.refuse {
		if strings.HasPrefix(command, c) {
			return "", errors.New(why)
		}
	}
	socket := unitValue(f.read(f.unit(socketUnit)), "ListenStream")
	switch {
	case strings.HasPrefix(command, "systemctl show --property=UnitPath"):
		return "/etc/systemd/user " + f.unitDir() + "\n", nil
	case strings.HasPrefix(command, "systemctl show") && strings.HasSuffix(command, serviceUnit):
		if f.started {
			return "LoadState=loaded\nActiveState=active\nUnitFileState=enabled\nMainPID=500\n", nil
		}
		return "LoadState=not-found\nActiveState=inactive\nMainPID=0\n", nil
	case strings.HasPrefix(command, "systemctl show") && f.started:
		return "LoadState=loaded\nActiveState=active\nUnitFileState=enabled\n", nil
	case strings.HasPrefix(command, "systemctl start"):
		f.started, f.daemons[socket] = true, 500
	case strings.HasPrefix(command, "systemctl stop"), strings.HasPrefix(command, "systemctl disable"):
		if f.started {
			f.started = false
			delete(f.daemons, socket)
		}
	case strings.HasPrefix(command, "loginctl"):
		f.write(filepath.Join(f.root, "/var/lib/systemd/linger/ada"), "")
	}
	return "", nil
}

// fakeCall is a daemon that answers.
type fakeCall struct {
	f      *fakeManager
	socket string
	pid    int
}

func (c fakeCall) who() (int, string) { return c.pid, pasar.Version }
func (c fakeCall) close()             {}
func (c fakeCall) shutdown(context.Context) error {
	delete(c.f.daemons, c.socket)
	c.f.unlock()
	return nil
}

func (f *fakeManager) call(_ context.Context, socket string) (daemonCall, error) {
	if pid, ok := f.daemons[socket]; ok {
		return fakeCall{f, socket, pid}, nil
	}
	return nil, errors.New("nobody listens")
}

var lockOf = map[*fakeManager]*os.File{}

// serve has a daemon run that no systemd started.
func (f *fakeManager) serve(socket string, pid int) {
	f.t.Helper()
	f.daemons[socket] = pid
	path := filepath.Join(f.home, ".local/share/pasar", journalLock)
	f.write(path, fmt.Sprintln(pid))
	l, err := os.Open(path)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := unix.Flock(int(l.Fd()), unix.LOCK_EX); err != nil {
		f.t.Fatal(err)
	}
	lockOf[f] = l
	f.t.Cleanup(f.unlock)
}

func (f *fakeManager) unlock() {
	if l := lockOf[f]; l != nil {
		_ = l.Close()
		delete(lockOf, f)
	}
}

func (f *fakeManager) succeed() {
	f.t.Helper()
	if err := f.do(f.t.Context()); err != nil {
		f.t.Fatalf("%v\nasked %q", err, f.asked)
	}
}

// fail runs it and returns the error, which must have a code and a hint.
func (f *fakeManager) fail(code int) *exitError {
	f.t.Helper()
	err := f.do(f.t.Context())
	var e *exitError
	if !errors.As(err, &e) || e.code != code || e.hint == "" && code == exitRefused || strings.Contains(e.Error(), "\n") {
		f.t.Fatalf("%#v; want one line with exit code %d and a hint", err, code)
	}
	return e
}

func (f *fakeManager) mutes() bool {
	return !slices.ContainsFunc(f.asked, func(c string) bool {
		return !strings.HasPrefix(c, "systemctl show") && !strings.HasPrefix(c, "journalctl")
	})
}

func TestTheUnits(t *testing.T) {
	for name, s := range map[string]service{
		"plain": {program: "/home/ada/.local/bin/pasard", socket: "/run/user/7/pasar/pasard.sock"},
		"odd": {program: `/home/ada/my programs/100%/pasard`, socket: "/run/user/7/100%/pasard.sock",
			env: []string{"XDG_DATA_HOME=/data/\"a\"\n\\b %h", "PASAR_CONFIG=/etc/pasar.toml"}},
		"long": {program: "/p", socket: "/" + strings.Repeat("s", 200)},
	} {
		var b strings.Builder
		units := s.units()
		for _, u := range []string{serviceUnit, socketUnit} {
			if units[u] != "" {
				fmt.Fprintf(&b, "-- %s --\n%s", u, units[u])
			}
		}
		golden := filepath.Join("testdata", "units-"+name+".txt")
		if *updateUnits {
			if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(golden); err != nil || string(want) != b.String() {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, b.String(), want)
		}
		program, err := unquoteUnit(unitValue(units[serviceUnit], "ExecStart"))
		if err != nil || program != s.program {
			t.Errorf("%s: the program is read back as %q, %v", name, program, err)
		}
	}
}

func TestAWordOfAUnitIsReadBack(t *testing.T) {
	for _, s := range []string{"", "a", "a b", `"`, `\`, "\x01\x7f\n", "%", "%%h", "ü", `\x41`, `a\"`} {
		if got, err := unquoteUnit(quoteUnit(s)); err != nil || got != s {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
	for _, s := range []string{`"`, `"a`, `"\`, `"\x1`, `"\xzz"`} {
		if got, err := unquoteUnit(s); err == nil {
			t.Errorf("%q is read as %q", s, got)
		}
	}
}

func FuzzUnquoteUnit(f *testing.F) {
	f.Add(`"/a b/pasard" x`)
	f.Add(`"\x0a\"`)
	f.Fuzz(func(t *testing.T, s string) {
		if got, err := unquoteUnit(s); err == nil && len(got) > len(s) {
			t.Errorf("%q became %q", s, got)
		}
	})
}

func TestSetupInstallsAndTakesAllBack(t *testing.T) {
	f := newFakeManager(t)
	f.succeed()
	want := []string{"systemctl daemon-reload", "systemctl enable pasard.socket pasard.service", "systemctl start pasard.socket pasard.service"}
	var got []string
	for _, c := range f.asked {
		if slices.Contains(want, c) {
			got = append(got, c)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("asked %q", f.asked)
	}
	if !signed(f.read(f.unit(serviceUnit))) || !signed(f.read(f.unit(socketUnit))) {
		t.Error("the units aren't there")
	}
	if d := f.out.Daemon; d == nil || d.Pid != 500 || *f.out.Program != f.home+"/.local/bin/pasard" {
		t.Errorf("%+v", f.out)
	}

	f.again()
	f.succeed() // the second time there is nothing to do
	if slices.ContainsFunc(f.asked, func(c string) bool { return strings.Contains(c, "start") || strings.Contains(c, "stop") }) {
		t.Errorf("asked %q", f.asked)
	}

	f.again()
	f.uninstall = true
	f.write(filepath.Join(f.unitDir(), "default.target.wants/x"), "") // somebody else's
	for _, l := range wantLinks(f.unitDir()) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(l), 0o700), os.Symlink("../x", l)); err != nil {
			t.Fatal(err)
		}
	}
	f.succeed()
	left, _ := filepath.Glob(f.unitDir() + "/*")
	if len(left) != 1 || filepath.Base(left[0]) != "default.target.wants" || f.started {
		t.Errorf("left: %q, started %t", left, f.started)
	}
	if f.read(filepath.Join(left[0], "x")); boundFile(filepath.Join(left[0], "x")) == nil {
		t.Error("somebody else's file is gone")
	}

	f.again()
	f.uninstall = true
	f.succeed()
	if !slices.Contains(f.said, "there is no service to remove") {
		t.Errorf("said %q", f.said)
	}
}

func TestADaemonThatRunsHandsOver(t *testing.T) {
	for _, place := range []string{"/run/pasar/pasard.sock", "/.local/share/pasar/run/pasard.sock"} {
		f := newFakeManager(t)
		f.serve(f.home+place, 41)
		f.succeed()
		if p := f.out.HandedOver; p == nil || *p != 41 || f.out.Daemon == nil || f.out.Daemon.Pid != 500 {
			t.Errorf("%s: %+v", place, f.out)
		}
	}
}

func TestADaemonThatAClientStartsInBetweenHandsOverToo(t *testing.T) {
	f := newFakeManager(t)
	times := 0
	f.onAsk = func(c string) {
		if strings.HasPrefix(c, "systemctl start") {
			if times++; times == 1 {
				f.serve(f.home+"/run/pasar/pasard.sock", 42)
				f.refuse["systemctl start"] = "Job for pasard.service failed"
			} else {
				delete(f.refuse, "systemctl start")
			}
		}
	}
	f.succeed()
	if times != 2 || f.out.Daemon.Pid != 500 {
		t.Errorf("started %d times: %+v", times, f.out)
	}
}

func TestADaemonThatCantBeReachedIsNamed(t *testing.T) {
	f := newFakeManager(t)
	f.serve("/elsewhere", 41)
	if e := f.fail(exitRefused); !strings.Contains(e.Error(), "pid 41") || !strings.Contains(e.hint, "kill 41") {
		t.Errorf("%v, %s", e, e.hint)
	}
}

func TestSetupOfAHandEditedUnitIsRefused(t *testing.T) {
	f := newFakeManager(t)
	f.succeed()
	edited := f.read(f.unit(serviceUnit)) + "Nice=5\n"
	for _, uninstall := range []bool{false, true} {
		f.write(f.unit(serviceUnit), edited)
		f.again()
		f.force, f.uninstall = false, uninstall
		f.self = "/usr/bin/true" // so that the place of the program is no reason
		if !uninstall {
			f.force = true
			files, err := planFiles(f.unitDir(), service{program: "/usr/bin/pasard", socket: "/s"}.units())
			if err != nil || foreign(files) == nil {
				t.Errorf("it is not seen: %v", err)
			}
			continue
		}
		if e := f.fail(exitRefused); !strings.Contains(e.Error(), "was changed by hand") || !f.mutes() {
			t.Errorf("%v, asked %q", e, f.asked)
		}
		if f.read(f.unit(serviceUnit)) != edited {
			t.Error("it is not as it was")
		}
	}
	f.again()
	f.succeed() // by force
	if !signed(f.read(f.unit(serviceUnit))) || !f.started {
		t.Error("it was not replaced")
	}
}

func TestAMaskedUnitIsRefused(t *testing.T) {
	f := newFakeManager(t)
	f.uninstall, f.force = true, false
	if err := errors.Join(os.MkdirAll(f.unitDir(), 0o700), os.Symlink("/dev/null", f.unit(serviceUnit))); err != nil {
		t.Fatal(err)
	}
	if e := f.fail(exitRefused); !strings.Contains(e.Error(), "is a link or a masked unit") {
		t.Error(e)
	}
}

func TestAnUpgradeWritesTheUnitsAnew(t *testing.T) {
	f := newFakeManager(t)
	f.succeed()
	f.write(f.unit(serviceUnit), sign("[Unit]\nDescription=of an older version\n"))
	f.again()
	f.succeed()
	if f.out.Files[0].State != fileUpdated || !slices.Contains(f.asked, "systemctl start pasard.socket pasard.service") {
		t.Errorf("%+v, asked %q", f.out.Files[0], f.asked)
	}
}

func TestHalfAnInstallationIsCompletedOrRemoved(t *testing.T) {
	f := newFakeManager(t)
	f.refuse["systemctl start"] = "Job for pasard.service failed"
	e := f.fail(exitRefused)
	if !strings.HasPrefix(e.Error(), "start the service: ") || f.read(f.unit(serviceUnit)) == "" {
		t.Errorf("%v", e)
	}
	delete(f.refuse, "systemctl start")
	f.again()
	f.succeed()
	if f.out.Files[0].State != fileUnchanged || !f.started {
		t.Errorf("%+v", f.out)
	}
	if err := os.Remove(f.unit(socketUnit)); err != nil {
		t.Fatal(err)
	}
	f.again()
	f.uninstall = true
	f.refuse["systemctl"] = "Failed to connect to bus"
	f.succeed()
	if f.read(f.unit(serviceUnit)) != "" || !strings.Contains(strings.Join(f.said, "\n"), "can't be reached") {
		t.Errorf("said %q", f.said)
	}
}

func TestTheServicesOwnReasonIsTold(t *testing.T) {
	f := newFakeManager(t)
	f.refuse["systemctl start"] = "Job for pasard.service failed because the control process exited with error code."
	run := f.serviceManager.run
	f.serviceManager.run = func(ctx context.Context, env []string, argv ...string) (string, error) {
		if argv[0] == "journalctl" {
			return "Started pasar.\npasard: it is an old one\npasard: config.toml:3: bad\nhint: x\n", nil
		}
		return run(ctx, env, argv...)
	}
	if e := f.fail(exitRefused); e.Error() != "start the service: config.toml:3: bad" {
		t.Error(e)
	}
}

func TestWithoutLingerNothingIsInstalled(t *testing.T) {
	f := newFakeManager(t)
	off := func() {
		if err := os.RemoveAll(filepath.Join(f.root, "/var")); err != nil {
			t.Fatal(err)
		}
		f.again()
	}
	off()
	if e := f.fail(exitRefused); !strings.HasPrefix(e.Error(), "linger is off for ada") || !strings.Contains(e.hint, "loginctl enable-linger") || !f.mutes() {
		t.Errorf("%v, %s", e, e.hint)
	}
	off()
	f.linger = true
	f.refuse["loginctl"] = "Could not enable linger: Access denied"
	if e := f.fail(exitRefused); !strings.Contains(e.Error(), "Access denied") || !strings.Contains(e.hint, "sudo loginctl enable-linger ada") {
		t.Errorf("%v, %s", e, e.hint)
	}
	delete(f.refuse, "loginctl")
	off()
	f.linger = true
	f.serve(f.home+"/.local/share/pasar/run/pasard.sock", 41) // from before
	f.succeed()
	if got := unitValue(f.read(f.unit(socketUnit)), "ListenStream"); got != f.home+"/run/pasar/pasard.sock" {
		t.Errorf("it listens at %s", got)
	}
	if f.out.HandedOver == nil || !f.out.Linger {
		t.Errorf("%+v", f.out)
	}
}

func TestWithoutASystemdOfTheUsersItSaysWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		spoil      func(f *fakeManager)
		says, hint string
	}{
		"none": {func(f *fakeManager) { _ = os.RemoveAll(filepath.Join(f.root, "run/systemd")) },
			"systemd is not in charge", "the first `pasar` command starts pasard"},
		"WSL": {func(f *fakeManager) {
			_ = os.RemoveAll(filepath.Join(f.root, "run/systemd"))
			f.write(filepath.Join(f.root, "proc/sys/kernel/osrelease"), "5.15.90.1-Microsoft-standard-WSL2\n")
		}, "systemd is not in charge", "/etc/wsl.conf"},
		"a container": {func(f *fakeManager) {
			_ = os.RemoveAll(filepath.Join(f.root, "run/systemd"))
			f.write(filepath.Join(f.root, ".dockerenv"), "")
		}, "systemd is not in charge", "in a container"},
		"su": {func(f *fakeManager) {
			_ = os.RemoveAll(filepath.Join(f.root, "run/user"))
			f.refuse["systemctl"] = "Failed to connect to bus: No such file or directory"
		}, "can't be reached: Failed to connect to bus", "by ssh rather than by su"},
		"another runtime directory": {func(f *fakeManager) { f.refuse["systemctl"] = "Failed to connect to bus" },
			"can't be reached", "XDG_RUNTIME_DIR=/run/user/7 pasar setup"},
		"another home": {func(f *fakeManager) { f.home += "/x"; f.setup.home = f.home; f.write(f.home+"/.local/bin/pasard", "") },
			"doesn't look for units", "another HOME"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeManager(t)
			units := f.unitDir()
			c.spoil(f)
			if name == "another home" {
				f.serviceManager.run = func(context.Context, []string, ...string) (string, error) { return units + "\n", nil }
			}
			if e := f.fail(exitRefused); !strings.Contains(e.Error(), c.says) || !strings.Contains(e.hint, c.hint) {
				t.Errorf("%v\nhint: %s", e, e.hint)
			}
			if f.read(f.unit(serviceUnit)) != "" {
				t.Error("a unit was written")
			}
		})
	}
}

func TestOnlyWhatMakesADifferenceGoesIntoTheUnit(t *testing.T) {
	vars := map[string]string{"XDG_DATA_HOME": "/h/.local/share", "XDG_STATE_HOME": "relative", "XDG_CONFIG_HOME": "/c",
		"PASAR_SOCKET": "/r/pasar/pasard.sock", "PASAR_CONFIG": "/etc/p.toml", "SECRET": "x"}
	env := func(k string) string { return vars[k] }
	got, err := keptEnv(env, "/h", "/r/pasar/pasard.sock")
	if want := []string{"XDG_CONFIG_HOME=/c", "PASAR_CONFIG=/etc/p.toml"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	vars["PASAR_SOCKET"] = "/elsewhere"
	if got, _ := keptEnv(env, "/h", "/r/pasar/pasard.sock"); !slices.Contains(got, "PASAR_SOCKET=/elsewhere") {
		t.Errorf("%q", got)
	}
}

func TestTheProgramOfTheUnitIsTheOneOnThePath(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "opt/pasar-1/bin/pasard")
	link := filepath.Join(dir, "bin/pasard")
	for _, p := range []string{real, link} {
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(real, nil, 0o755), os.Symlink(real, link)); err != nil {
		t.Fatal(err)
	}
	if got := unitProgram(real, "rel:/nowhere:"+filepath.Dir(link)); got != link {
		t.Errorf("%s", got)
	}
	if got := unitProgram(real, "/usr/bin"); got != real {
		t.Errorf("%s", got)
	}
}

func TestAPassingPasardIsRefused(t *testing.T) {
	f := newFakeManager(t)
	f.force = false
	if e := f.fail(exitRefused); !strings.Contains(e.Error(), "in a temporary directory") || !strings.Contains(e.hint, "make install") || len(f.asked) > 0 {
		t.Errorf("%v, %s, asked %q", e, e.hint, f.asked)
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if why := passingPlace(filepath.Join(wd, "../../bin/pasard")); !strings.Contains(why, "source tree") && !strings.Contains(why, "temporary") {
		t.Errorf("of the build's: %q", why)
	}
	if why := passingPlace("/usr/bin/pasard"); why != "" {
		t.Errorf("of the system's: %q", why)
	}
}

func TestADryRunChangesNothing(t *testing.T) {
	f := newFakeManager(t)
	f.dryRun = true
	f.succeed()
	if !f.mutes() || boundFile(f.unitDir()) != nil {
		t.Errorf("asked %q", f.asked)
	}
	if said := strings.Join(f.said, "\n"); !strings.Contains(said, "[Service]") || !strings.Contains(said, "ListenStream=") {
		t.Errorf("said %s", said)
	}
}

func TestTheAnswerOfSetupInJSON(t *testing.T) {
	f := newFakeManager(t)
	err := f.do(t.Context())
	var b bytes.Buffer
	if err := f.answer(&b, err); err != nil {
		t.Fatal(err)
	}
	var v struct {
		Schema int
		Action string
		Daemon struct{ Pid int }
		Files  []struct{ Path, State, Text string }
		Notes  []string
	}
	if err := json.Unmarshal(b.Bytes(), &v); err != nil || v.Schema != 1 || v.Action != "install" || v.Daemon.Pid != 500 || len(v.Files) != 2 || v.Notes == nil {
		t.Errorf("%v: %s", err, b.String())
	}
	b.Reset()
	var e *exitError
	err = f.answer(&b, &exitError{exitRefused, errors.New("no"), "h"})
	if want := `{"schema":1,"error":{"code":"unavailable","message":"no","hint":"h"}}` + "\n"; b.String() != want || !errors.As(err, &e) || e.code != exitRefused || e.hint != "" {
		t.Errorf("%s, %v", b.String(), err)
	}
}

func TestBadArgumentsOfSetup(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for _, args := range [][]string{{"--bad"}, {"now"}, {"--uninstall", "--linger"}} {
		var out, errs bytes.Buffer
		if code := Run(t.Context(), append([]string{"setup"}, args...), &out, &errs); code != exitUsage || out.Len() > 0 || !strings.HasPrefix(errs.String(), "pasard: ") {
			t.Errorf("%q: exit %d, %s%s", args, code, &out, &errs)
		}
		out.Reset()
		errs.Reset()
		if code := Run(t.Context(), append([]string{"setup", "--json"}, args...), &out, &errs); code != exitUsage || errs.Len() > 0 || !json.Valid(out.Bytes()) {
			t.Errorf("%q in JSON: exit %d, %s%s", args, code, &out, &errs)
		}
	}
	var out, errs bytes.Buffer
	if code := Run(t.Context(), []string{"setup", "--help"}, &out, &errs); code != 0 || !strings.Contains(out.String(), "--uninstall") {
		t.Errorf("help: exit %d, %s", code, &out)
	}
}
