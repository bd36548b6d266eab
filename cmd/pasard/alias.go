package main

import (
	"log/slog"
	"os"
	"path/filepath"

	"pasar/config"
	"pasar/ipc"
)

// leadHere makes the place where a daemon listened before linger was turned on or off lead to this one:
// jobs that run since then have it as their PASAR_SOCKET. The lock is held, so what is there is dead. The
// returned function takes it away again.
func leadHere(p config.Paths, log *slog.Logger) (undo func()) {
	none := func() {}
	if p.OtherSocket == "" || ipc.CheckPrivateDir(filepath.Dir(p.OtherSocket)) != nil {
		return none // nothing listened there
	}
	if fi, err := os.Lstat(p.OtherSocket); err == nil && fi.Mode().Type()&(os.ModeSocket|os.ModeSymlink) == 0 {
		return none // not ours
	}
	_ = os.Remove(p.OtherSocket)
	if err := os.Symlink(p.Socket, p.OtherSocket); err != nil {
		log.Warn("jobs from before linger was changed don't reach this daemon", "socket", p.OtherSocket, "error", err)
		return none
	}
	return func() {
		if to, err := os.Readlink(p.OtherSocket); err == nil && to == p.Socket {
			_ = os.Remove(p.OtherSocket)
		}
	}
}
