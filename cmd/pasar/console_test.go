package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// installed is a home with a fake daemon, and programs as make install lays them out. Its console tells how it was called,
// and exits with 3.
func installed(t *testing.T, console string) *home {
	t.Helper()
	d := newFake(t, verbs{}.handle)
	prefix := t.TempDir()
	h := &home{t: t, dir: d.dir, env: d.env("TERM=xterm", "LANG=C.UTF-8"), bin: filepath.Join(prefix, "bin")}
	for _, dir := range []string{"bin", "libexec/pasar"} {
		if err := os.MkdirAll(filepath.Join(prefix, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(bin, "pasar"), filepath.Join(h.bin, "pasar")); err != nil {
		b, err := os.ReadFile(filepath.Join(bin, "pasar")) // the test's directories may be on two file systems
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(h.bin, "pasar"), b, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if console != "" {
		script := "#!/bin/sh\necho \"<$0>\" \"<$*>\" \"colour <$NO_COLOR>\"\nexit 3\n"
		if err := os.WriteFile(filepath.Join(prefix, console), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// shows runs pasar on a terminal to its end, and returns what that showed.
func (h *home) shows(code int, args ...string) string {
	h.t.Helper()
	s := h.onTerminal(args...)
	s.ended(s.was, code)
	const end = "<that is all>" // comes after whatever was written before
	if _, err := s.side.WriteString(end); err != nil {
		h.t.Fatal(err)
	}
	s.expect(end)
	text, _, _ := strings.Cut(s.text(), end)
	return strings.ReplaceAll(text, "\r\n", "\n")
}

func TestTheConsoleIsAProgramOfItsOwn(t *testing.T) {
	for _, where := range []string{"libexec/pasar/pasar-console", "bin/pasar-console"} {
		h := installed(t, where)
		prefix := filepath.Dir(h.bin)
		here := " --socket " + h.dir + "/d.sock --pasar " + h.bin + "/pasar>"
		for line, want := range map[string]string{
			"":                "<" + prefix + "/" + where + "> <--theme auto" + here + " colour <>\n",
			"console":         "<--theme auto" + here,
			"--color=never":   "colour <1>\n",
			"console --ascii": "<--theme auto --ascii" + here,
			"console --theme=dark --read-only --color never": "<--theme dark --read-only" + here + " colour <1>\n",
		} {
			if got := h.shows(3, strings.Fields(line)...); !strings.Contains(got, want) {
				t.Errorf("%q: %q\nwant %q", line, got, want)
			}
		}
		link := filepath.Join(h.dir, "pasar") // somewhere else on the PATH
		if err := os.Symlink(filepath.Join(h.bin, "pasar"), link); err != nil {
			t.Fatal(err)
		}
		h.bin = h.dir
		if got := h.shows(3, "console"); !strings.Contains(got, "<--theme auto"+here) {
			t.Errorf("by a link: %q", got)
		}
	}
}

func TestWithoutItsConsolePasarAloneShowsWhatItCan(t *testing.T) {
	h := installed(t, "")
	if got := h.shows(exitRefused, "console"); !strings.HasPrefix(got, "pasar: pasar-console is neither in "+filepath.Dir(h.bin)+"/libexec/pasar nor beside pasar\nhint: install pasar's programs again") {
		t.Errorf("%q", got)
	}
	if got := h.shows(exitRefused); got != "pasar: no status\n" { // which the fake daemon doesn't know
		t.Errorf("alone: %q", got)
	}
}

func TestAConsoleNeedsATerminalAndAPersonAtIt(t *testing.T) {
	h := installed(t, "bin/pasar-console")
	env := h.env
	for term, shown := range map[string]string{"TERM=dumb": `"dumb"`, "TERM=": `""`} {
		h.env = append(env[:len(env):len(env)], term)
		if got := h.shows(exitUsage, "console"); got != "pasar: console: this terminal can't show a full screen (TERM is "+shown+")\nhint: `pasar ls --watch` needs less of a terminal; `pasar ls` and `pasar status` need none\n" {
			t.Errorf("%s: %q", term, got)
		}
		if got := h.shows(exitRefused); got != "pasar: no status\n" {
			t.Errorf("%s, alone: %q", term, got)
		}
	}
	h.env = append(env[:len(env):len(env)], "PASAR_JOB_ID=7")
	if got := h.shows(exitRefused); got != "pasar: no status\n" {
		t.Errorf("alone in a job: %q", got)
	}
	if got := h.shows(3, "console"); !strings.Contains(got, "--theme auto") {
		t.Errorf("in a job: %q", got)
	}
	h.env = env

	s := h.onTerminal("ls") // for a terminal of its own
	_ = s.cmd.Wait()
	for what, standard := range map[string][2]*os.File{"input": {nil, s.side}, "output": {s.side, nil}} {
		c := h.command("console")
		if in := standard[0]; in != nil {
			c.Stdin = in
		}
		if out := standard[1]; out != nil {
			c.Stdout = out
		}
		c.SysProcAttr = &unix.SysProcAttr{Setsid: true}
		var errs strings.Builder
		c.Stderr = &errs
		if _ = c.Run(); c.ProcessState.ExitCode() != exitUsage || !strings.HasPrefix(errs.String(), "pasar: console: standard "+what+" is no terminal\nhint: ") {
			t.Errorf("%s: exit %d, %q", what, c.ProcessState.ExitCode(), errs.String())
		}
	}
}

func TestTheConsoleIsNotShownWithoutADaemon(t *testing.T) {
	h := installed(t, "bin/pasar-console")
	conf := filepath.Join(h.dir, "config.toml")
	if err := os.WriteFile(conf, []byte("autostart = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.env = append(h.env, "PASAR_CONFIG="+conf, "PASAR_SOCKET="+h.dir+"/none.sock")
	for _, args := range [][]string{nil, {"console"}} {
		if got := h.shows(exitNoDaemon, args...); !strings.HasPrefix(got, "pasar: no daemon at ") || strings.Contains(got, "<") {
			t.Errorf("%q: %q", args, got)
		}
	}
}

func TestTheConsoleStartsTheDaemon(t *testing.T) {
	h := newHome(t)
	other := installed(t, "bin/pasar-console")
	h.bin = other.bin
	if got := h.shows(3, "console"); !strings.Contains(got, "--socket "+h.dir+"/.local/share/pasar/run/pasard.sock") {
		t.Errorf("%q", got)
	}
	if got := h.pasar("version"); !strings.Contains(got, "(pid ") {
		t.Errorf("%q", got)
	}
}
