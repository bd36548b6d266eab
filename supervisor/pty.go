package supervisor

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"pasar"
)

// Sizes a terminal may have, and the one of a job that nobody watches.
const (
	minCols, maxCols, usualCols = pasar.MinCols, pasar.MaxCols, pasar.UsualCols
	minRows, maxRows, usualRows = pasar.MinRows, pasar.MaxRows, pasar.UsualRows
)

// A terminal is both ends of a PTY. The slave is kept open until the main process is reaped: there is
// no end of file while a job closes and reopens its terminal, and no output is lost at its end.
type terminal struct {
	master *master
	slave  *os.File
	led    bool // the supervisor leads the terminal's session
}

// openTerminal makes a PTY of a size with the kernel's usual modes and UTF-8 input editing.
func openTerminal(cols, rows int) (*terminal, error) {
	m, err := openMaster()
	if err != nil {
		return nil, err
	}
	t := &terminal{master: m}
	if err := t.openSlave(); err != nil {
		m.close()
		return nil, err
	}
	if err := t.setup(cols, rows); err != nil {
		t.close()
		return nil, err
	}
	t.led = t.lead()
	return t, nil
}

// lead makes the terminal the controlling one of the supervisor's session, in which the job then
// runs as the foreground group. Were the main process the session's leader, its end would make the
// kernel hang up on the rest: a shell that dies of SIGTERM at once would take along the program that
// is using the grace to save.
func (t *terminal) lead() bool {
	if sid, err := unix.Getsid(0); err != nil || sid != os.Getpid() {
		return false
	}
	return unix.IoctlSetInt(int(t.slave.Fd()), unix.TIOCSCTTY, 0) == nil
}

func (t *terminal) openSlave() error {
	master := t.master.fd
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return fmt.Errorf("unlock pty: %w", err)
	}
	n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil {
		return fmt.Errorf("name pty: %w", err)
	}
	name := fmt.Sprintf("/dev/pts/%d", n)
	const flags = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := unix.Open(name, flags, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: name, Err: err}
	}
	t.slave = os.NewFile(uintptr(fd), name)
	return nil
}

func (t *terminal) setup(cols, rows int) error {
	if cols == 0 || rows == 0 {
		cols, rows = usualCols, usualRows
	}
	if err := t.resize(cols, rows); err != nil {
		return err
	}
	fd := int(t.slave.Fd())
	modes, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return fmt.Errorf("read terminal modes: %w", err)
	}
	modes.Iflag |= unix.IUTF8
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, modes); err != nil {
		return fmt.Errorf("set terminal modes: %w", err)
	}
	return nil
}

// resize sets the size, clamped to what is allowed. Zero in either is ignored.
func (t *terminal) resize(cols, rows int) error {
	if cols <= 0 || rows <= 0 {
		return nil
	}
	cols, rows = clampSize(cols, rows)
	if err := unix.IoctlSetWinsize(t.master.fd, unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(cols), Row: uint16(rows)}); err != nil {
		return fmt.Errorf("set terminal size: %w", err)
	}
	return nil
}

// editsLines reports whether the kernel collects what is typed into lines.
func (t *terminal) editsLines() bool {
	modes, err := unix.IoctlGetTermios(t.master.fd, unix.TCGETS)
	return err == nil && modes.Lflag&unix.ICANON != 0
}

// signal sends the foreground process group a signal, as a key can: SIGINT, SIGQUIT or SIGTSTP.
func (t *terminal) signal(sig unix.Signal) error {
	return unix.IoctlSetInt(t.master.fd, unix.TIOCSIG, int(sig))
}

func clampSize(cols, rows int) (int, int) {
	return min(max(cols, minCols), maxCols), min(max(rows, minRows), maxRows)
}

func (t *terminal) closeSlave() {
	if t.slave != nil {
		_ = t.slave.Close()
		t.slave = nil
	}
}

func (t *terminal) close() {
	t.closeSlave()
	t.master.close()
}
