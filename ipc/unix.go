package ipc

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxSocketPath is the longest path a sockaddr_un takes on Linux (unix(7): 108 with the NUL).
const maxSocketPath = 107

// CheckPrivateDir refuses a directory that someone else owns or can enter: it must belong to this
// user and have mode 0700 or less.
func CheckPrivateDir(dir string) error {
	fi, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !fi.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to uid %d, not to you (uid %d): a socket needs a directory of your own with mode 0700", dir, st.Uid, os.Geteuid())
	}
	if fi.Mode().Perm()&0o077 != 0 {
		err := fmt.Errorf("%s has mode %04o, so others can enter it: a socket needs a directory of your own with mode 0700", dir, unixMode(fi))
		if fi.Mode()&os.ModeSticky == 0 && fi.Mode().Perm()&0o002 == 0 { // else it is there to be shared
			err = fmt.Errorf("%w (chmod 700 %s)", err, dir)
		}
		return err
	}
	return nil
}

// unixMode is a directory's permissions as chmod has them, with the sticky bit.
func unixMode(fi os.FileInfo) os.FileMode {
	if fi.Mode()&os.ModeSticky != 0 {
		return fi.Mode().Perm() | unix.S_ISVTX
	}
	return fi.Mode().Perm()
}

// ListenUnix binds a socket of mode 0600 in a directory that must be private. A dead socket of ours
// with that name is replaced; the caller holds the lock that makes this safe. Paths over 107 bytes
// are bound through the directory's descriptor.
func ListenUnix(path string) (*net.UnixListener, error) {
	if err := CheckPrivateDir(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if fi, err := os.Lstat(path); err == nil {
		if fi.Mode().Type() != os.ModeSocket {
			return nil, fmt.Errorf("listen: %s exists and is not a socket", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("listen: %w", err)
		}
	}
	var l *net.UnixListener
	err := viaDir(path, func(short string) error {
		var err error
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	l.SetUnlinkOnClose(false) // the name may be somebody else's by then
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}

// DialUnix connects to a socket that must belong to this user.
func DialUnix(path string, timeout time.Duration) (net.Conn, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return nil, &Error{Code: CodeNotAllowed,
			Message: fmt.Sprintf("socket %s belongs to uid %d, not to you (uid %d)", path, st.Uid, os.Geteuid()),
			Hint:    "pasar serves one user; set PASAR_SOCKET to a socket of your own"}
	}
	var c net.Conn
	err = viaDir(path, func(short string) error {
		var err error
		c, err = net.DialTimeout("unix", short, timeout)
		return err
	})
	return c, err
}

// viaDir calls f with path, or with a short alias of it through /proc/self/fd when it is too long
// for a socket address.
func viaDir(path string, f func(string) error) error {
	if len(path) <= maxSocketPath {
		return f(path)
	}
	dir, base := filepath.Split(path)
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(fd)
	short := "/proc/self/fd/" + strconv.Itoa(fd) + "/" + base
	if len(short) > maxSocketPath {
		return fmt.Errorf("socket name %q is too long: at most %d bytes in its last part", base, maxSocketPath-len(short)+len(base))
	}
	return f(short)
}

// PeerUID is the user id of the process at the other end of a Unix connection.
func PeerUID(c net.Conn) (int, error) {
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return -1, errors.New("peer identity: not a Unix socket")
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("peer identity: %w", err)
	}
	var cred *unix.Ucred
	var cerr error
	if err := raw.Control(func(fd uintptr) {
		cred, cerr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return -1, fmt.Errorf("peer identity: %w", err)
	}
	if cerr != nil {
		return -1, fmt.Errorf("peer identity: %w", cerr)
	}
	return int(cred.Uid), nil
}
