package supervisor

import (
	"encoding/json"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/ipc"
)

// rehearse takes an attempt's words through every codec once, so that the launch finds their tables made
// and their code in memory. It does nothing else, and its results are thrown away.
func rehearse() {
	now := time.Now()
	spec := pasar.AttemptSpec{Key: pasar.AttemptKey{Job: 1, Attempt: 1}, Nonce: "n", Argv: []pasar.Arg{"true"}, Cwd: "/",
		Surroundings: pasar.Surroundings{Env: []pasar.Arg{"A=B"}, Limits: []pasar.Rlimit{{Resource: unix.RLIMIT_CORE}}}}
	if b, err := json.Marshal(&spec); err == nil {
		_ = json.Unmarshal(b, &pasar.AttemptSpec{})
	}
	_, _ = json.Marshal(pasar.Holding{Key: spec.Key, Nonce: spec.Nonce})
	exit := pasar.Exit{}
	record := pasar.ExitRecord{Schema: pasar.Schema, Key: spec.Key, Nonce: spec.Nonce, StartedAt: now, ExitedAt: now, EndedAt: now, Tail: []string{"a"}}
	st := ipc.Status{State: ipc.AttemptWarm, Key: spec.Key.String(), Exit: &exit, Record: wireRecord(&record)}
	_, _ = ipc.AppendFrame(nil, ipc.MaxAttachFrame, ipc.AttachStatus, &st)
	if b, err := ipc.AppendFrame(nil, ipc.MaxAttachFrame, ipc.AttachLaunch, &ipc.Launch{Dir: "/"}); err == nil {
		const head = 4 // bytes of a frame's length
		var typ int
		_ = ipc.Unpack(b[head:], &typ, &ipc.Launch{})
	}
}

// idle reports whether nothing has come yet on a connection.
func idle(c net.Conn) bool {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	idle := false
	err = raw.Control(func(fd uintptr) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		idle = n == 0 && err == nil
	})
	return err == nil && idle
}
