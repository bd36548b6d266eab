package local

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/ipc"
	"pasar/target"
)

// bySocket finds the supervisor of an attempt whose directory somebody removed: it lives, and so does its
// job, though nothing on disk says so. Every supervisor that listens is asked whether it holds the attempt.
func (m *Machine) bySocket(ctx context.Context, h target.Handle) (pasar.Holding, bool) {
	entries, err := os.ReadDir(m.o.RunDir)
	if err != nil {
		return pasar.Holding{}, false
	}
	for _, e := range entries {
		if !supervisorSocket(e.Name()) || ctx.Err() != nil {
			continue
		}
		path := filepath.Join(m.o.RunDir, e.Name())
		c, w, err := ipc.DialAttach(path, ipc.Hello{Mode: ipc.ModeControl, Nonce: h.Nonce})
		if err != nil {
			continue
		}
		_ = c.Close()
		if w.Key != h.Key.String() {
			continue
		}
		pid := listener(path)
		start, err := startTime(pid)
		if err != nil {
			continue
		}
		return pasar.Holding{Key: h.Key, Nonce: h.Nonce, Boot: m.boot, Pid: pid, StartTime: start, Socket: path,
			MinProto: ipc.MinAttachVersion, MaxProto: w.Version}, true
	}
	return pasar.Holding{}, false
}

// listener is the process that listens on a socket; 0 if none does.
func listener(path string) int {
	c, err := ipc.DialUnix(path, time.Second)
	if err != nil {
		return 0
	}
	defer c.Close()
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return 0
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return 0
	}
	pid := 0
	_ = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	})
	return pid
}
