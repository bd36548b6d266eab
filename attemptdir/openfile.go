package attemptdir

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// OpenFile opens a regular file of an attempt's directory. Package os would offer it to the runtime's
// poller first, which takes no regular files: four system calls for nothing on the way to a job.
func OpenFile(path string, flags int, perm uint32) (*os.File, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, perm)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), path), nil
		case err != unix.EINTR:
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// openRegular opens a file for reading and refuses what isn't a regular one; a FIFO put in its place
// would hold up the reader for ever.
func openRegular(path string) (*os.File, int64, error) {
	f, err := OpenFile(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, 0, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("open %s: not a regular file", path)
	}
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, fi.Size(), nil
}
