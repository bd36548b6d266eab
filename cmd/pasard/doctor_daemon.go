package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"pasar"
	"pasar/ipc"
)

// A socketState is what became of calling the daemon.
type socketState int

const (
	socketMissing socketState = iota
	socketAsleep              // systemd listens there, for a daemon that it starts
	socketNot                 // something else has that name
	socketStale               // nobody listens
	socketSilent              // somebody listens, but no sense comes of it
	socketForeign             // another user's
	socketRefused             // a daemon that won't speak to us
	socketAnswers
)

// daemonSeen is what the daemon said.
type daemonSeen struct {
	state   socketState
	why     string // when it isn't socketAnswers
	hint    string // the daemon's own, of a refusal
	version string
	pid     int
	status  pasar.StatusView
	web     string // where HTTP is served; empty: nowhere
	webs    []ipc.WebAddress
	noWeb   *ipc.Error // why not; nil: it is, or that isn't known
}

// askDaemon calls the daemon at a socket and asks for its status.
func askDaemon(ctx context.Context, socket string) daemonSeen {
	fi, err := os.Stat(socket)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return daemonSeen{state: socketMissing}
	case err != nil:
		return daemonSeen{state: socketForeign, why: err.Error()}
	case fi.Mode().Type() != fs.ModeSocket:
		return daemonSeen{state: socketNot, why: socket + " is not a socket"}
	}
	c, err := ipc.Dial(ctx, socket)
	if err != nil {
		return refused(socket, err)
	}
	defer c.Close()
	seen := daemonSeen{state: socketAnswers, version: c.DaemonVersion, pid: c.DaemonPid}
	body, err := c.Status(ctx)
	if err == nil {
		err = json.Unmarshal(body, &seen.status)
	}
	if err != nil {
		seen.state, seen.why = socketSilent, fmt.Sprintf("pasard (pid %d) greets, but does not tell its status: %v", seen.pid, err)
		return seen
	}
	at, err := c.Web(ctx, ipc.WebRequest{Where: true})
	seen.webs = at.Addresses
	seen.web, _, _ = strings.Cut(at.URL, "/login") // an older one makes a link
	errors.As(err, &seen.noWeb)
	return seen
}

// refused tells apart why a daemon could not be spoken to.
func refused(socket string, err error) daemonSeen {
	seen := daemonSeen{state: socketRefused, why: err.Error()}
	var e *ipc.Error
	if errors.As(err, &e) {
		seen.hint = e.Hint
		switch e.Code {
		case ipc.CodeNotAllowed:
			seen.state = socketForeign
		case ipc.CodeNoDaemon: // nobody listens, or whoever does can't greet
			seen.state = socketStale
			if nc, derr := ipc.DialUnix(socket, 500*time.Millisecond); derr == nil {
				_ = nc.Close()
				seen.state, seen.why = socketSilent, fmt.Sprintf("it does not answer (%v)", err)
			}
		}
	}
	return seen
}

func examineDaemon(_ context.Context, p *patient) []finding {
	if p.cfg == nil {
		return nil
	}
	socket, d := p.cfg.Paths.Socket, p.daemon
	switch d.state {
	case socketMissing:
		if !p.cfg.Autostart {
			return []finding{found(daemonDownManual, "run `pasard`, or set autostart = true in "+p.cfg.Paths.Config,
				"none runs, and autostart is off: no command starts one")}
		}
		return []finding{found(daemonDown, "nothing to do: any pasar command that needs it starts it", "none runs")}
	case socketAsleep:
		return []finding{found(daemonAsleep, "", "none runs; systemd listens at %s and starts it when a command needs it", socket)}
	case socketStale:
		return []finding{found(daemonStale, "nothing to do: the next daemon takes the socket over",
			"none runs; one that was killed left its socket, %s", socket)}
	case socketNot:
		return []finding{found(daemonNotSocket, "move it away", "%s", d.why)}
	case socketForeign:
		return []finding{found(daemonForeign, "set PASAR_SOCKET or XDG_RUNTIME_DIR to a directory of your own", "%s", d.why)}
	case socketRefused:
		return []finding{found(daemonRefuses, or(d.hint, "`pasar shutdown` with the other version's pasar; jobs go on"), "%s", d.why)}
	case socketSilent:
		return []finding{found(daemonSilent, "end it with `kill -9` and its pid; jobs go on, and any command starts it again; its log is "+p.cfg.Paths.Log,
			"something listens at %s, but %s", socket, d.why)}
	}
	return examineStatus(p)
}

// examineStatus looks at what a daemon that answers says about itself.
func examineStatus(p *patient) []finding {
	d, s := p.daemon, p.daemon.status
	var out []finding
	if d.version != p.version {
		out = append(out, found(daemonOther, "`pasar shutdown`; the next command starts this version's, and jobs don't notice",
			"pasard %s runs (pid %d), but %s is installed", d.version, d.pid, p.version))
	}
	if s.DataDir != "" && s.DataDir != p.cfg.Paths.Data {
		out = append(out, found(daemonElsewhere, "`pasar shutdown` if the configuration is right, or unset PASAR_SOCKET",
			"the daemon at %s keeps its data in %s, but the configuration says %s", p.cfg.Paths.Socket, s.DataDir, p.cfg.Paths.Data))
	}
	if s.Problem != nil {
		out = append(out, found(daemonTroubled, "see to that; its log is "+p.cfg.Paths.Log, "%s", *s.Problem))
	}
	if n := len(s.Incidents); n > 0 {
		i := s.Incidents[n-1]
		out = append(out, found(daemonIncident, "`pasar status` shows what else there was", "since %s: %s: %s",
			i.At.Format(time.RFC3339), i.What, i.Detail))
	}
	if len(out) == 0 {
		out = append(out, found(daemonUp, "", "pasard %s runs (pid %d) at %s", d.version, d.pid, p.cfg.Paths.Socket))
	}
	return out
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
