package supervisor

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// usualPath is what execvp(3) searches when there is no PATH.
const usualPath = "/bin:/usr/bin"

// resolve finds the file that execvp(3) would run for name in a process with that environment and
// working directory. The answer may be relative to cwd.
func resolve(name, cwd string, env []string) (string, error) {
	if name == "" {
		return "", syscall.ENOENT
	}
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := usualPath
	for _, v := range env { // the first one counts, as in getenv(3)
		if p, ok := strings.CutPrefix(v, "PATH="); ok {
			path = p
			break
		}
	}
	err := error(syscall.ENOENT)
	for _, dir := range filepath.SplitList(path) {
		file := dir + "/" + name
		if dir == "" {
			file = "./" + name
		}
		switch e := runnable(absolute(file, cwd)); {
		case e == nil:
			return file, nil
		case errors.Is(e, syscall.EACCES):
			err = e // remembered, but a later directory may do
		}
	}
	return "", err
}

func absolute(file, cwd string) string {
	if strings.HasPrefix(file, "/") {
		return file
	}
	return cwd + "/" + file
}

// runnable reports whether a file can be run by us: nil, EACCES, or why it can't be reached.
func runnable(file string) error {
	var st unix.Stat_t
	if err := unix.Stat(file, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return syscall.EACCES
	}
	return unix.Faccessat(unix.AT_FDCWD, file, unix.X_OK, unix.AT_EACCESS)
}

// enterable reports whether dir can be a working directory.
func enterable(dir string) error {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return syscall.ENOTDIR
	}
	return unix.Faccessat(unix.AT_FDCWD, dir, unix.X_OK, unix.AT_EACCESS)
}
