package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// What a socket's address takes (unix(7)): longer paths are bound through the directory's descriptor,
// where the last part still has to fit.
const (
	socketMax     = 107
	socketBaseMax = socketMax - len("/proc/self/fd/999/")
)

func examineRun(_ context.Context, p *patient) []finding {
	if p.cfg == nil {
		return nil
	}
	dirs := []string{p.cfg.Paths.Run}
	socket := p.cfg.Paths.Socket
	if dir := filepath.Dir(socket); dir != dirs[0] {
		dirs = append(dirs, dir)
	}
	var out []finding
	missing := ""
	for _, dir := range dirs {
		f, there := examineRunDir(p, dir)
		out = append(out, f...)
		if !there {
			missing = dir
		}
	}
	switch base := filepath.Base(socket); {
	case len(base) > socketBaseMax:
		out = append(out, found(socketTooLong, "set PASAR_SOCKET to a shorter name, for pasard and for its clients",
			"the socket's name is %d bytes long; at most %d fit: %s", len(base), socketBaseMax, socket))
	case len(socket) > socketMax:
		out = append(out, found(socketLong, "set PASAR_SOCKET to a shorter path if another program is to use it",
			"the socket's path is %d bytes long; pasar copes, other programs take %d: %s", len(socket), socketMax, socket))
	}
	if runtime := fmt.Sprintf("/run/user/%d/", p.uid); strings.HasPrefix(socket, runtime) && p.exists("/run/systemd/system") && !p.manager.lingers() {
		out = append(out, found(runVanishes, "`loginctl enable-linger`, or a PASAR_SOCKET that stays",
			"%s goes with %s at the last logout, and then no daemon can be reached", socket, filepath.Clean(runtime)))
	}
	switch {
	case len(out) > 0:
		return out
	case missing != "":
		return []finding{found(runNone, "", "%s is made when pasard starts", missing)}
	}
	return []finding{found(runFine, "", "%s", p.cfg.Paths.Run)}
}

// examineRunDir looks at a directory of sockets, which pasard refuses unless it is private.
func examineRunDir(p *patient, dir string) (out []finding, there bool) {
	const elsewhere = "set PASAR_SOCKET or XDG_RUNTIME_DIR to a directory of your own"
	fi, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		up := existing(dir)
		err := p.writable(up)
		if err == nil || strings.HasPrefix(dir, p.cfg.Paths.Data+"/") { // the latter is the data directory's finding
			return nil, false
		}
		out = append(out, found(runUnwritable, elsewhere, "%s can't be made in %s: %v", dir, up, err))
	case err != nil:
		out = append(out, found(runUnwritable, elsewhere, "%v", err))
	case !fi.IsDir():
		out = append(out, found(runNotDir, fmt.Sprintf("move %s away, or %s", dir, elsewhere), "%s is not a directory of its own", dir))
	case owner(fi) != p.uid:
		out = append(out, found(runForeign, elsewhere, "%s belongs to uid %d, not to you (uid %d)", dir, owner(fi), p.uid))
	case fi.Mode().Perm()&0o077 != 0:
		out = append(out, found(runOpen, "chmod 700 "+dir, "%s can be entered by others (mode %04o), so pasard refuses it", dir, fi.Mode().Perm()))
	default:
		if err := p.writable(dir); err != nil {
			out = append(out, found(runUnwritable, elsewhere, "nothing can be made in %s: %v", dir, err))
		}
	}
	return out, true
}
