package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The size of a terminal here until it is given another, which is that of a job that nobody watches.
const termCols, termRows = 120, 40

// A terminal is a person's: what a client writes on it is read by us.
type terminal struct{ master, slave *os.File }

func openTerminal() (*terminal, error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open terminal: %w", err)
	}
	master := os.NewFile(uintptr(fd), "/dev/ptmx")
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: termCols, Row: termRows})
	}
	if err != nil {
		_ = master.Close()
		return nil, fmt.Errorf("open terminal: %w", err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		_ = master.Close()
		return nil, fmt.Errorf("open terminal: %w", err)
	}
	return &terminal{master, slave}, nil
}

func (t *terminal) resize(cols, rows int) error {
	if err := unix.IoctlSetWinsize(int(t.slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(cols), Row: uint16(rows)}); err != nil {
		return fmt.Errorf("set the terminal's size: %w", err)
	}
	return nil
}

func (t *terminal) close() {
	_ = t.slave.Close()
	_ = t.master.Close()
}

// run starts a client on the terminal, as the leader of its session.
func (t *terminal) run(ctx context.Context, dir string, env []string, argv ...string) (*exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.slave, t.slave, t.slave
	cmd.Dir, cmd.Env = dir, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	return cmd, nil
}

// await reads until a word was written on the terminal.
func (t *terminal) await(ctx context.Context, word string) error {
	stop := context.AfterFunc(ctx, func() { _ = t.master.SetReadDeadline(time.Now()) })
	defer stop()
	var seen []byte
	buf := make([]byte, 64<<10)
	for {
		n, err := t.master.Read(buf)
		seen = append(seen, buf[:n]...)
		if bytes.Contains(seen, []byte(word)) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("wait for %q on the terminal: %w; its last words are %q", word, err, seen[max(0, len(seen)-300):])
		}
		seen = seen[max(0, len(seen)-len(word)):]
	}
}

// drop reads and forgets what comes, until the terminal is closed.
func (t *terminal) drop() {
	buf := make([]byte, 64<<10)
	for {
		if _, err := t.master.Read(buf); err != nil {
			return
		}
	}
}
