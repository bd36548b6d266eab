package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"golang.org/x/sys/unix"

	"pasar/config"
	"pasar/ipc"
)

// A bound socket is the daemon's listener and whose it is.
type bound struct {
	*net.UnixListener
	systemd bool        // systemd made it and keeps it when the daemon ends
	file    os.FileInfo // of its name, when it was taken
}

// takeSocket is the socket that systemd hands over, or else one that is bound here. The store's lock is
// held, so no other daemon listens.
func takeSocket(p config.Paths) (bound, error) {
	l, err := inherited(p.Socket)
	if err != nil {
		return bound{}, err
	}
	if l != nil && leadsTo(p.Socket) {
		return bound{l, true, boundFile(p.Socket)}, nil
	}
	if l != nil {
		_ = l.Close() // its name is gone or leads elsewhere, so nobody could connect to it
	} else if held(p.Socket) {
		return bound{}, &heldError{p.Socket}
	}
	own, err := listen(p)
	if err != nil {
		return bound{}, err
	}
	return bound{own, false, nil}, nil
}

// release removes the socket's name, unless it is systemd's to keep. The daemon may have bound its own
// over systemd's when that was removed; then this goes too.
func (b bound) release(path string) {
	if now := boundFile(path); b.systemd && now != nil && b.file != nil && os.SameFile(now, b.file) {
		return
	}
	_ = os.Remove(path)
}

// inherited is the listener that systemd opened for us (sd_listen_fds(3)); nil if there is none. It is
// refused unless it is what the daemon would have made: a listening stream socket of that path, with
// mode 0600 and our own, in a private directory.
func inherited(path string) (*net.UnixListener, error) {
	files := activation.Files(true)
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	switch {
	case len(files) == 0:
		return nil, nil
	case len(files) > 1:
		return nil, fmt.Errorf("systemd hands over %d sockets; pasard takes one", len(files))
	}
	at, err := listensAt(files[0])
	if err != nil {
		return nil, fmt.Errorf("the socket from systemd: %w", err)
	}
	if at != path {
		return nil, fmt.Errorf("the socket from systemd is %s, but the configuration says %s", at, path)
	}
	if err := checkName(path); err != nil {
		return nil, fmt.Errorf("the socket from systemd: %w", err)
	}
	l, err := net.FileListener(files[0])
	if err != nil {
		return nil, fmt.Errorf("the socket from systemd: %w", err)
	}
	ul, ok := l.(*net.UnixListener)
	if !ok {
		_ = l.Close()
		return nil, errors.New("the socket from systemd is not a Unix socket")
	}
	ul.SetUnlinkOnClose(false)
	return ul, nil
}

// listensAt is the path at which a descriptor listens.
func listensAt(f *os.File) (string, error) {
	fd := int(f.Fd())
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return "", fmt.Errorf("it is no socket: %w", err)
	}
	un, ok := sa.(*unix.SockaddrUnix)
	if !ok {
		return "", errors.New("it is not a Unix socket (ListenStream= with a path is wanted)")
	}
	if typ, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE); err != nil || typ != unix.SOCK_STREAM {
		return "", errors.New("it is not a stream socket (ListenStream= is wanted)")
	}
	if on, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err != nil || on == 0 {
		return "", errors.New("it does not listen (Accept=no is wanted)")
	}
	return un.Name, nil
}

// checkName refuses a socket that others could reach. One whose name is gone can be made again.
func checkName(path string) error {
	fi, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := ipc.CheckPrivateDir(filepath.Dir(path)); err != nil {
		return err
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to uid %d, not to you (uid %d)", path, st.Uid, os.Geteuid())
	}
	if fi.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s has mode %04o, so others can connect (SocketMode=0600 is wanted)", path, fi.Mode().Perm())
	}
	return nil
}

// leadsTo is whether somebody listens at the name: then that is the socket we were given, since we hold the
// lock that any other daemon needs.
func leadsTo(path string) bool {
	c, err := ipc.DialUnix(path, time.Second)
	if err == nil {
		_ = c.Close()
	}
	return err == nil || errors.Is(err, unix.EAGAIN) // a backlog that is full
}

// held is whether some process listens at the name. It doesn't connect, which would have systemd start
// another daemon.
func held(path string) bool {
	if boundFile(path) == nil {
		return false
	}
	f, err := os.Open("/proc/net/unix")
	if err != nil {
		return false
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if listensIn(lines.Text(), path) {
			return true
		}
	}
	return false
}

// listensIn is whether a line of /proc/net/unix (proc(5)) is a listening socket of that path:
//
//	Num RefCount Protocol Flags Type St Inode Path
func listensIn(line, path string) bool {
	rest, ok := strings.CutSuffix(line, " "+path)
	const accepts = "00010000" // __SO_ACCEPTCON
	f := strings.Fields(rest)
	return ok && len(f) == 7 && f[3] == accepts
}

// A heldError is a socket at which systemd listens, for a daemon that it starts itself.
type heldError struct{ path string }

func (e *heldError) Error() string {
	return fmt.Sprintf("systemd listens at %s for a pasard that it starts", e.path)
}
