package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
)

// Names of the units that `pasar setup` writes.
const (
	serviceUnit = "pasard.service"
	socketUnit  = "pasard.socket"
)

// A service is what the units say that differs between users.
type service struct {
	program string   // absolute path of pasard
	socket  string   // absolute; systemd listens there
	env     []string // NAME=value, in the order of marketVars
}

// marketVars are the variables that decide which configuration, data and socket a daemon has. The unit
// gives the daemon those that count where setup runs, and takes the others away.
var marketVars = []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "PASAR_CONFIG", "PASAR_SOCKET"}

// listens is whether systemd can listen at the socket: it knows no way around the length of an address.
func (s service) listens() bool { return len(s.socket) <= socketMax }

// units are the files to write, by name.
func (s service) units() map[string]string {
	u := map[string]string{serviceUnit: sign(s.serviceText())}
	if s.listens() {
		u[socketUnit] = sign(s.socketText())
	}
	return u
}

// serviceText is the daemon's unit. The supervisors of jobs that have no unit of their own are in its
// cgroup, and what it says must not reach them: hence KillMode, OOMPolicy and TasksMax, and no
// sandboxing of any kind. Nor is the cgroup delegated: a daemon that put jobs into groups of its own there
// could not be started again beside them (cgroup v2 has no processes in inner nodes), and where there is a
// systemd that could delegate, jobs get units of their own.
func (s service) serviceText() string {
	var b strings.Builder
	b.WriteString("[Unit]\nDescription=pasar, a market for GPU jobs\n")
	if s.listens() {
		b.WriteString("Requires=" + socketUnit + "\nAfter=" + socketUnit + "\n")
	}
	b.WriteString(`StartLimitIntervalSec=120
StartLimitBurst=10

[Service]
Type=notify
ExecStart=` + quoteUnit(s.program) + `
ExecReload=kill -HUP $MAINPID
`)
	set := map[string]bool{}
	for _, kv := range s.env {
		name, _, _ := strings.Cut(kv, "=")
		set[name] = true
		b.WriteString("Environment=" + quoteUnit(kv) + "\n")
	}
	var unset []string
	for _, v := range marketVars {
		if !set[v] {
			unset = append(unset, v)
		}
	}
	if len(unset) > 0 {
		b.WriteString("UnsetEnvironment=" + strings.Join(unset, " ") + "\n")
	}
	b.WriteString(`# A journal with millions of facts is read before the daemon is ready.
TimeoutStartSec=300
# Its loop proves twice a minute that it isn't stuck.
WatchdogSec=60
Restart=on-failure
RestartSec=1
# A bad flag or a bad configuration doesn't mend by itself.
RestartPreventExitStatus=64 65
# Jobs go on when the daemon ends: only its own process is stopped, and what becomes of a job's memory
# and how many processes there are is no affair of the daemon's unit.
KillMode=process
OOMPolicy=continue
OOMScoreAdjust=0
TasksMax=infinity

[Install]
WantedBy=default.target
`)
	return b.String()
}

func (s service) socketText() string {
	return `[Unit]
Description=pasar's socket

[Socket]
ListenStream=` + escapePercent(s.socket) + `
SocketMode=0600
DirectoryMode=0700
RemoveOnStop=yes

[Install]
WantedBy=sockets.target
`
}

// signature begins the first line of each file that setup writes; the checksum of the rest follows. By it
// a file that somebody changed is told from one that may be written anew.
const signature = "# Written by `pasar setup`. To change it: systemctl --user edit, or remove it first. sha256:"

// sign puts the first line in front.
func sign(text string) string { return signature + checksum(text) + "\n" + text }

func checksum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16] }

// signed is whether a file is as some setup wrote it.
func signed(file string) bool {
	first, text, ok := strings.Cut(file, "\n")
	sum, ours := strings.CutPrefix(first, signature)
	return ok && ours && sum == checksum(text)
}

// quoteUnit writes a word as systemd.syntax(7) reads it: in double quotes, escaped as in C, with percent
// signs doubled, since they begin specifiers.
func quoteUnit(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(escapePercent(s)) {
		switch {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(rune(c)))
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func escapePercent(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// unquoteUnit is quoteUnit backwards, of the first word.
func unquoteUnit(s string) (string, error) {
	if s == "" || s[0] != '"' {
		word, _, _ := strings.Cut(s, " ")
		return strings.ReplaceAll(word, "%%", "%"), nil
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return strings.ReplaceAll(b.String(), "%%", "%"), nil
		case c == '\\' && i+1 < len(s) && s[i+1] != 'x':
			i++
			b.WriteByte(s[i])
		case c == '\\' && i+3 < len(s):
			var n byte
			if _, err := fmt.Sscanf(s[i+2:i+4], "%02x", &n); err != nil {
				return "", fmt.Errorf("bad escape in %q", s)
			}
			b.WriteByte(n)
			i += 3
		default:
			b.WriteByte(c)
		}
	}
	return "", errors.New("a quote without an end")
}

// unitValue is the last value of a key in a unit's text; empty if there is none.
func unitValue(text, key string) string {
	value := ""
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), key+"="); ok {
			value = v
		}
	}
	return value
}

// checkUnitPath refuses a path that a unit can't hold: systemd expands $ in commands, and a socket's path is
// written without quotes.
func checkUnitPath(what, path string) error {
	for _, c := range []byte(path) {
		if c < ' ' || c == 0x7f || c == '$' || c == '"' || c == '\'' || c == '\\' {
			return fmt.Errorf("%s %q can't be written into a unit: it has %q in it", what, path, c)
		}
	}
	return nil
}
