package main

import (
	"strings"
	"testing"
)

func TestLogindIsReadAsSystemdReadsIt(t *testing.T) {
	const yes = "[Login]\nKillUserProcesses=yes\n"
	for _, c := range []struct {
		name  string
		user  string
		files map[string]string
		want  string // file that says so; empty: it doesn't kill
	}{
		{"nothing", "ada", nil, ""},
		{"in a comment", "ada", map[string]string{"/etc/systemd/logind.conf": "[Login]\n#KillUserProcesses=yes\n"}, ""},
		{"in another section", "ada", map[string]string{"/etc/systemd/logind.conf": "[Other]\nKillUserProcesses=yes\n"}, ""},
		{"yes", "ada", map[string]string{"/etc/systemd/logind.conf": yes}, "/etc/systemd/logind.conf"},
		{"root is spared", "root", map[string]string{"/etc/systemd/logind.conf": yes}, ""},
		{"root is not spared", "root", map[string]string{"/etc/systemd/logind.conf": yes + "KillExcludeUsers=\n"}, "/etc/systemd/logind.conf"},
		{"only others", "ada", map[string]string{"/etc/systemd/logind.conf": yes + "KillOnlyUsers=bob carl\n"}, ""},
		{"the first main file counts", "ada", map[string]string{"/etc/systemd/logind.conf": "", "/usr/lib/systemd/logind.conf": yes}, ""},
		{"drop-ins count last", "ada", map[string]string{
			"/etc/systemd/logind.conf":              "[Login]\nKillUserProcesses=no\n",
			"/usr/lib/systemd/logind.conf.d/a.conf": yes,
		}, "/usr/lib/systemd/logind.conf.d/a.conf"},
		{"drop-ins are in the order of their names", "ada", map[string]string{
			"/etc/systemd/logind.conf.d/a.conf":     yes,
			"/usr/lib/systemd/logind.conf.d/b.conf": "[Login]\nKillUserProcesses=no\n",
		}, ""},
		{"of drop-ins with one name the first counts", "ada", map[string]string{
			"/etc/systemd/logind.conf.d/a.conf":     "",
			"/usr/lib/systemd/logind.conf.d/a.conf": yes,
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := wellMachine(t)
			m.user = c.user
			for path, text := range c.files {
				m.write(m.path(path), text)
			}
			if kills, where := m.killsUserProcesses(); kills != (c.want != "") || kills && where != c.want {
				t.Errorf("kills: %t, by %q; want %q", kills, where, c.want)
			}
		})
	}
}

func FuzzParseMounts(f *testing.F) {
	f.Add(procMount + devptsMount)
	f.Add("22 27 0:21 / /a\\040b rw shared:1 - x y - z\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range parseMounts(text) {
			if m.point == "" || m.fsType == "" || len(m.options) < 2 {
				t.Errorf("%+v of %q", m, text)
			}
		}
	})
}

func FuzzParseLogind(f *testing.F) {
	f.Add("[Login]\n#x\nKillUserProcesses = yes\n;y\n[")
	f.Fuzz(func(t *testing.T, text string) {
		for k, v := range parseLogind(text) {
			if !strings.Contains(text, k) || !strings.Contains(text, v) || strings.Contains(k, "=") {
				t.Errorf("%q = %q of %q", k, v, text)
			}
		}
	})
}

func FuzzParseSupervisorVersion(f *testing.F) {
	f.Add("pasar-supervisor 1.2.3 (protocol 1 to 1)\n")
	f.Add("pasar-supervisor")
	f.Fuzz(func(t *testing.T, text string) {
		if v, ok := parseVersion("pasar-supervisor", text); ok != (v != "") {
			t.Errorf("%q, %t of %q", v, ok, text)
		}
	})
}
