package local

import (
	"encoding/hex"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pasar/ipc"
)

// staleAfter is how old a socket must be before nobody listening means that nobody will: between
// bind and listen there is a moment.
const staleAfter = time.Minute

// removeSocket removes the socket that a dead supervisor left. Only a socket in our own directory is
// believed to be one.
func (m *Machine) removeSocket(path string) {
	if filepath.Dir(path) != filepath.Clean(m.o.RunDir) || !supervisorSocket(filepath.Base(path)) {
		return
	}
	if fi, err := os.Lstat(path); err == nil && fi.Mode().Type() == os.ModeSocket {
		_ = os.Remove(path)
	}
}

// supervisorSocket reports whether a name is one that a supervisor gives its socket.
func supervisorSocket(name string) bool {
	id, ok := strings.CutSuffix(name, ".sock")
	if !ok {
		return false
	}
	b, err := hex.DecodeString(id)
	return err == nil && len(b) == 8
}

// sweep removes sockets of supervisors that were killed before they had an attempt, so that no claim
// names them.
func (m *Machine) sweep(now time.Time) {
	entries, err := os.ReadDir(m.o.RunDir)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(m.o.RunDir, e.Name())
		fi, err := e.Info()
		if err != nil || !supervisorSocket(e.Name()) || now.Sub(fi.ModTime()) < staleAfter || m.isClosed() {
			continue
		}
		var c net.Conn
		if c, err = ipc.DialUnix(path, time.Second); err == nil {
			_ = c.Close()
		} else if errors.Is(err, unix.ECONNREFUSED) {
			m.removeSocket(path)
		}
	}
}
